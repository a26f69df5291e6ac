# shellcheck shell=bash
# Sections of a check run: each announced, limited in time, kept in a log; and the tests counted from the logs.
# Needs say.sh and the variable LOGS, a folder.

SECTION_LIMIT=1500
FAILED_SECTIONS=()
SECTION_PID=

start_sections() {
    rm -rf "$LOGS"
    mkdir -p "$LOGS"
    # What runs is in a process group of its own, which Ctrl-C at a terminal does not reach.
    trap 'if [[ -n $SECTION_PID ]]; then kill "$SECTION_PID" 2>/dev/null || true; fi' EXIT
    trap 'exit 130' INT
    trap 'exit 143' TERM
}

# Usage: section NAME COMMAND…. A failure is shown and remembered, and the run goes on; returns the command's status.
section() {
    local name=$1 log=$LOGS/$1.log began=$SECONDS status=0
    shift
    printf '\n== %s: %s\n' "$name" "$*"
    timeout -k 10 "$SECTION_LIMIT" "$@" </dev/null >"$log" 2>&1 &
    SECTION_PID=$!
    wait "$SECTION_PID" || status=$?
    SECTION_PID=
    summary "$log"
    printf '%d s\n' $((SECONDS - began))
    if ((status != 0)); then
        what_failed "$log"
        section_failed "$name" "status $status"
    fi
    return "$status"
}

# Prints what there is to know of a log when all went well: how many tests passed, and why others were skipped.
summary() {
    local passed failed skipped
    read -r passed failed skipped < <(count_tests "$1")
    if ((passed + failed + skipped > 0)); then
        printf '%d passed, %d failed, %d skipped\n' "$passed" "$failed" "$skipped"
        { grep -o 'SKIPPED: .*' "$1" || true; } | sort | uniq -c
    fi
}

# Prints what the failed tests of a log said, or its end if there are none.
what_failed() {
    awk '
        /^(failures|successes):$/ { failures = $0 == "failures:" }
        /^test result: / { failures = 0 }
        failures { print; found = 1 }
        END { exit !found }' "$1" || tail -n 60 "$1"
}

section_failed() {
    FAILED_SECTIONS+=("$1")
    printf '== %s FAILED: %s\n' "$1" "$2"
}

# Prints "PASSED FAILED SKIPPED" from the runner's result lines in the given logs. A test that finds no device says
# "SKIPPED: reason" and returns, which the runner takes for passed.
count_tests() {
    cat /dev/null "$@" | awk '
        /^test result: / {
            for (i = 2; i <= NF; i++) {
                if ($i == "passed;") passed += $(i - 1)
                if ($i == "failed;") failed += $(i - 1)
                if ($i == "ignored;") ignored += $(i - 1)
            }
        }
        /SKIPPED: / { skipped++ }
        END { print passed - skipped, failed + 0, ignored + skipped }'
}

# Prints what failed and the last line of the run, and fails if a section or a test did.
finish_sections() {
    local passed failed skipped
    read -r passed failed skipped < <(count_tests "$LOGS"/*.log)
    echo
    { grep -H '^test .*FAILED$' "$LOGS"/*.log || true; } | sed 's:.*/::'
    ((${#FAILED_SECTIONS[@]} == 0)) || echo "failed: ${FAILED_SECTIONS[*]} (logs: $LOGS)"
    echo "$passed passed, $failed failed, $skipped skipped"
    ((${#FAILED_SECTIONS[@]} == 0 && failed == 0))
}
