/*
 * Cubins: what a kernel needs of a multiprocessor, read from the ELF file without any CUDA tool.
 *
 * A cubin is a little-endian ELF64 file for machine 190.  Each entry function has a code section
 * .text.NAME, attributes in .nv.info.NAME (and some, by symbol index, in .nv.info), and static
 * shared memory as the size of .nv.shared.NAME, of which sm_90 and later keep 1024 bytes.  Spills
 * are in no section; they are taken from ptxas's lines in the compile log.
 *
 * The bytes may come from a stranger: every offset, size and index is checked before it is used,
 * sections are only ever read through section_bytes(), and the number of sections, symbols and
 * kernels is limited.  Not here: machine code, relocations, debug sections.
 */
#include <elf.h>
#include <stdio.h>
#include <string.h>

#include "verify/device/device_int.h"

enum {
    ELF_MACHINE_CUDA = 190,
    OSABI_CUDA_NEW = 0x41,
    SYMBOL_ENTRY = 0x10, /* in st_other */
    SECTIONS_MAX = 1 << 16,
    SYMBOLS_MAX = 1 << 20,
    KERNELS_MAX = 4096,
    NAME_BYTES_MAX = 4096,
    SHARED_RESERVED_BYTES = 1024,
    SHARED_RESERVED_FROM_SM = 90,
};

/* Attributes of .nv.info (facts measured on NVRTC 13.0, equal to ptxas -v on every test kernel). */
enum {
    ATTR_MAX_THREADS = 0x05,
    ATTR_REQNTID = 0x10,
    ATTR_FRAME_SIZE = 0x11,
    ATTR_KPARAM_INFO = 0x17,
    ATTR_PARAM_BYTES = 0x19,
    ATTR_REGCOUNT = 0x2f,
    ATTR_CTA_PER_CLUSTER = 0x3d,
    ATTR_NUM_BARRIERS = 0x4c,
    FORMAT_PAYLOAD = 4,
};

struct elf {
    struct str bytes;
    int sm;
    size_t section_count;
    size_t sections_at;
    struct str section_names;
    struct str symbols; /* of .symtab, empty when there is none */
    struct str symbol_names;
    size_t symbol_count;
};

/* ---- ELF ---- */

static bool slice(struct str bytes, uint64_t at, uint64_t len, struct str *out)
{
    if (at > bytes.len || len > bytes.len - at)
        return false;
    *out = (struct str){bytes.at + at, (size_t)len};
    return true;
}

static struct str name_at(struct str names, uint64_t at)
{
    if (at >= names.len)
        return (struct str){0};
    size_t room = names.len - (size_t)at;
    size_t len = strnlen(names.at + at, room < NAME_BYTES_MAX ? room : NAME_BYTES_MAX);
    return (struct str){names.at + at, len};
}

static void section_header(const struct elf *elf, size_t index, Elf64_Shdr *out)
{
    memcpy(out, elf->bytes.at + elf->sections_at + index * sizeof(*out), sizeof(*out));
}

static struct str section_name(const struct elf *elf, const Elf64_Shdr *section)
{
    return name_at(elf->section_names, section->sh_name);
}

/* A section without bytes in the file (SHT_NOBITS) has only its size. */
static bool section_bytes(const struct elf *elf, const Elf64_Shdr *section, struct str *out,
                          struct err *err)
{
    if (section->sh_type == SHT_NOBITS) {
        *out = (struct str){0};
        return true;
    }
    if (slice(elf->bytes, section->sh_offset, section->sh_size, out))
        return true;
    struct str name = section_name(elf, section);
    return err_raise(err, ERR_SYNTAX, "cubin: section %.*s lies outside the file",
                     (int)(name.len < 200 ? name.len : 200), name.at);
}

static bool find_section(const struct elf *elf, struct str prefix, struct str name, Elf64_Shdr *out)
{
    for (size_t i = 0; i < elf->section_count; i++) {
        section_header(elf, i, out);
        struct str full = section_name(elf, out);
        if (full.len == prefix.len + name.len && str_has_prefix(full, prefix) &&
            str_equal((struct str){full.at + prefix.len, name.len}, name))
            return true;
    }
    return false;
}

static bool read_symbols(struct elf *elf, struct err *err)
{
    Elf64_Shdr table;
    Elf64_Shdr names;
    if (!find_section(elf, STR_LIT(".symtab"), STR_LIT(""), &table))
        return err_raise(err, ERR_SYNTAX, "cubin: no section .symtab");
    if (table.sh_link >= elf->section_count)
        return err_raise(err, ERR_SYNTAX, "cubin: section .symtab links to no section");
    section_header(elf, table.sh_link, &names);
    if (!section_bytes(elf, &table, &elf->symbols, err) ||
        !section_bytes(elf, &names, &elf->symbol_names, err))
        return false;
    elf->symbol_count = elf->symbols.len / sizeof(Elf64_Sym);
    if (elf->symbol_count > SYMBOLS_MAX)
        return err_raise(err, ERR_LIMIT, "cubin: section .symtab has %zu symbols, at most %d",
                         elf->symbol_count, SYMBOLS_MAX);
    return true;
}

static bool elf_open(struct str bytes, struct elf *elf, struct err *err)
{
    Elf64_Ehdr head;
    Elf64_Shdr names;
    struct str table;
    *elf = (struct elf){.bytes = bytes};
    if (bytes.len < sizeof(head))
        return err_raise(err, ERR_SYNTAX, "cubin: shorter than an ELF header");
    memcpy(&head, bytes.at, sizeof(head));
    if (memcmp(head.e_ident, ELFMAG, SELFMAG) != 0 || head.e_ident[EI_CLASS] != ELFCLASS64 ||
        head.e_ident[EI_DATA] != ELFDATA2LSB || head.e_machine != ELF_MACHINE_CUDA)
        return err_raise(err, ERR_SYNTAX, "cubin: no little-endian ELF64 file for CUDA");
    if (head.e_shentsize != sizeof(Elf64_Shdr) ||
        !slice(bytes, head.e_shoff, (uint64_t)head.e_shnum * sizeof(Elf64_Shdr), &table) ||
        head.e_shstrndx >= head.e_shnum)
        return err_raise(err, ERR_SYNTAX, "cubin: the section table lies outside the file");
    bool new_layout = head.e_ident[EI_OSABI] == OSABI_CUDA_NEW;
    elf->sm = (int)(new_layout ? (head.e_flags >> 8) & 0xff : head.e_flags & 0xff);
    elf->section_count = head.e_shnum;
    elf->sections_at = (size_t)head.e_shoff;
    section_header(elf, head.e_shstrndx, &names);
    return section_bytes(elf, &names, &elf->section_names, err) && read_symbols(elf, err);
}

/* ---- attributes ---- */

struct attribute {
    uint8_t format, attribute;
    uint16_t value;
    struct str payload;
};

/* The next record of an .nv.info section; *ok turns false where it is cut off. */
static bool next_attribute(struct str *rest, struct attribute *out, bool *ok)
{
    if (rest->len == 0)
        return false;
    *ok = rest->len >= 4;
    if (!*ok)
        return false;
    memcpy(&out->value, rest->at + 2, sizeof(out->value));
    out->format = (uint8_t)rest->at[0];
    out->attribute = (uint8_t)rest->at[1];
    size_t payload = out->format == FORMAT_PAYLOAD ? out->value : 0;
    *ok = slice(*rest, 4, payload, &out->payload);
    if (!*ok)
        return false;
    rest->at += 4 + payload;
    rest->len -= 4 + payload;
    return true;
}

static uint32_t word(struct str payload, size_t index)
{
    uint32_t value = 0;
    if (payload.len >= 4 * (index + 1))
        memcpy(&value, payload.at + 4 * index, sizeof(value));
    return value;
}

/* Numbers come from the file: a product that does not fit is no launch bound. */
static uint32_t product(struct str payload)
{
    uint64_t all = (uint64_t)word(payload, 0) * word(payload, 1);
    if (all > UINT32_MAX || all * word(payload, 2) > UINT32_MAX)
        return 0;
    return (uint32_t)(all * word(payload, 2));
}

static void apply_own(const struct attribute *record, struct cubin_kernel *kernel)
{
    switch (record->attribute) {
    case ATTR_MAX_THREADS:
    case ATTR_REQNTID:
        kernel->max_threads = product(record->payload);
        break;
    case ATTR_KPARAM_INFO:
        kernel->param_count++;
        break;
    case ATTR_PARAM_BYTES:
        kernel->param_bytes = record->value;
        break;
    case ATTR_NUM_BARRIERS:
        kernel->barriers = record->value & 0xff;
        break;
    case ATTR_CTA_PER_CLUSTER:
        for (size_t i = 0; i < 3; i++)
            kernel->cluster[i] = word(record->payload, i);
        break;
    }
}

static bool read_own(const struct elf *elf, struct str name, struct cubin_kernel *kernel,
                     struct err *err)
{
    Elf64_Shdr section;
    struct str rest;
    struct attribute record;
    bool ok = true;
    if (!find_section(elf, STR_LIT(".nv.info."), name, &section))
        return true;
    if (!section_bytes(elf, &section, &rest, err))
        return false;
    while (next_attribute(&rest, &record, &ok))
        apply_own(&record, kernel);
    return ok || err_raise(err, ERR_SYNTAX, "cubin: section .nv.info.%s is cut off", kernel->name);
}

/* Registers and frame are listed by symbol index for the whole file. */
static bool read_shared_info(const struct elf *elf, uint32_t symbol, struct cubin_kernel *kernel,
                             struct err *err)
{
    Elf64_Shdr section;
    struct str rest;
    struct attribute record;
    bool ok = true;
    if (!find_section(elf, STR_LIT(".nv.info"), STR_LIT(""), &section))
        return err_raise(err, ERR_SYNTAX, "cubin: no section .nv.info");
    if (!section_bytes(elf, &section, &rest, err))
        return false;
    while (next_attribute(&rest, &record, &ok)) {
        if (record.payload.len < 8 || word(record.payload, 0) != symbol)
            continue;
        if (record.attribute == ATTR_REGCOUNT)
            kernel->registers = word(record.payload, 1);
        else if (record.attribute == ATTR_FRAME_SIZE)
            kernel->stack_bytes = word(record.payload, 1);
    }
    return ok || err_raise(err, ERR_SYNTAX, "cubin: section .nv.info is cut off");
}

/* ---- the log ---- */

/* "    N bytes stack frame, N bytes spill stores, N bytes spill loads" follows the line that names
 * the function. */
static void read_spills(struct str log, struct cubin_kernel *kernel)
{
    static const char heading[] = "ptxas info    : Function properties for ";
    struct str line;
    while (str_next_line(&log, &line)) {
        char text[200];
        unsigned stack;
        unsigned stores;
        unsigned loads;
        if (!str_has_prefix(line, STR_LIT(heading)) ||
            !str_equal((struct str){line.at + sizeof(heading) - 1, line.len - sizeof(heading) + 1},
                       str_from(kernel->name)) ||
            !str_next_line(&log, &line) || line.len >= sizeof(text))
            continue;
        memcpy(text, line.at, line.len);
        text[line.len] = '\0';
        if (sscanf(text, "ptxas . %9u bytes stack frame, %9u bytes spill stores, %9u bytes spill",
                   &stack, &stores, &loads) == 3) {
            kernel->spill_store_bytes = stores;
            kernel->spill_load_bytes = loads;
            return;
        }
    }
}

/* ---- kernels ---- */

static bool read_sizes(const struct elf *elf, struct str name, struct cubin_kernel *kernel,
                       struct err *err)
{
    Elf64_Shdr section;
    if (find_section(elf, STR_LIT(".text."), name, &section))
        kernel->code_bytes = section.sh_size > UINT32_MAX ? UINT32_MAX : (uint32_t)section.sh_size;
    if (!find_section(elf, STR_LIT(".nv.shared."), name, &section))
        return true;
    uint64_t reserved = elf->sm >= SHARED_RESERVED_FROM_SM ? SHARED_RESERVED_BYTES : 0;
    if (section.sh_size > UINT32_MAX)
        return err_raise(err, ERR_SYNTAX, "cubin: section .nv.shared.%s is over 4 GiB",
                         kernel->name);
    kernel->shared_bytes = section.sh_size > reserved ? (uint32_t)(section.sh_size - reserved) : 0;
    return true;
}

static bool is_entry(const Elf64_Sym *symbol)
{
    return ELF64_ST_TYPE(symbol->st_info) == STT_FUNC && (symbol->st_other & SYMBOL_ENTRY);
}

static void read_symbol(const struct elf *elf, size_t index, Elf64_Sym *out)
{
    memcpy(out, elf->symbols.at + index * sizeof(*out), sizeof(*out));
}

static bool read_kernel(struct arena *arena, const struct elf *elf, size_t index, struct str log,
                        struct cubin_kernel *kernel, struct err *err)
{
    Elf64_Sym symbol;
    read_symbol(elf, index, &symbol);
    struct str name = name_at(elf->symbol_names, symbol.st_name);
    if (name.len == 0)
        return err_raise(err, ERR_SYNTAX, "cubin: section .symtab has an entry without a name");
    *kernel = (struct cubin_kernel){.name = str_copy(arena, name)};
    if (!read_own(elf, name, kernel, err) || !read_shared_info(elf, (uint32_t)index, kernel, err) ||
        !read_sizes(elf, name, kernel, err))
        return false;
    read_spills(log, kernel);
    return true;
}

/* Zeroed and initialised __device__ variables; an absurd sum stays absurd. */
static uint64_t global_bytes(const struct elf *elf)
{
    static const char *const names[] = {".nv.global", ".nv.global.init"};
    uint64_t bytes = 0;
    for (size_t i = 0; i < COUNT_OF(names); i++) {
        Elf64_Shdr section;
        if (find_section(elf, str_from(names[i]), STR_LIT(""), &section))
            bytes = section.sh_size > UINT64_MAX - bytes ? UINT64_MAX : bytes + section.sh_size;
    }
    return bytes;
}

static size_t count_entries(const struct elf *elf)
{
    size_t count = 0;
    for (size_t i = 0; i < elf->symbol_count; i++) {
        Elf64_Sym symbol;
        read_symbol(elf, i, &symbol);
        count += is_entry(&symbol);
    }
    return count;
}

bool cubin_read(struct arena *arena, struct str bytes, struct str log, struct cubin *out,
                struct err *err)
{
    struct elf elf;
    if (!elf_open(bytes, &elf, err))
        return false;
    size_t count = count_entries(&elf);
    if (count > KERNELS_MAX)
        return err_raise(err, ERR_LIMIT, "cubin: %zu kernels, at most %d are read", count,
                         KERNELS_MAX);
    struct cubin_kernel *kernels = arena_array(arena, struct cubin_kernel, count);
    size_t done = 0;
    for (size_t i = 0; i < elf.symbol_count; i++) {
        Elf64_Sym symbol;
        read_symbol(&elf, i, &symbol);
        if (is_entry(&symbol) && !read_kernel(arena, &elf, i, log, &kernels[done++], err))
            return false;
    }
    *out = (struct cubin){
        .sm = elf.sm,
        .global_bytes = global_bytes(&elf),
        .kernels = kernels,
        .kernel_count = count,
    };
    return true;
}
