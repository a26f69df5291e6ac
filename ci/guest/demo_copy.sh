#!/bin/bash
# Broadcasts a file to several ranks and compares what each of them wrote.
# Usage: demo_copy.sh VERBCAST SOURCE SHA256 RANKS FLAG…
set -euo pipefail

verbcast=$1 source=$2 wanted=$3 ranks=$4
shift 4
# In memory: the shared folder is much slower under emulation.
copies=$(mktemp -d)
trap 'rm -rf "$copies"' EXIT

# With several NICs the ranks are spread over them.
"$verbcast" copy "$source" "$copies/copy.{rank}" --ranks "$ranks" --device "$VERBCAST_TEST_DEVICES" "$@"

cd "$copies"
for ((rank = 1; rank < ranks; rank++)); do
    echo "$wanted  copy.$rank"
done | sha256sum --check
