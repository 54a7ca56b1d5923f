#!/bin/sh
# The help texts; BLESS=1 rewrites them.
set -eu
PROGRAM=${PROGRAM:-build/warpwright}
folder=tests/golden/help
scratch=build/scratch/golden-help
mkdir -p "$folder" "$scratch"
status=0
topics=$("$PROGRAM" help | sed -n 's/^  \([a-z-]*\)  *[A-Z].*/\1/p')
for topic in '' $topics; do
    file=${topic:-warpwright}.txt
    "$PROGRAM" help $topic >"$scratch/$file"
    if [ "${BLESS:-}" ]; then
        cp "$scratch/$file" "$folder/$file"
    else
        diff -u "$folder/$file" "$scratch/$file" || status=1
    fi
done
exit $status
