//! Jobs that are struck together: in each, the last host of the cluster has another place.

use super::part::{ENDED, Phase, SELF, THERE, VARIABLE};
use super::{LIMIT, softroce};
use std::path::{Path, PathBuf};
use std::process::Child;
use std::time::{Duration, Instant, SystemTime};
use std::{env, fs};

/// Ranks of a host.
pub const RANKS: u32 = 2;

/// What each host runs: two ranks of each job. Arguments: the program, the ranks of a job, and for each job the rank that the
/// first of node1 is, and what its processes find in their environment, line by line, but for the rank.
const SCRIPT: &str = r#"
program=$1 size=$2
shift 2
host=$(hostname); host=${host#node}
while (($#)); do
    mapfile -t environment <<<"$2"
    for at in 0 1; do
        rank=$(((2 * (host - 1) + at + $1) % size))
        env "${environment[@]}" VERBCAST_SIZE=$size VERBCAST_RANK=$rank \
            "$program" --exact --nocapture SELF >/dev/null &
    done
    shift 2
done
wait
"#;

/// What the host is to the others that is struck.
#[derive(Clone, Copy, Debug)]
pub enum Place {
    /// It has rank 0, where all meet, which also is the root.
    First,
    Root,
    /// It has the rank after the root on the ring.
    Neighbour,
    CoRoot,
    Bystander,
}

impl Place {
    pub const ALL: [Place; 5] =
        [Place::First, Place::Root, Place::Neighbour, Place::CoRoot, Place::Bystander];

    pub fn name(self) -> &'static str {
        match self {
            Place::First => "rank 0 and root",
            Place::Root => "root",
            Place::Neighbour => "ring neighbour",
            Place::CoRoot => "co-root",
            Place::Bystander => "bystander",
        }
    }

    fn algorithm(self) -> &'static str {
        match self {
            Place::Neighbour => "two-stage",
            _ => "window",
        }
    }

    /// The ranks of the last host of so many.
    fn ranks(self, hosts: u32) -> [u32; 2] {
        match self {
            Place::First => [0, 1],
            _ => [RANKS * (hosts - 1), RANKS * (hosts - 1) + 1],
        }
    }

    fn root(self, hosts: u32) -> u32 {
        match self {
            Place::First | Place::CoRoot | Place::Bystander => 0,
            Place::Root => RANKS * (hosts - 1),
            Place::Neighbour => RANKS * (hosts - 1) - 1,
        }
    }

    /// The rank that the first process of node1 is, and the host that has rank 0.
    fn turn(self, hosts: u32) -> (u32, u32) {
        match self {
            Place::First => (RANKS, hosts),
            _ => (0, 1),
        }
    }
}

/// One job of those that are struck together.
pub struct Job {
    pub place: Place,
    hosts: u32,
    folder: PathBuf,
}

impl Job {
    pub fn new(place: Place, hosts: u32, all: &Path) -> Job {
        let folder = all.join(place.name().replace(' ', "-"));
        fs::create_dir_all(&folder).unwrap();
        Job { place, hosts, folder }
    }

    /// The ranks of the host that is struck.
    pub fn struck(&self) -> [u32; 2] {
        self.place.ranks(self.hosts)
    }

    /// The ranks that stay.
    pub fn survivors(&self) -> impl Iterator<Item = u32> + use<> {
        let gone = self.struck();
        (0..RANKS * self.hosts).filter(move |rank| !gone.contains(rank))
    }

    pub fn all_ranks(&self) -> impl Iterator<Item = u32> + use<> {
        0..RANKS * self.hosts
    }

    fn path(&self, what: &str, rank: u32) -> PathBuf {
        self.folder.join(format!("{what}-{rank}"))
    }

    pub fn are_there(&self) -> bool {
        self.all_ranks().all(|rank| self.path(THERE, rank).exists())
    }

    /// How a rank ended, if it has.
    pub fn end_of(&self, rank: u32) -> Option<String> {
        fs::read_to_string(self.path(ENDED, rank)).ok()
    }

    /// Tells all its ranks something.
    pub fn tell(&self, what: &str) {
        fs::write(self.folder.join(what), "").unwrap();
    }

    /// Its ranks' environment, line by line. One of those that stay comes late to the phase, if that is wanted.
    fn environment(&self, phase: Phase, one_is_late: bool) -> String {
        let root = self.place.root(self.hosts);
        let late = self.survivors().filter(|&rank| rank != root).last();
        let late = late.filter(|_| one_is_late).map_or("none".to_owned(), |rank| rank.to_string());
        let (_, meeting) = self.place.turn(self.hosts);
        let port = 7800 + self.place as u32;
        let began = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap().as_nanos();
        let mut lines = vec![
            format!("{VARIABLE}={} {root} {late} {}", phase.name(), self.folder.display()),
            format!("VERBCAST_RENDEZVOUS=node{meeting}:{port}"),
            format!("VERBCAST_TOKEN={began}"),
            format!("VERBCAST_ALGORITHM={}", self.place.algorithm()),
            format!("VERBCAST_TIMEOUT={}", super::TIMEOUT.as_secs()),
            format!("VERBCAST_ACK_TIMEOUT={}", super::ACK_TIMEOUT.as_secs()),
        ];
        if matches!(self.place, Place::CoRoot) {
            lines.push(format!("VERBCAST_CO_ROOTS={}", self.hosts));
        }
        lines.join("\n")
    }
}

/// Starts all ranks of jobs on as many hosts. What they say is kept in this file.
pub fn start(jobs: &[Job], hosts: u32, (phase, one_is_late): (Phase, bool), said: &Path) -> Child {
    let said = fs::File::create(said).unwrap();
    let mut command = softroce(&["--hosts", &hosts.to_string(), "each", "--timeout", LIMIT, "--"]);
    command.args(["bash", "-c", &SCRIPT.replace("SELF", SELF), "ranks"]);
    command.arg(env::current_exe().unwrap()).arg((RANKS * hosts).to_string());
    for job in jobs {
        command.arg(job.place.turn(hosts).0.to_string()).arg(job.environment(phase, one_is_late));
    }
    command.stdout(said.try_clone().unwrap()).stderr(said).spawn().unwrap()
}

/// Looks until something is so; whether it came to be so.
pub fn wait_until(limit: Duration, mut is_so: impl FnMut() -> bool) -> bool {
    let began = Instant::now();
    while !is_so() {
        if began.elapsed() > limit {
            return false;
        }
        std::thread::sleep(Duration::from_millis(50));
    }
    true
}
