#!/bin/bash
# Has verbcast bench broadcast back to back with every request to the device counted, a short time and a longer one.
# Usage: ledger.sh VERBCAST COUNTER FOLDER RANKS LIST
#
# Each line of LIST is NUMBER CONTENDER SIZE SHORT LONG. FOLDER/NUMBER-N.RANK gets what each rank counted with N
# broadcasts, and FOLDER/NUMBER-N.json what verbcast bench says.
set -euo pipefail

verbcast=$1 counter=$2 folder=$3 ranks=$4 list=$5
while read -r number contender size short long; do
    for count in "$short" "$long"; do
        at=$folder/$number-$count
        COUNT_VERBS=$at LD_PRELOAD=$counter "$verbcast" bench throughput --ranks "$ranks" \
            --device "$VERBCAST_TEST_DEVICES" --contender "$contender" --sizes "$size:$size" --iterations "$count" \
            --warmup 0 --validate off --json "$at.json" </dev/null >"$at.txt" ||
            echo "$contender with $size bytes: not measured" >&2
    done
done <"$list"
