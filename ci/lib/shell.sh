# shellcheck shell=bash
# An interactive shell in the guest, over a virtual console that QEMU offers as a socket. Needs job.sh and install.sh.

# Usage: vm_shell SPEC
vm_shell() {
    local saved bridge size
    need_packages socat
    saved=$(stty -g)
    size=$(stty size)
    step "a shell in the guest; leave it with exit"
    # In its folder, because a socket's path must be short. Raw: Ctrl-C is for the guest's shell.
    (cd "$VM" && exec socat -,raw,echo=0 UNIX-CONNECT:shell.sock) <&0 9>&- &
    bridge=$!
    job_run "$1" 86400 "$REPO/ci/guest/shell.sh" "$size" "${TERM:-vt100}" || true
    kill "$bridge" 2>/dev/null || true
    wait "$bridge" 2>/dev/null || true
    stty "$saved"
}
