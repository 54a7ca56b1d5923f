#!/bin/sh
# HW-WFC's recorded results, every number to the bit.
set -eu
PROGRAM=${PROGRAM:-build/warpwright}
"$PROGRAM" bench-solver --check tests/golden/hwwfc/hw-wfc.json
