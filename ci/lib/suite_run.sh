# shellcheck shell=bash
# Runs the tests of mpi_suite.sh one by one with the suite's own runner, each within a time limit. Needs it, say.sh and
# the variable REPO. Processes are told by a variable of their environment, so this runs on Linux only.
#
# target/mpi-suite/NAME/HOW.results     for HOW plain and preloaded, tab-separated: result, seconds, test; the result is
#                                       passed, failed, timed out, skipped or not built
# target/mpi-suite/NAME/HOW/N.log       what the Nth test and the runner said; HOW/N.tap the runner's result
# target/mpi-suite/NAME/preloaded/N.statistics
#                                       which way its broadcasts went, if it came to its end

# Seconds for a test, unless the environment says otherwise.
SUITE_LIMIT=${VERBCAST_SUITE_LIMIT:-240}
# Seconds that a launcher has to end its ranks, and more for what runs around a test.
SUITE_GRACE=5
SUITE_AROUND=20

# Usage: suite_run NAME plain|preloaded
suite_run() {
    local name=$1 how=$2 to test number=0 began
    to=$(suite_target)/$name
    [[ -s $to/tests ]] || die "there is no $to/tests: ci/mpi suite makes it"
    cd "$to" || return
    rm -rf "$how" "$how.results"
    mkdir "$how"
    suite_environment "$name" "$how"
    # Of a launcher that is killed, ranks may be left.
    trap 'suite_kill_marked; exit 143' TERM INT HUP
    step "running $(wc -l <tests) tests with $name, $how, at most $SUITE_LIMIT s each"
    while read -r test <&3; do
        number=$((number + 1))
        began=$SECONDS
        if [[ -x ${test%% *} ]]; then suite_run_one "$how" "$number" "$test"; else SUITE_RESULT="not built"; fi
        printf '%s\t%d\t%s\n' "$SUITE_RESULT" $((SECONDS - began)) "$test" | tee -a "$how.results"
    done 3<tests
    trap - TERM INT HUP
}

# The longest that suite_run may take, in seconds.
# Usage: suite_bound NAME
suite_bound() {
    echo $(($(wc -l <"$(suite_target)/$1/tests") * (SUITE_LIMIT + SUITE_GRACE + SUITE_AROUND) + 60))
}

# Usage: suite_environment NAME plain|preloaded
suite_environment() {
    local preload=()
    if [[ $1 == openmpi ]]; then
        SUITE_LAUNCHER=mpirun.openmpi
        # Ranks outnumber cores, and components that look for other hardware take long to start.
        export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 OMPI_MCA_rmaps_base_oversubscribe=1
        export OMPI_MCA_hwloc_base_binding_policy=none OMPI_MCA_mpi_yield_when_idle=1 OMPI_MCA_pml=ob1
        export OMPI_MCA_btl=self,vader OMPI_MCA_btl_vader_single_copy_mechanism=none
    else
        SUITE_LAUNCHER=mpiexec.mpich
        # On SoftRoCE, UCX drops its own datagrams.
        export UCX_TLS=posix,sysv,self
        # Waiting ranks yield, as they do with Open MPI.
        preload+=("$(suite_target)/yield.so")
    fi
    [[ $2 != preloaded ]] || preload+=("$REPO/target/$1/release/libverbcast.so")
    # Only ranks: what the runner and the launcher start is not slowed down.
    MPITEST_PROGRAM_WRAPPER="env LD_PRELOAD=$(IFS=: && echo "${preload[*]}")"
    export MPITEST_PROGRAM_WRAPPER
    # suite_run_one ends what takes too long, and the programs are built.
    export MPITEST_TIMEOUT=$((10 * SUITE_LIMIT)) MPITEST_CLEANUP=0
    PATH=$(suite_target)/tools:$PATH
}

# Leaves the result in SUITE_RESULT: in a subshell, bash would handle signals only after the test.
# Usage: suite_run_one plain|preloaded NUMBER TEST
suite_run_one() {
    local how=$1 number=$2 status=0
    printf '%s\n' "$3" >"$how/$number.list"
    SUITE_MARK=VERBCAST_SUITE_TEST=$how-$number-$$
    [[ $how != preloaded ]] || export VERBCAST_STATS=$PWD/$how/$number.statistics VERBCAST_FIRST_BY_MPI=0
    timeout -k "$SUITE_GRACE" "$SUITE_LIMIT" env "$SUITE_MARK" ./runtests -srcdir=../source \
        "-tests=$how/$number.list" "-mpiexec=$SUITE_LAUNCHER" "-tapfile=$how/$number.tap" \
        >"$how/$number.log" 2>&1 </dev/null &
    wait $! || status=$?
    suite_kill_marked
    suite_result "$status" "$how/$number.tap"
}

# Kills what the test that ran last has left: Hydra's ranks are not children of their launcher.
suite_kill_marked() {
    local tries entry
    [[ -n ${SUITE_MARK-} ]] || return 0
    for tries in {1..10}; do
        entry=$(grep -lszxF "$SUITE_MARK" /proc/[0-9]*/environ) || break
        ((tries == 1)) || sleep 0.2
        while IFS=/ read -r _ _ entry _; do kill -KILL "$entry" 2>/dev/null || true; done <<<"$entry"
    done
}

# The runner's status is the same whether a test passes or fails.
# Usage: suite_result STATUS TAPFILE
suite_result() {
    SUITE_RESULT=failed
    if (($1 == 124 || $1 == 137)); then
        SUITE_RESULT="timed out"
    elif ! grep -qs '^1\.\.1$' "$2"; then
        die "the suite's runner failed: see ${2%.tap}.log in $PWD"
    elif grep -q '^ok.*# *SKIP' "$2"; then
        SUITE_RESULT=skipped
    elif grep -q '^ok' "$2"; then
        SUITE_RESULT=passed
    fi
}
