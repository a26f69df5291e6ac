#!/bin/bash
# How fast a file of 64 MiB comes to all ranks, beside a bare multicast of as many bytes; they take turns.
# Usage: copy_rate.sh VERBCAST RANKS ROUNDS
set -euo pipefail
# What fails in $(…) ends the script too.
shopt -s inherit_errexit

verbcast=$1 ranks=$2 rounds=$3
# In memory: the shared folder is much slower under emulation.
folder=$(mktemp -d /dev/shm/copy.XXXXXX)
trap 'rm -rf "$folder"' EXIT
on=(--ranks "$ranks" --device "$VERBCAST_TEST_DEVICES")
head -c 64M /dev/urandom >"$folder/src"

# Prints 10⁶ bytes a second to each rank.
copy() {
    VERBCAST_ALGORITHM=$1 "$verbcast" copy "$folder/src" "$folder/dst.{rank}" "${on[@]}" |
        awk '/ bytes in / { printf "%.2f", $1 / $4 / 1e6; found = 1 } END { exit !found }'
    rm -f "$folder"/dst.*
}

raw() {
    "$verbcast" bench throughput --algorithms raw --sizes 64M:64M --iterations 1 --warmup 0 --validate off "${on[@]}" |
        awk '/^67108864 / { printf "%.2f", $2; found = 1 } END { exit !found }'
}

echo "# 64 MiB to $ranks ranks, MB/s (10⁶ bytes a second) to each"
echo "# raw: multicast alone; the others: verbcast copy with VERBCAST_ALGORITHM"
printf '%10s %10s %10s\n' raw auto window
for ((round = 0; round < rounds; round++)); do
    raw=$(raw)
    auto=$(copy auto)
    window=$(copy window)
    printf '%10s %10s %10s\n' "$raw" "$auto" "$window"
done
