#!/bin/sh
# Records a tape: synth's real client against the loopback relay.
#
#     sh tests/tapes/record.sh SPEC TAPE FOLDER [synth option...]
#
# Each question appears as FOLDER/NNN.request.json; whoever plays the model gets that and nothing else,
# and writes the answer to another file that is then renamed to FOLDER/NNN.reply.txt.  Answers are
# never edited.  PROGRAM and MODEL (the name that the tape gives the model) may be set.
set -eu
program=${PROGRAM:-build/warpwright}
relay=$(dirname "$(realpath "$program")")/tests/relay/relay
spec=$1 tape=$2 folder=$3
shift 3
mkdir -p "$folder"
"$relay" --folder "$folder" --model "${MODEL:-model}" --seconds 7200 >"$folder/port" &
trap 'kill $! 2>/dev/null' EXIT INT TERM
while [ ! -s "$folder/port" ]; do sleep 0.1; done
env -u WARPWRIGHT_API_KEY -u OPENAI_API_KEY "$program" synth "$spec" \
    --llm "http://127.0.0.1:$(cat "$folder/port")/v1" --model "${MODEL:-model}" --deadline 3600 \
    --record "$tape" "$@"
