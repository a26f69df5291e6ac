#!/bin/bash
# Runs the program set_up of benches as every rank of a job; rank 0 prints what it counts.
# Usage: set_up.sh SET_UP RANKS
set -euo pipefail

set_up=$1 ranks=$2
for ((rank = ranks - 1; rank >= 0; rank--)); do
    VERBCAST_SIZE=$ranks VERBCAST_RENDEZVOUS=unix:/tmp/set-up VERBCAST_TOKEN=set-up VERBCAST_RANK=$rank \
        VERBCAST_DEVICE=$VERBCAST_TEST_DEVICES "$set_up" </dev/null &
done
status=0
for job in $(jobs -p); do
    wait "$job" || status=1
done
exit $status
