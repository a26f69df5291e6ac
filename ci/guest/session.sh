# shellcheck shell=bash
# Ends what a command has started.

# Usage: end_session LEADER. By session: launchers of MPI and timeout make process groups of their own. What has not ended after
# two seconds is killed.
end_session() {
    pkill -TERM --session "$1" || return 0
    for _ in {1..4}; do
        sleep 0.5
        pgrep --session "$1" >/dev/null || return 0
    done
    pkill -KILL --session "$1" || true
}
