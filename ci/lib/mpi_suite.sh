# shellcheck shell=bash
# The broadcast tests of MPICH's test suite, as the distribution has it, with and without the preloaded library, under
# both MPI libraries. Needs say.sh, install.sh, mpi.sh and the variable REPO.
#
# target/mpi-suite/source/         the suite
# target/mpi-suite/NAME/           what is built for NAME openmpi and mpich
# target/mpi-suite/NAME/HOW.tap    its results for HOW plain and preloaded; HOW.log what failed
# target/mpi-suite/NAME/statistics which way the broadcasts went

# shellcheck disable=SC2034 # for ci/mpi
SUITE_PACKAGES=(gfortran perl xz-utils)
# Folders of the suite whose tests count: those of dynamic processes, of failed processes and of files use broadcasts
# to tell a name or an error, or need what a library was not built with.
SUITE_FOLDERS=(coll comm errors/coll f77/coll f90/coll f08/coll threads/comm topo)
# Thousands of collectives under way at once, and every type with a quarter of a million elements, take hours where ranks
# outnumber cores.
SUITE_LEFT_OUT='^coll/nonblocking3 ([^1]|1[0-9])|-count=262144'
# It makes an error on purpose, of which the library tells on stderr, and the suite takes any output for a failure.
SUITE_EXPLAINED='bcastlength'

suite_target() { printf '%s' "$REPO/target/mpi-suite"; }

# Fetches the source package, with what apt knows of binary packages' places.
suite_fetch() {
    local to apt parts
    to=$(suite_target)
    [[ -e $to/source/configure ]] && return
    parts=$to/apt/parts
    mkdir -p "$parts" "$to/apt/lists/partial" "$to/apt/package"
    sed 's/^Types: *deb *$/Types: deb-src/' /etc/apt/sources.list.d/*.sources >"$parts/all.sources" 2>/dev/null || true
    sed -n 's/^deb /deb-src /p' /etc/apt/sources.list /etc/apt/sources.list.d/*.list >"$parts/all.list" 2>/dev/null || true
    apt=(-o Dir::Etc::sourcelist=/dev/null -o "Dir::Etc::sourceparts=$parts" -o "Dir::State::lists=$to/apt/lists"
        -o APT::Sandbox::User=)
    step "fetching the source of MPICH, for its test suite"
    quietly "apt-get update" "is the package mirror reachable?" apt-get "${apt[@]}" update
    (cd "$to/apt/package" && quietly "apt-get source" "is the package mirror reachable?" \
        apt-get "${apt[@]}" source --download-only --only-source mpich)
    rm -rf "$to/source.new"
    mkdir "$to/source.new"
    tar -xf "$to"/apt/package/mpich_*.orig.tar.* -C "$to/source.new" --strip-components 3 --wildcards '*/test/mpi' ||
        die "the source of MPICH has no test/mpi"
    # Two functions of MPI-1 that Open MPI no longer has, by their newer names.
    sed -i 's/\bMPI_Type_\(hvector\|hindexed\)(/MPI_Type_create_\1(/' "$to/source.new/dtpools/src/dtpools_custom.c"
    rm -rf "$to/source" "$to/apt"
    mv "$to/source.new" "$to/source"
}

# Usage: suite_configure NAME
suite_configure() {
    local name=$1 to strict=()
    to=$(suite_target)/$name
    [[ -x $to/runtests ]] && return
    rm -rf "$to"
    mkdir -p "$to"
    # Without what MPICH has beyond the standard.
    [[ $name == mpich ]] || strict=(--enable-strictmpi)
    step "configuring the test suite for $name"
    (cd "$to" && quietly "the suite's configure" "see target/mpi-suite/$name/config.log" ../source/configure \
        "MPICC=mpicc.$name" "MPIF77=mpif77.$name" "MPIFC=mpif90.$name" CC=gcc F77=gfortran FC=gfortran \
        FFLAGS=-fallow-argument-mismatch FCFLAGS=-fallow-argument-mismatch \
        --disable-cxx --disable-spawn --disable-romio "${strict[@]}")
}

# Prints those lines of a folder's lists of tests whose programs broadcast: the programs that are called like a source
# which does, or that the folder's Makefile makes from it.
# Usage: suite_tests NAME FOLDER
suite_tests() {
    local name=$1 folder=$2 source programs list from
    from=$(suite_target)/source/$folder
    programs=$(
        cd "$from" || exit
        { grep -lisE '(MPI|MTest)_I?bcast' -- *.c *.f *.f90 || true; } | while read -r source; do
            echo "${source%.*}"
            sed -n "s/^\([a-z0-9_]*\)_SOURCES *= *$source\$/\1/p" Makefile.am
        done | sort -u | paste -sd '|'
    )
    [[ -n $programs ]] || return 0
    for list in testlist testlist.dtp; do
        # The lists that configure makes are beside the programs.
        cat "$(suite_target)/$name/$folder/$list" 2>/dev/null || cat "$from/$list" 2>/dev/null || true
    done | sed -nE "s#^($programs)( .*)?\$#$folder/&#p" |
        grep -vE "$SUITE_LEFT_OUT" || true
}

# Builds the programs, and writes the list of tests for the suite's own runner.
# Usage: suite_build NAME
suite_build() {
    local name=$1 to folder programs
    to=$(suite_target)/$name
    step "building the suite's broadcast tests for $name"
    for folder in dtpools util; do
        quietly "make $folder" "its output is above" make -C "$to/$folder" -j "$(nproc)"
    done
    : >"$to/broadcasts"
    for folder in "${SUITE_FOLDERS[@]}"; do
        [[ -e $to/$folder/Makefile ]] || continue
        suite_tests "$name" "$folder" >>"$to/broadcasts"
        read -ra programs <<<"$(sed -n "s|^$folder/\([^ /]*\).*|\1|p" "$to/broadcasts" | sort -u | paste -sd ' ')"
        ((${#programs[@]})) || continue
        # What an MPI library lacks cannot be built; the runner says so then.
        make -C "$to/$folder" -k -j "$(nproc)" "${programs[@]}" >"$to/$folder/make.log" 2>&1 </dev/null || true
    done
}

# Runs the tests and keeps their results.
# Usage: suite_run NAME plain|preloaded
suite_run() {
    local name=$1 how=$2 to launcher=mpiexec.mpich
    to=$(suite_target)/$name
    if [[ $name == openmpi ]]; then
        launcher=mpirun.openmpi
        # Ranks outnumber cores, and components that look for other hardware take long to start.
        export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 OMPI_MCA_rmaps_base_oversubscribe=1
        export OMPI_MCA_hwloc_base_binding_policy=none OMPI_MCA_mpi_yield_when_idle=1 OMPI_MCA_pml=ob1
        export OMPI_MCA_btl=self,vader OMPI_MCA_btl_vader_single_copy_mechanism=none
    else
        # On SoftRoCE, UCX drops its own datagrams.
        export UCX_TLS=posix,sysv,self
    fi
    if [[ $how == preloaded ]]; then
        rm -f "$to/statistics"
        export MPITEST_PROGRAM_WRAPPER="env LD_PRELOAD=$REPO/target/$name/release/libverbcast.so"
        MPITEST_PROGRAM_WRAPPER+=" VERBCAST_STATS=$to/statistics"
    fi
    export MPITEST_TIMEOUT_MULTIPLIER=3
    cd "$to" || die "there is no $to: ci/mpi suite builds it"
    step "running $(wc -l <broadcasts) tests with $name, $how"
    # It fails where a test does, which is for the comparison to judge.
    # Ranks of MPICH wait without yielding: more of them on few cores take very long.
    ./runtests -srcdir=../source -tests=broadcasts -maxnp=4 "-mpiexec=$launcher" "-tapfile=$how.tap" >"$how.log" 2>&1 || true
    grep -q '^1\.\.[1-9]' "$how.tap" || die "the suite's runner failed: target/mpi-suite/$name/$how.log"
}

# Prints "ok|not ok|skip PROGRAM RANKS" for each test.
# Usage: suite_results TAPFILE
suite_results() {
    sed -nE 's/^(ok|not ok) [0-9]* ?- (\S+ +[0-9]*) *#.*SKIP.*/skipped \2/p; t
        s/^(ok|not ok) [0-9]* ?- (\S+ +[0-9]*).*/\1 \2/p' "$1"
}

# Says what came out, and fails if a test that passes without the library does not with it, or nothing was multicast.
# Usage: suite_compare NAME
suite_compare() {
    local name=$1 to how multicast worse
    to=$(suite_target)/$name
    for how in plain preloaded; do
        printf '%s, %s: %s\n' "$name" "$how" \
            "$(suite_results "$to/$how.tap" | cut -d / -f 1 | sort | uniq -c | paste -sd ' ' | tr -s ' ')"
    done
    multicast=$(awk '/: all ranks: multicast: / { sum += $5 } END { print sum + 0 }' "$to/statistics")
    printf '%s: %d broadcasts by multicast\n' "$name" "$multicast"
    worse=$(diff <(suite_results "$to/plain.tap") <(suite_results "$to/preloaded.tap") | grep '^[<>]') || true
    [[ -z $worse ]] || printf '%s: otherwise without (<) and with (>) the library:\n%s\n' "$name" "$worse"
    ! grep -v "$SUITE_EXPLAINED" <<<"$worse" | grep -q '^< ok' && ((multicast > 0))
}

# Usage: suite_all [NAME…]
suite_all() {
    local name status=0
    (($#)) || set -- "${MPI_NAMES[@]}"
    suite_fetch
    for name in "$@"; do
        [[ -e $REPO/target/$name/release/libverbcast.so ]] || die "ci/mpi build comes first"
        suite_configure "$name"
        suite_build "$name"
        (suite_run "$name" plain)
        ci/softroce exec --timeout 4000 -- ci/mpi suite-run "$name" preloaded
        suite_compare "$name" || status=1
    done
    return "$status"
}
