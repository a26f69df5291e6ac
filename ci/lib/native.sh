# shellcheck shell=bash
# VERBCAST_SOFTROCE=native: this machine's own rdma_rxe, without a virtual machine. Needs say.sh, install.sh, options.sh and job.sh,
# and the variable REPO.

# shellcheck source=ci/guest/session.sh
. "$REPO/ci/guest/session.sh"

use_native() { [[ ${VERBCAST_SOFTROCE:-} == native ]]; }

native_prepare() {
    # A wire of several NICs needs routing rules that a machine in use should not get.
    ((NICS == 1)) || die "VERBCAST_SOFTROCE=native has one NIC only; unset it for --nics $NICS"
    ((EUID == 0)) || die "VERBCAST_SOFTROCE=native needs root"
    need_packages kmod iproute2 ibverbs-providers ibverbs-utils rdmacm-utils
    modprobe rdma_rxe || die "this kernel has no rdma_rxe; unset VERBCAST_SOFTROCE to use a virtual machine"
    ulimit -l unlimited
    native_nic
}

# Whether there is a device of that name that nics.sh did not make.
has_foreign_rxe0() { [[ -e /sys/class/infiniband/rxe0 && ! -e /sys/class/net/eth9 ]]; }

has_own_nic() { [[ -e /sys/class/net/eth9 ]]; }

# A device that is there already, called rxe0, is used as it is.
native_nic() {
    if has_foreign_rxe0; then
        [[ -z $LOSS_LOOPED ]] || die "the device rxe0 is this machine's own and loses nothing; unset VERBCAST_SOFTROCE for --loss-looped"
        return
    fi
    # One that was there before stays, as another clone may use it.
    has_own_nic || NATIVE_NIC=yes
    "$REPO/ci/guest/nics.sh" <(nic_spec) >&2 || DIE_STATUS=125 die "the NIC could not be set up"
}

# Usage: native_run LIMIT COMMAND…. Returns the command's status; 124 if it took longer than LIMIT seconds.
native_run() {
    local deadline=$((SECONDS + $1)) script status=0
    script=$(job_script "${@:2}")
    VERBCAST_TEST_DEVICES=rxe0 setsid bash -c "$script" </dev/null 5<&- 9>&- &
    NATIVE=$!
    while kill -0 "$NATIVE" 2>/dev/null; do
        if ((SECONDS > deadline)); then
            step "time limit of $1 s reached, ending the command"
            native_end
            return 124
        fi
        sleep 0.1
    done
    wait "$NATIVE" || status=$?
    native_end
    return "$status"
}

# Ends the command that runs, if there is one, and what it has left.
native_end() {
    [[ -n ${NATIVE:-} ]] || return 0
    # It may not have made its session yet.
    kill "$NATIVE" 2>/dev/null || true
    end_session "$NATIVE"
    NATIVE=
}

# Leaves the machine as it was.
native_clean_up() {
    native_end
    [[ -n ${NATIVE_NIC:-} ]] || return 0
    NATIVE_NIC=
    "$REPO/ci/guest/nics.sh" --down || step "the NIC could not be removed"
}

native_shell() {
    VERBCAST_TEST_DEVICES=rxe0 VERBCAST_SOFTROCE_PROMISED=1 bash -i 9>&-
}
