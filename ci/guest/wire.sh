# shellcheck shell=bash
# Several NICs on a wire: rxeV1… on the veth devices v1…, whose peers p1… are ports of the bridge br-verbcast.
# Routing rules make what one NIC sends to another's address go out and come in, although both are local.

NET=/proc/sys/net/ipv4
# No name that a machine may have one by already.
BRIDGE=br-verbcast

wire_up() {
    [[ $(wire_size) == "$1" ]] && return
    wire_down
    load_modules veth bridge sch_netem
    wire_bridge
    local i
    for ((i = 1; i <= $1; i++)); do wire_nic "$i"; done
    wire_rules "$1"
    wire_neighbours "$1"
    for ((i = 1; i <= $1; i++)); do wait_for_gid "rxeV$i"; done
}

# How many NICs are on the wire now.
wire_size() {
    local i=0
    while rxe_exists "rxeV$((i + 1))"; do i=$((i + 1)); done
    echo "$i"
}

wire_bridge() {
    local conf
    # Packets from the host's own addresses are welcome.
    for conf in all default; do
        echo 0 >"$NET/conf/$conf/rp_filter"
        echo 1 >"$NET/conf/$conf/accept_local"
    done
    echo 1 >"$NET/conf/all/arp_ignore"
    ip link set lo up
    ip link add "$BRIDGE" type bridge mcast_snooping 0 forward_delay 0
    ip link set "$BRIDGE" mtu "$MTU" arp off up
}

wire_nic() {
    local i=$1
    ip link add "v$i" type veth peer name "p$i"
    ip link set "v$i" mtu "$MTU"
    ip link set "p$i" mtu "$MTU" master "$BRIDGE"
    ip link set "p$i" arp off up
    echo 1 >"$NET/conf/v$i/accept_local"
    echo 0 >"$NET/conf/v$i/rp_filter"
    echo 1 >"$NET/conf/v$i/arp_ignore"
    echo 2 >"$NET/conf/v$i/arp_announce"
    ip addr add "10.8.0.$i/24" dev "v$i"
    ip link set "v$i" up
    add_rxe "rxeV$i" "v$i"
}

# The table of local addresses is asked first for what comes in, and last for what goes out to the wire.
wire_rules() {
    local i
    ip rule add pref 1 to 127.0.0.0/8 lookup local
    for ((i = 1; i <= $1; i++)); do ip rule add pref $((10 + i)) iif "v$i" lookup local; done
    ip rule add pref 100 iif lo to 10.8.0.0/24 lookup main
    ip rule add pref 200 lookup local
    ip rule del pref 0
}

# Fixed, the NIC's own too: otherwise the bridge's ports answer ARP, and connections hang.
wire_neighbours() {
    local i j mac
    for ((j = 1; j <= $1; j++)); do
        read -r mac <"/sys/class/net/v$j/address"
        for ((i = 1; i <= $1; i++)); do
            echo "neigh replace 10.8.0.$j lladdr $mac dev v$i nud permanent"
        done
    done | ip -batch -
}

# Gives each NIC its netem, on the bridge's port towards it. Uses the specification's variables.
wire_netem() {
    local i options
    for ((i = 1; i <= $1; i++)); do
        tc qdisc del dev "p$i" root 2>/dev/null || true
        options=${netem_nic[i]:-$netem}
        [[ -n $options ]] || continue
        # netem's own queue shall not lose what it was not asked to; the caller's limit comes last and wins.
        # shellcheck disable=SC2086 # the options are words
        tc qdisc add dev "p$i" root netem limit 20000 $options
    done
}

wire_down() {
    local i size
    size=$(wire_size)
    ((size)) || [[ -e /sys/class/net/$BRIDGE ]] || return 0
    ip rule add pref 0 lookup local 2>/dev/null || true
    for i in 1 100 200 $(seq 11 $((10 + size))); do ip rule del pref "$i" 2>/dev/null || true; done
    for ((i = 1; i <= size; i++)); do
        rdma link delete "rxeV$i"
        ip link delete "v$i"
    done
    ip link delete "$BRIDGE"
}
