# shellcheck shell=bash
# Both MPI libraries, what is preloaded under their programs, and the programs that test it. Needs say.sh,
# install.sh and the variable REPO.
#
# target/NAME/release/libverbcast.so   for NAME openmpi and mpich
# target/NAME/release/examples/        the rsmpi programs of tests/examples and tests/mpi
# target/NAME/release/verbcast         the command, whose benchmarks measure MPI too
# target/mpi-tests/mpich/yield.so      ci/guest/yield.c
# target/mpi-tests/NAME/PROGRAM        tests/mpi/PROGRAM.c or .f90, and those of tests/mpi/NAME

MPI_PACKAGES=(libopenmpi-dev openmpi-bin libmpich-dev mpich libclang-14-dev gfortran python3-mpi4py)
MPI_NAMES=(openmpi mpich)
# What ranks of MPICH preload so that they yield while they wait, as those of Open MPI do.
MPI_YIELD=$REPO/target/mpi-tests/mpich/yield.so

mpi_prepare() {
    need_packages "${MPI_PACKAGES[@]}"
}

# Usage: mpi_with NAME COMMAND…. A target folder for each: a build does not notice that MPICC has changed.
mpi_with() {
    local name=$1
    shift
    MPICC=mpicc.$name CARGO_TARGET_DIR=$REPO/target/$name "$@"
}

# Usage: mpi_library CARGO_COMMAND [OPTION…]. What is preloaded, and the library that it is made of: together, so that
# what they share is built once.
mpi_library() {
    local command=$1
    shift
    cargo "$command" --release -p verbcast -p verbcast-preload --no-default-features \
        --features verbcast/mpi,verbcast/trace "$@"
}

mpi_build() {
    local name
    for name in "${MPI_NAMES[@]}"; do
        step "building with $name"
        mpi_with "$name" mpi_library build --lib --examples || return
        mpi_build_command "$name" || return
    done
}

mpi_build_command() {
    mpi_with "$1" cargo build --release -p verbcast-cli --features mpi
}

mpi_build_programs() {
    local name program to
    mkdir -p "$REPO/target/mpi-tests/mpich"
    cc -O2 -Wall -Wextra -Werror -shared -fPIC -o "$MPI_YIELD" "$REPO/ci/guest/yield.c" || return
    for name in "${MPI_NAMES[@]}"; do
        to=$REPO/target/mpi-tests/$name
        mkdir -p "$to"
        cp "$REPO/tests/mpi/python.py" "$to"
        while read -r program; do
            "mpicc.$name" -O1 -Wall -Wextra -Werror -pthread -I "$REPO/tests/mpi" -o "$to/$(basename "$program" .c)" \
                "$program" || return
        done < <(compgen -G "$REPO/tests/mpi/*.c"; compgen -G "$REPO/tests/mpi/$name/*.c")
        for program in tool abi; do
            "mpicc.$name" -O1 -Wall -Wextra -Werror -shared -fPIC -o "$to/lib$program.so" \
                "$REPO/tests/mpi/libraries/$program.c" || return
        done
        cc -O1 -Wall -Wextra -Werror -shared -fPIC -Wl,-soname,libcuda.so.1 -o "$to/libcuda.so.1" \
            "$REPO/tests/mpi/gpu/libcuda.c" || return
        while read -r program; do
            # MPICH's module mpi tells the compiler nothing of buffers, which then differ in its eyes.
            "mpif90.$name" -O1 -w -J "$to" -o "$to/$(basename "$program" .f90)" "$program" || return
        done < <(compgen -G "$REPO/tests/mpi/*.f90"; compgen -G "$REPO/tests/mpi/$name/*.f90")
    done
}

# With one of them: verbcast's own code is the same with both. Optimised, as what generates the bindings is then built
# once.
mpi_lint() {
    mpi_with openmpi cargo clippy --release -p verbcast --no-default-features --features mpi,trace --lib --examples \
        -- -D warnings || return
    mpi_with openmpi cargo clippy --release -p verbcast-preload --all-targets -- -D warnings || return
    mpi_with openmpi cargo clippy --release -p verbcast-cli --features mpi --bin verbcast -- -D warnings || return
    RUSTDOCFLAGS='-D warnings' mpi_with openmpi cargo doc --release --no-deps -p verbcast --features mpi --lib
}

# The tests of what is preloaded, of the library as it is there, and of what measures MPI, that need no launcher.
mpi_test_units() {
    mpi_with openmpi mpi_library test --lib -- --show-output || return
    mpi_with openmpi cargo test --release -p verbcast-cli --bin verbcast --features mpi bench:: -- --show-output
}

# What the programs say without verbcast: target/mpi-tests/NAME/PROGRAM.RANKS.expected.
mpi_run_plain() {
    local name run
    for name in "${MPI_NAMES[@]}"; do
        for run in 'types 8' 'types 2' 'communicators 4' 'ahead 4' 'threads 4' 'nonblocking 4' 'ibcast_only 4' 'attributes 4' 'fortran 4' 'fortran08 4'; do
            # shellcheck disable=SC2086 # a program and its ranks
            mpi_run_one "$name" $run || return
        done
    done
    mpi_run_one openmpi types 16 || return
    mpi_run_one openmpi communicators 16 || return
    mpi_run_one mpich persistent08 4 || return
    # Debian's mpi4py is for Open MPI.
    mpi_run_one openmpi python.py 4
}

# Usage: mpi_run_one NAME PROGRAM RANKS
mpi_run_one() {
    local program=$REPO/target/mpi-tests/$1/$2 launcher=(mpiexec.mpich -genv LD_PRELOAD "$MPI_YIELD")
    if [[ $1 == openmpi ]]; then
        launcher=(env OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 mpirun.openmpi --oversubscribe
            --bind-to none --mca mpi_yield_when_idle 1)
    fi
    timeout 300 "${launcher[@]}" -n "$3" "$program" >"$program.$3.new" &&
        mv "$program.$3.new" "$program.$3.expected"
}
