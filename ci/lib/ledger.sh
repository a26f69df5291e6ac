# shellcheck shell=bash
# What ci/ledger measures, and how its rows are made. Needs say.sh, and the variables REPO, LEDGER (the folder of what
# comes of it), RANKS, QUICK and CONTENDERS.
#
# LEDGER/ledger.json   an array with an object for each contender and size
#        ledger.txt    the same as a table, and user instructions and what set-up takes below it
#        set_up.json   what the making of communicators takes

# Sizes, and how many broadcasts a short and a long run of each have.
ledger_sizes() {
    echo "8 50 450"
    [[ -n $QUICK ]] || echo "4096 50 450"
    echo "65536 20 120"
    [[ -n $QUICK ]] || echo "1048576 10 30"
}

# Prints what is measured: NUMBER CONTENDER SIZE SHORT LONG in lines.
ledger_list() {
    local contender sizes number=0
    for contender in "${CONTENDERS[@]}"; do
        while read -r sizes; do
            echo "$number $contender $sizes"
            number=$((number + 1))
        done < <(ledger_sizes)
    done
}

# How all ranks wait, and for how many microseconds an acknowledgement may be owed, as in ci/compare.
LEDGER_SETTINGS=(VERBCAST_WAIT=yield VERBCAST_ACKNOWLEDGE_AFTER=100000)

ledger_build() {
    step "building in release mode"
    cargo build --release --quiet -p verbcast-cli
    # With the names of functions.
    cargo build --profile bench --quiet -p verbcast-benches --bin turns --bin set_up
    mkdir -p "$LEDGER"
    cc -O2 -Wall -Wextra -Werror -shared -fPIC -fno-builtin -o "$LEDGER/count_verbs.so" "$REPO/ci/guest/count_verbs.c" \
        -ldl || die "what counts does not build"
}

# Usage: ledger_measure VERBCAST. Counts everything in one machine.
ledger_measure() {
    ledger_list >"$LEDGER/list"
    env "${LEDGER_SETTINGS[@]}" ci/softroce exec --timeout 3600 -- "$REPO/ci/guest/ledger.sh" "$1" \
        "$LEDGER/count_verbs.so" "$LEDGER" "$RANKS" "$LEDGER/list"
}

# Usage: ledger_run NUMBER COUNT. One of its two runs, as JSON.
ledger_run() {
    local at=$LEDGER/$1-$2 rank files=()
    for ((rank = 0; rank < RANKS; rank++)); do files+=("$at.$rank"); done
    jq -n --argjson count "$2" --slurpfile bench "$at.json" --slurpfile ranks <(cat "${files[@]}") \
        '{count: $count, bench: $bench[0].points[0], mtu: $bench[0].system.mtu, ranks: $ranks}'
}

# Makes the rows. Leaves what is missing in FAILED.
ledger_rows() {
    local number contender size short long
    while read -r number contender size short long; do
        if [[ ! -f $LEDGER/$number-$short.json || ! -f $LEDGER/$number-$long.json ]]; then
            FAILED+=("$contender with $size bytes")
            continue
        fi
        jq -n --arg contender "$contender" --argjson size "$size" --argjson ranks "$RANKS" \
            --argjson short "$(ledger_run "$number" "$short")" --argjson long "$(ledger_run "$number" "$long")" \
            '{contender: $contender, size: $size, ranks: $ranks, mtu: $long.mtu, short: $short, long: $long}' |
            jq -f "$REPO/ci/lib/ledger.jq"
    done <"$LEDGER/list"
}

# The rows on standard input as a table.
ledger_table() {
    jq -r '
        def short: if . == null then "-" else . * 100 | round | if . == 0 then 0 else . / 100 end end;
        ["contender", "bytes", "fragments", "at", "doorbells", "WRs/doorbell", "multicasts/least", "acks", "sends",
         "reads", "lost", "CQEs", "receive-doorbells", "copied/payload", "CRC/payload", "user-us", "system-us"],
        (.[] | . as $row | ("root", "leaf") | . as $role | $row[$role] | [
            $row.contender, $row.size, $row.fragments, $role, (.doorbells | short), (.requests_per_doorbell | short),
            (.multicasts_over_least | short), (.acknowledgements | short), (.reliable_sends | short),
            (.reads | short), ($row.lost | short), (.completions | short), (.receive_doorbells | short),
            (.copied_over_payload | short), (.checksummed_over_payload | short), (.user_us | short), (.system_us | short)])
        | @tsv' | column -t
}

# Usage: ledger_set_up SET_UP. What the making of communicators asks of the ranks: adds LEDGER/set_up.json, and prints a table.
ledger_set_up() {
    ci/softroce exec --timeout 300 -- "$REPO/ci/guest/set_up.sh" "$1" "$RANKS" >"$LEDGER/set_up" || return
    jq -Rn '[inputs | split(" ") | {made: .[0], exchanges: .[1] | tonumber, given: .[2] | tonumber,
        gathered: .[3] | tonumber}]' <"$LEDGER/set_up" >"$LEDGER/set_up.json" || return
    jq -e 'length == 3' "$LEDGER/set_up.json" >/dev/null || return
    echo "set-up: exchanges among $RANKS ranks, bytes that each gives, bytes that each gets"
    column -t "$LEDGER/set_up"
}

# User instructions at most, at the root and at a leaf, and where they share memory: of an idle turn, a broadcast of 8 bytes, a
# fragment of 4 KiB of a message of 16 and one more of them. They vary by some per cent between runs; whoever makes them fewer
# lowers these.
LEDGER_MOST='root 170 4100 2050 1800
leaf 170 2200 1290 850
root-node 320 2860 2250 1980
leaf-node 320 2050 1520 810'

# Usage: ledger_holds TABLE. Whether the user instructions in it are as few as they may be.
ledger_holds() {
    awk '
        NR == FNR { for (at = 2; at <= 5; at++) most[$1, at] = $at; names[$1]; rows++; next }
        /^user instructions/ { counted = 1 }
        counted && ($1 in names) && NF == 5 {
            rows--
            for (at = 2; at <= 5; at++) worse += $at > most[$1, at]
        }
        END { exit rows != 0 || worse }' <(echo "$LEDGER_MOST") "$1"
}

# Usage: ledger_row NAME FILE. A row of the table, of what Callgrind has written.
ledger_row() {
    callgrind_annotate --auto=no --inclusive=yes --threshold=100 "$2" | awk -v name="$1" '
        { count = $1; gsub(",", "", count) }
        /turns.rs:turns::counted_idle_turns/ { idle = count / 1000 }
        /turns.rs:turns::counted_short_messages/ { short = count / 64 }
        /turns.rs:turns::counted_long_message/ { long = count }
        /turns.rs:turns::counted_longer_message/ { longer = count }
        END {
            printf "%s %d %d %d %d\n", name, idle, short, long / 16, (longer - long) / 48
            exit !(idle && short && long && longer)
        }'
}

# Usage: ledger_instructions TURNS. User instructions at a root and at a leaf, without a timeline, with one, and in a node.
ledger_instructions() {
    ci/softroce exec --timeout 1800 -- "$REPO/ci/guest/turns.sh" "$1" "$LEDGER" || return
    echo "user instructions (window, Callgrind): at, idle turn, broadcast of 8 bytes, fragment of 4 KiB of 16, one of 48 more"
    ledger_row root "$LEDGER/turns.0" && ledger_row leaf "$LEDGER/turns.1" || return
    echo "the same while a timeline is written; Callgrind makes calls so slow that each of them is told"
    ledger_row root-traced "$LEDGER/traced.0" && ledger_row leaf-traced "$LEDGER/traced.1" || return
    echo "the same where they share memory"
    ledger_row root-node "$LEDGER/node.0" && ledger_row leaf-node "$LEDGER/node.1"
}
