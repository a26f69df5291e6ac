//! Broadcasts of rsmpi's buffers in all their forms, checked at every rank.
//!
//! Usage: `mpirun -n RANKS exercise all|mismatch|leave`. Every rank that finds all as it should be prints
//! `rank R: fine`.

use mpi::datatype::{MutView, UserDatatype};
use mpi::topology::{Color, SimpleCommunicator};
use mpi::traits::*;
use verbcast::mpi::{Error, MulticastCommunicator};

/// Communicators of several ranks that are alive at once.
const MANY: i32 = 24;

type World = MulticastCommunicator<SimpleCommunicator>;

#[derive(Clone, Copy, Debug, Default, PartialEq)]
struct Particle {
    kind: u8,
    place: [f64; 3],
    number: u16,
}

// SAFETY: the datatype names each field's offset, count and type.
unsafe impl Equivalence for Particle {
    type Out = UserDatatype;

    fn equivalent_datatype() -> UserDatatype {
        let offsets = [
            std::mem::offset_of!(Particle, kind) as mpi::Address,
            std::mem::offset_of!(Particle, place) as mpi::Address,
            std::mem::offset_of!(Particle, number) as mpi::Address,
        ];
        let (u8, f64, u16) =
            (u8::equivalent_datatype(), f64::equivalent_datatype(), u16::equivalent_datatype());
        UserDatatype::structured::<mpi::datatype::DatatypeRef<'_>>(
            &[1, 3, 1],
            &offsets,
            &[u8, f64, u16],
        )
    }
}

fn main() {
    // A rank that fails ends the job, rather than wait for the others in MPI's end.
    let report = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |panic| {
        report(panic);
        std::process::abort();
    }));
    let universe = mpi::initialize().unwrap();
    let world = MulticastCommunicator::new(universe.world()).unwrap();
    let rank = world.rank();
    match std::env::args().nth(1).as_deref() {
        Some("all") => {
            plain(&world);
            gaps(&world);
            signatures(&world);
            in_flight(&world);
            progress(&world);
            communicators(&world);
            world.flush().unwrap();
            if rank == 0 {
                println!("by MPI: {:?}", world.by_mpi());
                println!("multicast packets: {}", world.statistics().multicast_sent);
            }
        }
        Some("mismatch") => mismatch(&world),
        Some("leave") => {
            if rank == 2 {
                std::process::abort();
            }
            let error = world.process_at_rank(2).broadcast_into(&mut [0_u8; 100]);
            println!("rank {rank}: {error:?}");
            return;
        }
        _ => panic!("usage: exercise all|mismatch|leave"),
    }
    println!("rank {rank}: fine");
}

/// Numbers that differ by root and place.
fn numbers(root: i32, len: usize) -> Vec<u64> {
    (0..len as u64).map(|at| at * 0x9e37_79b9 + root as u64).collect()
}

fn plain(world: &World) {
    for root in 0..world.size() {
        let process = world.process_at_rank(root);
        let is_root = world.rank() == root;
        for len in [0, 1, 2, 505, 506, 507, 100_000] {
            let sent = numbers(root, len);
            let mut vector = if is_root { sent.clone() } else { vec![u64::MAX; len] };
            process.broadcast_into(&mut vector).unwrap();
            assert!(vector == sent, "{len} numbers of {root}");
            let mut slice = if is_root { sent.clone() } else { vec![u64::MAX; len] };
            process.broadcast_into(&mut slice[..]).unwrap();
            assert!(slice == sent, "{len} numbers of {root}, as a slice");
        }
        let mut scalar = if is_root { 2.5_f64 } else { 0.0 };
        process.broadcast_into(&mut scalar).unwrap();
        assert_eq!(scalar, 2.5);
        let mut array = if is_root { [true, false, true] } else { [false; 3] };
        process.broadcast_into(&mut array).unwrap();
        assert_eq!(array, [true, false, true]);
    }
}

/// Buffers with gaps are packed, and the gaps stay as they were.
fn gaps(world: &World) {
    let process = world.process_at_rank(1);
    let is_root = world.rank() == 1;
    let particle = |at: u16| {
        let x = f64::from(at);
        Particle { kind: at as u8, place: [x, -x, 0.5], number: at }
    };
    let sent: Vec<_> = (0..1000).map(particle).collect();
    let mut particles = if is_root { sent.clone() } else { vec![Particle::default(); 1000] };
    process.broadcast_into(&mut particles).unwrap();
    assert!(particles == sent, "structs");

    let every_third = UserDatatype::vector(100, 1, 3, &u32::equivalent_datatype());
    let mut matrix: Vec<u32> = if is_root { (0..300).collect() } else { vec![7; 300] };
    {
        // SAFETY: a hundred blocks of one number at a distance of three lie within the three hundred.
        let mut column =
            unsafe { MutView::with_count_and_datatype(&mut matrix[..], 1, &every_third) };
        process.broadcast_into(&mut column).unwrap();
    }
    for (at, number) in matrix.iter().enumerate() {
        let expected = if is_root || at % 3 == 0 { at as u32 } else { 7 };
        assert_eq!(*number, expected, "at {at}");
    }
}

/// Ranks describe the same numbers by other counts and types.
fn signatures(world: &World) {
    let is_root = world.rank() == 0;
    let process = world.process_at_rank(0);
    let mut numbers: Vec<i32> = if is_root { (0..600).collect() } else { vec![0; 600] };
    let tens = UserDatatype::contiguous(10, &i32::equivalent_datatype());
    let pairs = UserDatatype::vector(300, 2, 2, &i32::equivalent_datatype());
    match world.rank() % 3 {
        0 => process.broadcast_into(&mut numbers).unwrap(),
        // SAFETY: sixty times ten numbers are the six hundred.
        1 => unsafe {
            let mut view = MutView::with_count_and_datatype(&mut numbers[..], 60, &tens);
            process.broadcast_into(&mut view).unwrap();
        },
        // SAFETY: three hundred pairs without gaps are the six hundred.
        _ => unsafe {
            let mut view = MutView::with_count_and_datatype(&mut numbers[..], 1, &pairs);
            process.broadcast_into(&mut view).unwrap();
        },
    }
    assert!((0..600).eq(numbers));
}

fn in_flight(world: &World) {
    let mut buffers: Vec<Vec<u64>> = (0..10)
        .map(|root| {
            let root = root % world.size();
            let sent = numbers(root, 20_000);
            if world.rank() == root { sent } else { vec![0; 20_000] }
        })
        .collect();
    mpi::request::scope(|scope| {
        let mut requests: Vec<_> = (0..)
            .zip(&mut buffers)
            .map(|(at, buffer)| {
                let process = world.process_at_rank(at % world.size());
                process.immediate_broadcast_into(scope, buffer).unwrap()
            })
            .collect();
        // Each rank in an order of its own: some wait, some ask.
        let last = requests.len() - 1;
        requests.swap(0, world.rank() as usize % last);
        for (at, mut request) in requests.into_iter().enumerate() {
            if at % 2 == 0 {
                request.wait().unwrap();
                continue;
            }
            while request.test().map(Result::unwrap).is_pending() {
                std::thread::yield_now();
            }
        }
    });
    for (at, buffer) in (0..).zip(buffers) {
        assert!(buffer == numbers(at % world.size(), 20_000), "broadcast {at} in flight");
    }
}

/// A rank that waits in a broadcast still receives what was asked for before.
fn progress(world: &World) {
    let mut parameter = world.rank();
    let large = vec![5_u8; 4_000_000];
    let mut received = vec![0_u8; large.len()];
    match world.rank() {
        0 => {
            // Returns only when rank 1 has received, which is in the broadcast by then.
            world.process_at_rank(1).synchronous_send(&large[..]);
            world.process_at_rank(0).broadcast_into(&mut parameter).unwrap();
        }
        1 => mpi::request::scope(|scope| {
            let source: &SimpleCommunicator = world;
            let request =
                source.process_at_rank(0).immediate_receive_into(scope, &mut received[..]);
            world.process_at_rank(0).broadcast_into(&mut parameter).unwrap();
            request.wait();
        }),
        _ => world.process_at_rank(0).broadcast_into(&mut parameter).unwrap(),
    }
    assert_eq!(parameter, 0);
    assert!(world.rank() != 1 || received == large);
}

/// Communicators of all sorts, alive at once.
fn communicators(world: &World) {
    let (rank, size) = (world.rank(), world.size());
    let twin = MulticastCommunicator::new(world.duplicate()).unwrap();
    let color = Color::with_value(rank % 2);
    let half = MulticastCommunicator::new(world.split_by_color(color).unwrap()).unwrap();
    let reversed = world.split_by_color_with_key(Color::with_value(0), size - rank).unwrap();
    let reversed = MulticastCommunicator::new(reversed).unwrap();
    let alone = MulticastCommunicator::new(SimpleCommunicator::self_comm()).unwrap();
    for round in 0..20 {
        for (at, comm) in (0..).zip([&twin, &half, &reversed, &alone]) {
            let root = round % comm.size();
            let sent = numbers(root + at * 100, 700);
            let mut buffer = if comm.rank() == root { sent.clone() } else { vec![0; 700] };
            comm.process_at_rank(root).broadcast_into(&mut buffer).unwrap();
            // Each half has its own, with the same numbers.
            assert!(buffer == sent, "round {round}, communicator {at}");
        }
    }
    assert!(alone.by_mpi().is_some());
    half.close().unwrap();
    many(world);
}

/// Many alive at once, every other one with its ranks in reverse.
fn many(world: &World) {
    let (rank, size) = (world.rank(), world.size());
    let make = |at: i32| {
        let key = if at % 2 == 0 { rank } else { size - rank };
        let made = world.split_by_color_with_key(Color::with_value(0), key).unwrap();
        MulticastCommunicator::new(made).unwrap()
    };
    let all: Vec<_> = (0..MANY).map(make).collect();
    for (at, comm) in (0..).zip(&all) {
        assert_eq!(comm.by_mpi().is_none(), world.by_mpi().is_none());
        let root = at % comm.size();
        let sent = numbers(at, 700);
        let mut buffer = if comm.rank() == root { sent.clone() } else { vec![0; 700] };
        comm.process_at_rank(root).broadcast_into(&mut buffer).unwrap();
        assert!(buffer == sent, "communicator {at} of many");
    }
}

/// One rank calls with another length: an error at every rank, and MPI still works.
fn mismatch(world: &World) {
    let broadcast = |len| world.process_at_rank(0).broadcast_into(&mut vec![1_u8; len]);
    let mut outcome = broadcast(if world.rank() == 1 { 10 } else { 20 });
    // Whoever got through, as a root may, learns of it in a later call.
    while outcome.is_ok() {
        outcome = broadcast(20);
    }
    let error = outcome.unwrap_err();
    assert!(matches!(error, Error::Broadcast(_)), "{error}");
    println!("rank {} was told: {error}", world.rank());
    world.barrier();
}
