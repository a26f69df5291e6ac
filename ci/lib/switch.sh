# shellcheck shell=bash
# The switch of a cluster's emulated Ethernet: a QEMU without a machine, whose hub has a port for each host. What a host is
# slow to take waits at its port, and all who send wait with it once that is full (QEMU's multicast sockets lose what does not
# fit into a socket's buffer: at the default of 208 KiB, a quarter of a message of 2 MB). Needs say.sh and vm.sh, and the variable STATE.
#
# STATE/switch/pid           its process
# STATE/switch/portK         where host K is plugged in: a socket
# STATE/switch/monitor.sock  takes commands
# STATE/switch/log           what it says

SWITCH_PORTS=8
SWITCH_LIMIT=30

switch_pid() { cat "$STATE/switch/pid" 2>/dev/null; }

# The number alone may belong to another process by now, so look at what it runs too.
switch_running() {
    local pid
    pid=$(switch_pid) && [[ -n $pid ]] && grep -qsF "$STATE/switch" "/proc/$pid/cmdline"
}

switch_start() {
    local began=$SECONDS port said
    local options=(-monitor "unix:monitor.sock,server=on,wait=off")
    switch_running && return
    rm -rf "$STATE/switch"
    mkdir -p "$STATE/switch"
    for ((port = 1; port <= SWITCH_PORTS; port++)); do
        # In its folder, because a socket's path must be short.
        options+=(-netdev "stream,id=wire$port,server=on,addr.type=unix,addr.path=port$port"
            -netdev "hubport,id=port$port,hubid=0,netdev=wire$port")
    done
    env -C "$STATE/switch" setsid timeout -k 5 "$LIFETIME" qemu-system-x86_64 -name "$STATE/switch" -machine none -nodefaults -display none \
        "${options[@]}" >"$STATE/switch/log" 2>&1 </dev/null 5>&- 9>&- &
    echo $! >"$STATE/switch/pid"
    until [[ -S $STATE/switch/port$SWITCH_PORTS ]]; do
        if ! kill -0 $! 2>/dev/null || ((SECONDS - began > SWITCH_LIMIT)); then
            said=$(tail -n 3 "$STATE/switch/log")
            switch_stop
            die "the switch between the hosts did not start; QEMU 7.2 is needed at least: $said"
        fi
        sleep 0.05
    done
}

# Usage: switch_port K on|off. What goes to a port that is off is thrown away, as a switch does with what its port cannot get rid
# of for longer than 0.27 s (leaf_head_of_queue_lifetime of OpenSM); this one would wait, and all hosts with it.
switch_port() { qemu_say "$STATE/switch" "set_link wire$1 $2" || die "the switch does not answer on its monitor"; }

switch_stop() {
    ! switch_running || kill "$(switch_pid)" 2>/dev/null || true
    rm -rf "$STATE/switch"
}
