#!/bin/sh
# Each rule of tests/tidy/tidy.c is broken once; the complaints must be these and no others.
set -eu
tidy=$PWD/$(dirname "$PROGRAM")/tests/tidy/tidy
tree=build/scratch/tidy
rm -rf "$tree"
mkdir -p "$tree/base" "$tree/solver/ir" "$tree/synth" "$tree/tests/unit"
cd "$tree"
leftover=TO''DO folder=/ro''ot/ # in two parts, for this file is checked as well

echo '#include "synth/synth.h"' >base/up.c
echo 'static void *f(void) { return malloc(1); }' >base/memory.c
touch synth/same.c tests/unit/same.c
cat >synth/variables.c <<'END'
#include "base/anything.h"
#include "solver/ir/ir.h"
#include "solver/ir/ir_int.h"
#include "here.h"
static int counter;
static const char *pointer = "x";
static const char *const fine = "x";
static const int table[] = {
    1,
};
static struct {
    int a;
} open[] = {
    {1},
};
static const struct {
    int a;
} closed[] = {
    {1},
};
struct forward;
struct type {
    int x;
};
enum { A, B };
static int (*hook)(void);
static int prototype(int (*callback)(void));
typedef int work(void);
END
cat >synth/calls.c <<'END'
int f(void)
{
    static int local;
    static const int constant = 1;
    /* strcpy(a, b) */
    const char *s = "malloc(3)";
    return strcpy(s) + malloc(3) + getenv("X") + my_malloc(3);
}
END
printf '/* %s: later; %sS and x%s are words of their own */\n#if %d\n#endif\n' \
    $leftover $leftover $leftover 0 >synth/left.c
printf '/* %s */\n' "$(printf '%0110d' 0)" >synth/long.c
{ echo 'int g(void)'; echo '{'; for i in $(seq 71); do echo '    f();'; done; echo '}'; } >synth/deep.c
for i in $(seq 801); do echo; done >synth/tall.h
echo 'int *free_list = strtok(x);' >tests/unit/helper.c
echo "see ${folder}notes" >README.md

status=0
"$tidy" base:base solver/ir:solver/ir,base synth:synth,base,solver/ir >../tidy.out 2>../tidy.err || status=$?
sort ../tidy.err >../tidy.got
sort >../tidy.want <<END
README.md:1: names a machine or its folders: $folder
base/up.c:1: this layer may not include synth/synth.h
synth/calls.c:3: mutable static variable: static int local;
synth/calls.c:7: banned call: strcpy
synth/calls.c:7: memory comes from arenas (base/arena.h), not from malloc
synth/calls.c:7: the environment is read in agent/ only: getenv
synth/deep.c:2: function too long
synth/left.c:1: leftover: $leftover
synth/left.c:2: leftover: #if 0
synth/long.c:1: line too long
synth/tall.h:801: file too long
synth/variables.c:13: mutable variable outside functions: } open[] = {
synth/variables.c:26: mutable variable outside functions: static int (*hook)(void);
synth/variables.c:3: private to its module: solver/ir/ir_int.h
synth/variables.c:4: include by full path: here.h
synth/variables.c:5: mutable variable outside functions: static int counter;
synth/variables.c:6: mutable variable outside functions: static const char *pointer =    ;
tests/unit/helper.c:1: banned call: strtok
tests/unit/same.c:0: another file has this name: same.c
END
diff -u ../tidy.want ../tidy.got
test "$status" -eq 1

rm -rf ./*
mkdir base
echo 'int nothing_wrong(void);' >base/fine.h
"$tidy" base:base >../tidy.out 2>../tidy.err
test ! -s ../tidy.err
