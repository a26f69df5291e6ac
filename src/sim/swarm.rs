//! Many small simulations, each drawn from a seed.

mod programs;

use super::draw::Draw;
use super::faults::Faults;
use super::outcome::Violation;
use super::plan::{Computing, Plan, Step};
use super::programs::Programs;
use super::{processes, simulate};
use std::fmt;
use verbcast_core::order::RankOrder;
use verbcast_core::protocol::Depths;
use verbcast_core::protocol::options::Options;
use verbcast_core::protocol::window::{By, Repair};
use verbcast_core::rank::{OpId, Rank};
use verbcast_core::wire::HEADER_LEN;

/// Bytes of a message in a fragment.
const FRAGMENT: u32 = 64;

/// Fragments that had gone by: none, and what brings positions to where 31 or 32 bits end, or beyond.
const PASSED: [u64; 8] =
    [0, 0, 0, (1 << 31) - 3, 1 << 31, (1 << 32) - 7, 1 << 32, (1 << 40) + (1 << 31) + 5];

/// Tables by which short messages take another protocol than long ones.
const MIXED: [&str; 3] = [
    "ranks any bytes <= 100 window\nranks any bytes any two-stage-on-demand\n",
    "ranks any bytes <= 100 window\nranks any bytes <= 600 two-stage\nranks any bytes any two-stage-on-demand\n",
    "ranks any bytes <= 100 binomial\nranks any bytes any window\n",
];

/// A simulation that a seed has drawn.
#[derive(Clone, Debug)]
pub struct Drawn {
    /// The seed.
    pub seed: u64,
    /// What is simulated.
    pub plan: Plan,
    /// The protocols' parameters, as text and as they are used.
    pub settings: Vec<(&'static str, String)>,
    /// As they are used.
    pub options: Options,
    /// What is simulated instead: programs with several communicators.
    pub programs: Option<Programs>,
}

impl fmt::Display for Drawn {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "seed {}:", self.seed)?;
        for (name, value) in &self.settings {
            write!(f, " {name}={value}")?;
        }
        match &self.programs {
            Some(programs) => write!(f, "; {programs:?}"),
            None => write!(f, "; {:?}", self.plan),
        }
    }
}

/// A seed whose simulation went wrong.
#[derive(Clone, Debug)]
pub struct Failed {
    /// What was drawn.
    pub drawn: Box<Drawn>,
    /// What went wrong.
    pub violation: Violation,
}

impl fmt::Display for Failed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{}", self.violation)?;
        writeln!(f, "{}", self.drawn)?;
        write!(f, "to repeat it: verbcast sim --swarm 1 --seed {}", self.drawn.seed)
    }
}

impl std::error::Error for Failed {}

/// Draws everything that may vary.
pub fn draw(seed: u64) -> Drawn {
    let mut draw = Draw::new(seed);
    let size = 1 + draw.below(12);
    let mut settings = draw_settings(&mut draw, size);
    let mut options = Options::default();
    for (name, value) in &settings {
        options.set(name, value).expect("a drawn option can be set");
    }
    if draw.one_in(4) {
        // Protocols that share one core take turns.
        let text = draw.pick(&MIXED);
        options.table = text.parse().expect("a table of the swarm can be read");
        settings.push(("table", text.replace('\n', "; ")));
    }
    let mut plan = Plan::new(size, draw_steps(&mut draw, size));
    plan.seed = seed;
    plan.packet_len = HEADER_LEN + FRAGMENT as usize;
    plan.first_op = OpId(draw.pick(&[0, 1 << 20, u32::MAX, u32::MAX - 5]));
    // Another generator, so that what a seed draws besides stays what it was.
    let mut far = Draw::new(!seed);
    plan.passed = far.pick(&PASSED);
    plan.at_once = 1 + draw.below(4) as usize;
    plan.skew = draw.pick(&[0, 0, 10_000, 1_000_000]);
    plan.costs.jitter = draw.pick(&[0, 500, 20_000]);
    plan.depths = Depths {
        receive: draw.pick(&[8, 16, 64]),
        send: draw.pick(&[2, 32]),
        reliable_receive: draw.pick(&[12, 32, 144]),
        reliable_send: draw.pick(&[2, 32]),
        ring: draw.pick(&[8, 32]),
        fetch: draw.pick(&[1, 8, 32]),
    };
    if far.one_in(3) {
        // Deeper than any queue of reliable messages.
        plan.depths.ring = 128;
    }
    if draw.one_in(4) {
        plan.slow.push((Rank(draw.below(size)), u64::from(2 + draw.below(50))));
    }
    for _ in 0..draw.below(3) {
        let (rank, after) = (Rank(draw.below(size)), draw.below(plan.steps.len() as u32) as usize);
        plan.computing.push(Computing { rank, after, nanos: u64::from(draw.below(20_000_000)) });
    }
    let mut near = Draw::new(seed.rotate_left(32));
    if near.one_in(3) {
        plan.ranks_per_node = near.pick(&[2, 3, 4, 12]);
    }
    plan.order = draw_hosts(&mut Draw::stream(seed, 3), size);
    plan.faults = draw_faults(&mut draw);
    plan.payload_crc = far.one_in(2);
    draw_damage(&mut plan, &mut far);
    draw_buffers(&mut plan.faults, &mut Draw::stream(seed, 4));
    plan.whole_datagrams = Draw::stream(seed, 3).one_in(2);
    draw_memory(&mut plan, &mut options, &mut settings, seed);
    let fan_out = Draw::stream(seed, 5).pick(&["off", "1", "2", "3", "16"]);
    options.set("repair-tree", fan_out).expect("an option of the swarm can be set");
    settings.push(("repair-tree", fan_out.to_owned()));
    if size > 2 && draw.one_in(10) {
        plan.crash = Some((Rank(draw.below(size)), u64::from(draw.below(2_000_000))));
    }
    // Where repairs are pushed, a rank must stay to push them; the others need nobody's CPU, but a queue at a rank that
    // has left which takes what was on its way there. Acknowledgements by message are more than any queue takes.
    let takes_all = plan.depths.reliable_receive >= 32 && options.by == By::Counter;
    let alone = options.repair == Repair::Pull && takes_all;
    plan.leaves = plan.crash.is_none() && alone && !draw.one_in(3);
    plan.departs = plan.crash.is_none() && !plan.leaves && draw.one_in(2);
    let programs = (size > 1 && far.one_in(4)).then(|| {
        for (name, value) in programs::NEEDED {
            options.set(name, value).expect("an option of the swarm can be set");
            settings.push((name, value.to_owned()));
        }
        programs::draw(&mut far, plan.clone())
    });
    Drawn { seed, plan, settings, options, programs }
}

/// Draws which messages are long, and who writes and lets write into memory; with a generator of its own, as above.
fn draw_memory(
    plan: &mut Plan,
    options: &mut Options,
    settings: &mut Vec<(&'static str, String)>,
    seed: u64,
) {
    let mut draw = Draw::stream(seed, 2);
    let segment = draw.pick(&["off", "1", "50", "200"]);
    options.set("segment", segment).expect("a drawn option can be set");
    settings.push(("segment", segment.to_owned()));
    if draw.one_in(4) {
        return;
    }
    plan.zero_copy = Some(draw.pick(&[1, 100, 500]));
    let copies = draw.one_in(3).then(|| Rank(draw.below(plan.size)));
    plan.copying.extend(copies);
}

/// Draws which hosts the ranks are on: nobody tells, as a launcher deals them out, or anyhow; and the switches above these:
/// nobody knows any, some to each in a row, or anyhow, so that some hosts have fewer above them than others.
fn draw_hosts(draw: &mut Draw, size: u32) -> RankOrder {
    if draw.one_in(3) {
        return RankOrder::by_number(size);
    }
    let hosts = 1 + draw.below(size);
    let each = size.div_ceil(hosts);
    let kind = draw.below(3);
    let host = |rank: u32| match kind {
        0 => rank % hosts,
        1 => rank / each,
        _ => draw.below(hosts),
    };
    let hosts_of_ranks: Vec<_> = (0..size).map(host).collect();
    let kind = draw.below(3);
    let width = 1 + draw.below(3);
    let mut path = |host: u32| match kind {
        0 => Vec::new(),
        1 => vec![host / width / 2, host / width],
        _ => (0..draw.below(4)).map(|_| draw.below(3)).collect(),
    };
    let paths: Vec<_> = (0..hosts).map(&mut path).collect();
    let place = |host: &u32| Some((&paths[*host as usize][..], *host));
    RankOrder::by_place(&hosts_of_ranks.iter().map(place).collect::<Vec<_>>())
}

fn draw_settings(draw: &mut Draw, size: u32) -> Vec<(&'static str, String)> {
    let algorithms = [
        "two-stage",
        "two-stage-on-demand",
        "window",
        "window",
        "window",
        "basic",
        "co-root",
        "aggregate",
        "binomial",
        "chain",
        "scatter-allgather",
    ];
    let mut settings = vec![("algorithm", draw.pick(&algorithms).to_owned())];
    let mut set = |name, value: &str| settings.push((name, value.to_owned()));
    set("repair", draw.pick(&["push", "pull", "pull"]));
    set("sync", draw.pick(&["none", "random", "delay:30", "adaptive:2000"]));
    set("window", draw.pick(&["1", "2", "4", "8"]));
    set("piggyback", draw.pick(&["on", "off"]));
    set("acknowledge-by", draw.pick(&["write", "write", "message"]));
    set("credits", draw.pick(&["on", "off"]));
    let m = 1 + draw.below(6);
    let (every, skewed) = (format!("every:{m}"), format!("skewed:{m}"));
    set("acknowledge", draw.pick(&["needed", "needed", "each", &every, &skewed]));
    let groups = (draw.below(size) + 1).to_string();
    set("co-roots", draw.pick(&["none", "optimal", &groups]));
    set("acknowledge-after", draw.pick(&["50", "1000"]));
    set("repair-after", draw.pick(&["30", "300", "2000"]));
    set("run-ahead", draw.pick(&["1", "4", "8"]));
    settings
}

fn draw_steps(draw: &mut Draw, size: u32) -> Vec<Step> {
    let rotates = draw.one_in(2);
    (0..1 + draw.below(10))
        .map(|index| {
            let root = Rank(if rotates { index % size } else { draw.below(size) });
            let edges =
                [0, 1, FRAGMENT - 1, FRAGMENT, FRAGMENT + 1, 8 * FRAGMENT, 13 * FRAGMENT + 7];
            let len = if draw.one_in(3) { draw.below(20 * FRAGMENT) } else { draw.pick(&edges) };
            Step { root, len: len as usize }
        })
        .collect()
}

fn draw_faults(draw: &mut Draw) -> Faults {
    let mut faults = Faults::default();
    if draw.one_in(4) {
        return faults;
    }
    faults.loss = draw.pick(&[0, 10_000, 100_000, 500_000, 1_000_000]);
    if draw.one_in(3) {
        faults.burst_begins = draw.below(50_000);
        faults.burst_ends = 20_000 + draw.below(300_000);
    }
    faults.duplicate = draw.pick(&[0, 50_000, 300_000]);
    faults.delay = draw.pick(&[0, 100_000, 500_000]);
    faults.longest_delay = draw.pick(&[1_000, 50_000, 3_000_000]);
    faults
}

/// Draws whether receivers' links are slow and drop bursts.
fn draw_buffers(faults: &mut Faults, draw: &mut Draw) {
    if draw.one_in(4) {
        faults.buffer = draw.pick(&[1, 4, 20, 100]);
        faults.passing = draw.pick(&[100, 2_000, 20_000]);
    }
}

/// Draws what is damaged. A wrong byte of a payload is for the link to find, unless receivers check payloads.
fn draw_damage(plan: &mut Plan, draw: &mut Draw) {
    let faults = &mut plan.faults;
    if draw.one_in(2) {
        faults.torn_read = draw.pick(&[50_000, 500_000, 1_000_000]);
        faults.longest_tear = draw.pick(&[1_000, 50_000, 3_000_000]);
    }
    if draw.one_in(4) {
        faults.wrong_header = draw.pick(&[10_000, 200_000]);
    }
    if plan.payload_crc && draw.one_in(4) {
        faults.wrong_payload = draw.pick(&[10_000, 200_000]);
    }
}

impl Drawn {
    /// Runs the simulation; how many events happened, and a number that differs where anything happened otherwise.
    ///
    /// # Errors
    /// If it went wrong.
    pub fn run(&self) -> Result<(u64, u64), Violation> {
        match &self.programs {
            Some(programs) => {
                processes::run(programs, &self.options).map(|ran| (ran.events, ran.ended))
            }
            None => {
                simulate(&self.plan, &self.options).map(|outcome| (outcome.events, outcome.trace))
            }
        }
    }
}

/// Runs one seed; how many events happened.
///
/// # Errors
/// If its simulation went wrong.
pub fn run(seed: u64) -> Result<u64, Failed> {
    let drawn = draw(seed);
    match drawn.run() {
        Ok((events, _)) => Ok(events),
        Err(violation) => Err(Failed { drawn: Box::new(drawn), violation }),
    }
}
