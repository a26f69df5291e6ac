# shellcheck shell=bash
# One NIC: rxe0 on a dummy netdev, eth9. What it sends to itself and to its groups loops back inside the kernel.

lone_nic_up() {
    rxe_exists rxe0 && return
    load_modules dummy
    ip link add eth9 type dummy
    ip addr add 10.9.0.1/24 dev eth9
    ip link set eth9 mtu "$MTU"
    ip link set eth9 up multicast on
    ip link set lo up
    add_rxe rxe0 eth9
    ip route add 239.0.0.0/8 dev eth9
    # After the IPv4 address, so that this one has GID index 1.
    wait_for_gid rxe0
    ip addr add fd00:9::1/64 dev eth9 nodad
}

lone_nic_down() {
    if [[ -e /sys/class/net/eth9 ]]; then
        if rxe_exists rxe0; then rdma link delete rxe0; fi
        ip link delete eth9
    fi
}

# Usage: lone_nic_loss PERCENT. netem does not see looped-back packets, but an action on the way in does.
lone_nic_loss() {
    tc qdisc del dev eth9 clsact 2>/dev/null || true
    [[ -n $1 ]] || return 0
    modprobe act_gact
    modprobe cls_matchall
    tc qdisc add dev eth9 clsact
    tc filter add dev eth9 ingress matchall action ok random netrand drop "$(one_in "$1")"
}

# The action drops one packet in so many.
one_in() { awk -v p="$1" 'BEGIN { n = int(100 / p + 0.5); print n < 1 ? 1 : n }'; }
