#!/bin/sh
# evaluate: bundles packed, judged by program and worker, damaged ones reported and passed over; the
# worker links neither the network client nor the database.  Needs NVRTC; a GPU is used if there is one.
set -u
PROGRAM=${PROGRAM:-build/warpwright}
WORKER=$PROGRAM-worker
[ -x "$WORKER" ] || WORKER=$(readlink -f "$PROGRAM")-worker
scratch=build/scratch/cli-evaluate
rm -rf "$scratch"
mkdir -p "$scratch"
"$PROGRAM" doctor >/dev/null || { echo "no NVRTC here"; exit 77; }
cases=tests/cases/cheats ops=tests/cases/ops
failures=0

bad() {
    echo "$1"
    shift
    for file in "$@"; do sed 's/^/    | /' "$file"; done
    failures=$((failures + 1))
}

# run STATUS COMMAND...: results in out and err.
run() {
    wanted=$1
    shift
    "$@" >"$scratch/out" 2>"$scratch/err"
    got=$?
    [ "$got" -eq "$wanted" ] || bad "status $got, wanted $wanted: $*" "$scratch/out" "$scratch/err"
}

holds() { grep -qF -- "$2" "$1" || bad "$1 does not hold: $2" "$1"; }

pack() { # NAME CASE
    run 0 "$PROGRAM" evaluate --pack "$scratch/in/$1.json" $ops/relu.json "$cases/$2.cu" \
        --manifest "$cases/$2.json" --gate compare --seed 5
}

if ldd "$WORKER" | grep -E 'curl|sqlite'; then bad 'the worker links what it must not'; fi

# Two good bundles and two broken ones: all leave a verdict, and the broken ones make it exit 1.
pack honest ok_relu
pack cheat h04_identity_relu
echo '{"bundle": 1}' >"$scratch/in/damaged.json"
echo 'no json at all' >"$scratch/in/noise.json"
mkdir "$scratch/in/not-a-bundle"
run 1 "$WORKER" evaluate "$scratch/in" "$scratch/verdicts" --no-cache
holds "$scratch/out" '4 bundles, 2 judged, 1 accepted'
holds "$scratch/err" 'cheat: wrong'
holds "$scratch/err" 'damaged: infrastructure'
holds "$scratch/verdicts/honest.verdict.json" '"validity":"accepted"'
holds "$scratch/verdicts/cheat.verdict.json" '"validity":"wrong"'
holds "$scratch/verdicts/damaged.verdict.json" '"validity":"infrastructure"'
holds "$scratch/verdicts/noise.verdict.json" '"validity":"infrastructure"'
[ "$(ls "$scratch/verdicts" | wc -l)" -eq 4 ] || bad 'other files than four verdicts'

# The program says the same as the worker.
rm "$scratch"/in/damaged.json "$scratch"/in/noise.json
run 0 "$PROGRAM" evaluate "$scratch/in" "$scratch/again" --no-cache --json
holds "$scratch/out" '{"accepted":1,"bundles":2,"judged":2}'
holds "$scratch/again/cheat.verdict.json" '"validity":"wrong"'

# Wrong use.
run 2 "$WORKER" evaluate "$scratch/in"
run 2 "$WORKER" evaluate "$scratch/nowhere" "$scratch/verdicts"
run 2 "$WORKER" synth
run 2 "$PROGRAM" evaluate --pack "$scratch/x.json" $ops/relu.json $cases/ok_relu.cu \
    --manifest $cases/ok_relu.json --gate nothing
mkdir "$scratch/empty"
run 2 "$WORKER" evaluate "$scratch/empty" "$scratch/verdicts"

# Without a GPU there is nothing to start on; with one, both are judged there.
if "$PROGRAM" doctor | grep -q '^GPU 0'; then
    run 0 "$WORKER" evaluate "$scratch/in" "$scratch/gpu" --gpu-only
else
    run 1 "$WORKER" evaluate "$scratch/in" "$scratch/gpu" --gpu-only
    holds "$scratch/gpu/honest.verdict.json" 'there is no GPU on this machine'
fi

[ "$failures" -eq 0 ]
