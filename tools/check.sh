#!/bin/sh
# `make check`, `make check-all` and `make check-full`: builds, runs the suites one after the other,
# and closes with a line that says how many tests passed, failed and were skipped.
#
#     MAKE=make check.sh check|check-all|check-full
#
# Fails when a test fails, when nothing ran, or when the whole took longer than its budget.  A program
# that does not build counts as a failed test.  Environment: JOBS, FUZZ_SECONDS (a target), VERBOSE.
set -u
mode=$1
JOBS=${JOBS:-$(nproc)}
FUZZ_SECONDS=${FUZZ_SECONDS:-3}
RESULTS=build/results/$mode
export RESULTS
total_passed=0 total_failed=0 total_skipped=0
began=$(date +%s)

case $mode in
check) budget=900 ;;
check-all) budget=2700 ;;
check-full) budget=7200 ;;
*) echo "usage: check.sh check|check-all|check-full" >&2; exit 2 ;;
esac

rm -rf "$RESULTS" build/scratch
mkdir -p "$RESULTS"

# The value of a variable of the Makefile, in a configuration.
ask() { # VARIABLE [NAME=VALUE...]
    variable=$1
    shift
    "$MAKE" -s --no-print-directory "$@" "print-$variable"
}

# suite NAME KIND LISTER [ARGUMENT...]: LISTER prints "name<TAB>command" lines, which are run JOBS at
# a time and added up.
suite() {
    suite_name=$1 kind=$2
    suite_start=$(date +%s%N)
    shift 2
    "$@" | awk -F '\t' -v suite="$suite_name" -v kind="$kind" \
        '{ printf "sh tools/run-test.sh %s/%s %s %s\n", suite, $1, kind, $2 }' | tr '\n' '\0' |
        xargs -0 -r -n 1 -P "$JOBS" sh -c
    add_suite
}

add_suite() {
    set -- $(find "$RESULTS/$suite_name" -name '*.tally' -exec cat {} + 2>/dev/null |
        awk '{ p += $1; f += $2; s += $3 } END { print p + 0, f + 0, s + 0 }')
    total_passed=$((total_passed + $1))
    total_failed=$((total_failed + $2))
    total_skipped=$((total_skipped + $3))
    printf '%-24s %5d passed %3d failed %3d skipped %8.1f s\n' "$suite_name" "$1" "$2" "$3" \
        "$(awk -v a="$suite_start" -v b="$(date +%s%N)" 'BEGIN { print (b - a) / 1e9 }')"
}

# One test that is a make target.  Makes run one at a time, and each uses all cores.
make_suite() { # NAME TARGET... [NAME=VALUE...]
    suite_name=$1
    shift
    suite_start=$(date +%s%N)
    TEST_SECONDS_MAX=3000 sh tools/run-test.sh "$suite_name/make" whole \
        "$MAKE" --no-print-directory -k -j"$JOBS" "$@"
    add_suite
}

# "name<TAB>program" for each program of a list, named by its path in the suite's folder.
programs() {
    for program in "$@"; do
        printf '%s\t%s\n' "${program#build/*/tests/*/}" "$program"
    done
}

scripts() { # FOLDER PROGRAM
    for script in tests/"$1"/*.sh; do
        [ -e "$script" ] && printf '%s\tenv PROGRAM=%s sh %s\n' "${script##*/}" "$2" "$script"
    done
}

replays() {
    for target in "$@"; do
        corpus=tests/fuzz/corpus/${target##*/fuzz_}
        printf '%s\t%s %s/*\n' "${target##*/}" "$target" "$corpus"
    done
}

explorations() {
    for target in "$@"; do
        name=${target##*/fuzz_}
        work=build/fuzz/$name
        mkdir -p "$work"
        printf '%s\t%s %s tests/fuzz/corpus/%s -seed=1 -max_total_time=%d -timeout=20 -rss_limit_mb=4096 %s\n' \
            "$name" "$target" "$work" "$name" "$FUZZ_SECONDS" "-artifact_prefix=build/fuzz/$name-"
    done
}

run_check() {
    program=$(ask PROGRAM)
    make_suite build "$(ask TIDY)" all unit integration fuzz
    suite unit cmocka programs $(ask UNIT)
    suite integration cmocka programs $(ask INTEGRATION)
    suite golden whole scripts golden "$program"
    suite cli whole scripts cli "$program"
    suite fuzz-replay whole replays $(ask FUZZ)
    make_suite headers headers
    make_suite tidy tidy
}

run_check_all() {
    sanitized=SAN=address,undefined
    make_suite sanitized-build $sanitized all unit fuzz
    suite sanitized-unit cmocka programs $(ask UNIT $sanitized)
    suite sanitized-fuzz-replay whole replays $(ask FUZZ $sanitized)
    make_suite clang-build CC=clang all unit
    suite clang-unit cmocka programs $(ask UNIT CC=clang)
    explorer='CC=clang SAN=fuzzer,address,undefined'
    make_suite fuzz-build $explorer fuzz
    suite fuzz whole explorations $(ask FUZZ $explorer)
}

# Everything on every case, and the integration tests under sanitizers: before a release, not in CI.
run_check_full() {
    sanitized=SAN=address,undefined
    make_suite sanitized-build $sanitized all integration
    suite sanitized-integration cmocka programs $(ask INTEGRATION $sanitized)
    FULL_CASES=1
    export FULL_CASES
    make_suite full-build all integration
    suite full-integration cmocka programs $(ask INTEGRATION)
}

case $mode in
check) run_check ;;
check-all) run_check_all ;;
check-full) run_check_full ;;
esac

seconds=$(($(date +%s) - began))
printf '%-24s %41d s of %d\n' total "$seconds" "$budget"
if [ "$seconds" -gt "$budget" ]; then
    echo "over budget: make $mode may take $budget s"
    total_failed=$((total_failed + 1))
fi
echo "$total_passed passed, $total_failed failed, $total_skipped skipped"
[ "$total_failed" -eq 0 ] && [ "$total_passed" -gt 0 ]
