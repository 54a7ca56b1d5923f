#!/bin/sh
# What `plan` says of two specs; BLESS=1 rewrites it.
set -eu
PROGRAM=${PROGRAM:-build/warpwright}
folder=tests/golden/plan
scratch=build/scratch/golden-plan
mkdir -p "$folder" "$scratch"
status=0

same() { # FILE ARGUMENT...
    file=$1
    shift
    "$PROGRAM" plan "$@" >"$scratch/$file"
    if [ "${BLESS:-}" ]; then
        cp "$scratch/$file" "$folder/$file"
    else
        diff -u "$folder/$file" "$scratch/$file" || status=1
    fi
}

same softmax.txt kernels/ops/softmax.json --explain --best 1 --vary sm_count=64..132
same causal_attention.txt kernels/ops/causal_attention.json --explain --best 1 \
    --why-not '{"region": 0, "tile": {"i": 256, "d": 64}}'
same layernorm.json kernels/ops/layernorm.json --json --best 1
same hwwfc.txt kernels/ops/transformer_mlp.json --preset hwwfc --machine rtx3060 --explain
exit $status
