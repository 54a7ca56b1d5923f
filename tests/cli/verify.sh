#!/bin/sh
# verify, from the command line: exit status, text, JSON, files, forms of candidates.  Needs NVRTC.
set -u
PROGRAM=${PROGRAM:-build/warpwright}
scratch=build/scratch/cli-verify
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

# run STATUS ARGUMENT...: results in out and err.
run() {
    wanted=$1
    shift
    "$PROGRAM" "$@" >"$scratch/out" 2>"$scratch/err"
    got=$?
    [ "$got" -eq "$wanted" ] || bad "status $got, wanted $wanted: $*" "$scratch/out" "$scratch/err"
}

holds() { grep -qF -- "$2" "$1" || bad "$1 does not hold: $2" "$1"; }

# An accepted one: text on stdout, all files, and the same bytes again.
run 0 verify $ops/relu.json $cases/ok_relu.cu --seed 5 --no-cache --out "$scratch/a"
holds "$scratch/out" 'ok_relu.cu against relu: accepted'
[ -s "$scratch/err" ] && bad 'stderr is not empty' "$scratch/err"
for file in kernel.cu manifest.json kernel.ptx kernel.cubin observed.json verdict.json; do
    [ -s "$scratch/a/$file" ] || bad "no $file"
done
cp "$scratch/out" "$scratch/first"
run 0 verify $ops/relu.json $cases/ok_relu.cu --seed 5 --no-cache --out "$scratch/b"
cmp -s "$scratch/first" "$scratch/out" || bad 'the second run prints something else' "$scratch/out"
diff -r "$scratch/a" "$scratch/b" >"$scratch/diff" || bad 'the second run wrote something else' "$scratch/diff"

# From the cache, the same verdict.
run 0 verify $ops/relu.json $cases/ok_relu.cu --seed 5 --cache "$scratch/cache"
run 0 verify $ops/relu.json $cases/ok_relu.cu --seed 5 --cache "$scratch/cache"
cmp -s "$scratch/first" "$scratch/out" || bad 'the cached verdict differs' "$scratch/out"

# What was written can be verified again: as source, as PTX, and as a cubin, which cannot run here.
run 0 verify $ops/relu.json "$scratch/a/kernel.cu" --manifest "$scratch/a/manifest.json" --seed 5
run 0 verify $ops/relu.json "$scratch/a/kernel.ptx" --manifest "$scratch/a/manifest.json" --seed 5
run 1 verify $ops/relu.json "$scratch/a/kernel.cubin" --manifest "$scratch/a/manifest.json" --seed 5
holds "$scratch/out" 'unsupported'

# A rejected one: exit 1, and where it is wrong.
run 1 verify $ops/relu.json $cases/h04_identity_relu.cu --seed 5
holds "$scratch/out" 'h04_identity_relu.cu against relu: wrong'
holds "$scratch/out" 'worst     y['
run 1 verify $ops/relu.json $cases/h04_identity_relu.cu --seed 5 --json
holds "$scratch/out" '"validity":"wrong"'

# A shape that the guard excludes, and one that it admits.
sed 's/"guard": "true"/"guard": "n % 4 == 0"/' $cases/ok_relu.json >"$scratch/guarded.json"
run 1 verify $ops/relu.json $cases/ok_relu.cu --manifest "$scratch/guarded.json" --shape n=6
holds "$scratch/out" 'off plan'
run 0 verify $ops/relu.json $cases/ok_relu.cu --manifest "$scratch/guarded.json" --shape n=64

# A source that does not compile says where.
printf 'extern "C" __global__ void cand(const float* x, float* y, long long n)\n{\n  y[0] = z;\n}\n' \
    >"$scratch/broken.cu"
run 1 verify $ops/relu.json "$scratch/broken.cu" --manifest $cases/ok_relu.json
holds "$scratch/out" 'compile error'
holds "$scratch/out" 'line      3 of the source'

# A source that wants this machine's files is refused before it is compiled.
printf '#include "/etc/passwd"\n' >"$scratch/nosy.cu"
run 1 verify $ops/relu.json "$scratch/nosy.cu" --manifest $cases/ok_relu.json
holds "$scratch/out" 'source rejected'

# PTX that is no PTX, and a manifest that names what the op does not have.
printf 'not ptx at all\n' >"$scratch/noise.ptx"
run 1 verify $ops/relu.json "$scratch/noise.ptx" --manifest $cases/ok_relu.json
sed 's/"tensor": "y"/"tensor": "z"/' $cases/ok_relu.json >"$scratch/unknown.json"
run 1 verify $ops/relu.json $cases/ok_relu.cu --manifest "$scratch/unknown.json"
holds "$scratch/out" 'source rejected'

[ "$failures" -eq 0 ]
