# One makefile; everything built lands in build/CONFIG, CONFIG being compiler and sanitizers.
#
#   make                the program: build/warpwright      make format   rewrite with clang-format
#   make demo           op spec to verified kernel         make bless    rewrite the golden files
#   make check          all suites, at most 15 minutes     make deps     install what is missing
#   make check-all      sanitizers, clang, fuzzing         make V=1      show the commands
#   make check-full     every case, integration sanitized
#   make WERROR=1       warnings are errors (CI)           make CC=clang SAN=address,undefined

PROG := warpwright

# The layering (DESIGN section 8).  A directory may include what its DEPS line names, and nothing
# else: the public header of each, all headers of base.  Its unit tests link that and what that needs.
# The list is in the order of the layers.
MODULES := base solver/ir solver/legal solver/bound solver/cost solver/sched synth memory agent/llm \
           verify/ptx verify/device verify/check verify/bench verify/evaluate \
           agent/import agent/calibrate agent/report agent/campaign agent
DEPS_base            :=
DEPS_solver/ir       := base
DEPS_solver/legal    := base solver/ir
DEPS_solver/bound    := base solver/ir
DEPS_solver/cost     := base solver/ir
DEPS_solver/sched    := base solver/ir solver/legal solver/cost
DEPS_synth           := base solver/ir
DEPS_memory          := base
DEPS_agent/llm       := base
DEPS_verify/ptx      := base
DEPS_verify/device   := base verify/ptx
DEPS_verify/check    := base solver/ir synth verify/ptx verify/device
DEPS_verify/bench    := base verify/device verify/check
DEPS_verify/evaluate := base solver/ir solver/legal solver/bound synth verify/ptx verify/device \
                        verify/check verify/bench
DEPS_agent/import    := base solver/ir synth agent/llm
DEPS_agent/calibrate := base solver/ir solver/legal solver/bound solver/cost solver/sched synth memory \
                        verify/evaluate
DEPS_agent/report    := base memory
DEPS_agent/campaign  := $(filter-out agent/campaign agent,$(MODULES))
DEPS_agent           := $(filter-out agent,$(MODULES))

# Foreign libraries, by the module whose one file includes them.
LIBS_base      := -ljansson -lm -lpthread
LIBS_memory    := $(if $(wildcard memory/*.c tests/unit/memory/*.c),-lsqlite3)
LIBS_agent/llm := $(if $(wildcard agent/llm/http.c),-lcurl)
LIBS_verify/device := -ldl

# Files linked into the program as text, by the module that reads them.  File F becomes
#     extern const char embed_F[], embed_F_end[];
# F being its path with each character that is no letter or digit turned into '_'; a NUL follows, so
# embed_F is also a C string (embed_memory_schema_sql).
EMBED_synth         := $(wildcard prompts/*.txt synth/*.cuh)
EMBED_memory        := $(wildcard memory/schema.sql)
EMBED_verify/device := $(wildcard verify/device/prelude/*)
EMBED_verify/check  := $(wildcard verify/check/*.cuh)

comma := ,
space := $() $()
CC    := gcc
BUILD := build/$(notdir $(CC))$(if $(SAN),-$(subst $(comma),-,$(SAN)))
JOBS  := $(shell nproc 2>/dev/null || echo 2)

CPPFLAGS := -I. -D_GNU_SOURCE -MMD -MP
WARN     := -Wall -Wextra -Wshadow -Wstrict-prototypes -Wmissing-prototypes -Wvla -Wundef \
            -Wpointer-arith -Wwrite-strings -Wformat=2 -Wconversion -Wno-sign-conversion
OPTIMISE := $(if $(SAN),-O1,-O2)
CFLAGS   := -std=c17 $(OPTIMISE) -g -fno-common -fno-omit-frame-pointer -ffp-contract=off $(WARN)
LDFLAGS  :=
ifdef WERROR
CFLAGS   += -Werror
endif
ifdef SAN
CFLAGS   += -fsanitize=$(SAN) -fno-sanitize-recover=all
LDFLAGS  += -fsanitize=$(SAN)
endif
ifndef V
quiet = @echo "  $(1)	$@";
endif

# verify/ptx/isa_*.c is the emulator's vector code: compiled once for each instruction set, with
# PTX_ISA naming it; which one runs is decided when the program starts.
ISAS           := generic avx2 avx512
ISA_FLAGS_generic := -march=x86-64-v2
ISA_FLAGS_avx2    := -march=x86-64-v3 -mf16c -mfma
ISA_FLAGS_avx512  := -march=x86-64-v4 -mf16c -mfma
isa_sources    := $(wildcard verify/ptx/isa_*.c)

unique    = $(if $(1),$(firstword $(1)) $(call unique,$(filter-out $(firstword $(1)),$(1))))
closure   = $(call unique,$(1) $(foreach d,$(DEPS_$(1)),$(call closure,$(d))))
sources   = $(filter-out agent/main.c agent/worker_main.c $(isa_sources),$(wildcard $(1)/*.c))
isa_objs  = $(foreach i,$(ISAS),$(patsubst %.c,$(BUILD)/%.$(i).o,$(filter $(1)/isa_%,$(isa_sources))))
objects   = $(foreach m,$(1),$(patsubst %.c,$(BUILD)/%.o,$(call sources,$(m))) $(call isa_objs,$(m)) \
              $(EMBED_$(m):%=$(BUILD)/embed/%.o))
libs      = $(call unique,$(foreach m,$(1),$(LIBS_$(m))))
archives  = $(foreach m,$(1),$(if $(strip $(call objects,$(m))),$(BUILD)/$(m).a))

unit_sources := $(foreach m,$(MODULES),$(wildcard tests/unit/$(m)/test_*.c))
UNIT         := $(unit_sources:%.c=$(BUILD)/%)
INTEGRATION  := $(patsubst %.c,$(BUILD)/%,$(wildcard tests/integration/test_*.c))
FUZZ         := $(patsubst %.c,$(BUILD)/%,$(wildcard tests/fuzz/fuzz_*.c))
TIDY         := $(BUILD)/tests/tidy/tidy
JOINT        := $(BUILD)/tests/gpu/joint
TIMES        := $(BUILD)/tests/gpu/times
RELAY        := $(BUILD)/tests/relay/relay
PROGRAM      := $(BUILD)/$(PROG)
WORKER       := $(BUILD)/$(PROG)-worker
HEADERS      := $(wildcard $(addsuffix /*.h,$(MODULES)))
CLANG_FORMAT  = $(shell sh tools/deps.sh which-clang-format)
FORMAT        = $(shell find base solver synth memory verify agent tests -name '*.[ch]' \
                  -not -path '*/prelude/*' -not -path 'tests/cases/*')

.DELETE_ON_ERROR:
.SECONDARY:
.SECONDEXPANSION:
.PHONY: all demo check check-all check-full unit integration fuzz headers tidy format bless deps clean
.PHONY: $(MODULES:%=unit/%)

all: $(if $(wildcard agent/main.c),$(PROGRAM)) $(WORKER)
unit: $(UNIT)
$(foreach m,$(MODULES),$(eval unit/$(m): $(filter $(BUILD)/tests/unit/$(m)/test_%,$(UNIT))))
integration: $(INTEGRATION)
fuzz: $(FUZZ)

$(PROGRAM): $(BUILD)/agent/main.o $(call objects,$(MODULES))
	$(call quiet,LD)$(CC) $(CFLAGS) $(LDFLAGS) -o $@ $^ $(call libs,$(MODULES))
	@ln -sfn $(notdir $(BUILD))/$(PROG) build/$(PROG)

# The worker takes what it uses from the archives: no network, no database.  STATIC_JANSSON=1 makes
# one that runs where libjansson is not installed.
WORKER_MODULES := agent $(call unique,$(call closure,verify/evaluate))
worker_libs    := $(call libs,$(WORKER_MODULES))
$(WORKER): $(BUILD)/agent/worker_main.o $(call archives,$(WORKER_MODULES))
	$(call quiet,LD)$(CC) $(CFLAGS) $(LDFLAGS) $(if $(STATIC_JANSSON),-static-libgcc) -o $@ $< \
	  -Wl,--start-group $(call archives,$(WORKER_MODULES)) -Wl,--end-group \
	  $(if $(STATIC_JANSSON),$(worker_libs:-ljansson=-l:libjansson.a),$(worker_libs))

$(BUILD)/%.o: %.c
	@mkdir -p $(@D)
	$(call quiet,CC)$(CC) $(CPPFLAGS) $(CFLAGS) -c -o $@ $<

define isa_rule
$(BUILD)/verify/ptx/isa_%.$(1).o: verify/ptx/isa_%.c
	@mkdir -p $$(@D)
	$$(call quiet,CC)$$(CC) $$(CPPFLAGS) $$(CFLAGS) $(if $(SAN),,-O3) $$(ISA_FLAGS_$(1)) -DPTX_ISA=$(1) -c -o $$@ $$<
endef
$(foreach i,$(ISAS),$(eval $(call isa_rule,$(i))))

# .incbin in a few lines of assembler, which gcc and clang read alike.
embed_name = embed_$(shell printf %s '$(1)' | tr -c 'A-Za-z0-9' _)
$(BUILD)/embed/%.o: %
	@mkdir -p $(@D)
	$(call quiet,EMBED)name=$(call embed_name,$<); \
	printf '.section .rodata\n.global %s, %s_end\n%s: .incbin "%s"\n%s_end: .byte 0\n%s\n' \
	  $$name $$name $$name '$<' $$name '.section .note.GNU-stack,"",@progbits' | \
	  $(CC) -c -x assembler -o $@ -

# Tests link archives, of which the linker takes what is used: those of the modules given.  The folder
# is newer when a file has come or gone.
$(call archives,$(MODULES)): $(BUILD)/%.a: % $$(call objects,$$*)
	@rm -f $@ && ar rcsT $@ $(filter %.o,$^)
link = $(CC) $(CFLAGS) $(LDFLAGS) -o $@ $(filter %.o,$^) \
       -Wl,--start-group $(call archives,$(1)) -Wl,--end-group $(call libs,$(1))

# tests/unit/MODULE/test_X links MODULE and what MODULE may depend on.
test_module = $(patsubst $(BUILD)/tests/unit/%/,%,$(dir $(1)))
$(UNIT): %: %.o $$(call archives,$$(call closure,$$(call test_module,$$@)))
	$(call quiet,LD)$(call link,$(call closure,$(call test_module,$@))) -lcmocka

# tests/integration may use everything.
$(INTEGRATION): %: %.o $(call archives,$(MODULES))
	$(call quiet,LD)$(call link,$(MODULES)) -lcmocka

# The model server that tests of agent/llm start.
$(RELAY): $(patsubst %.c,$(BUILD)/%.o,$(wildcard tests/relay/*.c)) $(BUILD)/base.a
	$(call quiet,LD)$(call link,base)
$(filter %/test_llm %/test_llm_tape,$(INTEGRATION)): | $(RELAY)

# Kernels of plans out of the space, which tests/gpu/pack.sh packs; and their times.
$(JOINT): %: %.o $(call archives,$(MODULES))
	$(call quiet,LD)$(call link,$(MODULES))
$(TIMES): $(TIMES).o $(call archives,$(WORKER_MODULES))
	$(call quiet,LD)$(CC) $(CFLAGS) $(LDFLAGS) $(if $(STATIC_JANSSON),-static-libgcc) -o $@ $< \
	  -Wl,--start-group $(call archives,$(WORKER_MODULES)) -Wl,--end-group \
	  $(if $(STATIC_JANSSON),$(worker_libs:-ljansson=-l:libjansson.a),$(worker_libs))

# A fuzz target is replayed over its corpus by `make check`, and explores with
#   make CC=clang SAN=fuzzer,address,undefined fuzz-json SECONDS=60
FUZZ_MAIN = $(if $(findstring fuzzer,$(SAN)),,$(BUILD)/tests/fuzz/replay.o)
$(FUZZ): %: %.o $(FUZZ_MAIN) $(call archives,$(MODULES))
	$(call quiet,LD)$(call link,$(MODULES))

fuzz-%: $(BUILD)/tests/fuzz/fuzz_%
	@mkdir -p $(BUILD)/corpus-$*
	$< -max_total_time=$(or $(SECONDS),60) $(BUILD)/corpus-$* tests/fuzz/corpus/$*

$(TIDY): $(TIDY).o $(BUILD)/base.a
	$(call quiet,LD)$(call link,base)

# Every header compiles on its own.
headers: $(HEADERS:%=$(BUILD)/%.ok)
$(BUILD)/%.h.ok: %.h
	@mkdir -p $(@D)
	$(call quiet,HDR)echo '#include "$<"' | \
	  $(CC) $(CPPFLAGS) $(CFLAGS) -fsyntax-only -x c - -MF $@.d -MT $@ && touch $@

tidy: $(TIDY)
	$(call quiet,TIDY)$(TIDY) $(foreach m,$(MODULES),$(m):$(subst $(space),$(comma),$(strip $(m) $(DEPS_$(m)))))
	$(if $(CLANG_FORMAT),@$(CLANG_FORMAT) --dry-run --Werror $(FORMAT), \
	  @echo "tidy: no clang-format 14 here; get it with: make deps" >&2; exit 1)

format:
	$(or $(CLANG_FORMAT),clang-format-14) -i $(FORMAT)

deps:
	@sh tools/deps.sh check-all

demo:
	@sh tools/deps.sh demo
	+@$(MAKE) --no-print-directory -j$(JOBS) $(BUILD)/$(PROG)
	@sh tools/demo.sh $(BUILD)/$(PROG)

check check-all check-full:
	@sh tools/deps.sh $(subst check-full,check-all,$@)
	+@MAKE='$(MAKE)' JOBS=$(JOBS) sh tools/check.sh $@

# Golden files are rewritten by the scripts that compare them.
bless: $(PROGRAM)
	@set -e; for script in $(wildcard tests/golden/*.sh); do \
	  BLESS=1 PROGRAM=$(PROGRAM) sh $$script; done; git status --short tests/golden

print-%:
	@echo '$($*)'

clean:
	rm -rf build

-include $(shell find build -name '*.d' 2>/dev/null)
