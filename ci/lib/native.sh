# shellcheck shell=bash
# VERBCAST_SOFTROCE=native: this machine's own rdma_rxe, without a virtual machine. Needs say.sh, install.sh and job.sh.

use_native() { [[ ${VERBCAST_SOFTROCE:-} == native ]]; }

native_prepare() {
    # A wire of several NICs needs routing rules that a machine in use should not get.
    ((NICS == 1)) || die "VERBCAST_SOFTROCE=native has one NIC only; unset it for --nics $NICS"
    ((EUID == 0)) || die "VERBCAST_SOFTROCE=native needs root"
    need_packages kmod iproute2 ibverbs-providers ibverbs-utils rdmacm-utils
    modprobe rdma_rxe || die "this kernel has no rdma_rxe; unset VERBCAST_SOFTROCE to use a virtual machine"
    NATIVE_SPEC=$(mktemp)
    nic_spec >"$NATIVE_SPEC"
    native_nic
}

# A device that is there already, called rxe0, is used as it is.
native_nic() {
    [[ -e /sys/class/infiniband/rxe0 && ! -e /sys/class/net/eth9 ]] && return
    "$REPO/ci/guest/nics.sh" "$NATIVE_SPEC" >&2 || DIE_STATUS=125 die "the NIC could not be set up"
}

# Usage: native_run LIMIT COMMAND…
native_run() {
    local limit=$1 script
    shift
    script=$(job_script "$@")
    (
        ulimit -l unlimited
        export VERBCAST_TEST_DEVICES=rxe0
        timeout -k 5 "$limit" bash -c "$script" </dev/null
    )
}

native_shell() {
    ulimit -l unlimited
    VERBCAST_TEST_DEVICES=rxe0 VERBCAST_SOFTROCE_PROMISED=1 bash -i
}
