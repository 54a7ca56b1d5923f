#!/bin/sh
# The help texts; BLESS=1 rewrites them.
set -eu
PROGRAM=${PROGRAM:-build/warpwright}
folder=tests/golden/help
scratch=build/scratch/golden-help
mkdir -p "$folder" "$scratch"
status=0
for topic in '' synth verify selftest doctor help version; do
    file=${topic:-warpwright}.txt
    "$PROGRAM" help $topic >"$scratch/$file"
    if [ "${BLESS:-}" ]; then
        cp "$scratch/$file" "$folder/$file"
    else
        diff -u "$folder/$file" "$scratch/$file" || status=1
    fi
done
# Every command that the overview names has a text here.
for topic in $("$PROGRAM" help | sed -n 's/^  \([a-z-]*\) .*/\1/p'); do
    [ -e "$folder/$topic.txt" ] || { echo "no $folder/$topic.txt"; status=1; }
done
exit $status
