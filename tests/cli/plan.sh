#!/bin/sh
# plan, from the command line: what is found, what it answers, and what is wrong input.
set -u
PROGRAM=${PROGRAM:-build/warpwright}
scratch=build/scratch/cli-plan
rm -rf "$scratch"
mkdir -p "$scratch"
failures=0

bad() {
    echo "$1"
    shift
    for file in "$@"; do sed 's/^/    | /' "$file"; done
    failures=$((failures + 1))
}
holds() { grep -qF -- "$2" "$1" || bad "$1 does not hold: $2" "$1"; }
plan() { # STATUS ARGUMENT...
    wanted=$1
    shift
    "$PROGRAM" plan "$@" >"$scratch/out" 2>"$scratch/err"
    got=$?
    [ "$got" -eq "$wanted" ] || bad "status $got, wanted $wanted: plan $*" "$scratch/err"
}

softmax=kernels/ops/softmax.json matmul=kernels/ops/matmul.json

# Every op of the library has a plan, and its document is the same twice.
for spec in kernels/ops/*.json; do
    plan 0 "$spec" --json --best 2
    mv "$scratch/out" "$scratch/first"
    plan 0 "$spec" --json --best 2
    cmp -s "$scratch/first" "$scratch/out" || bad "$spec: two runs differ"
    holds "$scratch/out" '"plan_report":1'
done

plan 0 $softmax --explain
for text in rescaled-accumulation 'preservation: refused' 'online-state-update' 'rewrites: 11 legal' \
    'compositions: 4 generated, 0 of them refused' 'before limits' 'speed of light' \
    'bytes of shared memory a block'; do
    holds "$scratch/out" "$text"
done
plan 0 $matmul --why-not '{"tile": {"m": 256, "n": 256}}'
holds "$scratch/out" 'refused by: registers a block'
plan 0 $matmul --why-not '{"tile": {"m": 64, "n": 64}}'
holds "$scratch/out" 'choices; the best plan takes'
plan 0 $softmax --shape 'M=4096,N=64; M=4096,N=4096' --best 1
holds "$scratch/out" 'softmax, track f32, M=4096 N=64, on'
holds "$scratch/out" '* M=4096 N=4096'
printf '# two shapes\nM=4096,N=64\nM=4097,N=64 # the same\n' >"$scratch/shapes"
plan 0 $softmax --shapes "$scratch/shapes" --best 1
holds "$scratch/out" '  M=4097 N=64'
plan 0 $matmul --vary smem=8K..256K --best 1
holds "$scratch/out" '* smem='
plan 0 $matmul --smem-limit 16000 --best 1
holds "$scratch/out" 'k 16 a block'
# no tile fits, but a thread a result does; rows would read a column of b each, a sector a word
plan 0 $matmul --smem-limit 1000 --best 3
holds "$scratch/out" 'of light speed  256 threads'
holds "$scratch/out" 'a row a block'
# a part of the SMs: fewer waves at a time, a lower roof, the same memory
plan 0 $matmul --sm-share 50% --best 1
mv "$scratch/out" "$scratch/half"
holds "$scratch/half" 'on 66 of the 132 SMs of h200-sxm'
plan 0 $matmul --sm-share 0.5 --best 1
cmp -s "$scratch/out" "$scratch/half" || bad '0.5 is not 50%' "$scratch/out"
plan 0 $matmul --sm-share 1 --best 1
holds "$scratch/out" 'on 132 of the 132 SMs of h200-sxm'
plan 0 $softmax --sm-share 12.5% --json --best 1
holds "$scratch/out" '"sm_count":16,'
plan 0 $matmul --vary sm-share=25%..1 --best 1
holds "$scratch/out" 'sm-share=25%'
holds "$scratch/out" 'sm-share=100%'
plan 0 $softmax $matmul --table --sm-share 50%
plan 1 $matmul --shape M=65536,N=65536,K=1048576
holds "$scratch/out" 'bytes of tensors in global memory; the limit on'

# Rewrites one after the other; what comes out is a spec.
plan 0 $softmax --rewrite online:mx:n:64,inline:e --spec-out "$scratch/online.json"
holds "$scratch/out" '# online:mx:n:64: rescale: '
holds "$scratch/out" 'bound times 2 + 0.25 * (ceildiv(N, 64))'
holds "$scratch/out" 'seq step0: ceildiv(N, 64) {'
plan 0 "$scratch/online.json" --best 1
plan 0 $softmax --rewrite reciprocal:3 --json
holds "$scratch/out" '"legal":true,"preservation":"bounded-approximation","rewrite":"reciprocal:3"'
plan 0 $matmul --track tf32 --rewrite round:C --spec-out "$scratch/tf32.json"
holds "$scratch/out" 'tf32(B[k,n]) * tf32(A[m,k])'
plan 2 "$scratch/tf32.json" --track f32
holds "$scratch/err" 'has no track "f32"'
plan 1 $matmul --rewrite split:C:k:64,round:C
holds "$scratch/out" "statement 1: it is no sum of products in f32; refused"
plan 1 $softmax --rewrite inline:e,hoist:s --spec-out "$scratch/none.json"
holds "$scratch/out" 'no factor is the same for all its terms; refused'
[ -e "$scratch/none.json" ] && bad 'a spec of a refused rewrite'

# A row for each op; the time of each on stderr.
plan 0 kernels/ops/*.json --table
[ "$(wc -l <"$scratch/out")" -eq "$(ls kernels/ops/*.json | wc -l | awk '{ print $1 + 1 }')" ] ||
    bad 'not a row for each op' "$scratch/out"
holds "$scratch/out" 'rescaled-accumulation'
holds "$scratch/err" 'causal_attention: '

# HW-WFC's choices instead of ours, for a spec and for documents of its own.
mlp=kernels/ops/transformer_mlp.json
plan 0 $mlp --preset hwwfc --machine a100 --shape M=512,E=512,F=1024
holds "$scratch/out" "transformer_mlp on a100, HW-WFC's collapse: score "
holds "$scratch/out" 'LINEAR         M=512 N=1024 K=512 : 128x128 ROW_MAJOR SRAM'
plan 0 $softmax --preset hwwfc --explain
holds "$scratch/out" 'bytes of working memory in SRAM'
plan 0 tests/fuzz/corpus/hwwfc/fuzz.json --preset hwwfc
holds "$scratch/out" '6 problems, 0 without a plan'
plan 1 tests/golden/hwwfc/hw-wfc.json --preset hwwfc
holds "$scratch/out" 'no plan, layer '
[ "$(grep -c ", HW-WFC's collapse: " "$scratch/out")" -eq \
    "$(sed -n 's/ problems.*//p' "$scratch/out")" ] || bad 'not a line for each case' "$scratch/out"
plan 0 $mlp --preset hwwfc,threshold=auto,weight=0.1 --json
holds "$scratch/out" '"transition_weight":0.1'
holds "$scratch/out" '"claim":"heuristic"'

# Wrong commands: what is wrong on stderr, nothing on stdout.
wrong() { # TEXT ARGUMENT...
    text=$1
    shift
    plan 2 "$@"
    holds "$scratch/err" "$text"
    [ -s "$scratch/out" ] && bad "plan $* prints" "$scratch/out"
}
wrong 'an argument is missing'
wrong 'no-such.json' no-such.json
wrong 'there is no machine "z80"' $softmax --machine z80
wrong 'it has m, n, k' $matmul --why-not '{"tile": {"q": 3}}'
wrong 'did you mean "tile"' $matmul --why-not '{"tule": {"m": 3}}'
wrong '--why-not' $matmul --why-not '{"tile"'
wrong 'step 2: "inlin:e", column 1: there is no rewrite "inlin"' $softmax --rewrite inline:e,inlin:e
wrong 'column 8: no statement writes "q"; there are mx, e, s, y' $softmax --rewrite inline:q
wrong 'column 9: the statement has no index "k"; it has m, n' $softmax --rewrite split:s:k:8
wrong 'column 11: it wants a number' $softmax --rewrite split:s:n:8x
wrong 'it reads split:STATEMENT:INDEX:BLOCK' $softmax --rewrite split:s:n
wrong 'column 10: it reads inline:STATEMENT' $softmax --rewrite inline:e:n
wrong 'step 1: "", column 1: there is no rewrite' $softmax --rewrite ''
wrong '--spec-out goes with --rewrite' $softmax --spec-out "$scratch/x.json"
wrong '--rewrite takes one spec' $softmax $matmul --rewrite inline:e
wrong '--vary wants NAME=LOW..HIGH' $matmul --vary smem=lots
for part in 0 50 1.01 100.01% -1 0.00001 1. .5 x '' 50%% nan 0.5,0.5; do
    wrong '--sm-share wants a part of the SMs' $softmax --sm-share "$part"
done
wrong '--sm-share: 0.5% of the 132 SMs of h200-sxm is not one; the least is 0.76%' $softmax --sm-share 0.5%
wrong '--vary sm-share: 0.5% of the 132 SMs' $softmax --vary sm-share=0.5%..50%
wrong '--vary wants NAME=LOW..HIGH' $softmax --vary sm-share=10..50%
wrong '--vary wants NAME=LOW..HIGH' $softmax --vary sm-share=50%..10%
wrong 'set one number' $softmax --sm-share 50% --vary sm-share=10%..50%
wrong 'set one number' $softmax --sm-share 50% --vary sm_count=10..50
wrong 'exclude each other' $softmax --shapes "$scratch/shapes" --shape M=1,N=1
wrong '--vary goes with one shape' $softmax --shapes "$scratch/shapes" --vary smem=8K..9K
wrong 'shape M=0,N=1' $softmax --shape 'M=0,N=1; M=1,N=1'
wrong 'no shape is given' $softmax --shape ';'
printf 'M=1,N=1\nM=2,Q=1\n' >"$scratch/shapes"
wrong "$scratch/shapes, line 2: shape M=2,Q=1" $softmax --shapes "$scratch/shapes"
wrong 'several specs go with --table' $softmax $matmul
wrong '--table takes' $softmax $matmul --table --vary smem=8K..9K
wrong '--best wants an integer from 1 to 64' $softmax --best 0
wrong 'statement 0 (y): HW-WFC has no layer for it: a scan; plan it without --preset' \
    kernels/ops/cumsum.json --preset hwwfc
wrong 'known are a100, h100, rtx3060' $softmax --preset hwwfc --machine h200-sxm
wrong '--preset wants hwwfc[,threshold=NUMBER or auto]' $softmax --preset wfc
wrong '--preset takes one file' $softmax --preset hwwfc --best 2
wrong '--preset takes one file' $softmax $matmul --preset hwwfc
wrong '--preset takes one file' $softmax --preset hwwfc --sm-share 50%
wrong '--rewrite prints no plans' $softmax --rewrite inline:e --explain
wrong '--table takes' $softmax --table --best 3
wrong 'layout: "swizled" is not known' $matmul --why-not '{"layout": "swizled"}'
wrong 'such as [16, 8, 16]' $matmul --why-not '{"mma": {"m": 16}}'

[ "$failures" -eq 0 ]
