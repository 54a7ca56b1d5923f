#!/bin/sh
# Wrong commands: each ends with its exit status and says what is wrong, on stderr, and nothing on
# stdout.  One line a case: status | what stderr must hold | arguments.
set -u
PROGRAM=${PROGRAM:-build/warpwright}
scratch=build/scratch/cli-usage
mkdir -p "$scratch"
printf '{"manifest": 1, "arch": "sm_90", "guard": "true", "kernels": [' >"$scratch/cut.json"
printf '{"manifest": 1, "arch": "sm_90", "guard": "true", "kernels": [], "colour": 1}' >"$scratch/key.json"
printf 'x' >"$scratch/kernel.txt"
cp tests/cases/cheats/ok_relu.cu "$scratch/alone.cu"
sed 's/max(x/mix(x/' tests/cases/ops/relu.json >"$scratch/typo.json"
relu=tests/cases/ops/relu.json
kernel=tests/cases/cheats/ok_relu.cu
failures=0

check() { # STATUS TEXT ARGUMENT...
    wanted=$1 text=$2
    shift 2
    "$PROGRAM" "$@" >"$scratch/out" 2>"$scratch/err"
    got=$?
    if [ "$got" -ne "$wanted" ] || ! grep -qF -- "$text" "$scratch/err" || [ -s "$scratch/out" ]; then
        echo "status $got, wanted $wanted with \"$text\": warpwright $*"
        sed 's/^/    | /' "$scratch/err" "$scratch/out"
        failures=$((failures + 1))
    fi
}

check 2 'usage: warpwright COMMAND'
check 2 'did you mean synth?' syth
check 2 'there is no command "frobnicate"' frobnicate
check 2 'did you mean verify?' help verfy
check 2 'one argument too many' version now
check 2 'an argument is missing' verify $relu
check 2 'did you mean --manifest?' verify --manifst x $relu $kernel
check 2 'has no short option -v' verify -v $relu $kernel
check 2 '--json takes no value' verify --json=1 $relu $kernel
check 2 '--seed wants a number' verify --seed soon $relu $kernel
check 2 '--seed wants a number' verify --seed -1 $relu $kernel
check 2 '--seeds wants an integer from 1 to 1000' verify --seeds 0 $relu $kernel
check 2 'a kernel is a .cu, .ptx or .cubin file' verify $relu "$scratch/kernel.txt"
check 2 'alone.json is missing' verify $relu "$scratch/alone.cu"
check 2 'no-such.json' verify no-such.json $kernel
check 2 'no-such.cu' verify $relu no-such.cu --manifest tests/cases/cheats/ok_relu.json
check 2 'cut.json' verify $relu $kernel --manifest "$scratch/cut.json"
check 2 'colour' verify $relu $kernel --manifest "$scratch/key.json"
check 2 'typo.json' verify "$scratch/typo.json" $kernel
check 2 'has no track "tf64"' verify $relu $kernel --track tf64
check 2 '--shape' verify $relu $kernel --shape m=3
check 2 '--shape' verify $relu $kernel --shape n=0
check 2 'who writes the kernels?' synth $relu
check 2 '--attempts wants an integer from 1 to 64' synth $relu --llm none --attempts 65
check 2 'say --ptx DIR or --cheats DIR' selftest
check 2 'no-such-folder' selftest --ptx no-such-folder

# Help goes to stdout and is no error.
"$PROGRAM" verify --help >"$scratch/out" 2>"$scratch/err" && [ -s "$scratch/out" ] &&
    [ ! -s "$scratch/err" ] || { echo 'verify --help failed'; failures=$((failures + 1)); }

[ "$failures" -eq 0 ] || echo "$failures cases failed"
[ "$failures" -eq 0 ]
