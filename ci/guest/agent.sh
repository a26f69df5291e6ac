#!/bin/bash
# Runs in the guest, as root: waits for jobs in a shared folder and runs them one by one.
# Usage: agent.sh STATE/vm TARGET (see ci/lib/job.sh for the files of a job; TARGET is cargo's folder)
set -uo pipefail

here=$(dirname "$(realpath "${BASH_SOURCE[0]}")")
# shellcheck source=/dev/null
. "$here/session.sh"
shared=$1
target=$2
settled=
names=

# Goes on under a root folder in memory, with the host's folders in it. Of the host's own root nothing is kept in memory, so
# that each path through /lib or /bin, which are links, would cost requests to the host.
enter_own_root() {
    local root=/run/verbcast-root entry
    mkdir "$root"
    mount -t tmpfs -o mode=755 root "$root"
    # So that it is not in itself, with /run.
    mount --make-unbindable "$root"
    for entry in /*; do
        if [[ -L $entry ]]; then
            cp -a "$entry" "$root"
        elif [[ -d $entry ]]; then
            mkdir "$root$entry"
            mount --rbind "$entry" "$root$entry"
        fi
    done
    exec chroot "$root" bash "$here/agent.sh" "$@"
}

prepare_guest() {
    ulimit -l unlimited
    ulimit -c 0
    # QEMU translates a program's code again for each address that it is found at, so that every process would pay for that.
    if grep -q 'QEMU TCG' /proc/cpuinfo; then
        echo 0 >/proc/sys/kernel/randomize_va_space
    fi
    # For the tests whose messages are in huge pages; on an architecture or a kernel without them they say so.
    echo 8 2>/dev/null >/proc/sys/vm/nr_hugepages
    export PATH=$PATH:/usr/local/sbin:/usr/sbin:/sbin
    leave_out_plugins
    # Read by every process: with this they are in memory.
    touch -c /etc/ld.so.cache /etc/nsswitch.conf /etc/passwd /etc/group /etc/hosts
    # The shared folder tells whether the host still wants this machine.
    cd "$shared" || exit 1
}

# What every process of verbs or MPI would load, which under emulation takes most of its start: providers of adapters that
# are not here (tests of those bring their own), and hwloc's plugins for displays and GPUs.
leave_out_plugins() {
    local drivers=/etc/libibverbs.d kept
    export HWLOC_PLUGINS_PATH=/nonexistent
    kept=$(cat "$drivers/rxe.driver") || return 0
    mount -t tmpfs -o mode=755 providers "$drivers"
    echo "$kept" >"$drivers/rxe.driver"
}

# Usage: give_status JOB STATUS. Renamed into place, so that the host never reads half of it.
give_status() {
    echo "$2" >"$1/status.new"
    mv "$1/status.new" "$1/status"
}

# Sees to it that the machine is as a job wants it; what that was is in VM/settled afterwards.
settle() {
    local job=$1 wanted
    wanted=$(<"$job/programs")$'\n'$(<"$job/nics")
    [[ $wanted == "$settled" ]] && return
    settled=
    rm -f "$shared/settled"
    if ! "$here/nics.sh" "$job/nics" >>"$job/err" 2>&1 || ! names=$("$here/nics.sh" --names "$job/nics"); then
        echo "error: the NICs could not be set up" >>"$job/err"
        return 1
    fi
    if ! "$here/programs.sh" "$target" "$shared/plugins.tar" 2>>"$job/err"; then
        echo "error: the host's programs could not be mounted" >>"$job/err"
        return 1
    fi
    settled=$wanted
    echo "$settled" >"$shared/settled.new"
    mv "$shared/settled.new" "$shared/settled"
}

run_job() {
    local job=$1
    rm -f "$job/ready"
    if settle "$job"; then
        give_status "$job" "$(VERBCAST_TEST_DEVICES=$names run_session "$job")"
    else
        give_status "$job" 125
    fi
}

[[ -d /run/verbcast-root ]] || enter_own_root "$@"
prepare_guest
# What this machine's clock says, by which the host sees whether it is right.
date +%s >"$shared/up.new"
mv "$shared/up.new" "$shared/up"
while [[ -d $shared/jobs ]]; do
    for ready in "$shared"/jobs/*/ready; do
        [[ -e $ready ]] && run_job "${ready%/ready}"
    done
    sleep 0.1
done
