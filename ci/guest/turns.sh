#!/bin/bash
# Counts the instructions of a root and of a leaf in the program turns of benches: the other rank runs as it is.
# Usage: turns.sh TURNS FOLDER. FOLDER/turns.RANK gets what Callgrind says, FOLDER/traced.RANK that of a rank which writes a
# timeline, and FOLDER/node.RANK that of one which shares memory with the other.
set -euo pipefail

turns=$1 folder=$2

# Usage: as_rank RANK COMMAND… Under Callgrind calls are so slow that each would have its acknowledgement fall due, and a rank
# may take more than half a minute to start.
as_rank() {
    VERBCAST_SIZE=2 VERBCAST_TIMEOUT=180 VERBCAST_RENDEZVOUS=unix:/tmp/$what.$counted VERBCAST_TOKEN=turns VERBCAST_RANK=$1 \
        VERBCAST_DEVICE=$VERBCAST_TEST_DEVICES VERBCAST_ALGORITHM=window VERBCAST_ACKNOWLEDGE_AFTER=10000000 "${@:2}" </dev/null
}

# Usage: count_both WHAT [NAME=VALUE]. Both ranks have the setting.
count_both() {
    local what=$1 other
    for counted in 0 1; do
        as_rank $((1 - counted)) env "${@:2}" "$turns" &
        other=$!
        as_rank "$counted" env "${@:2}" valgrind --quiet --tool=callgrind --callgrind-out-file="$folder/$what.$counted" \
            --toggle-collect='turns::counted_*' "$turns"
        wait "$other"
    done
}

timelines=$(mktemp -d)
trap 'rm -rf "$timelines"' EXIT
count_both turns
count_both traced VERBCAST_TRACE="$timelines"
count_both node VERBCAST_NODES=shared
