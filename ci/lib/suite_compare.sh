# shellcheck shell=bash
# What the tests of mpi_suite.sh say with the preloaded library, beside what they say without. Needs it and suite_run.sh.
#
# target/mpi-suite/NAME/table   the comparison

# Prints the table, and for each way how many tests had which result; fails if a test that passes without the library
# does not with it, or nothing passes or is multicast with it.
# Usage: suite_compare NAME
suite_compare() {
    local to
    to=$(suite_target)/$1
    suite_rows "$1" | awk -F '\t' -v name="$1" '
        BEGIN { print_row("plain", "preloaded", "multicast", "by MPI", "test") }
        {
            print_row($1, $2, $3, $4, $5)
            plain[$1]++; preloaded[$2]++; multicast += $3; passed += $4
            if ($1 == "passed" && $2 != "passed") worse = worse "\n  " $2 ": " $5
            if ($1 != "passed" && $2 == "passed") better = better "\n  " $1 ": " $5
        }
        END {
            print ""
            print name ", plain: " results(plain)
            print name ", preloaded: " results(preloaded)
            print name ": " multicast + 0 " broadcasts by multicast, " passed + 0 " by MPI"
            if (better != "") print name ": passed only with the library; without it:" better
            if (worse != "") print name ": passed only without the library; with it:" worse
            good = worse == "" && preloaded["passed"] && multicast
            print name ": " (good ? "good: what passes without the library passes with it" : "FAILED")
            exit !good
        }
        function print_row(a, b, c, d, e) { printf "%-10s %-10s %9s %7s  %s\n", a, b, c, d, e }
        function results(count,    i, n, all, text) {
            n = split("passed,failed,timed out,skipped,not built", all, ",")
            for (i = 1; i <= n; i++) if (count[all[i]]) text = text (text == "" ? "" : ", ") count[all[i]] " " all[i]
            return text
        }' | tee "$to/table"
}

# Prints plain and preloaded result, broadcasts by multicast and by MPI, and test, separated by tabs.
# Usage: suite_rows NAME
suite_rows() {
    local to number=0 plain preloaded test multicast passed
    to=$(suite_target)/$1
    cmp -s <(cut -f 3 "$to/plain.results") <(cut -f 3 "$to/preloaded.results") ||
        die "the results in target/mpi-suite/$1 are not of the same tests"
    while IFS=$'\t' read -r plain _ test preloaded _; do
        number=$((number + 1))
        read -r multicast passed <<<"$(suite_ways "$to/preloaded/$number.statistics")"
        printf '%s\t%s\t%s\t%s\t%s\n' "$plain" "$preloaded" "$multicast" "$passed" "${test//arg=-/-}"
    done < <(paste "$to/plain.results" "$to/preloaded.results")
}

# Prints "BY_MULTICAST BY_MPI" of all ranks; "- -" where the program did not come to its end. The ranks' own sum is there
# only where they have agreed on multicast.
# Usage: suite_ways FILE
suite_ways() {
    sed -nE 's/^verbcast: rank [0-9]+: [0-9]+ broadcasts, ([0-9]+) by multicast, ([0-9]+) by MPI.*/\1 \2/p
        s/^verbcast: rank [0-9]+: 0 broadcasts$/0 0/p' "$1" 2>/dev/null |
        awk '{ multicast += $1; passed += $2 } END { if (NR) print multicast, passed; else print "- -" }'
}

# Usage: suite_all [NAME…]
suite_all() {
    local name status=0
    (($#)) || set -- "${MPI_NAMES[@]}"
    suite_fetch
    for name in "$@"; do
        [[ -e $REPO/target/$name/release/libverbcast.so ]] || die "ci/mpi build comes first"
        suite_configure "$name"
        suite_build "$name"
    done
    # Both ways on the same machine, as the time limits are the same.
    start_machine 1
    for name in "$@"; do
        suite_say_scale "$name"
        suite_in_guest "$name" plain
        suite_in_guest "$name" preloaded
    done
    for name in "$@"; do suite_compare "$name" || status=1; done
    return "$status"
}

# Usage: suite_in_guest NAME plain|preloaded
suite_in_guest() {
    ci/softroce exec --timeout "$(suite_bound "$1")" -- ci/mpi suite-run "$1" "$2"
}
