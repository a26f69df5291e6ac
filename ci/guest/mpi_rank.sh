#!/bin/bash
# One rank of an MPI job over verbs: UCX uses the device that verbcast uses at this rank, and nothing else.
# Usage: mpi_rank.sh COMMAND…
set -euo pipefail

IFS=, read -ra devices <<<"$VERBCAST_TEST_DEVICES"
rank=${OMPI_COMM_WORLD_RANK:-${PMI_RANK:?no launcher of an MPI library has started this}}
export UCX_NET_DEVICES=${devices[rank % ${#devices[@]}]}:1
# Without shared memory, which ranks on one host would use instead of the device.
export UCX_TLS=rc_verbs,ud_verbs:aux,self
# The GID of the NIC's IPv4 address.
export UCX_IB_GID_INDEX=1
# UCX 1.13 drops the datagrams of rdma_rxe, by which it makes connections, if it checks their addresses.
export UCX_UD_VERBS_ETH_DGID_CHECK=n
exec "$@"
