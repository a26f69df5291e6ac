# shellcheck shell=bash
# Several virtual machines, each with a kernel, a clock and a host name of its own, on one emulated Ethernet (a
# switch that needs no privileges). Needs switch.sh, vm.sh and job.sh, and the variable HOSTS.
#
# STATE/vmK, STATE/consoleK.log   host K, as in vm.sh
# STATE/switch                    the switch that all hosts are plugged in
# STATE/page                      a page of memory that this machine and all hosts see, there as the memory of an ivshmem
#                                 device: what needs neither the Ethernet nor the folders
# STATE/cluster/munge_key         what Slurm's daemons know one another by
# STATE/cluster/ssh_key{,.pub}    what lets root of one host in on another

# dropbear-bin is an ssh server that does not run on the machine on which it is installed.
CLUSTER_PACKAGES=(slurm-client slurmctld slurmd munge openssh-client dropbear-bin socat)

host_name() { echo "node$1"; }

cluster_prepare() {
    vm_prepare
    local keys=$STATE/cluster
    need_packages "${CLUSTER_PACKAGES[@]}"
    mkdir -p "$keys"
    chmod 700 "$keys"
    [[ -s $keys/munge_key ]] || (umask 077 && head -c 1024 /dev/urandom >"$keys/munge_key")
    [[ -s $keys/ssh_key ]] || ssh-keygen -q -t ed25519 -N '' -f "$keys/ssh_key"
}

# Prints QEMU's options for a host's adapter, which is behind a switch of its own.
wire_device() {
    # Seen from the folder of the host, in which it is started.
    printf -- '-netdev stream,id=wire,addr.type=unix,addr.path=../switch/port%d' "$1"
    printf -- ' -netdev hubport,id=uplink,hubid=0,netdev=wire -netdev hubport,id=port,hubid=0'
    printf -- ' -device virtio-net-pci,netdev=port,mac=52:54:00:56:42:%02x' "$1"
}

# Prints QEMU's options for the page.
page_device() {
    printf -- '-object memory-backend-file,id=page,share=on,size=4096,mem-path=%s' "$STATE/page"
    printf -- ' -device ivshmem-plain,memdev=page'
}

# Turns to each host in turn. Usage: on_hosts COMMAND ARGUMENT…
on_hosts() {
    local number
    for ((number = 1; number <= HOSTS; number++)); do
        vm_use "$number"
        "$@" || return
    done
}

# Boots the hosts that do not run, all at once. KVM is not tried: many kernels that run it cannot run several.
cluster_start() {
    local accel=${VERBCAST_SOFTROCE_ACCEL:-$(cat "$STATE/accel" 2>/dev/null || echo tcg)}
    step "booting the hosts that do not run yet, of $HOSTS ($accel)"
    # Hosts that are plugged in a switch which has ended do not find their way to another.
    switch_running || cluster_stop
    switch_start
    on_hosts cluster_launch "$accel"
    on_hosts cluster_wait "$accel"
    step "up: $HOSTS hosts, kernel $(vm_kernel)"
}

# Sees to it that all hosts have the NICs and the programs that are wanted now.
cluster_settle() {
    on_hosts cluster_is_settled || cluster_each "$BOOT_LIMIT" true
}

cluster_is_settled() { job_is_settled "$(nic_spec)"; }

cluster_launch() {
    if vm_running; then vm_check_kernel; else vm_launch "$1"; fi
}

cluster_wait() {
    local limit=$((BOOT_LIMIT + 60 * HOSTS))
    vm_wait "$limit" || vm_died "$(host_name "$NODE") did not come up"
    vm_clock_is_right && return
    vm_stop
    vm_launch "$1"
    vm_wait "$limit" || vm_died "$(host_name "$NODE") did not come up again"
    vm_clock_is_right || vm_died "$(host_name "$NODE") has no right clock"
}

# Ends every host, of any earlier number of them too.
cluster_stop() {
    local folder
    for folder in "$STATE"/vm[0-9]*; do
        [[ -d $folder ]] || continue
        vm_use "${folder##*/vm}"
        vm_stop
    done
    switch_stop
}

# Usage: cluster_each LIMIT COMMAND…. Runs a command on all hosts at once; each line of output begins with the host's name.
# Returns the first status that is not 0, by number.
cluster_each() {
    local limit=$1 number status=0
    shift
    EACH=()
    for ((number = 1; number <= HOSTS; number++)); do
        host_run "$number" "$limit" "$@" &
        EACH+=($!)
    done
    for number in "${!EACH[@]}"; do
        wait "${EACH[number]}" || { ((status)) || status=$?; }
    done
    EACH=()
    return "$status"
}

# Ends the commands of cluster_each, if they are waited for.
each_cancel() {
    [[ -z ${EACH[*]-} ]] || kill "${EACH[@]}" 2>/dev/null || true
}

# To run as a process of its own, which ends its job when it ends. Usage: host_run NUMBER LIMIT COMMAND…
host_run() {
    local name
    name=$(host_name "$1")
    vm_use "$1"
    shift
    trap job_cancel EXIT
    job_run "$(nic_spec)" "$@" > >(sed -u "s/^/$name: /") 2> >(sed -u "s/^/$name: /" >&2)
}

# Usage: host_do NUMBER VERB. Does something to a host that runs.
host_do() {
    vm_use "$1"
    vm_running || die "$(host_name "$1") does not run; begin with: ci/softroce --hosts N start"
    case $2 in
    stop) vm_stop ;;
    pause)
        switch_port "$1" off
        kill -STOP -- "-$(vm_pid)"
        ;;
    resume)
        kill -CONT -- "-$(vm_pid)"
        switch_port "$1" on
        ;;
    cut) host_link wire off ;;
    heal) host_link wire on ;;
    unplug) host_link port off ;;
    plug) host_link port on ;;
    *) die "there is no '$2' for a host: stop, pause, resume, cut, heal, unplug, plug" ;;
    esac
}

# Usage: host_link NAME on|off. Of what is behind the host's switch (wire), which its adapter does not see, or of the adapter
# itself (port).
host_link() {
    qemu_say "$VM" "set_link $1 $2" || die "$(host_name "$NODE") does not answer on its monitor"
}
