//! What a round does, drawn from the seed and its number.

use std::io::{self, Write};
use std::time::Duration;
use verbcast::rdma::NodeSharing;
use verbcast::{Config, Waiting};
use verbcast_sim::Draw;

/// What happens to a process.
#[derive(Clone, Copy, Debug)]
pub enum Trouble {
    /// It is stopped after so long, for so long.
    Stop { rank: u32, after: Duration, length: Duration },
    /// It is killed after so long.
    Kill { rank: u32, after: Duration },
}

/// A broadcast.
#[derive(Clone, Copy, Debug)]
pub struct Step {
    pub communicator: usize,
    /// By its rank in the communicator.
    pub root: u32,
    pub len: usize,
    /// What one of the ranks does before it, and for how long.
    pub away: Option<(u32, Duration)>,
}

#[derive(Clone, Debug)]
pub struct Round {
    pub seed: u64,
    pub number: u64,
    pub size: u32,
    /// The members of each, in the order of their ranks there.
    pub communicators: Vec<Vec<u32>>,
    pub steps: Vec<Step>,
    options: Vec<(&'static str, String)>,
    faults: Option<String>,
    waiting: Waiting,
    payload_crc: bool,
    nodes: NodeSharing,
    pub trouble: Option<Trouble>,
}

fn millis(draw: &mut Draw, limit: u32) -> Duration {
    Duration::from_millis(draw.below(limit).into())
}

const ALGORITHMS: [&str; 11] = [
    "auto",
    "auto",
    "auto",
    "window",
    "basic",
    "co-root",
    "aggregate",
    "two-stage",
    "two-stage-on-demand",
    "binomial",
    "scatter-allgather",
];
const LENS: [usize; 9] = [0, 1, 4047, 4048, 4049, 8192, 65_536, 200_000, 1 << 20];

impl Round {
    pub fn draw(seed: u64, number: u64) -> Round {
        let mut draw = Draw::stream(seed, number);
        let size = 2 + draw.below(5);
        let trouble = draw.one_in(4).then(|| draw_trouble(&mut draw, size));
        let count = if trouble.is_some() { 1 } else { 1 + draw.below(4) };
        let communicators: Vec<_> =
            (0..count).map(|at| draw_members(&mut draw, size, at)).collect();
        Round { trouble, ..Round::among(&mut draw, (seed, number), size, communicators) }
    }

    /// Of all processes of a job, to which whatever happens comes from outside.
    pub fn of_job(seed: u64, number: u64, size: u32) -> Round {
        let mut draw = Draw::stream(seed, number);
        Round::among(&mut draw, (seed, number), size, vec![(0..size).collect()])
    }

    fn among(
        draw: &mut Draw,
        (seed, number): (u64, u64),
        size: u32,
        communicators: Vec<Vec<u32>>,
    ) -> Round {
        let steps = (0..5 + draw.below(30)).map(|_| draw_step(draw, &communicators)).collect();
        let options = draw_options(draw, communicators.len() > 1);
        let faults = draw.one_in(2).then(|| {
            let [loss, dup, reorder, corrupt] =
                [(); 4].map(|()| draw.pick(&["0", "0.01", "0.1", "0.3"]));
            format!(
                "loss={loss},dup={dup},reorder={reorder},corrupt={corrupt},seed={}",
                draw.below(1000)
            )
        });
        let waiting =
            draw.pick(&[Waiting::Adaptive, Waiting::Adaptive, Waiting::Block, Waiting::Yield]);
        let payload_crc = draw.one_in(2);
        let pairs = NodeSharing::Shared { most: 2 };
        let nodes = draw.pick(&[NodeSharing::Flat, NodeSharing::Flat, NodeSharing::Auto, pairs]);
        Round {
            seed,
            number,
            size,
            communicators,
            steps,
            options,
            faults,
            waiting,
            payload_crc,
            nodes,
            trouble: None,
        }
    }

    /// The settings of a rank.
    pub fn config(&self, device: &str) -> Config {
        let mut config = Config::default();
        config.device.devices = vec![device.to_owned()];
        config.device.timeout = Duration::from_secs(15);
        config.device.waiting = self.waiting;
        config.device.payload_crc = self.payload_crc;
        config.device.nodes = self.nodes;
        for (name, value) in &self.options {
            config.protocol.set(name, value).expect("an option that is drawn can be set");
        }
        config.faults =
            self.faults.as_ref().map(|text| text.parse().expect("drawn faults can be read"));
        config
    }

    /// Says what went wrong, and how to repeat it: at once, since other ranks write there too.
    pub fn complain(&self, what: &str) {
        let Round { seed, number, .. } = self;
        let said = format!(
            "round {number} failed: {what}\n{self:?}\nrepeat it with the same options and --seed {seed} --first {number} \
             --rounds 1\n"
        );
        let _ = io::stderr().write_all(said.as_bytes());
    }

    /// Of all messages, each counted once.
    pub fn bytes(&self) -> u64 {
        self.steps.iter().map(|step| step.len as u64).sum()
    }
}

fn draw_trouble(draw: &mut Draw, size: u32) -> Trouble {
    let (rank, after) = (draw.below(size), millis(draw, 2500));
    match draw.one_in(2) {
        true => {
            Trouble::Stop { rank, after, length: Duration::from_millis(50) + millis(draw, 4000) }
        }
        false => Trouble::Kill { rank, after },
    }
}

/// With several communicators, ranks wait for one another in others than where something is missing: what needs a rank
/// that has left is not for such programs (the book's page on protocols).
fn draw_options(draw: &mut Draw, are_several: bool) -> Vec<(&'static str, String)> {
    let mut algorithm = draw.pick(&ALGORITHMS);
    let acknowledge = draw.pick(&["needed", "needed", "each", "every:4", "skewed:3"]);
    let (mut repair, mut credits) =
        (draw.pick(&["pull", "pull", "push"]), draw.pick(&["on", "off"]));
    if are_several {
        (repair, credits) = ("pull", "on");
        algorithm = if algorithm == "basic" { "window" } else { algorithm };
    }
    [
        ("algorithm", algorithm),
        ("acknowledge", acknowledge),
        ("repair", repair),
        ("credits", credits),
    ]
    .map(|(name, value)| (name, value.to_owned()))
    .to_vec()
}

/// All ranks in the first communicator; at least two in the others, in any order.
fn draw_members(draw: &mut Draw, size: u32, at: u32) -> Vec<u32> {
    let mut members: Vec<_> = (0..size).collect();
    if at > 0 {
        for at in (1..members.len()).rev() {
            members.swap(at, draw.below(at as u32 + 1) as usize);
        }
        members.truncate(2 + draw.below(size - 1) as usize);
    }
    members
}

fn draw_step(draw: &mut Draw, communicators: &[Vec<u32>]) -> Step {
    let communicator = draw.below(communicators.len() as u32) as usize;
    let members = communicators[communicator].len() as u32;
    let len = if draw.one_in(2) { draw.pick(&LENS) } else { draw.below(40_000) as usize };
    let away = draw.one_in(4).then(|| (draw.below(members), millis(draw, 60)));
    Step { communicator, root: draw.below(members), len, away }
}
