# shellcheck shell=bash
# Ends what a job has started.

# Usage: end_session LEADER. By session: launchers of MPI and timeout make process groups of their own.
end_session() {
    pkill -TERM --session "$1"
    sleep 2
    pkill -KILL --session "$1"
}
