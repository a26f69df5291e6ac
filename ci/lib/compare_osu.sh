# shellcheck shell=bash
# OSU's osu_bcast under Open MPI with the preloaded library and without, over the same device. Needs compare.sh and what it
# needs, and OSU_BCAST, the program.
#
# COMPARE/osu-RANKS.txt   bytes, µs of a broadcast of each (medians of the rounds), and their ratio
#        osu-RANKS/       what each round said, and the statistics of those with the library

OSU_ROUNDS=5

# Builds what is preloaded.
compare_osu_prepare() { mpi_with openmpi mpi_library build --lib; }

# Usage: compare_osu_once RANKS [NAME=VALUE…]. Prints bytes and µs.
compare_osu_once() {
    local launcher ranks=$1
    mapfile -t launcher < <(RANKS=$ranks compare_launcher openmpi)
    env "${COMPARE_SETTINGS[@]}" ci/softroce exec --nics 1 --timeout 600 -- "${launcher[@]}" \
        env "${@:2}" "$OSU_BCAST" -m 1:1048576 -i 100 -x 10 </dev/null | awk '$1 ~ /^[0-9]+$/ { print $1, $2 }'
}

# Usage: compare_osu_rounds RANKS FOLDER. Plain and preloaded in turn.
compare_osu_rounds() {
    local round
    for ((round = 1; round <= OSU_ROUNDS; round++)); do
        step "osu_bcast with $1 ranks, round $round of $OSU_ROUNDS"
        compare_osu_once "$1" >>"$2/plain" || return
        # Not those of a library that left all to MPI.
        rm -f "$2/statistics"
        compare_osu_once "$1" "LD_PRELOAD=$REPO/target/openmpi/release/libverbcast.so" VERBCAST_DEVICE=rxe0 \
            VERBCAST_ONE_NODE=use VERBCAST_STATS="$2/statistics" >>"$2/preloaded" || return
        grep -q ': multicast: [1-9]' "$2/statistics" || return
    done
}

# Usage: compare_osu_table PLAIN PRELOADED, files of bytes and µs
compare_osu_table() {
    echo "bytes plain preloaded ratio"
    join -j 1 <(compare_medians <"$1") <(compare_medians <"$2") | sort -n |
        awk '{ printf "%d %.0f %.0f %.2f\n", $1, $2, $3, $3 / $2 }'
}

# Of each first number on standard input the median of the second.
compare_medians() {
    sort -k 1,1n -k 2,2n |
        awk 'function tell() { if (n) print size, times[int((n + 1) / 2)] }
            $1 != size { tell(); size = $1; n = 0 }
            { times[++n] = $2 }
            END { tell() }' | sort -k 1,1
}

# Leaves what could not be measured in FAILED.
compare_osu() {
    local ranks folder
    for ranks in 4 8; do
        folder=$COMPARE/osu-$ranks
        mkdir -p "$folder"
        if ! compare_osu_rounds "$ranks" "$folder"; then
            FAILED+=("osu-$ranks")
            continue
        fi
        step "osu_bcast with $ranks ranks, µs, and preloaded over plain"
        compare_osu_table "$folder/plain" "$folder/preloaded" | column -t | tee "$folder.txt"
    done
}
