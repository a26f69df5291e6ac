//! Broadcasts that a later call of the program's completes, under each MPI library: non-blocking and persistent ones.

use super::scenarios::{COUNT, is_ready};
use super::{Ranks, alike};
use crate::mpirun::Mpi;

/// Persistent broadcasts, started in another order at each rank: all by multicast, and as many as are started.
pub fn persistent(mpi: Mpi) {
    if !is_ready(mpi) {
        return;
    }
    let said = mpi.run(&mpi.library(), "persistent", &alike(4, &[COUNT]));
    assert!(said.is_success);
    // Nine rounds of eight, and seven blocking ones; three of each of two types; and as many as are made and freed.
    let broadcasts = 4 * (9 * 8 + 7 + 2 * 3 + 20);
    assert_eq!((said.sum(""), said.sum("multicast")), (broadcasts, broadcasts));
}

/// Persistent broadcasts that MPI does: as without, each start counted with the reason.
pub fn persistent_by_mpi(mpi: Mpi, program: &str, starts: u64) {
    if !is_ready(mpi) {
        return;
    }
    let off = [COUNT, ("VERBCAST_PRELOAD", "off")];
    let said = mpi.run(&mpi.library(), program, &alike(4, &off));
    assert!(said.is_success);
    assert_eq!(said.out, mpi.expected(program, 4));
    for rank in 0..4 {
        let line = format!("rank {rank}: MPI, switched off: {starts} broadcasts, ");
        assert_eq!(said.lines(&line).len(), 1, "{line}");
    }
    assert_eq!(said.sum("MPI, switched off"), 4 * starts, "{}", said.err);
}

/// Non-blocking broadcasts, more than may be in flight: all by multicast but those before a communicator's first
/// blocking one, which are three at each rank.
pub fn nonblocking(mpi: Mpi) {
    if !is_ready(mpi) {
        return;
    }
    let few = [COUNT, ("VERBCAST_IN_FLIGHT", "8")];
    let said = mpi.run(&mpi.library(), "nonblocking", &alike(4, &few));
    assert!(said.is_success);
    assert_eq!(said.out, mpi.expected("nonblocking", 4));
    assert_eq!(said.sum("MPI, non-blocking"), 4 * 3);
    assert_eq!(said.sum("multicast") + 4 * 3, said.sum(""));
    assert!(said.sum("multicast") > 1000);
}

/// Programs whose broadcasts are all non-blocking: by MPI's own until their ranks meet, and by multicast from then on.
pub fn nonblocking_only(mpi: Mpi) {
    if !is_ready(mpi) {
        return;
    }
    let said = mpi.run(&mpi.library(), "ibcast_only", &alike(4, &[COUNT]));
    assert!(said.is_success);
    assert_eq!(said.out, mpi.expected("ibcast_only", 4));
    // The first on each of two, and both on one whose ranks meet elsewhere.
    assert_eq!(said.sum("MPI, non-blocking"), 4 * (1 + 1 + 2), "{}", said.err);
    assert_eq!(said.sum("multicast"), 4 * (1 + 20 + 20 + 1), "{}", said.err);
    let said = mpi.run(&mpi.library(), "ibcast_fortran", &alike(4, &[COUNT]));
    assert!(said.is_success);
    assert_eq!(said.out.matches("every message was right").count(), 4, "{}", said.out);
    assert_eq!((said.sum("MPI, non-blocking"), said.sum("multicast")), (4, 4 * 9), "{}", said.err);
}

/// Whoever waits for a broadcast lets MPI send what the broadcast's root waits for.
pub fn progress(mpi: Mpi) {
    if !is_ready(mpi) {
        return;
    }
    let said = mpi.run(&mpi.library(), "progress", &alike(3, &[COUNT]));
    assert!(said.is_success, "{}", said.err);
    assert!(said.out.contains("every message was right"), "{}", said.out);
    // The first, one in each of seven ways and another in one of them, and one on each communicator at its end.
    let broadcasts = 3 * (1 + 7 + 1 + 2);
    assert_eq!((said.sum(""), said.sum("multicast")), (broadcasts, broadcasts), "{}", said.err);
}

/// Non-blocking broadcasts beyond the limit begin while their rank waits elsewhere in MPI.
pub fn queued(mpi: Mpi) {
    if !is_ready(mpi) {
        return;
    }
    for limit in ["4", "64"] {
        let few = [COUNT, ("VERBCAST_IN_FLIGHT", limit)];
        let said = mpi.run(&mpi.library(), "queued", &alike(3, &few));
        assert!(said.is_success, "{limit}: {}", said.err);
        assert!(said.out.contains("every message was right"), "{limit}: {}", said.out);
        assert_eq!(said.sum("multicast"), 3 * (1 + 3 * 100), "{limit}: {}", said.err);
    }
}

/// A rank that is away from MPI delays nobody who waits for a broadcast that it has begun, whatever is lost.
pub fn away(mpi: Mpi) {
    if !is_ready(mpi) {
        return;
    }
    let begin = std::env::temp_dir().join(format!("verbcast-away-{}", std::process::id()));
    let begin = begin.to_str().unwrap();
    let lossy = [COUNT, ("VERBCAST_FAULT", "loss=0.3,seed=5"), ("AWAY_PATHS", begin)];
    let said = mpi.run(&mpi.library(), "away", &alike(4, &lossy));
    assert!(said.is_success);
    assert_eq!(said.sum("multicast"), 4 * (1 + 4));
}

/// Persistent broadcasts that C has prepared, started and completed by Fortran.
pub fn requests_of_c(mpi: Mpi) {
    if !is_ready(mpi) {
        return;
    }
    let said = mpi.run(&mpi.library(), "requests_of_c", &alike(4, &[COUNT]));
    assert!(said.is_success, "{}", said.out);
    assert!(said.out.contains("every message was right"), "{}", said.out);
    let broadcasts = 4 * 3 * 8;
    assert_eq!((said.sum("multicast"), said.lines("broadcasts go").len()), (broadcasts, 0));
}

/// Persistent broadcasts that a rank prepares in C and others in Fortran: all of them decide alike.
pub fn bindings(mpi: Mpi) {
    if !is_ready(mpi) {
        return;
    }
    let programs = ["bindings", "bindings_fortran", "bindings_fortran08"];
    let kinds = programs.map(|_| Ranks { number: 1, environment: &[COUNT] });
    let said = mpi.run_programs(&mpi.library(), &programs, &kinds);
    assert!(said.is_success, "{}", said.err);
    assert_eq!(said.out.matches("every message was right").count(), 3, "{}", said.out);
    assert_eq!((said.sum(""), said.sum("multicast")), (3 * 10, 3 * 10), "{}", said.err);
}

/// Ranks that call the functions of large counts where others call those of earlier versions decide alike.
pub fn large_counts(mpi: Mpi) {
    if !is_ready(mpi) {
        return;
    }
    let said = mpi.run(&mpi.library(), "large_counts", &alike(3, &[COUNT]));
    assert!(said.is_success, "{}", said.err);
    assert!(said.out.contains("every message was right"), "{}", said.out);
    assert_eq!(
        (said.sum("MPI, non-blocking"), said.sum("multicast")),
        (3, 3 * 2 * 9),
        "{}",
        said.err
    );
}
