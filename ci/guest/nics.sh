#!/bin/bash
# Makes the SoftRoCE NICs that a specification asks for, in place of those there were.
# Usage: nics.sh SPEC          set them up
#        nics.sh --names SPEC  print their RDMA devices, separated by commas
#        nics.sh --down        remove them
# SPEC is a file of bash assignments:
#   nics=8               how many; 1 is a lone NIC whose packets loop back inside the kernel
#   netem='loss 5%'      for every NIC on the wire, towards the NIC
#   netem_nic=([3]='…')  for single NICs, instead of the above
#   loss_looped=10       percentage of looped-back multicast packets that a lone NIC loses
#   hosts=3 host=2       the NIC of this host of a cluster instead; netem is then for what comes to it
#   shared=FOLDER        what the hosts of the cluster know one another by: see ci/lib/cluster.sh
set -euo pipefail

here=$(dirname "$(realpath "${BASH_SOURCE[0]}")")
# An MTU of 4500 gives RDMA an MTU of 4096.
MTU=4500
# shellcheck source=ci/guest/lone_nic.sh
. "$here/lone_nic.sh"
# shellcheck source=ci/guest/wire.sh
. "$here/wire.sh"
# shellcheck source=ci/guest/host_nic.sh
. "$here/host_nic.sh"
# shellcheck source=ci/guest/slurm.sh
. "$here/slurm.sh"
# shellcheck source=ci/guest/ssh.sh
. "$here/ssh.sh"

read_spec() {
    nics=1 netem='' loss_looped='' netem_nic=() hosts=0 host=0 shared=''
    # shellcheck disable=SC1090
    . "$1"
}

device_names() {
    local i names=rxe0
    if ((nics > 1)); then
        names=rxeV1
        for ((i = 2; i <= nics; i++)); do names+=",rxeV$i"; done
    fi
    echo "$names"
}

rxe_exists() { [[ -e /sys/class/infiniband/$1 ]]; }

# Usage: add_rxe RXE NETDEV
add_rxe() { rdma link add "$1" type rxe netdev "$2"; }

# The kernel fills the GID table a moment later: index 1 is the IPv4 address (RoCE v2).
wait_for_gid() {
    local tries gid
    for tries in {1..100}; do
        gid=$(cat "/sys/class/infiniband/$1/ports/1/gids/1" 2>/dev/null || true)
        [[ $gid == *:ffff:* ]] && return
        sleep 0.1
    done
    echo "error: $1 has no GID for its IPv4 address after $tries tries" >&2
    return 1
}

load_modules() {
    local module
    for module in rdma_rxe rdma_ucm ib_uverbs "$@"; do
        modprobe "$module"
    done
}

set_up() {
    if ((hosts > 0)); then
        host_nic_up "$hosts" "$host"
        host_nic_netem "$host" "${netem_nic[host]:-$netem}"
        ssh_up "$shared/ssh_key"
        slurm_up "$hosts" "$host" "$shared/munge_key"
    elif ((nics == 1)); then
        wire_down
        lone_nic_up
        lone_nic_loss "$loss_looped"
    else
        lone_nic_down
        wire_up "$nics"
        wire_netem "$nics"
    fi
}

export PATH=$PATH:/usr/sbin:/sbin
case $1 in
--names)
    read_spec "$2"
    device_names
    ;;
--down)
    lone_nic_down
    wire_down
    ;;
*)
    read_spec "$1"
    set_up
    ;;
esac
