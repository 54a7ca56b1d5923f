#!/bin/sh
# How tools/run-test.sh counts: each way a test program can end, against the tally it must give.
set -eu
RESULTS=build/scratch/tally
export RESULTS
rm -rf "$RESULTS"
mkdir -p "$RESULTS"
wrong=0

expect() { # TALLY KIND SCRIPT
    sh tools/run-test.sh case "$2" sh -c "$3" >/dev/null
    read -r passed failed skipped _ <"$RESULTS/case.tally"
    if [ "$1" != "$passed $failed $skipped" ]; then
        echo "$2 '$3': $passed $failed $skipped, want $1"
        wrong=1
    fi
}

expect "2 0 0" cmocka 'printf "1..2\nok 1 - a\nok 2 - b\n"'
expect "1 1 0" cmocka 'printf "1..2\nok 1 - a\nnot ok 2 - b\n"; exit 1'
expect "1 0 1" cmocka 'printf "1..2\nok 1 - a\nnot ok 2 # SKIP b\n"'
expect "1 2 0" cmocka 'printf "1..3\nok 1 - a\n"; kill -SEGV $$'
expect "2 1 0" cmocka 'printf "1..2\nok 1 - a\nok 2 - b\n"; kill -ABRT $$'
expect "3 0 0" cmocka 'printf "1..1\nok 1 - a\n1..2\nok 1 - a\nok 2 - b\n"'
expect "0 1 0" cmocka 'exit 0'
expect "0 1 0" cmocka 'printf "1..0\n"'
expect "0 1 0" cmocka 'exec build/no-such-program'
expect "1 0 0" whole 'exit 0'
expect "0 1 0" whole 'echo "ok 1 - a"; exit 1'
expect "0 0 1" whole 'exit 77'
TEST_SECONDS_MAX=1
export TEST_SECONDS_MAX
expect "1 1 0" cmocka 'printf "1..2\nok 1 - a\n"; sleep 60'
expect "0 1 0" whole 'sleep 60'
exit $wrong
