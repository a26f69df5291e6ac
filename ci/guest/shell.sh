#!/bin/bash
# Runs in the guest: an interactive shell on the virtual console. Usage: shell.sh 'ROWS COLUMNS' TERM
set -euo pipefail

console=/dev/hvc0
modprobe virtio_console
read -r rows columns <<<"$1"
stty sane rows "$rows" cols "$columns" <$console
# A new session, so that the console becomes its controlling terminal and job control works.
TERM=$2 exec setsid --ctty --wait bash -i 0<>$console 1>&0 2>&0
