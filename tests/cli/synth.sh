#!/bin/sh
# synth and selftest, from the command line.  Needs NVRTC.
set -u
PROGRAM=${PROGRAM:-build/warpwright}
scratch=build/scratch/cli-synth
rm -rf "$scratch"
mkdir -p "$scratch"
"$PROGRAM" doctor >/dev/null || { echo "no NVRTC here"; exit 77; }
failures=0

bad() {
    echo "$1"
    shift
    for file in "$@"; do sed 's/^/    | /' "$file"; done
    failures=$((failures + 1))
}
holds() { grep -qF -- "$2" "$1" || bad "$1 does not hold: $2" "$1"; }

"$PROGRAM" synth kernels/ops/rmsnorm.json --llm none --attempts 2 --seed 5 --out "$scratch/a" \
    >"$scratch/out" 2>"$scratch/err" || bad 'synth failed' "$scratch/out" "$scratch/err"
holds "$scratch/out" 'attempt 1 is accepted'
holds "$scratch/err" 'attempt 2, naive'
for file in kernel.cu manifest.json plan.json kernel.ptx kernel.cubin observed.json verdict.json \
    attempt-1/kernel.cu attempt-2/verdict.json; do
    [ -s "$scratch/a/$file" ] || bad "no $file"
done
[ -e "$scratch/a/attempt-2/plan.json" ] && bad 'the naive kernel has no plan, but a plan.json'

"$PROGRAM" synth kernels/ops/rmsnorm.json --llm none --attempts 1 --seed 5 --json \
    >"$scratch/out" 2>/dev/null || bad 'synth --json failed' "$scratch/out"
holds "$scratch/out" '"best":1'
holds "$scratch/out" '"validity":"accepted"'

# selftest: the last line counts; a folder with one kernel that the emulator runs.
mkdir -p "$scratch/cu"
cp tests/cases/cheats/ok_relu.cu "$scratch/cu/"
"$PROGRAM" selftest --ptx "$scratch/cu" >"$scratch/out" 2>/dev/null || bad 'selftest --ptx' "$scratch/out"
[ "$(tail -n 1 "$scratch/out")" = '1 of 1 can run' ] || bad 'the last line' "$scratch/out"

mkdir -p "$scratch/cheats"
cp tests/cases/cheats/ok_relu.* tests/cases/cheats/h04_identity_relu.* "$scratch/cheats/"
"$PROGRAM" selftest --cheats "$scratch/cheats" --ops tests/cases/ops >"$scratch/out" 2>/dev/null ||
    bad 'selftest --cheats' "$scratch/out"
[ "$(tail -n 1 "$scratch/out")" = '1 of 1 cheats caught, 1 of 1 honest accepted' ] ||
    bad 'the last line' "$scratch/out"
# An honest one under a cheat's name is accepted, so the selftest must fail.
mv "$scratch/cheats/ok_relu.cu" "$scratch/cheats/h99_not_a_cheat.cu"
mv "$scratch/cheats/ok_relu.json" "$scratch/cheats/h99_not_a_cheat.json"
"$PROGRAM" selftest --cheats "$scratch/cheats" --ops tests/cases/ops >"$scratch/out" 2>/dev/null &&
    bad 'a missed cheat goes unnoticed' "$scratch/out"
holds "$scratch/out" 'MISSED'

[ "$failures" -eq 0 ]
