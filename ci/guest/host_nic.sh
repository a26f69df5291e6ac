# shellcheck shell=bash
# The NIC of a host of a cluster: rxe0 on its adapter of the emulated Ethernet. Every host knows the others by name.

HOST_NETWORK=10.7.0

# Usage: host_nic_up HOSTS HOST
host_nic_up() {
    rxe_exists rxe0 && return
    local netdev i
    load_modules virtio_net
    netdev=$(host_netdev "$2")
    ip link set lo up
    ip addr add "$HOST_NETWORK.$2/24" dev "$netdev"
    ip link set "$netdev" mtu "$MTU"
    ip link set "$netdev" up multicast on
    add_rxe rxe0 "$netdev"
    ip route add 239.0.0.0/8 dev "$netdev"
    wait_for_gid rxe0
    {
        echo "127.0.0.1 localhost"
        for ((i = 1; i <= $1; i++)); do echo "$HOST_NETWORK.$i node$i"; done
    } >/etc/hosts
}

# The network device of a host's adapter, which has an address that ci/lib/cluster.sh gives.
# Usage: host_netdev HOST
host_netdev() {
    local address wanted
    wanted=$(printf '52:54:00:56:42:%02x' "$1")
    for address in /sys/class/net/*/address; do
        [[ $(<"$address") == "$wanted" ]] || continue
        basename "$(dirname "$address")"
        return
    done
    echo "error: there is no adapter with the address $wanted" >&2
    return 1
}

# Delays, loses or doubles what comes to the host. Usage: host_nic_netem HOST OPTIONS
host_nic_netem() {
    local netdev
    netdev=$(host_netdev "$1")
    tc qdisc del dev "$netdev" ingress 2>/dev/null || true
    [[ -n $2 ]] || return 0
    load_modules sch_netem sch_ingress cls_matchall act_mirred
    [[ -e /sys/class/net/ifb0 ]] || modprobe ifb numifbs=1
    ip link set ifb0 up
    tc qdisc add dev "$netdev" ingress
    tc filter add dev "$netdev" ingress matchall action mirred egress redirect dev ifb0
    tc qdisc del dev ifb0 root 2>/dev/null || true
    # netem's own queue shall not lose what it was not asked to; the caller's limit comes last and wins.
    # shellcheck disable=SC2086 # the options are words
    tc qdisc add dev ifb0 root netem limit 20000 $2
}
