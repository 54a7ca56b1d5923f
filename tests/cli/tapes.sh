#!/bin/sh
# The recorded tapes: each leads to a kernel that a model wrote and that is accepted, and at least two
# hold an answer that failed before.  Needs NVRTC; no network, no key.
set -u
PROGRAM=${PROGRAM:-build/gcc/warpwright}
scratch=build/scratch/cli-tapes
rm -rf "$scratch"
mkdir -p "$scratch"
"$PROGRAM" doctor >/dev/null || { echo "no NVRTC here"; exit 77; }
failures=0 tapes=0 repaired=0
for tape in tests/tapes/*.jsonl; do
    name=$(basename "$tape" .jsonl)
    tapes=$((tapes + 1))
    "$PROGRAM" synth "kernels/ops/$name.json" --replay "$tape" --seed 1 --no-cache \
        >"$scratch/$name" 2>"$scratch/$name.err"
    status=$?
    if [ $status -ne 0 ] || ! grep -q '^  [0-9]*  model  *accepted' "$scratch/$name"; then
        echo "$tape: status $status"
        sed 's/^/    | /' "$scratch/$name" "$scratch/$name.err"
        failures=$((failures + 1))
    fi
    ! grep -q '^  [0-9]*  model  *[^a ]' "$scratch/$name" || repaired=$((repaired + 1))
done
[ $tapes -ge 5 ] || { echo "$tapes tapes"; failures=$((failures + 1)); }
[ $repaired -ge 2 ] || { echo "only $repaired hold a failed answer"; failures=$((failures + 1)); }

# A key in a tape would be a scandal.
if grep -lE 'sk-[A-Za-z0-9]{8}|[Aa]uthorization|Bearer' tests/tapes/*.jsonl; then
    failures=$((failures + 1))
fi
[ "$failures" -eq 0 ]
