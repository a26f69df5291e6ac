# shellcheck shell=bash
# What ci/compare measures, and how the ranks are started. Needs say.sh and mpi.sh, and the variables REPO, COMPARE
# (the folder of what comes of it), RANKS and QUICK.
#
# COMPARE/NICS-MPI-NAME-ROUND.json   what verbcast bench has measured on so many NICs beside an MPI library
#                            .txt    its tables
# COMPARE/NICS-MPI-ratios.txt        how the times for broadcasts back to back compare, medians of the rounds
# COMPARE/NICS-MPI-lossy-ratios.txt  the same on a wire that loses towards one NIC
# COMPARE/NICS-copy.txt              how fast verbcast copy is beside the bare multicast
# COMPARE/index.html                 all of it on one page, without what was measured on a wire that loses

ALGORITHMS=raw,two-stage,two-stage-on-demand,window,co-root,aggregate,basic,binomial,chain,scatter-allgather,mpi
# Besides them the floor, and what is taken by default, where broadcasts go back to back.
BACK_TO_BACK=bare,auto,$ALGORITHMS

# Prints each measurement's name, in how many rounds it is made, and what verbcast bench is told; the algorithms are all if
# none are named, but 64 MiB for each of them at every rank are more than the machine has. In an emulated machine a
# broadcast among more ranks than cores takes milliseconds, so that there are fewer of them than verbcast bench does by
# default, and delays are as much longer than the paper's. All is measured on one NIC beside the first library, and beside
# the others and on eight NICs broadcasts back to back alone, so that all of it takes an hour.
# Usage: measurements NICS MPI
measurements() {
    local rounds=3
    [[ -z $QUICK ]] || rounds=1
    cat <<END
throughput  $rounds  throughput --sizes 8:4K:512 --iterations 1500 --warmup 100 --algorithms $BACK_TO_BACK
stream      $rounds  throughput --sizes 64K:64K --iterations 120 --warmup 5 --algorithms $BACK_TO_BACK
stream-long $rounds  throughput --sizes 1M:1M --iterations 40 --warmup 3 --algorithms $BACK_TO_BACK
END
    if (($1 > 1)); then
        echo "lossy $rounds throughput --sizes 64K:64K --iterations 30 --warmup 3 --algorithms auto,$ALGORITHMS"
        return
    fi
    [[ $2 == "${MPI_NAMES[0]}" ]] || return 0
    if [[ -n $QUICK ]]; then
        cat <<END
latency     1  latency --sizes 8:8 --iterations 60 --warmup 10
large       1  latency --sizes 1M:1M --methods osu --iterations 5 --warmup 1
skew        1  skew --sizes 8:8 --skews 0,20000 --iterations 20 --warmup 5
END
    else
        cat <<END
latency     1  latency --sizes 1:4K:8 --iterations 100 --warmup 10
large       1  latency --sizes 16K:1M:4 --methods osu --iterations 20 --warmup 2
huge        1  throughput --sizes 64M:64M --iterations 2 --warmup 1 --algorithms raw,window,chain,mpi
skew        1  skew --sizes 8:8 --skews 0,10000,20000,30000,40000 --iterations 50 --warmup 5
scale       1  scale --counts 2,3,4,6,8 --sizes 8:8 --iterations 60 --warmup 10
END
    fi
}

# Seconds for one of them.
compare_limit() { if [[ -n $QUICK ]]; then echo 1200; else echo 7200; fi; }

# Prints the launcher of an MPI library with what it needs to broadcast over verbs, word by word in lines. All
# contenders wait in the same way: they poll, and yield when there was nothing to do. verbcast is told so by
# VERBCAST_WAIT, Open MPI by mpi_yield_when_idle, and MPICH, which has no setting for it, by a library.
# Usage: compare_launcher NAME
compare_launcher() {
    case $1 in
    openmpi)
        printf '%s\n' env OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 mpirun.openmpi \
            --oversubscribe --bind-to none --mca mpi_yield_when_idle 1 --mca pml ucx --mca osc ucx \
            --mca coll ^hcoll --mca btl ^openib,vader
        ;;
    mpich)
        printf '%s\n' env MPIR_CVAR_NOLOCAL=1 mpiexec.mpich -env LD_PRELOAD "$COMPARE/yield.so"
        ;;
    *) die "there is no MPI library '$1': openmpi, mpich" ;;
    esac
    printf '%s\n' -n "$RANKS" "$REPO/ci/guest/mpi_rank.sh"
}

# Usage: compare_prepare NAME…. Builds what is run.
compare_prepare() {
    local name
    for name in "$@"; do
        step "building with $name"
        mpi_build_command "$name" || die "the build with $name failed"
    done
    mkdir -p "$COMPARE"
    cc -O2 -Wall -Wextra -Werror -shared -fPIC -o "$COMPARE/yield.so" "$REPO/ci/guest/yield.c" ||
        die "what is preloaded under MPICH does not build"
}

# How all ranks wait, and for how many microseconds an acknowledgement may be owed: in an emulated machine a broadcast
# takes longer than the default of 1000, after which even those that are put off would be sent one by one.
COMPARE_SETTINGS=(VERBCAST_WAIT=yield VERBCAST_ACKNOWLEDGE_AFTER=100000)

# Usage: compare_one NICS MPI NAME ROUND ARGUMENT…. Leaves a file only if all was measured.
compare_one() {
    local nics=$1 mpi=$2 to=$COMPARE/$1-$2-$3-$4 wire=(--nics "$1") devices=rxe0 launcher i
    [[ $3 != lossy ]] || wire+=(--netem-nic '3:loss 2%')
    shift 4
    [[ " $* " == *' --algorithms '* ]] || set -- "$@" --algorithms "$ALGORITHMS"
    if ((nics > 1)); then
        devices=rxeV1
        for ((i = 2; i <= nics; i++)); do devices+=,rxeV$i; done
    fi
    mapfile -t launcher < <(compare_launcher "$mpi")
    env "${COMPARE_SETTINGS[@]}" ci/softroce exec "${wire[@]}" --timeout "$(compare_limit)" -- "${launcher[@]}" \
        "$REPO/target/$mpi/release/verbcast" bench "$@" --device "$devices" \
        --json "$to.json" >"$to.txt" </dev/null
}

# Usage: compare_ratios TO RESULT…. Prints how what was measured compares. Leaves a file only if it can be read.
compare_ratios() {
    (($# > 1)) || return 0
    if ! jq -rs -f "$REPO/ci/lib/compare.jq" "${@:2}" | column -t -s $'\t' >"$1"; then
        rm "$1"
        return 1
    fi
    cat "$1"
}

# Usage: compare_copy NICS MPI. With the command that was built with this MPI library, without any in use. Leaves a file only
# if all was measured.
compare_copy() {
    local nics=$1 to=$COMPARE/$1-copy.txt rounds=5
    [[ -z $QUICK ]] || rounds=1
    if ! env "${COMPARE_SETTINGS[@]}" ci/softroce exec --nics "$nics" --timeout "$(compare_limit)" -- \
        "$REPO/ci/guest/copy_rate.sh" "$REPO/target/$2/release/verbcast" "$RANKS" "$rounds" >"$to" </dev/null; then
        rm "$to"
        return 1
    fi
    cat "$to"
}
