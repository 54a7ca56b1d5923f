#!/bin/sh
# `make demo`: from op specs to verified kernels, without GPU, key or network: the realiser's, and a
# model's from tape; then two kernels that cheat and an honest one.  Ends with an error when anything
# is not as expected.
#
#     demo.sh [PROGRAM]
set -u
PROGRAM=${1:-build/warpwright}
OUT=build/demo
failures=0

say() { printf '\n== %s\n\n' "$*"; }

# expect STATUS COMMAND...: the command must end with that status.
expect() {
    wanted=$1
    shift
    "$@" 2>/dev/null
    got=$?
    if [ "$got" -ne "$wanted" ]; then
        echo "   !! exit status $got, expected $wanted: $*"
        failures=$((failures + 1))
    fi
}

rm -rf "$OUT"
mkdir -p "$OUT"

say "1. From a spec, which says what is computed, to a kernel that is shown to compute it"
sed -n '/"body"/,/^  \]/p' kernels/ops/softmax.json
echo
expect 0 "$PROGRAM" synth kernels/ops/softmax.json --llm none --attempts 2 --seed 1 --out "$OUT/softmax"
echo
echo "The accepted kernel ($OUT/softmax/kernel.cu) begins:"
sed -n '/__global__/,$p' "$OUT/softmax/kernel.cu" 2>/dev/null | head -n 24 | sed 's/^/    | /'

say "2. The same op by a language model, from tape: what it was asked, and what it answered"
"$PROGRAM" synth kernels/ops/softmax.json --show-prompt 2>/dev/null |
    sed -n '/^# Selected plan/,/^# Preservation/p' | sed '$d; s/^/    | /'
expect 0 "$PROGRAM" synth kernels/ops/softmax.json --replay tests/tapes/softmax.jsonl --seed 1 \
    --bank "$OUT/bank.db" --out "$OUT/softmax-model"
echo
echo "What the bank remembers of it:"
expect 0 "$PROGRAM" memory log --bank "$OUT/bank.db"

say "3. The same for other structures: maps, normalisations, contractions, stencils, attention"
for op in gelu_erf layernorm matmul conv2d causal_attention; do
    expect 0 "$PROGRAM" synth "kernels/ops/$op.json" --llm none --attempts 1 --seed 1 --out "$OUT/$op"
done

say "4. Nothing is believed: kernels that cheat"
echo "A matrix product that rounds its inputs to TF32; uniform inputs at a tolerance of 1e-4 would not show it:"
expect 1 "$PROGRAM" verify tests/cases/ops/gemm.json tests/cases/cheats/h30b_tf32_inputs.cu --seed 1
echo
echo "A row sum whose tree lacks its barriers; on a GPU it is mostly right:"
expect 1 "$PROGRAM" verify tests/cases/ops/rowsum.json tests/cases/cheats/h23_missing_sync.cu --seed 1

say "5. And an honest one by somebody else is accepted"
expect 0 "$PROGRAM" verify tests/cases/ops/softmax.json tests/cases/cheats/ok_softmax.cu --seed 1

if [ "$failures" -ne 0 ]; then
    printf '\n%d things were not as expected\n' "$failures"
    exit 1
fi
printf '\nAll as expected.  Next: build/warpwright help\n'
