#!/bin/sh
# Whole prompts; BLESS=1 rewrites them.  The comparison itself is tests/unit/synth/test_prompt_golden.
set -eu
PROGRAM=${PROGRAM:-build/warpwright}
test=$(dirname "$PROGRAM")/tests/unit/synth/test_prompt_golden
[ -x "$test" ] || exit 0
if [ "${BLESS:-}" ]; then
    exec "$test" --bless
fi
exec "$test"
