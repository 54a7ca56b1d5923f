#!/bin/sh
# On the machine with the GPU: bundles of the gate "gpu", several at a time (times would disturb each
# other, values do not).
#
#     sh tests/gpu/run.sh WORKER IN OUT JOBS
#
# Links IN's bundles into JOBS folders by turns, judges them side by side, gathers verdicts in OUT.
set -eu
worker=$1 in=$(realpath "$2") out=$3 jobs=$4
parts=$(mktemp -d)
mkdir -p "$out"
trap 'kill $(jobs -p) 2>/dev/null; rm -rf "$parts" "$parts.cache"' EXIT INT TERM
turn=0
for bundle in "$in"/*.json; do
    mkdir -p "$parts/$turn"
    ln -s "$bundle" "$parts/$turn/"
    turn=$(((turn + 1) % jobs))
done
for part in "$parts"/*; do
    "$worker" evaluate "$part" "$out" --gpu-only --cache "$parts.cache" &
done
wait
