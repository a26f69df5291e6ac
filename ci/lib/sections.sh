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

# Usage: section NAME COMMAND…. A failure is remembered and the run goes on; returns the command's status.
section() {
    local name=$1 log=$LOGS/$1.log began=$SECONDS out tee_pid status=0
    shift
    printf '\n== %s: %s\n' "$name" "$*"
    exec {out}> >(exec tee "$log")
    tee_pid=$!
    timeout -k 10 "$SECTION_LIMIT" "$@" </dev/null >&"$out" 2>&1 {out}>&- &
    SECTION_PID=$!
    exec {out}>&-
    wait "$SECTION_PID" || status=$?
    SECTION_PID=
    wait "$tee_pid" || true
    printf '== %s: %d s\n' "$name" $((SECONDS - began))
    ((status == 0)) || section_failed "$name" "status $status"
    return "$status"
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

# Prints the last line of the run, and fails if a section or a test did.
finish_sections() {
    local passed failed skipped
    read -r passed failed skipped < <(count_tests "$LOGS"/*.log)
    echo
    ((${#FAILED_SECTIONS[@]} == 0)) || echo "failed: ${FAILED_SECTIONS[*]}"
    echo "$passed passed, $failed failed, $skipped skipped"
    ((${#FAILED_SECTIONS[@]} == 0 && failed == 0))
}
