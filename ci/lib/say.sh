# shellcheck shell=bash
# Messages for people. They go to stderr: stdout belongs to the command that is run.

step() { printf -- '-- %s\n' "$*" >&2; }

die() {
    printf 'error: %s\n' "$*" >&2
    exit "${DIE_STATUS:-1}"
}

# QEMU's options and what is run in a guest take blanks and commas for ends. Usage: need_plain_path WHAT PATH
need_plain_path() {
    [[ $2 != *[[:space:],]* ]] || die "$1 may not contain blanks or commas: $2"
}

# Runs a command quietly; when it fails, says which step and command it was and shows the end of its output.
# Usage: quietly WHAT WHAT_TO_DO COMMAND…
quietly() {
    local what=$1 advice=$2 log
    shift 2
    log=$(mktemp)
    if ! "$@" >"$log" 2>&1 </dev/null; then
        tail -n 15 "$log" >&2
        rm -f "$log"
        die "$what failed: $* ($advice)"
    fi
    rm -f "$log"
}
