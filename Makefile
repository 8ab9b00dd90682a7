# make            build the server              make run        install, build, start, show one answer
# make test       all tests                     make check      layers, vectorised, format, generated files
# make SAN=1 ...  address + undefined sanitizers    make api    rewrite the generated files of api-spec/
# make deps       install what is missing       make bench      speed, side by side with others
# make tsan       what threads share, under ThreadSanitizer
# make fuzz       ten targets, FUZZ_SECONDS=120 each, by clang and libFuzzer; FUZZ_TARGETS="npy npz" for some
# make valgrind   memcheck over tests of storage, wire, lang and plan, and over a server
# make soak       power cuts, kills, histories, damage, a long load, valgrind (SOAK_MINUTES=10)
# make deb        build a Debian package
# make long       values and gradients against PyTorch, drawn anew (ROUNDS=20)
CC       = gcc
CXX      = g++
OUT      = build$(if $(SAN),-san)$(if $(TSAN),-tsan)$(if $(FUZZ),-fuzz)$(if $(MEMCHECK),-valgrind)
WARN     = -Wall -Wextra -Wshadow=local -Wvla -Wstack-usage=16384 -Werror
CFLAGS   = -std=gnu11 -O2 -g $(WARN) -Wstrict-prototypes -Wmissing-prototypes -Wconversion
CXXFLAGS = -std=c++17 -O3 -g -Wall -Wextra -Werror -fno-exceptions -fno-rtti
CPPFLAGS = -I. -MMD -MP -D_GNU_SOURCE
LDLIBS   = -lmicrohttpd -ljansson -lsqlite3 -lopenblas -lsleefgnuabi -lutf8proc -lz -lm -lpthread -lstdc++

ifdef SAN
SANFLAGS = -fsanitize=address,undefined -fno-sanitize-recover=undefined -fno-omit-frame-pointer -DONE_CPU_LEVEL
endif
ifdef TSAN
SANFLAGS = -fsanitize=thread -DONE_CPU_LEVEL
endif
# valgrind knows few instructions of processors that are newer than it is.
ifdef MEMCHECK
SANFLAGS = -DONE_CPU_LEVEL
endif
# clang knows neither GCC's warnings nor its vector forms of functions, and needs neither here.
ifdef FUZZ
CC        = clang
CXX       = clang++
WARN      = -Wall -Wno-unknown-pragmas
SANFLAGS  = -fsanitize=address,undefined,fuzzer-no-link -fno-sanitize-recover=undefined -fno-omit-frame-pointer -DONE_CPU_LEVEL
endif
CFLAGS   += $(SANFLAGS)
CXXFLAGS += $(SANFLAGS)
LDFLAGS  += $(SANFLAGS)

SRC   = $(shell find engine storage server -name '*.c' -o -name '*.cc')
OBJ   = $(patsubst %,$(OUT)/%.o,$(SRC))
LIB   = $(filter-out $(OUT)/server/main.c.o,$(OBJ))
TESTLIB = $(patsubst %,$(OUT)/%.o,$(shell find tests/lib -name '*.c'))
TESTS = $(patsubst %.c,$(OUT)/%,$(shell find tests -name 'test_*.c' -o -name 'tool_*.c'))
TARGETS = $(patsubst %,$(OUT)/%.o,$(wildcard tests/fuzz/targets/*.c))
FUZZ_TARGETS ?= $(shell sed -n 's/^TARGET(\([a-z]*\),.*/\1/p' tests/fuzz/targets.def)

all: $(OUT)/tensord

# The engine is built for speed: vectorised, no errno from maths functions, no
# traps of the processor, integers that wrap, and the same bits on every machine
# (no fused multiply-add behind our back).
$(OUT)/engine/%.o: CFLAGS += -O3 -fno-math-errno -fno-trapping-math -ffp-contract=off -fwrapv

ifndef FUZZ
$(OUT)/tests/%.o: CFLAGS += -Wno-stack-usage
endif

# The limit is built as the engine is.
$(OUT)/tests/bench/hand.c.o: CFLAGS += -O3 -fno-math-errno -fno-trapping-math -ffp-contract=off
$(OUT)/tests/bench/bench: $(OUT)/tests/bench/hand.c.o

$(OUT)/%.c.o: %.c
	@mkdir -p $(@D)
	$(CC) $(CPPFLAGS) $(CFLAGS) -c $< -o $@

$(OUT)/%.cc.o: %.cc
	@mkdir -p $(@D)
	$(CXX) $(CPPFLAGS) $(CXXFLAGS) -c $< -o $@

$(OUT)/tensord: $(OBJ)
	$(CC) $(LDFLAGS) $^ $(LDLIBS) -o $@

$(OUT)/libtensord.a: $(LIB)
	@rm -f $@
	ar rcs $@ $^

$(OUT)/tests/%: $(OUT)/tests/%.c.o $(TESTLIB) $(OUT)/libtensord.a
	$(CC) $(LDFLAGS) $(filter %.o,$^) $(filter %.a,$^) -lcmocka -lcurl $(LDLIBS) -o $@

$(OUT)/tests/fuzz/test_replay: $(TARGETS)

$(OUT)/fuzz_%: tests/fuzz/driver.c $(TARGETS) $(TESTLIB) $(OUT)/libtensord.a
	$(CC) $(CPPFLAGS) $(CFLAGS) -MF $(OUT)/driver_$*.d -DTARGET_FUNCTION=target_$* -fsanitize=fuzzer $(filter %.c %.o %.a,$^) $(LDLIBS) -o $@

# A file of storage/ that is broken on purpose, in the place of the one in the library (test_mutants.py).
$(OUT)/tests/mutants/%: $(OUT)/tests/mutants/%.c $(OUT)/tests/crash/test_power.c.o $(TESTLIB) $(OUT)/libtensord.a
	$(CC) $(CPPFLAGS) $(CFLAGS) -w $(LDFLAGS) $(filter %.c %.o %.a,$^) $(LDLIBS) -o $@

# What is built in without the compiler's knowing.
$(OUT)/storage/schema.c.o: $(wildcard storage/schema/*.sql)

-include $(shell find $(OUT) -name '*.d' 2>/dev/null)

api: $(OUT)/tensord
	$(OUT)/tensord --write-api api-spec

test: deps
	@$(MAKE) -s -j2 $(OUT)/tensord $(TESTS)
	@tests/run.sh $(OUT)

check: $(OUT)/tensord
	tests/check/layers.sh
	tests/check/vectorised.sh $(OUT)
	clang-format --dry-run -Werror $$(find engine storage server tests -name '*.[ch]' ! -name '*.tmpl.h')
	@mkdir -p $(OUT)/api-spec
	$(OUT)/tensord --write-api $(OUT)/api-spec
	for f in $(OUT)/api-spec/*; do diff -u api-spec/$$(basename $$f) $$f || exit 1; done
	@echo "check: clean"

# What is missing is installed first; make then starts anew, to see what it brought.
run: deps
	@$(MAKE) -s -j2 all
	@tools/run.sh $(OUT)/tensord

bench: deps
	@$(MAKE) -s -j2 $(OUT)/tensord $(OUT)/tests/bench/bench $(OUT)/tests/bench/bare
	@BUILD=$(OUT) /usr/bin/python3 tests/bench/run.py $(if $(WRITE),--write)

# The peers that make bench compares with, where they are to be had.
bench-deps: deps
	@PEERS=1 tools/deps.sh

long: deps
	@$(MAKE) -s -j2 $(OUT)/tensord
	@TENSORD=$(OUT)/tensord /usr/bin/python3 tests/oracle/long_values.py $(or $(ROUNDS),20)

# The sanitizer cannot see into OpenBLAS, whose threads are not used.
tsan: deps
	@$(MAKE) -s -j2 TSAN=1 build-tsan/tensord build-tsan/tests/engine/exec/tool_digest \
	    $(patsubst %.c,build-tsan/%,$(wildcard tests/storage/test_*.c tests/server/jobs/test_*.c) \
	    tests/derived/test_prepared.c tests/engine/base/test_log.c)
	@tests/tsan.sh build-tsan

fuzz: deps
	@FUZZ=1 tools/deps.sh
	@$(MAKE) -s -j2 FUZZ=1 $(FUZZ_TARGETS:%=build-fuzz/fuzz_%)
	@tests/fuzz/run.sh build-fuzz $(FUZZ_TARGETS)

soak: deps
	@$(MAKE) -s -j2 $(OUT)/tensord $(TESTS)
	@TENSORD=$(OUT)/tensord BUILD=$(OUT) /usr/bin/python3 tests/soak.py

valgrind: deps
	@VALGRIND=1 tools/deps.sh
	@$(MAKE) -s -j2 MEMCHECK=1 build-valgrind/tensord $$(BUILD=build-valgrind /usr/bin/python3 tests/memcheck.py --list)
	@TENSORD=build-valgrind/tensord BUILD=build-valgrind /usr/bin/python3 tests/memcheck.py

deb: deps
	@$(MAKE) -s -j2 $(OUT)/tensord
	@tools/package/deb.sh $(OUT)/tensord $(OUT)

deps:
	@tools/deps.sh

clean:
	rm -rf build build-san build-tsan build-fuzz build-valgrind

.PHONY: all api test check run bench long tsan fuzz valgrind soak deb deps clean
