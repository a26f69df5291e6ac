# shellcheck shell=bash
# A command handed to the guest's agent, and what comes back. Needs say.sh and vm.sh.
#
# VM/jobs/N/command  a bash script: environment, folder, command
#                /nics     the NICs it wants (see nics.sh in ci/guest)
#                /programs changes with the programs that a guest keeps in its memory (see programs.sh there)
#                /ready    the agent may begin          (host → guest)
#                /out /err what the command writes      (guest → host)
#                /status   its exit status              (guest → host)
#                /cancel   the agent shall end it       (host → guest)
# VM/settled                /programs and /nics as the guest has them now

# Prints a bash script that runs a command in this folder with the environment that tests look at.
# Usage: job_script COMMAND…
job_script() {
    local name
    [[ -n $HOSTS ]] || printf 'export VERBCAST_NODES=flat\n'
    for name in $(compgen -e); do
        case $name in
        VERBCAST_SOFTROCE* | VERBCAST_TEST_DEVICES) ;;
        VERBCAST_* | RUST_* | CARGO_* | CI | CI_*) printf 'export %s=%q\n' "$name" "${!name}" ;;
        esac
    done
    printf 'export HOME=%q PATH=%q\n' "$HOME" "$PATH:/usr/local/sbin:/usr/sbin:/sbin"
    printf 'export VERBCAST_SOFTROCE_PROMISED=1\n'
    printf 'cd %q || exit 125\n' "$PWD"
    if [[ -n ${ADAPTER:-} ]]; then adapter_prefix; else printf 'exec'; fi
    printf ' %q' "$@"
    printf '\n'
}

# Prints what makes the command that follows see imitated adapters. Needs adapter_build.
adapter_prefix() {
    # shellcheck disable=SC2016 # expanded where the script runs
    printf 'state=$(mktemp -d); trap '\''rm -rf "$state"'\'' EXIT\n'
    # shellcheck disable=SC2016
    printf 'VERBCAST_ADAPTER_STATE=$state VERBCAST_ADAPTER=%q LD_PRELOAD=%q' "$ADAPTER" "$ADAPTER_LIBRARY"
}

# Builds what is preloaded under a command that shall see imitated adapters.
adapter_build() {
    (cd "$REPO" && cargo build --quiet --package verbcast-adapters) || die "the imitated adapters could not be built"
    ADAPTER_LIBRARY=$(realpath "${CARGO_TARGET_DIR:-$REPO/target}")/debug/libverbcast_adapters.so
}

# Usage: job_run SPEC LIMIT COMMAND…. Returns the command's status; 124 if it took longer than LIMIT seconds.
job_run() {
    local spec=$1 limit=$2 status
    shift 2
    JOB=$(job_new)
    job_script "$@" >"$JOB/command"
    printf '%s\n' "$spec" >"$JOB/nics"
    programs_stamp >"$JOB/programs"
    : >"$JOB/out"
    : >"$JOB/err"
    : >"$JOB/ready"
    exec 3<"$JOB/out" 4<"$JOB/err"
    job_follow "$limit"
    exec 3<&- 4<&-
    read -r status <"$JOB/status"
    rm -rf "$JOB"
    JOB=
    return "$status"
}

# Says something else whenever what is kept in a guest's memory has changed: cargo's programs, or a folder of /usr, as
# packages change them. What goes away meanwhile has changed, too.
programs_stamp() {
    local target=${CARGO_TARGET_DIR:-$REPO/target}
    {
        find "$target"/{debug,release,openmpi,mpich,mpi-tests} \( -name incremental -o -name .fingerprint -o -name build \) -prune \
            -o -type f -printf '%T@ %s %i %p\n' || true
        find /usr -type d -printf '%T@ %p\n' || true
    } 2>/dev/null | cksum
}

# Usage: job_is_settled SPEC. Whether the machine is already as a job with these NICs wants it.
job_is_settled() {
    [[ $(cat "$VM/settled" 2>/dev/null) == "$(programs_stamp)"$'\n'$1 ]]
}

job_new() {
    local n=1
    until mkdir "$VM/jobs/$n" 2>/dev/null; do n=$((n + 1)); done
    echo "$VM/jobs/$n"
}

# Copies what has been written since the last time. The shell's descriptors keep the place.
job_copy() {
    cat <&3
    cat <&4 >&2
}

# Usage: job_follow LIMIT. Returns when the job has a status; dies if the machine ends without one.
job_follow() {
    local deadline=$((SECONDS + $1)) cancelled=
    until [[ -s $JOB/status ]]; do
        job_copy
        if ! vm_running && [[ ! -s $JOB/status ]]; then
            job_copy
            vm_died "the guest ended without giving the command's status"
        fi
        if ((SECONDS > deadline)) && [[ -z $cancelled ]]; then
            step "time limit of $1 s reached, ending the command"
            cancelled=yes
            : >"$JOB/cancel"
        elif ((SECONDS > deadline + 30)); then
            DIE_STATUS=124 vm_died "the guest does not answer after the time limit"
        fi
        sleep 0.1
    done
    job_copy
}

# Ends the job that is being waited for, if there is one.
job_cancel() {
    [[ -n ${JOB:-} && -d $JOB ]] || return 0
    : >"$JOB/cancel"
}
