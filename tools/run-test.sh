#!/bin/sh
# Runs one test and keeps its tally.
#
#     run-test.sh NAME KIND COMMAND [ARGUMENT...]
#
# KIND says how a run is counted: "cmocka" by the TAP lines it prints, each test it announced and did
# not report being a failure (so a crash is one); "whole" by its exit status alone, 77 meaning skipped.
# The tally, "passed failed skipped seconds", goes to $RESULTS/NAME.tally, the output to NAME.log.
set -u
name=$1 kind=$2
shift 2
log=$RESULTS/$name.log
mkdir -p "$(dirname "$log")"

# The first complaints of compilers, linkers and makes, and the end.
excerpt() {
    if [ "$(wc -l <"$log")" -gt 40 ]; then
        head -n -20 "$log" | grep -aE 'error:|undefined reference|\*\*\*' | head -n 20
        echo ...
    fi
    tail -n 20 "$log"
}

start=$(date +%s%N)
CMOCKA_MESSAGE_OUTPUT=TAP timeout -k 5 "${TEST_SECONDS_MAX:-600}" "$@" >"$log" 2>&1 </dev/null
status=$?
end=$(date +%s%N)

awk -v kind="$kind" -v status="$status" -v ns="$((end - start))" '
    /^1\.\.[0-9]+/               { planned += substr($0, 4); next }
    /^(not )?ok .*# SKIP/        { skipped++; next }
    /^ok [0-9]/                  { passed++; next }
    /^not ok [0-9]/              { failed++; next }
    END {
        if (kind == "whole") {
            passed = status == 0
            skipped = status == 77
            failed = !passed && !skipped
        } else {
            seen = passed + failed + skipped
            if (planned > seen)
                failed += planned - seen
            if (failed == 0 && (status != 0 || seen == 0))
                failed = 1
        }
        printf "%d %d %d %.2f\n", passed, failed, skipped, ns / 1e9
    }' "$log" >"$RESULTS/$name.tally"

read -r passed failed skipped seconds <"$RESULTS/$name.tally"
if [ "$failed" -ne 0 ]; then
    printf '  FAILED  %s (status %d, %s s); from %s:\n%s\n' "$name" "$status" "$seconds" "$log" \
        "$(excerpt | tr -d '\000' | sed 's/^/    | /')"
elif [ "${VERBOSE:-}" ]; then
    printf '  %-60s %4d passed %3d skipped %8s s\n' "$name" "$passed" "$skipped" "$seconds"
fi
grep -a '# SKIP' "$log" | sed "s|^.*# SKIP|  skipped $name:|"
exit 0
