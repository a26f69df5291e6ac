//! Lets the real OpenSM configure a simulated fabric, and reads the switches' tables.

use super::ibsim::Client;
use super::programs::{Folder, GLANCE, Program};
use crate::fabric::interrupt::Interrupt;
use crate::failure::Failure;
use std::collections::VecDeque;
use std::ffi::OsStr;
use std::fs;
use std::thread::sleep;
use std::time::{Duration, Instant};
use verbcast_fabric::opensm::Options;
use verbcast_fabric::smp::{
    Agent, Attribute, Data, LFT_BLOCK, MAX_HOPS, MftBlock, Path, PortInfo, Route, positions,
};
use verbcast_fabric::{
    BLOCK, Entries, FIRST_MLID, LAST_UNICAST, Lids, Port, PortSet, Topology, UnicastTables,
    identifier, netlist,
};

/// Where Debian has the library that puts programs on ibsim.
const PRELOADED: &[&str] = &[
    "/usr/lib/x86_64-linux-gnu/umad2sim/libumad2sim.so",
    "/usr/lib/aarch64-linux-gnu/umad2sim/libumad2sim.so",
    "/usr/lib/umad2sim/libumad2sim.so",
    "/usr/lib64/umad2sim/libumad2sim.so",
];

/// What OpenSM has put into the switches.
pub struct Observed {
    pub tables: UnicastTables,
    pub groups: Vec<Group>,
}

/// A group that was joined.
pub struct Group {
    pub members: Vec<u32>,
    pub mlid: u16,
    pub entries: Entries,
}

/// How OpenSM is to run.
pub struct Settings<'a> {
    pub engine: &'a str,
    /// The order of ports, and roots.
    pub options: Options<'a>,
    /// All waiting ends after this.
    pub timeout: Duration,
    /// Somebody may ask this process to end.
    pub interrupt: &'a Interrupt,
}

/// Why the check cannot run here at all, if it cannot.
pub fn missing() -> Option<String> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    // Debian has OpenSM where only root looks.
    let folders: Vec<_> = std::env::split_paths(&path).chain(["/usr/sbin".into()]).collect();
    let is_there = |name: &&str| folders.iter().any(|folder| folder.join(name).is_file());
    let programs = ["ibsim", "opensm", "timeout", "env"];
    let mut gone: Vec<&str> = programs.into_iter().filter(|name| !is_there(name)).collect();
    if preloaded().is_none() {
        gone.push("libumad2sim.so");
    }
    let packages = "Debian's packages ibsim-utils, libumad2sim0 and opensm have them";
    (!gone.is_empty()).then(|| format!("there is no {} ({packages})", gone.join(", no ")))
}

fn preloaded() -> Option<&'static str> {
    PRELOADED.iter().copied().find(|path| fs::metadata(path).is_ok())
}

/// A fabric with OpenSM on it.
pub struct Fabric<'a> {
    topology: &'a Topology,
    settings: Settings<'a>,
    client: Client,
    /// The way to each node from the host of the subnet manager.
    routes: Vec<Route>,
    deadline: Instant,
    // In the order in which they have to end: OpenSM waits for ever for an ibsim that is gone.
    opensm: Program,
    ibsim: Program,
    _folder: Folder,
}

impl<'a> Fabric<'a> {
    /// Starts both and waits until the subnet is up.
    pub fn start(topology: &'a Topology, settings: Settings<'a>) -> Result<Fabric<'a>, Failure> {
        let folder = Folder::new()?;
        let write = |name: &str, text: String| {
            fs::write(folder.path().join(name), text)
                .map_err(|error| Failure::new(format!("cannot write {name}: {error}")))
        };
        write("net", netlist(topology))?;
        let name = folder.path().file_name().unwrap_or_default().to_string_lossy().into_owned();
        let host = topology.endpoints().first().ok_or_else(|| Failure::new("there is no host"))?;
        let host = identifier(topology.node(host.port.node));
        // Beyond this the programs end by themselves, whatever becomes of this process.
        let limit = settings.timeout + Duration::from_secs(5);
        let deadline = Instant::now() + settings.timeout;

        let counts = [("-N", topology.nodes().len()), ("-S", topology.switches() as usize)];
        let ports = topology.nodes().iter().map(|node| usize::from(node.ports) + 1).sum::<usize>();
        let counts = counts.into_iter().chain([("-P", ports + 64), ("-M", 1024)]);
        let mut words: Vec<String> =
            counts.flat_map(|(option, count)| [option.to_owned(), count.to_string()]).collect();
        words.extend(["-s", "-n", "net"].map(str::to_owned));
        let environment = [("IBSIM_SOCKNAME", OsStr::new(&name))];
        let mut ibsim = Program::start("ibsim", limit, &folder, &words, &environment)?;

        // This client leaves again: ibsim would give it what is for the subnet manager of its host.
        while Client::connect(&name, &host).is_err() {
            ibsim.check()?;
            wait("ibsim", deadline, &settings)?;
        }

        let mut words =
            ["-R", settings.engine, "-s", "0", "-e", "-f", "osm.log", "-D", "0x43", "-d", "2"]
                .map(str::to_owned)
                .to_vec();
        if !settings.options.port_order.is_empty() {
            let order: Vec<String> =
                settings.options.port_order.iter().map(u8::to_string).collect();
            let line = |switch: u32| {
                format!("0x{:016x} {}\n", topology.node(switch).guid, order.join(" "))
            };
            write("order", topology.switch_nodes().map(line).collect())?;
            words.extend(["-O", "order"].map(str::to_owned));
        }
        if !settings.options.roots.is_empty() {
            let line = |root: &u32| format!("0x{:016x}\n", topology.node(*root).guid);
            write("roots", settings.options.roots.iter().map(line).collect())?;
            words.extend(["-a", "roots"].map(str::to_owned));
        }
        let here = folder.path().as_os_str();
        let environment = [
            ("LD_PRELOAD", OsStr::new(preloaded().unwrap_or_default())),
            ("IBSIM_SOCKNAME", OsStr::new(&name)),
            ("SIM_HOST", OsStr::new(&host)),
            ("OSM_TMP_DIR", here),
            ("OSM_CACHE_DIR", here),
            ("PATH", OsStr::new("/usr/sbin:/usr/bin:/sbin:/bin:/usr/local/sbin:/usr/local/bin")),
        ];
        let mut opensm = Program::start("opensm", limit, &folder, &words, &environment)?;
        let log = folder.path().join("osm.log");
        loop {
            let text = fs::read(&log).unwrap_or_default();
            if text.windows(9).any(|window| window == b"SUBNET UP") {
                break;
            }
            ibsim.check()?;
            opensm.check()?;
            wait("OpenSM to bring the subnet up", deadline, &settings)?;
        }
        let client = Client::connect(&name, &host)?;
        let routes = routes(topology)?;
        Ok(Fabric { topology, settings, client, routes, deadline, opensm, ibsim, _folder: folder })
    }

    /// Fails if a program has ended, or somebody asks this process to.
    fn check(&mut self) -> Result<(), Failure> {
        self.ibsim.check()?;
        self.opensm.check()?;
        match self.settings.interrupt.is_asked() {
            true => Err(Failure::new("interrupted")),
            false => Ok(()),
        }
    }

    /// What the node at the end of a route has for an attribute.
    fn get(&mut self, node: u32, attribute: Attribute) -> Result<Data, Failure> {
        self.check()?;
        let answer = self.client.get(&self.routes[node as usize], attribute);
        answer.map_err(Failure::new)
    }

    /// The LIDs that OpenSM has given, and the linear forwarding tables.
    pub fn unicast(&mut self) -> Result<UnicastTables, Failure> {
        let topology = self.topology;
        let lid_of = |fabric: &mut Self, Port { node, port }: Port| {
            let answer = fabric.get(node, Attribute::PortInfo { port })?;
            Ok::<_, Failure>(PortInfo::from(&answer).lid)
        };
        let mut endpoints = Vec::new();
        for endpoint in topology.endpoints() {
            endpoints.push(lid_of(self, endpoint.port)?);
        }
        let mut switches = Vec::new();
        for node in topology.switch_nodes() {
            switches.push(lid_of(self, Port { node, port: 0 })?);
        }
        let lids = Lids::given(topology, &endpoints, &switches, 0).map_err(Failure::new)?;
        let mut tables = UnicastTables::new(lids.clone(), topology.switches());
        for node in topology.switch_nodes() {
            for block in 0..=lids.last() / LFT_BLOCK {
                let ports = self.get(node, Attribute::LinearForwardingTable { block })?;
                let first = block * LFT_BLOCK;
                for (lid, port) in (first..=lids.last().min(LAST_UNICAST)).zip(ports) {
                    if port != 255 {
                        tables.set(topology.switch_index(node), lid, port);
                    }
                }
            }
        }
        Ok(tables)
    }

    /// Lets endpoints join a group; returns its MLID.
    pub fn join(&mut self, group: u32, members: &[u32], lid: u16) -> Result<u16, Failure> {
        let mut mgid = [0; 16];
        // A transient group of this subnet, and none of IPoIB's: those need its broadcast group first.
        mgid[..4].copy_from_slice(&[0xff, 0x12, 0x76, 0x63]);
        mgid[12..].copy_from_slice(&(0x1000 + group).to_be_bytes());
        let mut mlid = 0;
        for member in members {
            let guid = self.topology.endpoints()[*member as usize].guid;
            self.check()?;
            mlid = self.client.join(mgid, guid, lid)?;
            if mlid < FIRST_MLID {
                return Err(Failure::new(format!("OpenSM gave group {group} the MLID 0x{mlid:x}")));
            }
        }
        Ok(mlid)
    }

    /// What the switches have for an MLID.
    pub fn multicast(&mut self, mlid: u16) -> Result<Entries, Failure> {
        let topology = self.topology;
        let (block, entry) =
            ((mlid - FIRST_MLID) / BLOCK, usize::from((mlid - FIRST_MLID) % BLOCK));
        let mut entries = Entries::none(topology);
        for node in topology.switch_nodes() {
            let mut ports = PortSet::EMPTY;
            for position in positions(topology.node(node).ports) {
                let attribute = Attribute::MulticastForwardingTable { block, position };
                let read = MftBlock::from(&self.get(node, attribute)?);
                read.ports(entry, position).for_each(|port| ports.insert(port));
            }
            *entries.ports_mut(topology.switch_index(node)) = ports;
        }
        Ok(entries)
    }

    /// As [`Fabric::multicast`], once the entries are the expected ones or have had their time: OpenSM
    /// answers to a join before it has written the tables.
    pub fn settled(&mut self, mlid: u16, expected: &Entries) -> Result<Entries, Failure> {
        let deadline = self.deadline.min(Instant::now() + Duration::from_secs(5));
        loop {
            let entries = self.multicast(mlid)?;
            if entries == *expected || Instant::now() >= deadline {
                return Ok(entries);
            }
            sleep(GLANCE);
        }
    }
}

fn wait(what: &str, deadline: Instant, settings: &Settings<'_>) -> Result<(), Failure> {
    if settings.interrupt.is_asked() {
        return Err(Failure::new("interrupted"));
    }
    if Instant::now() >= deadline {
        let seconds = settings.timeout.as_secs_f64();
        return Err(Failure::new(format!("waited {seconds} s for {what}; see --timeout")));
    }
    sleep(GLANCE);
    Ok(())
}

/// Shortest routes from the first endpoint to every node.
fn routes(topology: &Topology) -> Result<Vec<Route>, Failure> {
    let mut paths = vec![None; topology.nodes().len()];
    let Some(first) = topology.endpoints().first() else { return Ok(Vec::new()) };
    paths[first.port.node as usize] = Some(Path::here());
    let mut queue = VecDeque::from([first.port.node]);
    while let Some(node) = queue.pop_front() {
        if !topology.is_switch(node) && node != first.port.node {
            continue;
        }
        for (port, Port { node: next, .. }) in topology.neighbours(node) {
            if paths[next as usize].is_none() {
                let path = paths[node as usize].as_ref().and_then(|path| path.then(port));
                queue.extend(path.is_some().then_some(next));
                paths[next as usize] = path;
            }
        }
    }
    let route = |(node, path): (u32, Option<Path>)| {
        let name = &topology.node(node).name;
        let none =
            || Failure::new(format!("there is no way to {name} of at most {MAX_HOPS} links"));
        path.map(Route::Directed).ok_or_else(none)
    };
    (0..).zip(paths).map(route).collect()
}
