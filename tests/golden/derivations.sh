#!/bin/sh
# What `plan --rewrite` makes of naive specs, one derivation a line of list.txt; BLESS=1 rewrites it.
# What it writes as a spec is read again, and is the same.
set -eu
PROGRAM=${PROGRAM:-build/warpwright}
folder=tests/golden/derivations
scratch=build/scratch/golden-derivations
mkdir -p "$scratch"
status=0

derive() { # NAME SPEC REWRITES
    "$PROGRAM" plan "$2" --rewrite "$3" --spec-out "$scratch/$1.json" >"$scratch/$1.txt" ||
        { cat "$scratch/$1.txt" && echo "$1: not legal" && status=1 && return; }
    "$PROGRAM" plan "$scratch/$1.json" --best 1 >/dev/null || { echo "$1: no plan" && status=1; }
    if [ "${BLESS:-}" ]; then
        cp "$scratch/$1.txt" "$folder/$1.txt"
    else
        diff -u "$folder/$1.txt" "$scratch/$1.txt" || status=1
    fi
}

while IFS='|' read -r name spec rewrites; do
    case $name in '' | '#'*) continue ;; esac
    derive "$(echo "$name" | tr -d ' ')" "$(echo "$spec" | tr -d ' ')" \
        "$(echo "$rewrites" | tr -d ' ')"
done <"$folder/list.txt"
exit $status
