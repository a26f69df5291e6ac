# shellcheck shell=bash
# Runs the command of a job, and ends what it has started.

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

# Usage: run_session JOB. Runs JOB/command in a session of its own, which JOB/cancel ends; prints its exit status, which is 124 then.
# Nothing that it has started goes on into the next job.
run_session() {
    local job=$1 pid watcher status=0
    setsid bash "$job/command" </dev/null >>"$job/out" 2>>"$job/err" &
    pid=$!
    end_when_cancelled "$job" "$pid" >/dev/null &
    watcher=$!
    wait "$pid" || status=$?
    if [[ -e $job/cancel ]]; then
        status=124
    else
        kill "$watcher"
    fi
    wait "$watcher" 2>/dev/null || true
    end_session "$pid"
    echo "$status"
}

# A new process is slow to start under emulation, so this one sleeps long. (`read -t` needs none, but bash 5.2
# returns from it with an undefined signal mask when the time is up before it waits, and then misses SIGCHLD.)
end_when_cancelled() {
    until [[ -e $1/cancel ]]; do sleep 0.5; done
    end_session "$2"
}
