/*
 * The sandbox around a compile: the compiler reads hostile text, so it gets to see nothing else.
 *
 * Files: Landlock lets the process read below the include folders and nowhere else; without
 * Landlock, a user and mount namespace whose root holds only those folders does the same.  System
 * calls: a seccomp list of what compiling needs; any other fails with EPERM, opening a file for
 * writing too, so no sockets, programs, processes, tracing or signals to others.  NVRTC backs its
 * heap with a file when it uses precompiled headers; for that, and under Landlock only, a scratch
 * folder may be written.
 *
 * Descriptors that are open already stay usable: the result pipe, the include folders, precompiled
 * headers in memory files.  Not here: time, memory and output limits (base/proc.h), and what to do
 * where a machine has neither way to confine files (the screen is stricter then).
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/panic.h"
#include "base/proc.h"

#include "verify/device/device_int.h"

#if defined(__x86_64__)
#define SANDBOX_AUDIT_ARCH AUDIT_ARCH_X86_64
#elif defined(__aarch64__)
#define SANDBOX_AUDIT_ARCH AUDIT_ARCH_AARCH64
#else
#define SANDBOX_AUDIT_ARCH 0
#endif

/* ---- Landlock; by number, since system headers are often older than the kernel ---- */

enum { SCRATCH_FILE_BYTES = 1 << 30 };

enum {
    SYS_LANDLOCK_CREATE = 444,
    SYS_LANDLOCK_ADD = 445,
    SYS_LANDLOCK_RESTRICT = 446,
    LANDLOCK_VERSION_FLAG = 1,
    LANDLOCK_PATH_BENEATH = 1,
    LANDLOCK_WRITE_FILE = 1 << 1,
    LANDLOCK_READ_FILE = 1 << 2,
    LANDLOCK_READ_DIR = 1 << 3,
    LANDLOCK_REMOVE_FILE = 1 << 5,
    LANDLOCK_MAKE_REG = 1 << 8,
    LANDLOCK_TRUNCATE = 1 << 14,
    LANDLOCK_READABLE = LANDLOCK_READ_FILE | LANDLOCK_READ_DIR,
    LANDLOCK_SCRATCH = LANDLOCK_READ_FILE | LANDLOCK_WRITE_FILE | LANDLOCK_REMOVE_FILE |
                       LANDLOCK_MAKE_REG | LANDLOCK_TRUNCATE,
};

struct landlock_attr {
    uint64_t files, net, scoped;
};
struct __attribute__((packed)) landlock_path {
    uint64_t allowed;
    int32_t fd;
};

static int landlock_abi(void)
{
    long abi = syscall(SYS_LANDLOCK_CREATE, NULL, 0, LANDLOCK_VERSION_FLAG);
    return abi > 0 ? (int)abi : 0;
}

/* Every right that this kernel knows, so that all are withdrawn. */
static struct landlock_attr landlock_all(int abi, size_t *size)
{
    struct landlock_attr attr = {.files = (1 << 13) - 1};
    if (abi >= 2)
        attr.files |= 1 << 13;
    if (abi >= 3)
        attr.files |= 1 << 14;
    if (abi >= 5)
        attr.files |= 1 << 15;
    if (abi >= 4)
        attr.net = 3;
    if (abi >= 6)
        attr.scoped = 3;
    *size = abi >= 6 ? 24 : abi >= 4 ? 16 : 8;
    return attr;
}

static bool landlock_add(int ruleset, int fd, uint64_t allowed)
{
    struct landlock_path path = {allowed, fd};
    return syscall(SYS_LANDLOCK_ADD, ruleset, LANDLOCK_PATH_BENEATH, &path, 0) == 0;
}

static bool enter_landlock(const struct sandbox *sandbox, struct err *err)
{
    bool ok = true;
    size_t size;
    struct landlock_attr attr = landlock_all(sandbox->have.landlock_abi, &size);
    int ruleset = (int)syscall(SYS_LANDLOCK_CREATE, &attr, size, 0);
    if (ruleset < 0)
        return err_raise(err, ERR_UNSUPPORTED, "Landlock: %s", strerror(errno));
    for (size_t i = 0; ok && i < sandbox->readable_count; i++)
        ok = landlock_add(ruleset, sandbox->readable_fds[i], LANDLOCK_READABLE);
    if (ok && sandbox->scratch_fd >= 0)
        ok = landlock_add(ruleset, sandbox->scratch_fd, LANDLOCK_SCRATCH & attr.files);
    ok = ok && syscall(SYS_LANDLOCK_RESTRICT, ruleset, 0) == 0;
    if (!ok)
        err_raise(err, ERR_UNSUPPORTED, "Landlock: %s", strerror(errno));
    close(ruleset);
    return ok;
}

/* ---- namespaces ---- */

enum { PATH_BYTES = 64, MAP_BYTES = 64, READABLE_MAX = 8 };

static void write_proc(const char *path, const char *text)
{
    int fd = open(path, O_WRONLY | O_CLOEXEC);
    if (fd < 0)
        return;
    proc_write_all(fd, text, strlen(text));
    close(fd);
}

static bool new_namespaces(void)
{
    char uid_map[MAP_BYTES];
    char gid_map[MAP_BYTES];
    snprintf(uid_map, sizeof(uid_map), "0 %lu 1", (unsigned long)geteuid());
    snprintf(gid_map, sizeof(gid_map), "0 %lu 1", (unsigned long)getegid());
    if (unshare(CLONE_NEWUSER | CLONE_NEWNS | CLONE_NEWNET | CLONE_NEWIPC) != 0)
        return false;
    write_proc("/proc/self/setgroups", "deny");
    write_proc("/proc/self/uid_map", uid_map);
    write_proc("/proc/self/gid_map", gid_map);
    return mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) == 0;
}

/* A folder opened before belongs to the old namespace's mounts, which cannot be bound; the same
 * folder, found anew by its path, can. */
static int open_again(int fd)
{
    char link[PATH_BYTES];
    char path[PATH_MAX];
    snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
    ssize_t len = readlink(link, path, sizeof(path) - 1);
    if (len <= 0)
        return -1;
    path[len] = '\0';
    return open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
}

/* The folder `from` appears in the new root as /proc/self/fd/N of the descriptor it stands for.
 * That it turns read-only is one more lock; permissions and the limit on file sizes hold anyway. */
static bool bind_folder(int from, int fd)
{
    char source[PATH_BYTES];
    char target[PATH_BYTES];
    snprintf(source, sizeof(source), "/proc/self/fd/%d", from);
    snprintf(target, sizeof(target), "/tmp/proc/self/fd/%d", fd);
    if (mkdir(target, 0755) != 0 || mount(source, target, NULL, MS_BIND, NULL) != 0)
        return false;
    if (mount(NULL, target, NULL, MS_BIND | MS_REMOUNT | MS_RDONLY, NULL) != 0)
        errno = 0;
    return true;
}

static bool enter_namespaces(const struct sandbox *sandbox)
{
    int again[READABLE_MAX];
    ASSERT(sandbox->readable_count <= READABLE_MAX);
    if (!new_namespaces())
        return false;
    for (size_t i = 0; i < sandbox->readable_count; i++)
        again[i] = open_again(sandbox->readable_fds[i]);
    if (mount("none", "/tmp", "tmpfs", MS_NOSUID | MS_NODEV, "size=64k") != 0 ||
        mkdir("/tmp/proc", 0755) != 0 || mkdir("/tmp/proc/self", 0755) != 0 ||
        mkdir("/tmp/proc/self/fd", 0755) != 0)
        return false;
    for (size_t i = 0; i < sandbox->readable_count; i++)
        if (again[i] < 0 || !bind_folder(again[i], sandbox->readable_fds[i]))
            return false;
    return chroot("/tmp") == 0 && chdir("/") == 0;
}

/* Tried in a child: having the call and being allowed to mount are two things. */
static bool namespaces_work(void)
{
    struct sandbox nothing = {.scratch_fd = -1};
    int status = 1;
    pid_t pid = fork();
    if (pid == 0)
        _exit(enter_namespaces(&nothing) ? 0 : 1);
    if (pid < 0)
        return false;
    while (waitpid(pid, &status, 0) < 0)
        if (errno != EINTR)
            return false;
    return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

/* ---- seccomp ---- */

/* Calls that compiling may need; those that an architecture lacks are left out. */
static const int allowed_calls[] = {
    SYS_read,
    SYS_write,
    SYS_readv,
    SYS_writev,
    SYS_pread64,
    SYS_lseek,
    SYS_close,
    SYS_fstat,
    SYS_newfstatat,
    SYS_statx,
    SYS_faccessat,
    SYS_readlinkat,
    SYS_getdents64,
    SYS_getcwd,
    SYS_brk,
    SYS_mmap,
    SYS_munmap,
    SYS_mremap,
    SYS_mprotect,
    SYS_madvise,
    SYS_futex,
    SYS_rt_sigaction,
    SYS_rt_sigprocmask,
    SYS_rt_sigreturn,
    SYS_sigaltstack,
    SYS_getpid,
    SYS_gettid,
    SYS_getuid,
    SYS_geteuid,
    SYS_getgid,
    SYS_getegid,
    SYS_clock_gettime,
    SYS_clock_getres,
    SYS_clock_nanosleep,
    SYS_nanosleep,
    SYS_gettimeofday,
    SYS_getrandom,
    SYS_sched_yield,
    SYS_sched_getaffinity,
    SYS_getrusage,
    SYS_sysinfo,
    SYS_uname,
    SYS_restart_syscall,
    SYS_exit,
    SYS_exit_group,
#ifdef SYS_stat
    SYS_stat,
    SYS_lstat,
    SYS_access,
    SYS_readlink,
    SYS_time,
    SYS_getrlimit,
#endif
};

enum {
    FILTER_MAX = 2 * COUNT_OF(allowed_calls) + 80,
    CALL_OFFSET = offsetof(struct seccomp_data, nr),
    ARCH_OFFSET = offsetof(struct seccomp_data, arch),
    ARGS_OFFSET = offsetof(struct seccomp_data, args),
    OPEN_FORBIDDEN = O_WRONLY | O_RDWR | O_CREAT | O_TRUNC | O_APPEND,
};

struct filter {
    struct sock_filter code[FILTER_MAX];
    size_t len;
};

static void emit(struct filter *filter, int code, uint32_t k, int if_true, int if_false)
{
    ASSERT(filter->len < FILTER_MAX);
    filter->code[filter->len++] =
        (struct sock_filter){(uint16_t)code, (uint8_t)if_true, (uint8_t)if_false, k};
}

static void emit_load(struct filter *filter, uint32_t offset)
{
    emit(filter, BPF_LD | BPF_W | BPF_ABS, offset, 0, 0);
}

static void emit_return(struct filter *filter, uint32_t action)
{
    emit(filter, BPF_RET | BPF_K, action, 0, 0);
}

/* `call` passes when argument `arg`, masked, equals `value`; the low words decide (little endian).
 * On a mismatch it fails with EPERM. */
static void emit_argument(struct filter *filter, int call, int arg, uint32_t mask, uint32_t value)
{
    emit(filter, BPF_JMP | BPF_JEQ | BPF_K, (uint32_t)call, 0, 5);
    emit_load(filter, (uint32_t)(ARGS_OFFSET + 8 * arg));
    emit(filter, BPF_ALU | BPF_AND | BPF_K, mask, 0, 0);
    emit(filter, BPF_JMP | BPF_JEQ | BPF_K, value, 0, 1);
    emit_return(filter, SECCOMP_RET_ALLOW);
    emit_return(filter, SECCOMP_RET_ERRNO | EPERM);
}

/* With a scratch folder, Landlock says which files may be written. */
static void emit_files(struct filter *filter, bool scratch)
{
    uint32_t forbidden = scratch ? 0 : OPEN_FORBIDDEN;
    emit_argument(filter, SYS_openat, 2, forbidden, 0);
#ifdef SYS_open
    emit_argument(filter, SYS_open, 1, forbidden, 0);
#endif
    if (scratch) {
        emit_argument(filter, SYS_unlinkat, 0, 0, 0);
        emit_argument(filter, SYS_ftruncate, 0, 0, 0);
#ifdef SYS_unlink
        emit_argument(filter, SYS_unlink, 0, 0, 0);
#endif
    }
}

static bool enter_seccomp(bool scratch, struct err *err)
{
    struct filter filter = {.len = 0};
    emit_load(&filter, ARCH_OFFSET);
    emit(&filter, BPF_JMP | BPF_JEQ | BPF_K, SANDBOX_AUDIT_ARCH, 1, 0);
    emit_return(&filter, SECCOMP_RET_KILL_PROCESS);
    emit_load(&filter, CALL_OFFSET);
    for (size_t i = 0; i < COUNT_OF(allowed_calls); i++) {
        emit(&filter, BPF_JMP | BPF_JEQ | BPF_K, (uint32_t)allowed_calls[i], 0, 1);
        emit_return(&filter, SECCOMP_RET_ALLOW);
    }
    emit_files(&filter, scratch);
    emit_argument(&filter, SYS_prlimit64, 2, UINT32_MAX, 0); /* reading limits, not setting */
    emit_argument(&filter, SYS_tgkill, 0, UINT32_MAX, (uint32_t)getpid()); /* abort() */
    emit_return(&filter, SECCOMP_RET_ERRNO | EPERM);

    struct sock_fprog program = {(unsigned short)filter.len, filter.code};
    if (prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) != 0)
        return err_raise(err, ERR_UNSUPPORTED, "seccomp: %s", strerror(errno));
    return true;
}

static bool seccomp_works(void)
{
    uint32_t action = SECCOMP_RET_ERRNO;
    return SANDBOX_AUDIT_ARCH != 0 &&
           syscall(SYS_seccomp, SECCOMP_GET_ACTION_AVAIL, 0, &action) == 0;
}

/* ---- both ---- */

void device_probe_sandbox(struct sandbox_info *out)
{
    *out = (struct sandbox_info){
        .landlock_abi = landlock_abi(),
        .user_namespaces = namespaces_work(),
        .seccomp = seccomp_works(),
    };
}

bool sandbox_confines_files(const struct sandbox_info *have)
{
    return have->landlock_abi > 0 || have->user_namespaces;
}

bool sandbox_enter(const struct sandbox *sandbox, struct err *err)
{
    bool scratch = sandbox->scratch_fd >= 0 && sandbox->have.landlock_abi > 0;
    struct rlimit none = {0, 0};
    struct rlimit file = {scratch ? SCRATCH_FILE_BYTES : 0, scratch ? SCRATCH_FILE_BYTES : 0};
    setrlimit(RLIMIT_FSIZE, &file);
    setrlimit(RLIMIT_CORE, &none);
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0)
        return err_raise(err, ERR_UNSUPPORTED, "no_new_privs: %s", strerror(errno));
    if (sandbox->have.landlock_abi > 0) {
        if (!enter_landlock(sandbox, err))
            return false;
    } else if (sandbox->have.user_namespaces && !enter_namespaces(sandbox)) {
        return err_raise(err, ERR_UNSUPPORTED, "a namespace without files: %s", strerror(errno));
    }
    return !sandbox->have.seccomp || enter_seccomp(scratch, err);
}
