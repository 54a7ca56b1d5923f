#!/bin/sh
# The emitted texts; BLESS=1 rewrites them.  The comparison itself is tests/unit/synth/test_synth_golden.
set -eu
PROGRAM=${PROGRAM:-build/warpwright}
test=$(dirname "$PROGRAM")/tests/unit/synth/test_synth_golden
[ -x "$test" ] || exit 0
if [ "${BLESS:-}" ]; then
    exec "$test" --bless
fi
exec "$test"
