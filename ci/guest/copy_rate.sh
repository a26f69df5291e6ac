#!/bin/bash
# How fast a file of 64 MiB comes to all ranks, also where each of them loses a tenth of the datagrams, beside as many bytes as
# a stream of broadcasts of 1 MiB, and beside the files alone. They take turns.
# Usage: copy_rate.sh VERBCAST RANKS ROUNDS
set -euo pipefail
# What fails in $(…) ends the script too.
shopt -s inherit_errexit

verbcast=$1 ranks=$2 rounds=$3
algorithms=(bare raw window) hashes=(sha256 blake3 none)
# Random, and another at each rank.
loss=loss=0.1,seed=1
# In memory: the shared folder is much slower under emulation.
folder=$(mktemp -d /dev/shm/copy.XXXXXX)
trap 'rm -rf "$folder"' EXIT
on=(--ranks "$ranks" --device "$VERBCAST_TEST_DEVICES")
head -c 64M /dev/urandom >"$folder/src"

# Prints 10⁶ bytes a second to each rank. Usage: copy HASH [OPTION…]
copy() {
    "$verbcast" copy "$folder/src" "$folder/dst.{rank}" --hash "$1" "${@:2}" "${on[@]}" |
        awk '/ bytes in / { printf "%.2f", $1 / $4 / 1e6; found = 1 } END { exit !found }'
    rm -f "$folder"/dst.*
}

# The same of broadcasts back to back. Usage: stream ALGORITHM
stream() {
    "$verbcast" bench throughput --algorithms "$1" --sizes 1M:1M --iterations 64 --warmup 2 --validate off "${on[@]}" |
        awk '/^1048576 / { printf "%.2f", $2; found = 1 } END { exit !found }'
}

# The same of the files alone: all that copy writes, written at once and without a network.
files() {
    local began rank writers=()
    began=$EPOCHREALTIME
    for ((rank = 1; rank < ranks; rank++)); do
        dd if=/dev/zero of="$folder/dst.$rank" bs=1M count=64 status=none &
        writers+=($!)
    done
    for rank in "${writers[@]}"; do wait "$rank"; done
    awk -v began="$began" -v ended="$EPOCHREALTIME" 'BEGIN { printf "%.2f", 64 * 1048576 / (ended - began) / 1e6 }'
    rm -f "$folder"/dst.*
}

# Prints a rate. What fails in an argument of printf would not end the script. Usage: column WIDTH COMMAND…
column() {
    local rate
    rate=$("${@:2}")
    printf '%*s ' "$1" "$rate"
}

echo "# 64 MiB to $ranks ranks, MB/s (10⁶ bytes a second) to each; kernel $(uname -r)"
echo "# ${algorithms[*]}: broadcasts of 1 MiB; ${hashes[*]}: verbcast copy with that --hash;"
echo "# lossy: with --fault $loss; files: what copy writes, by dd"
for name in "${algorithms[@]}" "${hashes[@]}"; do printf '%8s ' "$name"; done
printf '%12s %12s %8s\n' sha256-lossy none-lossy files
for ((round = 0; round < rounds; round++)); do
    for algorithm in "${algorithms[@]}"; do column 8 stream "$algorithm"; done
    for hash in "${hashes[@]}"; do column 8 copy "$hash"; done
    for hash in sha256 none; do column 12 copy "$hash" --fault "$loss"; done
    column 8 files
    echo
done
