#!/bin/sh
# Makes bundles for a machine with a GPU, which then needs neither this tree nor a compiler of C:
#
#     sh tests/gpu/pack.sh OUT cases|headline|taped|specs|kernels|joint|sample [NAME...]
#
#   cases     kernels that cheat, and honest ones, of tests/cases/cheats: gate "gpu" at small targets
#   headline  the realised kernels of five specs at their target shapes: gate "time"
#   taped     the kernels that a model wrote on tests/tapes, each that is accepted: gate "time"
#   specs     the realised kernel of every spec of kernels/ops: gate "gpu"
#   kernels   kernels of tests/cases/cuda and tests/gpu/kernels against specs of their own: gate "gpu"
#   joint     plans that differ in the direction of their regions' walks only, as SPEC-VARIANT (see
#             tests/gpu/joint.c; make build/gcc/tests/gpu/joint first): gate "time"
#   sample    COUNT plans from all over the space of each spec NAME=COUNT, as NAME-N (tests/gpu/joint.c)
#
# Then, over there:  warpwright-worker evaluate OUT VERDICTS --gpu-only
# or, where times are all that is asked for (sample):  build/gcc/tests/gpu/times OUT >TIMES.jsonl
set -eu
program=${PROGRAM:-build/warpwright}
out=$1 what=$2
shift 2
made=build/gpu/made
mkdir -p "$out" "$made"

# The realised kernel of a spec, verified on the emulator, in $made/NAME.
realise() {
    [ -s "$made/$1/kernel.cu" ] ||
        "$program" synth "kernels/ops/$1.json" --llm none --attempts 1 --seed 1 --out "$made/$1"
}

# The pairs of plans of a spec at a shape, as bundles SPEC[-TAG]-VARIANT; variants that are the same
# kernel are packed once.
pairs() {
    spec=$1 tag=$2 shape=$3
    shift 3
    name=$(basename "$spec" .json)$tag
    rm -rf "$made/joint-$name"
    "$joint" "$spec" "$made/joint-$name" "$shape" ${count:+"$count"} >"$made/joint.tsv"
    sed "s/^/$name\t/" "$made/joint.tsv" >>"$out/LIST.tsv"
    for variant; do
        for before in "$@"; do
            [ "$before" = "$variant" ] && break
            cmp -s "$made/joint-$name/$before/kernel.cu" "$made/joint-$name/$variant/kernel.cu" &&
                continue 2
        done
        "$program" evaluate --pack "$out/$name-$variant.json" "$spec" \
            "$made/joint-$name/$variant/kernel.cu" --plan "$made/joint-$name/$variant/plan.json" \
            ${shape:+--shape "$shape"} --gate "${GATE:-time}" --seed 7
    done
}

joint=${JOINT:-build/gcc/tests/gpu/joint}
case $what in
cases)
    for name in "${@:-$(ls tests/cases/cheats/*.cu)}"; do
        for file in $name; do
            case_name=$(basename "$file" .cu)
            manifest=tests/cases/cheats/$case_name.json
            op=$(sed -n 's/.*"op": *"\([a-z0-9_]*\)".*/\1/p' "$manifest" | head -n 1)
            "$program" evaluate --pack "$out/$case_name.json" "tests/cases/ops/$op.json" \
                "tests/cases/cheats/$case_name.cu" --manifest "$manifest" --gate gpu --seed 3
        done
    done
    ;;
headline)
    for name in "${@:-softmax layernorm matmul matmul_bias_gelu_bf16 conv2d}"; do
        for op in $name; do
            realise "$op" >/dev/null
            "$program" evaluate --pack "$out/$op.json" "kernels/ops/$op.json" \
                "$made/$op/kernel.cu" --plan "$made/$op/plan.json" --gate time --seed 4
        done
    done
    ;;
taped)
    for name in "${@:-$(ls tests/tapes/*.jsonl)}"; do
        for tape in $name; do
            op=$(basename "$tape" .jsonl)
            "$program" synth "kernels/ops/$op.json" --replay "$tape" --seed 1 \
                --out "$made/taped-$op" >/dev/null
            for attempt in "$made/taped-$op"/attempt-*; do
                [ "${attempt##*-}" -gt 1 ] &&
                    grep -q '"validity":"accepted"' "$attempt/verdict.json" || continue
                "$program" evaluate --pack "$out/$op-${attempt##*-}.json" "kernels/ops/$op.json" \
                    "$attempt/kernel.cu" --plan "$attempt/plan.json" --gate time --seed 4
            done
        done
    done
    ;;
specs)
    for file in kernels/ops/*.json; do
        op=$(basename "$file" .json)
        realise "$op" >/dev/null || { echo "$op: not accepted on the emulator" >&2; continue; }
        plan=
        [ -s "$made/$op/plan.json" ] && plan="--plan $made/$op/plan.json"
        # shellcheck disable=SC2086
        "$program" evaluate --pack "$out/$op.json" "$file" "$made/$op/kernel.cu" $plan \
            --gate gpu --seed 5
    done
    ;;
kernels)
    while IFS="$(printf '\t')" read -r kernel source; do
        "$program" evaluate --pack "$out/$kernel.json" "tests/gpu/kernels/$kernel.spec.json" \
            "$source" --manifest "tests/gpu/kernels/$kernel.manifest.json" --gate gpu --seed 6
    done <tests/gpu/kernels/LIST.tsv
    ;;
joint)
    : >"$out/LIST.tsv"
    for megabytes in 8 16 24 32 48 64 96 128 256; do
        pairs tests/cases/joint/walk_pair.json "-$megabytes" "M=$((megabytes * 64)),N=4096" \
            forward alternate
    done
    for name in chain matmul_layernorm residual rows_map softmax; do
        pairs "tests/cases/joint/walk_$name.json" "" "" forward joint
    done
    # Here regions also share what no edge of a plan stands for.
    for name in tests/cases/joint/walk_columns tests/cases/joint/walk_layernorm_axes \
        kernels/ops/groupnorm; do
        pairs "$name.json" "" "" forward joint alternate counter
    done
    pairs kernels/ops/batchnorm.json "" "" forward alternate
    ;;
sample)
    for name; do
        count=${name#*=}
        # shellcheck disable=SC2046
        pairs "kernels/ops/${name%=*}.json" "" "" $(seq 0 $((count - 1)))
    done
    ;;
*) echo "usage: pack.sh OUT cases|headline|taped|specs|kernels|joint|sample [NAME...]" >&2; exit 2 ;;
esac
