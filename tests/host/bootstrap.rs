//! Ranks that meet over real sockets, and everything that can be wrong with them.

mod open_files;

use std::io::{ErrorKind, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::PathBuf;
use std::sync::atomic::{AtomicU32, Ordering};
use std::thread;
use std::time::{Duration, Instant};
use verbcast::bootstrap::{Address, Bootstrap, BootstrapError, Environment, Star};
use verbcast_core::rank::Rank;
use verbcast_core::wire::{
    Challenge, FRAME_HEADER_LEN, FrameHeader, FrameKind, Hello, Join, Refusal, Response,
};

/// Nothing here may take longer, however busy the machine is.
const HANG: Duration = Duration::from_secs(60);

fn tcp() -> Address {
    let probe = TcpListener::bind("127.0.0.1:0").unwrap();
    Address::Tcp { host: "127.0.0.1".into(), port: probe.local_addr().unwrap().port() }
}

fn unix() -> Address {
    static NEXT: AtomicU32 = AtomicU32::new(0);
    let name = format!("verbcast-{}-{}", std::process::id(), NEXT.fetch_add(1, Ordering::Relaxed));
    Address::Unix(std::env::temp_dir().join(name))
}

/// A process of a job, and its patience.
#[derive(Clone)]
struct Job {
    environment: Environment,
    timeout: Duration,
}

impl Job {
    fn rank(&self) -> Rank {
        self.environment.rank
    }

    fn join(&self) -> Result<Star, BootstrapError> {
        Star::join(&self.environment, self.timeout)
    }
}

fn job(rank: u32, size: u32, address: &Address, timeout: u64) -> Job {
    let environment = Environment {
        rank: Rank(rank),
        size,
        rendezvous: Some(address.clone()),
        token: "a token".into(),
    };
    Job { environment, timeout: Duration::from_secs(timeout) }
}

/// Runs `what` for each job in a thread of its own and returns the outcomes in the jobs' order.
fn run<T: Send>(
    jobs: &[Job],
    what: impl Fn(&Job) -> Result<T, BootstrapError> + Sync,
) -> Vec<Result<T, String>> {
    let started = Instant::now();
    let outcomes = thread::scope(|scope| {
        let threads: Vec<_> = jobs.iter().map(|job| scope.spawn(|| what(job))).collect();
        threads
            .into_iter()
            .map(|thread| thread.join().unwrap().map_err(|error| error.to_string()))
            .collect()
    });
    assert!(started.elapsed() < HANG);
    outcomes
}

fn join(job: &Job) -> Result<(), BootstrapError> {
    job.join().map(drop)
}

fn port(address: &Address) -> u16 {
    match address {
        Address::Tcp { port, .. } => *port,
        Address::Unix(_) => unreachable!("a TCP test"),
    }
}

#[test]
fn everybody_gets_everybodys_blob() {
    for (size, address) in [(1, tcp()), (2, tcp()), (8, tcp()), (2, unix()), (8, unix())] {
        let jobs: Vec<Job> = (0..size).map(|rank| job(rank, size, &address, 30)).collect();
        let outcomes = run(&jobs, |job| {
            let mut star = job.join()?;
            assert_eq!((star.rank(), star.size()), (job.rank(), size));
            let small = star.all_gather(&[job.rank().0 as u8])?;
            star.barrier()?;
            let large = star.all_gather(&vec![job.rank().0 as u8; 300_000])?;
            Ok((small, large.iter().map(|blob| (blob[0], blob.len())).collect::<Vec<_>>()))
        });
        for outcome in outcomes {
            let (small, large) = outcome.unwrap();
            assert_eq!(small, (0..size as u8).map(|rank| vec![rank]).collect::<Vec<_>>());
            assert_eq!(large, (0..size as u8).map(|rank| (rank, 300_000)).collect::<Vec<_>>());
        }
        if let Address::Unix(path) = address {
            assert!(!path.exists(), "the socket was left behind");
        }
    }
}

#[test]
fn rank_0_judges_what_all_give() {
    let sum = |blobs: Vec<Vec<u8>>| {
        let said: Vec<u8> = blobs.concat();
        vec![said.len() as u8, said.iter().sum()]
    };
    for (size, address) in [(1, tcp()), (5, tcp()), (5, unix())] {
        let jobs: Vec<Job> = (0..size).map(|rank| job(rank, size, &address, 30)).collect();
        let outcomes = run(&jobs, |job| {
            let mut star = job.join()?;
            let own = job.rank().0 as u8 + 1;
            let mut seen = None;
            let verdict = star.judge(&[own], |blobs| {
                seen = Some(blobs.clone());
                sum(blobs)
            })?;
            // What goes on is another exchange.
            let all = star.all_gather(&[own])?;
            Ok((verdict, seen, all))
        });
        let all: Vec<Vec<u8>> = (1..=size as u8).map(|own| vec![own]).collect();
        for (rank, outcome) in outcomes.into_iter().enumerate() {
            let (verdict, seen, gathered) = outcome.unwrap();
            assert_eq!(verdict, sum(all.clone()), "rank {rank} of {size}");
            assert_eq!(seen, (rank == 0).then(|| all.clone()), "rank {rank} of {size}");
            assert_eq!(gathered, all, "rank {rank} of {size}");
        }
    }
}

#[test]
fn who_gathers_while_rank_0_judges_is_told_what_is_wrong() {
    let address = unix();
    let jobs: Vec<Job> = (0..2).map(|rank| job(rank, 2, &address, 30)).collect();
    let outcomes = run(&jobs, |job| {
        let mut star = job.join()?;
        match job.rank() {
            Rank(0) => star.judge(&[], |_| vec![1]).map(drop),
            _ => star.all_gather(&[]).map(drop),
        }
    });
    assert_eq!(outcomes[0], Ok(()));
    let what = outcomes[1].as_ref().unwrap_err();
    assert!(what.starts_with("rank 0 sent an answer that cannot be read"), "{what}");
}

#[test]
fn rank_0_may_work_for_long_before_it_takes_part() {
    let address = tcp();
    let jobs = [0, 1, 2].map(|rank| job(rank, 3, &address, 1));
    let outcomes = run(&jobs, |job| {
        let mut star = job.join()?;
        if job.rank() == Rank(0) {
            let until = Instant::now() + 3 * job.timeout;
            while Instant::now() < until {
                star.postpone();
                thread::sleep(job.timeout / 10);
            }
        }
        star.barrier()
    });
    assert_eq!(outcomes, [Ok(()), Ok(()), Ok(())]);
}

/// A token that anybody can guess keeps nobody from finding the keys of authentication codes.
#[test]
fn codes_need_a_secret() {
    for (token, is_secret) in [("", false), ("slurm 7.0", false), ("kept to myself", true)] {
        let address = unix();
        let jobs = [0, 1].map(|rank| {
            let mut job = job(rank, 2, &address, 20);
            job.environment.token = token.into();
            job
        });
        let secrets = run(&jobs, |job| Ok(job.join()?.secret()));
        for secret in secrets {
            match secret.unwrap() {
                Ok(_) => assert!(is_secret, "{token}"),
                Err(why) => assert!(!is_secret && why.contains("VERBCAST_TOKEN_FILE"), "{why}"),
            }
        }
    }
}

#[test]
fn one_rank_needs_no_address() {
    let mut alone = Star::join(&Environment::alone(), HANG).unwrap();
    assert_eq!(alone.all_gather(b"me").unwrap(), [b"me"]);
}

#[test]
fn ranks_that_never_appear_are_named_to_all() {
    let address = tcp();
    let jobs = [0, 2, 5].map(|rank| job(rank, 6, &address, 1));
    let expected = format!("ranks 1, 3 and 4 did not appear at {address} within 1 s");
    for outcome in run(&jobs, join) {
        assert_eq!(outcome, Err(expected.clone()));
    }
}

#[test]
fn rank_0_that_never_appears_is_named() {
    let (tcp, unix) = (tcp(), unix());
    for address in [tcp, unix] {
        let [outcome] = &run(&[job(1, 2, &address, 1)], join)[..] else { unreachable!() };
        let error = outcome.clone().unwrap_err();
        assert!(error.starts_with(&format!("rank 0 did not appear at {address} within 1 s (")));
    }
}

#[test]
fn a_rank_that_leaves_is_named_to_all() {
    let address = unix();
    let jobs: Vec<Job> = (0..4).map(|rank| job(rank, 4, &address, 30)).collect();
    let outcomes = run(&jobs, |job| {
        let mut star = job.join()?;
        if job.rank() == Rank(3) {
            return Ok(());
        }
        let first = star.barrier().unwrap_err();
        assert_eq!(star.barrier(), Err(first.clone()), "the error stays");
        Err(first)
    });
    for outcome in &outcomes[..3] {
        assert_eq!(*outcome, Err("rank 3 left".to_owned()));
    }
}

#[test]
fn rank_0_that_leaves_is_named_to_all() {
    let address = tcp();
    let jobs: Vec<Job> = (0..3).map(|rank| job(rank, 3, &address, 30)).collect();
    let outcomes = run(&jobs, |job| {
        let mut star = job.join()?;
        if job.rank() == Rank(0) { Ok(()) } else { star.barrier() }
    });
    for outcome in &outcomes[1..] {
        assert_eq!(*outcome, Err("rank 0 left".to_owned()));
    }
}

#[test]
fn a_rank_that_does_not_take_part_is_named_to_all() {
    let address = unix();
    let jobs: Vec<Job> = (0..3).map(|rank| job(rank, 3, &address, 1)).collect();
    let outcomes = run(&jobs, |job| {
        let mut star = job.join()?;
        if job.rank() == Rank(2) {
            thread::sleep(Duration::from_secs(4));
        }
        star.barrier()
    });
    for outcome in outcomes {
        assert_eq!(outcome, Err("rank 2 did not take part within 1 s".to_owned()));
    }
}

#[test]
fn ranks_that_disagree_about_the_size_are_named_to_all() {
    let address = unix();
    let jobs = [job(0, 3, &address, 30), job(1, 3, &address, 30), job(2, 4, &address, 30)];
    for outcome in run(&jobs, join) {
        let expected = "rank 2 was started as one of 4 ranks, but rank 0 as one of 3";
        assert_eq!(outcome, Err(expected.to_owned()));
    }
}

#[test]
fn two_with_the_same_rank_are_named_to_all() {
    let address = unix();
    let jobs = [0, 1, 1].map(|rank| job(rank, 3, &address, 30));
    for outcome in run(&jobs, join) {
        assert_eq!(outcome, Err("rank 1 was started more than once".to_owned()));
    }
}

#[test]
fn another_jobs_rank_is_refused_and_the_right_one_still_comes() {
    let address = tcp();
    let mut stranger = job(1, 2, &address, 2);
    stranger.environment.token = "another token".into();
    let jobs = [job(0, 2, &address, 30), stranger.clone(), job(1, 2, &address, 30)];
    let outcomes = run(&jobs, |job| {
        if job.environment.token == "a token" && job.rank() == Rank(1) {
            thread::sleep(Duration::from_secs(1));
        }
        job.join()?.barrier()
    });
    assert_eq!(outcomes[0], Ok(()));
    let error = outcomes[1].clone().unwrap_err();
    assert!(
        error.starts_with(&format!("rank 0 did not appear at {address} within 2 s")),
        "{error}"
    );
    assert_eq!(outcomes[2], Ok(()));

    // Where nobody else comes, rank 0 says whom it has turned away.
    let address = tcp();
    stranger.environment.rendezvous = Some(address.clone());
    let outcomes = run(&[job(0, 2, &address, 1), stranger], join);
    let error = outcomes[0].clone().unwrap_err();
    assert!(error.starts_with("rank 1 did not appear"), "{error}");
    assert!(error.ends_with("it belongs to another job (its token differs))"), "{error}");
}

#[test]
fn strangers_do_not_disturb() {
    let address = tcp();
    let target = ("127.0.0.1", port(&address));
    let connect = || loop {
        match TcpStream::connect(target) {
            Ok(stream) => return stream,
            Err(_) => thread::sleep(Duration::from_millis(10)),
        }
    };
    thread::scope(|scope| {
        let hub = scope.spawn(|| job(0, 2, &address, 2 * HANG.as_secs()).join()?.barrier());
        // Silent ones, one that stops in the middle of a hello, ones that talk something else.
        let silent: Vec<TcpStream> = (0..200).map(|_| connect()).collect();
        let mut half = connect();
        half.write_all(b"vbF\x02\x01\x00\x00\x00\x24vb").unwrap();
        let mut web = connect();
        web.write_all(b"GET / HTTP/1.1\r\nHost: here\r\n\r\n").unwrap();
        let mut huge = connect();
        huge.write_all(b"vbF\x02\x01\xff\xff\xff\xff").unwrap();
        drop(connect());
        // They are closed, not kept until all ranks are there.
        for mut stranger in [web, huge, half] {
            stranger.set_read_timeout(Some(HANG)).unwrap();
            match stranger.read_to_end(&mut Vec::new()) {
                Ok(_) => {}
                // The last word may be lost to it.
                Err(error) => assert_eq!(error.kind(), ErrorKind::ConnectionReset, "{error}"),
            }
        }
        assert_eq!(job(1, 2, &address, 30).join().unwrap().barrier(), Ok(()));
        assert_eq!(hub.join().unwrap(), Ok(()));
        drop(silent);
    });
}

#[test]
fn a_rank_of_another_version_is_told_apart_from_a_stranger() {
    let address = tcp();
    let target = ("127.0.0.1", port(&address));
    thread::scope(|scope| {
        let hub = scope.spawn(|| join(&job(0, 2, &address, 2)));
        let mut other = loop {
            match TcpStream::connect(target) {
                Ok(stream) => break stream,
                Err(_) => thread::sleep(Duration::from_millis(10)),
            }
        };
        other.write_all(b"vbF\xfe").unwrap();
        let error = hub.join().unwrap().unwrap_err().to_string();
        let expected = "rendezvous of version 254, but version 2 is read here";
        assert!(error.contains(expected), "{error}");
    });
}

#[test]
fn a_server_of_something_else_is_not_rank_0() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address =
        Address::Tcp { host: "127.0.0.1".into(), port: listener.local_addr().unwrap().port() };
    listener.set_nonblocking(true).unwrap();
    thread::scope(|scope| {
        let started = Instant::now();
        scope.spawn(move || {
            while started.elapsed() < Duration::from_secs(3) {
                if let Ok((mut stream, _)) = listener.accept() {
                    let _ = stream.write_all(b"220 mail.example.org ESMTP\r\n");
                }
                thread::sleep(Duration::from_millis(10));
            }
        });
        let error = join(&job(1, 2, &address, 1)).unwrap_err().to_string();
        assert!(error.starts_with("rank 0 did not appear at"), "{error}");
    });
}

#[test]
fn too_large_a_blob_is_an_error_for_all() {
    let address = unix();
    let jobs: Vec<Job> = (0..3).map(|rank| job(rank, 3, &address, 30)).collect();
    let outcomes = run(&jobs, |job| {
        let len = if job.rank() == Rank(1) { (1 << 20) + 1 } else { 1 };
        job.join()?.all_gather(&vec![0; len])
    });
    assert_eq!(outcomes[1], Err("rank 1 gave 1048577 bytes, more than 1048576".to_owned()));
    assert_eq!(outcomes[0], Err("rank 1 left".to_owned()));
    assert_eq!(outcomes[2], Err("rank 1 left".to_owned()));
}

#[test]
fn a_place_where_rank_0_cannot_listen_is_named() {
    let path = PathBuf::from("/nonexistent/socket");
    let error = join(&job(0, 2, &Address::Unix(path), 1)).unwrap_err().to_string();
    assert!(error.starts_with("rank 0 cannot listen at unix:/nonexistent/socket: "), "{error}");
}

/// A stranger's connection to a rank, or a rank's to a stranger.
struct Wire(TcpStream);

impl Wire {
    fn to(address: &Address) -> Wire {
        loop {
            match TcpStream::connect(("127.0.0.1", port(address))) {
                Ok(stream) => return Wire::over(stream),
                Err(_) => thread::sleep(Duration::from_millis(10)),
            }
        }
    }

    fn over(stream: TcpStream) -> Wire {
        stream.set_nonblocking(false).unwrap();
        stream.set_read_timeout(Some(HANG)).unwrap();
        Wire(stream)
    }

    fn say(&mut self, kind: FrameKind, payload: &[u8]) {
        let header = FrameHeader { kind, payload_len: payload.len() };
        // It may have been closed, as it should.
        let _ = self.0.write_all(&[&header.emit(), payload].concat());
    }

    /// The next frame, if one comes.
    fn hear(&mut self) -> Option<(FrameKind, Vec<u8>)> {
        let mut head = [0; FRAME_HEADER_LEN];
        self.0.read_exact(&mut head).ok()?;
        let header = FrameHeader::parse(&head, 1 << 20).unwrap().unwrap();
        let mut payload = vec![0; header.payload_len];
        self.0.read_exact(&mut payload).ok()?;
        Some((header.kind, payload))
    }
}

/// What a stranger may say to rank 0 after the challenge, and before.
fn intrusions() -> Vec<Vec<(FrameKind, Vec<u8>)>> {
    let hello = (FrameKind::Hello, Hello { nonce: [7; 32] }.emit());
    let guess = (FrameKind::Response, Response { proof: [7; 32] }.emit());
    let join = |size| (FrameKind::Join, Join { rank: 1, size }.emit());
    vec![
        vec![hello.clone(), guess.clone(), join(2)],
        vec![hello.clone(), guess.clone(), join(3)],
        vec![hello.clone(), join(2)],
        vec![hello.clone(), join(3)],
        vec![join(2)],
        vec![join(u32::MAX)],
        vec![(FrameKind::Blob, vec![1; 100])],
        vec![(FrameKind::Failed, Refusal { rank: None, what: "I end it".into() }.emit())],
        vec![hello.clone(), hello, guess],
    ]
}

#[test]
fn a_stranger_is_no_rank_and_ends_nothing() {
    let address = tcp();
    thread::scope(|scope| {
        let hub = scope.spawn(|| job(0, 2, &address, 30).join()?.all_gather(b"zero"));
        for frames in intrusions() {
            let mut stranger = Wire::to(&address);
            for (kind, payload) in &frames {
                stranger.say(*kind, payload);
            }
            // It learns that rank 0 speaks verbcast, and nothing of the job.
            let mut heard = Vec::new();
            while let Some((kind, payload)) = stranger.hear() {
                match kind {
                    FrameKind::Challenge => drop(Challenge::parse(&payload).unwrap()),
                    FrameKind::Refused => heard.push(Refusal::parse(&payload).unwrap()),
                    kind => panic!("it was told {kind:?}"),
                }
                if !heard.is_empty() {
                    break;
                }
            }
            assert!(heard.iter().all(|refusal| refusal.rank.is_none()), "{heard:?}");
        }
        let leaf = job(1, 2, &address, 30).join().unwrap().all_gather(b"one");
        let expected = Ok(vec![b"zero".to_vec(), b"one".to_vec()]);
        assert_eq!((hub.join().unwrap(), leaf), (expected.clone(), expected));
    });
}

#[test]
fn a_false_rank_0_learns_nothing_and_ends_nothing() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address =
        Address::Tcp { host: "127.0.0.1".into(), port: listener.local_addr().unwrap().port() };
    let refusal = Refusal { rank: None, what: "go\u{1b}[2J".into() }.emit();
    let challenge = || (FrameKind::Challenge, Challenge { nonce: [7; 32] }.emit());
    // What it answers to the hello, and to the proof.
    let answers = [
        vec![(FrameKind::Refused, refusal.clone())],
        vec![(FrameKind::Failed, refusal.clone())],
        vec![(FrameKind::Entered, Vec::new())],
        vec![challenge(), (FrameKind::Response, Response { proof: [7; 32] }.emit())],
        vec![challenge(), (FrameKind::Entered, Vec::new())],
        vec![challenge(), (FrameKind::Failed, refusal)],
    ];
    let secret = "a token".as_bytes();
    thread::scope(|scope| {
        let leaf = scope.spawn(|| job(1, 2, &address, 30).join()?.all_gather(b"one"));
        for answer in &answers {
            let mut leaf = Wire::over(listener.accept().unwrap().0);
            let mut heard = Vec::new();
            for (kind, payload) in answer {
                heard.push(leaf.hear().unwrap());
                leaf.say(*kind, payload);
            }
            heard.extend(std::iter::from_fn(|| leaf.hear()));
            let kinds: Vec<_> = heard.iter().map(|(kind, _)| *kind).collect();
            let all = [FrameKind::Hello, FrameKind::Response];
            assert_eq!(kinds, all[..answer.len()], "it said more to {answer:?}");
            let leaks = |(_, said): &(FrameKind, Vec<u8>)| {
                said.windows(secret.len()).any(|part| part == secret)
            };
            assert!(!heard.iter().any(leaks), "it said its secret");
        }
        // The right one comes at last.
        drop(listener);
        let hub = job(0, 2, &address, 30).join().unwrap().all_gather(b"zero");
        let expected = Ok(vec![b"zero".to_vec(), b"one".to_vec()]);
        assert_eq!((hub, leaf.join().unwrap()), (expected.clone(), expected));
    });
}

#[test]
fn a_proof_that_was_overheard_opens_no_other_connection() {
    let (address, relayed) = (tcp(), TcpListener::bind("127.0.0.1:0").unwrap());
    let at = Address::Tcp { host: "127.0.0.1".into(), port: relayed.local_addr().unwrap().port() };
    thread::scope(|scope| {
        scope.spawn(|| job(0, 2, &address, 3).join().map(drop));
        scope.spawn(|| job(1, 2, &at, 2).join().map(drop));
        // The stranger has a rank answer a challenge of its own, and gives that answer to rank 0.
        let mut leaf = Wire::over(relayed.accept().unwrap().0);
        let (_, hello) = leaf.hear().unwrap();
        leaf.say(FrameKind::Challenge, &Challenge { nonce: [7; 32] }.emit());
        let (kind, proof) = leaf.hear().unwrap();
        assert_eq!(kind, FrameKind::Response);
        drop(leaf);
        let mut hub = Wire::to(&address);
        hub.say(FrameKind::Hello, &hello);
        assert_eq!(hub.hear().unwrap().0, FrameKind::Challenge);
        hub.say(FrameKind::Response, &proof);
        assert_eq!(hub.hear().unwrap().0, FrameKind::Refused);
    });
}

#[test]
fn a_flood_of_connections_keeps_no_rank_away() {
    let address = tcp();
    let is_over = std::sync::atomic::AtomicBool::new(false);
    thread::scope(|scope| {
        let hub = scope.spawn(|| job(0, 3, &address, 30).join()?.barrier());
        drop(Wire::to(&address));
        scope.spawn(|| {
            // Silent ones and wrong ones, faster than rank 0 looks.
            let mut open = std::collections::VecDeque::new();
            while !is_over.load(Ordering::Relaxed) {
                let Ok(stream) = TcpStream::connect(("127.0.0.1", port(&address))) else { return };
                let mut wire = Wire::over(stream);
                if open.len() % 2 == 0 {
                    wire.say(FrameKind::Join, &Join { rank: 1, size: 9 }.emit());
                }
                open.push_back(wire);
                if open.len() > 300 {
                    open.pop_front();
                }
            }
        });
        let jobs = [1, 2].map(|rank| job(rank, 3, &address, 30));
        let outcomes = run(&jobs, |job| job.join()?.barrier());
        is_over.store(true, Ordering::Relaxed);
        assert_eq!((outcomes, hub.join().unwrap()), (vec![Ok(()), Ok(())], Ok(())));
    });
}
