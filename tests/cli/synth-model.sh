#!/bin/sh
# synth with a model behind it: the loop, the tape, the bank, and what survives kill -9.  The model
# is the loopback relay, with replies written here; needs NVRTC.
set -u
PROGRAM=${PROGRAM:-build/gcc/warpwright}
RELAY=$(dirname "$PROGRAM")/tests/relay/relay
SPEC=tests/cases/ops/relu.json
scratch=build/scratch/cli-synth-model
rm -rf "$scratch"
mkdir -p "$scratch/model"
"$PROGRAM" doctor >/dev/null || { echo "no NVRTC here"; exit 77; }
[ -x "$RELAY" ] || { echo "the relay is not built: $RELAY"; exit 1; }
unset WARPWRIGHT_API_KEY OPENAI_API_KEY
failures=0

bad() {
    echo "$1"
    shift
    for file in "$@"; do sed 's/^/    | /' "$file"; done
    failures=$((failures + 1))
}
holds() { grep -qF -- "$2" "$1" || bad "$1 does not hold: $2" "$1"; }
lacks() { ! grep -qF -- "$2" "$1" || bad "$1 holds: $2" "$1"; }

# A reply with a kernel in it: reply NUMBER SED-SCRIPT, applied to the source.
reply() {
    {
        echo 'Here is the kernel.'
        echo '```cuda'
        sed "$2" tests/cases/cheats/ok_relu.cu
        echo '```'
        echo '```json'
        grep -v '"op"' tests/cases/cheats/ok_relu.json
        echo '```'
    } >"$scratch/model/$1.reply.txt"
}

# The model answers with prose, with what does not compile, with a wrong kernel, and with a right one.
echo 'I would rather talk about it.' >"$scratch/model/001.reply.txt"
reply 002 's/float\* __restrict__ y/flaot* __restrict__ y/'
reply 003 's/: 0\.f/: 0.5f/'
reply 004 ''
"$RELAY" --folder "$scratch/model" --requests 4 --seconds 300 >"$scratch/port" &
relay=$!
tries=0
while [ ! -s "$scratch/port" ] && [ $tries -lt 100 ]; do
    sleep 0.1
    tries=$((tries + 1))
done
url=http://127.0.0.1:$(cat "$scratch/port")/v1

WARPWRIGHT_API_KEY=sk-secret-0123456789 "$PROGRAM" synth $SPEC --llm "$url" --model m --seed 7 \
    --record "$scratch/tape.jsonl" --bank "$scratch/a.db" --out "$scratch/out" \
    >"$scratch/live" 2>"$scratch/live.err" || bad 'synth failed' "$scratch/live" "$scratch/live.err"
kill $relay 2>/dev/null
holds "$scratch/live" '1  realised'
holds "$scratch/live" 'source rejected'
holds "$scratch/live" 'compile error'
holds "$scratch/live" 'wrong'
holds "$scratch/live" '5  model                    accepted'
holds "$scratch/live" 'attempt 1 is accepted on the emulator'
[ "$(wc -l <"$scratch/tape.jsonl")" -eq 4 ] || bad 'the tape has no 4 exchanges' "$scratch/tape.jsonl"

# What an answer came to is in the next question; the key is nowhere.
holds "$scratch/model/003.request.json" 'flaot'
holds "$scratch/model/004.request.json" 'y['
for file in "$scratch"/model/*.request.json "$scratch/tape.jsonl" "$scratch/a.db" "$scratch/live" \
    "$scratch/live.err" "$scratch"/out/*; do
    [ -d "$file" ] || lacks "$file" 'sk-secret'
done

# From tape: the same bytes, without network; strict too; into another bank the same rows.
"$PROGRAM" synth $SPEC --replay "$scratch/tape.jsonl" --strict --seed 7 >"$scratch/replay" \
    2>/dev/null || bad 'replay failed' "$scratch/replay"
cmp -s "$scratch/live" "$scratch/replay" || {
    sed 's/; written to [^ ]*//' "$scratch/live" >"$scratch/live.plain"
    cmp -s "$scratch/live.plain" "$scratch/replay" ||
        bad 'a replay prints something else' "$scratch/live.plain" "$scratch/replay"
}

# The bank: sound, and an attempt can be looked at by its id.
"$PROGRAM" memory check --bank "$scratch/a.db" >"$scratch/check" || bad 'memory check' "$scratch/check"
holds "$scratch/check" '5 attempts, 4 kernels, 5 verdicts: all sound'
"$PROGRAM" memory log --bank "$scratch/a.db" >"$scratch/log" || bad 'memory log' "$scratch/log"
holds "$scratch/log" 'synth relu'
id=$(sed -n 's/^  \([0-9a-f]*\)    4 .*/\1/p' "$scratch/log")
"$PROGRAM" memory show "$id" --bank "$scratch/a.db" >"$scratch/show" || bad 'memory show' "$scratch/show"
holds "$scratch/show" '"table":"kernel"'
holds "$scratch/show" '"validity":"wrong"'

# A server out of reach leaves the attempt open, and the next run goes on from it.
"$PROGRAM" synth $SPEC --llm http://127.0.0.1:1/v1 --model m --deadline 1 --seed 7 \
    --bank "$scratch/d.db" >"$scratch/away" 2>&1
[ $? -eq 2 ] || bad 'not exit 2 without a server' "$scratch/away"
holds "$scratch/away" 'attempt 2 stays open'
holds "$scratch/away" '1  realised'
"$PROGRAM" memory log --bank "$scratch/d.db" >"$scratch/log" || bad 'memory log' "$scratch/log"
holds "$scratch/log" 'no verdict'
"$PROGRAM" synth $SPEC --replay "$scratch/tape.jsonl" --seed 7 --bank "$scratch/d.db" \
    >"$scratch/after" 2>/dev/null || bad 'going on after an outage failed' "$scratch/after"
cmp -s "$scratch/replay" "$scratch/after" ||
    bad 'after an outage it prints something else' "$scratch/replay" "$scratch/after"

# Killed at any moment, and gone on: nothing that was there is run again, and the end is the same.
for delay in 0.3 0.6 1.0 1.5 2.0; do
    "$PROGRAM" synth $SPEC --replay "$scratch/tape.jsonl" --seed 7 --no-cache \
        --bank "$scratch/b.db" >/dev/null 2>>"$scratch/killed.err" &
    pid=$!
    sleep $delay
    kill -9 $pid 2>/dev/null
    wait $pid 2>/dev/null
    [ ! -e "$scratch/b.db" ] || "$PROGRAM" memory check --bank "$scratch/b.db" >"$scratch/check" ||
        bad "the bank is not sound after kill -9 at $delay s" "$scratch/check"
done
"$PROGRAM" synth $SPEC --replay "$scratch/tape.jsonl" --seed 7 --bank "$scratch/b.db" \
    >"$scratch/resumed" 2>"$scratch/resumed.err" || bad 'going on failed' "$scratch/resumed.err"
cmp -s "$scratch/replay" "$scratch/resumed" ||
    bad 'gone on, it prints something else' "$scratch/replay" "$scratch/resumed"
"$PROGRAM" synth $SPEC --replay "$scratch/tape.jsonl" --seed 7 --bank "$scratch/b.db" \
    >"$scratch/again" 2>"$scratch/again.err" || bad 'a third time failed' "$scratch/again.err"
cmp -s "$scratch/replay" "$scratch/again" || bad 'again, it prints something else' "$scratch/again"
[ "$(grep -c 'from the bank' "$scratch/again.err")" -eq 5 ] ||
    bad 'what the bank has was run again' "$scratch/again.err"

# A bank has another name and so other ids; without ids and times the rows are the same.
rows() { "$PROGRAM" memory log --json --bank "$1" | sed 's/"[0-9a-f]\{64\}"/ID/g; s/"[a-z]*_s":[0-9]*//g' | sort; }
rows "$scratch/a.db" | grep -v '"table":"exchange"' >"$scratch/rows.a"
rows "$scratch/b.db" | grep -v '"table":"exchange"' >"$scratch/rows.b"
cmp -s "$scratch/rows.a" "$scratch/rows.b" ||
    bad "two banks of the same tape differ: $(diff "$scratch/rows.a" "$scratch/rows.b" | head -c 2000)"

# The same files as without a bank, although PTX and cubin are not in it; none of an earlier run.
mkdir -p "$scratch/out.again/attempt-2" "$scratch/out.fresh"
echo stale >"$scratch/out.again/attempt-2/kernel.ptx"
"$PROGRAM" synth $SPEC --replay "$scratch/tape.jsonl" --seed 7 --bank "$scratch/b.db" \
    --out "$scratch/out.again" >/dev/null 2>&1
"$PROGRAM" synth $SPEC --replay "$scratch/tape.jsonl" --seed 7 --out "$scratch/out.fresh" \
    >/dev/null 2>&1
diff -r "$scratch/out.fresh" "$scratch/out.again" >"$scratch/diff" ||
    bad 'from the bank, other files are written' "$scratch/diff"
[ -s "$scratch/out.again/kernel.cubin" ] || bad 'no cubin of the best attempt'

# Also where the prompts are no longer the recorded ones.
for run in 1 2; do
    "$PROGRAM" synth $SPEC --replay "$scratch/tape.jsonl" --seed 8 --shape n=100 \
        --bank "$scratch/drift.db" >"$scratch/drift.$run" 2>/dev/null
done
holds "$scratch/drift.1" '4 answers were recorded for a prompt that has been reworded since'
cmp -s "$scratch/drift.1" "$scratch/drift.2" || bad 'drift is forgotten' "$scratch/drift.2"

# Two at once, from the making of the bank on; and a bank whose maker was killed before he began.
for bank in "$scratch/c.db" "$scratch/d.db" "$scratch/e.db"; do
    for run in 1 2; do
        "$PROGRAM" synth $SPEC --replay "$scratch/tape.jsonl" --seed 7 --bank "$bank" \
            >"$scratch/both.$run" 2>"$scratch/both.$run.err" &
    done
    wait
    for run in 1 2; do
        cmp -s "$scratch/replay" "$scratch/both.$run" ||
            bad "two at once, number $run prints something else" "$scratch/both.$run.err"
    done
done
: >"$scratch/empty.db"
"$PROGRAM" synth $SPEC --llm none --seed 7 --bank "$scratch/empty.db" >"$scratch/none" 2>&1 ||
    bad 'an empty file cannot become a bank' "$scratch/none"
"$PROGRAM" synth $SPEC --llm none --seed 7 --bank "$scratch/empty.db" --attempts 3 \
    >"$scratch/none" 2>&1 || bad 'more attempts than before are refused' "$scratch/none"

long=$(printf 'é%.0s' 1 2 3 4 5 6 7 8 9 10)
long=x$long$long$long$long$long$long$long
"$PROGRAM" synth $SPEC --llm none --seed 7 --bank "$scratch/$long" >"$scratch/none" 2>&1 ||
    bad 'a long file name is refused' "$scratch/none"

# A kernel that is right, but not where it is wanted.
sed 's/\(guard[\\": ]*\)true/\1n == 3/' \
    "$scratch/tape.jsonl" >"$scratch/guard.jsonl"
"$PROGRAM" synth $SPEC --replay "$scratch/guard.jsonl" --seed 7 >"$scratch/guard" 2>&1
holds "$scratch/guard" 'it excludes the target shape, n=16777216'

# A damaged bank is told, and not believed.
head -c 20000 "$scratch/b.db" >"$scratch/cut.db"
"$PROGRAM" memory check --bank "$scratch/cut.db" >"$scratch/check" 2>&1
[ $? -eq 1 ] || bad 'half a bank is sound' "$scratch/check"

# Text of strangers on a terminal; results that nobody got.
printf '{"a\033[2J":1}\n' >"$scratch/escape.jsonl"
"$PROGRAM" synth $SPEC --replay "$scratch/escape.jsonl" >"$scratch/escape" 2>&1
lacks "$scratch/escape" "$(printf '\033')"
if [ -c /dev/full ]; then
    "$PROGRAM" memory log --bank "$scratch/b.db" >/dev/full 2>"$scratch/full"
    [ $? -eq 2 ] || bad 'nothing could be printed, and that is done' "$scratch/full"
fi

# What a user gets wrong.
wrong() { # TEXT ARGUMENT...
    text=$1
    shift
    "$PROGRAM" synth $SPEC "$@" >"$scratch/wrong" 2>&1
    [ $? -eq 2 ] || bad "not exit 2: $*" "$scratch/wrong"
    holds "$scratch/wrong" "$text"
}
wrong 'who writes the kernels?'
wrong 'which' --llm "$url"
wrong 'no-such' --replay "$scratch/no-such.jsonl"
wrong 'have no meaning beside it' --llm none --record "$scratch/x.jsonl"
wrong 'h200-sxm' --llm none --machine h2000
wrong 'create folder' --llm none --out "$SPEC/out"
wrong 'no such bank' --llm none --bank ''
wrong 'not a database' --llm none --bank "$SPEC"
wrong 'another --prompt-tokens' --replay "$scratch/tape.jsonl" --seed 7 --bank "$scratch/b.db" \
    --prompt-tokens 30000
wrong 'prints no JSON' --show-prompt --json
wrong '(interrupted)' --replay "$scratch/tape.jsonl" --prompt-tokens 1000
"$PROGRAM" memory check --json --bank "$scratch/a.db" 2>"$scratch/wrong" && bad 'check has no JSON'
"$PROGRAM" memory show 12 --bank "$scratch/a.db" 2>"$scratch/wrong" && bad 'two digits are no id'
"$PROGRAM" memory log --bank "$SPEC" 2>"$scratch/wrong" && bad 'a spec is no bank'

[ "$failures" -eq 0 ]
