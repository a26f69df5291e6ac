# shellcheck shell=bash
# The broadcast tests of MPICH's test suite, as the distribution has it, built for both MPI libraries. Needs say.sh,
# install.sh, mpi.sh and the variable REPO.
#
# target/mpi-suite/source/     the suite
# target/mpi-suite/NAME/       what is built for NAME openmpi and mpich
# target/mpi-suite/NAME/tests  the tests that run, a line for each, as the suite's own lists have them
# What suite_run.sh and suite_compare.sh add is said there.

# shellcheck disable=SC2034 # for ci/mpi
SUITE_PACKAGES=(gfortran perl xz-utils)
# Folders of the suite whose tests count: those of dynamic processes, of failed processes and of files use broadcasts
# to tell a name or an error, or need what a library was not built with.
SUITE_FOLDERS=(coll comm errors/coll f77/coll f90/coll f08/coll threads/comm topo)
# On few cores, as many ranks, repetitions and elements take hours.
SUITE_SCALE=${VERBCAST_SUITE:-small}
SUITE_RANKS=4
SUITE_TESTSIZE=8
SUITE_LONG_TESTSIZE=1
SUITE_LONG_COUNT=8192
SUITE_NONBLOCKING=1000

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
    # By default it begins 100000 operations; a line of the list may say otherwise.
    sed -i 's/^#define MAIN_ITERATIONS .*/#define MAIN_ITERATIONS (getenv("ITERATIONS") ? atoi(getenv("ITERATIONS")) : 100000)/' \
        "$to/source.new/coll/nonblocking3.c"
    # The module mpi_f08 is not MPICH's alone.
    sed -i 's/ -a "[$]FROM_MPICH" = "yes"//' "$to/source.new/configure"
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
        --enable-fortran=all --disable-cxx --disable-spawn --disable-romio "${strict[@]}")
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
    done | sed -nE "s#^($programs)( .*)?\$#$folder/&#p"
}

# Makes the tests smaller, unless VERBCAST_SUITE is full, and leaves one of those that are then alike. Time limits are
# suite_run's, and memory is not short.
# Usage: suite_scale <LIST
suite_scale() {
    awk -v scale="$SUITE_SCALE" -v ranks=$SUITE_RANKS -v size=$SUITE_TESTSIZE -v long_size=$SUITE_LONG_TESTSIZE \
        -v long_count=$SUITE_LONG_COUNT -v iterations=$SUITE_NONBLOCKING '
        {
            gsub(/ (timeLimit|mem)=[^ ]*/, "")
            if (scale != "full") {
                if ($2 > ranks) $2 = ranks
                if ($1 == "coll/nonblocking3") $0 = $0 " env=ITERATIONS=" iterations
                sub(/testsize=(1024|16)/, "testsize=" (/count=262144/ ? long_size : size))
                sub(/count=262144/, "count=" long_count)
            }
            sub(/ +$/, "")
            if (!seen[$0]++) print
        }'
}

# Says how the tests that run differ from the suite's.
# Usage: suite_say_scale NAME
suite_say_scale() {
    local to
    to=$(suite_target)/$1
    step "$1: $(wc -l <"$to/tests") tests of the $(wc -l <"$to/broadcasts") in the suite that broadcast"
    [[ $SUITE_SCALE == full ]] ||
        step "made smaller for few cores (VERBCAST_SUITE=full: as they are): at most $SUITE_RANKS ranks instead of 10, and" \
            "one of those that are then alike; testsize $SUITE_TESTSIZE instead of 1024 or 16, $SUITE_LONG_TESTSIZE with" \
            "count=262144, which is $SUITE_LONG_COUNT; nonblocking3 $SUITE_NONBLOCKING instead of 100000"
}

# Builds the programs, and writes the lists: NAME/broadcasts, the suite's own, and NAME/tests.
# Usage: suite_build NAME
suite_build() {
    local name=$1 to folder programs
    to=$(suite_target)/$name
    step "building the suite's broadcast tests for $name"
    mkdir -p "$(suite_target)/tools"
    # The runner makes each program once more, which is slow to find that there is nothing to do.
    ln -sf /bin/true "$(suite_target)/tools/make"
    quietly "building yield.c" "its output is above" cc -O2 -Wall -Wextra -Werror -shared -fPIC \
        -o "$(suite_target)/yield.so" "$REPO/ci/guest/yield.c"
    for folder in dtpools util; do
        quietly "make $folder" "its output is above" make -C "$to/$folder" -j "$(nproc)"
    done
    : >"$to/broadcasts"
    for folder in "${SUITE_FOLDERS[@]}"; do
        [[ -e $to/$folder/Makefile ]] || continue
        suite_tests "$name" "$folder" >>"$to/broadcasts"
        read -ra programs <<<"$(sed -n "s|^$folder/\([^ /]*\).*|\1|p" "$to/broadcasts" | sort -u | paste -sd ' ')"
        ((${#programs[@]})) || continue
        # What an MPI library lacks cannot be built, which the results say.
        make -C "$to/$folder" -k -j "$(nproc)" "${programs[@]}" >"$to/$folder/make.log" 2>&1 </dev/null || true
    done
    suite_scale <"$to/broadcasts" >"$to/tests"
}
