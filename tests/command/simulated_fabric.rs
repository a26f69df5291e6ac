//! ibsim with a fabric on it, and the tools of infiniband-diags.

use crate::needs;
use crate::support::{Folder, HANG, run, text, verbcast};
use serde_json::Value;
use std::collections::{BTreeMap, HashMap};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

/// Longer than anything here takes, should all else fail.
const LIMIT: &str = "120";

/// By switch's GUID and MLID the ports.
pub type Tables = BTreeMap<(u64, u16), Vec<u8>>;

/// ibsim with a fabric whose subnet OpenSM has brought up; both end with it.
pub struct Simulated {
    pub folder: Folder,
    pub ibsim: Child,
    preloaded: PathBuf,
    name: String,
}

impl Drop for Simulated {
    fn drop(&mut self) {
        let _ = self.ibsim.kill();
        let _ = self.ibsim.wait();
    }
}

/// A running OpenSM; it ends with this.
pub struct Manager(Child);

impl Drop for Manager {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn find(name: &str) -> Option<PathBuf> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let folders = std::env::split_paths(&path).chain(["/usr/sbin".into()]);
    folders.map(|folder| folder.join(name)).find(|path| path.is_file())
}

/// The library that puts programs on ibsim.
pub fn preloaded() -> Option<PathBuf> {
    let architecture = std::env::consts::ARCH;
    let folders =
        [format!("/usr/lib/{architecture}-linux-gnu/umad2sim"), "/usr/lib64/umad2sim".into()];
    folders
        .iter()
        .map(|folder| Path::new(folder).join("libumad2sim.so"))
        .find(|path| path.is_file())
}

impl Simulated {
    /// None, visibly, where a program is missing.
    pub fn new(fabric: &str) -> Option<Simulated> {
        Self::with(fabric, str::to_owned)
    }

    /// As [`new`](Self::new), with a netlist that was changed.
    pub fn with(fabric: &str, change: impl FnOnce(&str) -> String) -> Option<Simulated> {
        for program in ["ibsim", "opensm", "dump_fts", "ibtracert", "ibnetdiscover"] {
            if find(program).is_none() {
                needs::missing(format!("there is no {program}"));
                return None;
            }
        }
        let Some(preloaded) = preloaded() else {
            needs::missing("there is no libumad2sim.so");
            return None;
        };
        let folder = Folder::new();
        let mut command = verbcast();
        command.args(["fabric", "netlist", "--fabric", fabric, "-o"]).arg(folder.path("net"));
        assert!(run(&mut command).status.success());
        let net = fs::read_to_string(folder.path("net")).unwrap();
        fs::write(folder.path("net"), change(&net)).unwrap();
        let name = folder.path("").file_name().unwrap().to_string_lossy().into_owned();
        let mut command = Command::new(find("ibsim").unwrap());
        command.args(["-s", "-N", "400", "-S", "200", "-P", "2000", "-M", "1024"]).arg("net");
        command.env("IBSIM_SOCKNAME", &name).current_dir(folder.path("")).stdin(Stdio::piped());
        let output = fs::File::create(folder.path("ibsim.out")).unwrap();
        let ibsim = command.stdout(output).stderr(Stdio::null()).spawn().unwrap();
        let simulated = Simulated { folder, ibsim, preloaded, name };
        for _ in 0..600 {
            let said = fs::read_to_string(simulated.folder.path("ibsim.out")).unwrap();
            if said.contains("Network simulator ready") {
                break;
            }
            sleep(Duration::from_millis(20));
        }
        let output = simulated.tool("opensm", "-o -s 0 -f osm.log");
        let log = fs::read(simulated.folder.path("osm.log")).unwrap_or_default();
        assert!(text(&log).contains("SUBNET UP"), "{}", text(&output.stdout));
        Some(simulated)
    }

    /// OpenSM, from now on, with further options.
    pub fn manage(&self, options: &[&str]) -> Manager {
        let log = self.folder.path("manager.log");
        let _ = fs::remove_file(&log);
        let mut command = Command::new(find("opensm").unwrap());
        // 2: what is logged is written at once.
        command.args(["-s", "0", "-d", "2", "-f"]).arg(&log).args(options);
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        let manager = Manager(self.on(&mut command).spawn().unwrap());
        let begun = Instant::now();
        while !fs::read(&log).is_ok_and(|log| text(&log).contains("SUBNET UP")) {
            assert!(begun.elapsed() < HANG, "OpenSM does not bring the subnet up");
            sleep(Duration::from_millis(20));
        }
        manager
    }

    /// Puts a command onto the simulated fabric.
    pub fn on<'a>(&self, command: &'a mut Command) -> &'a mut Command {
        let folder = self.folder.path("");
        command.env("LD_PRELOAD", &self.preloaded).env("IBSIM_SOCKNAME", &self.name);
        command.env("OSM_TMP_DIR", &folder).env("OSM_CACHE_DIR", &folder).current_dir(folder)
    }

    pub fn tool(&self, name: &str, args: &str) -> Output {
        let mut command = Command::new("timeout");
        command.arg(LIMIT).arg(find(name).unwrap()).args(args.split_whitespace());
        // ibtracert and dump_fts look for others beside them.
        let path = std::env::var("PATH").unwrap_or_default() + ":/usr/sbin";
        run(self.on(command.env("PATH", path).stdin(Stdio::null())))
    }

    pub fn command(&self, args: &str) -> Command {
        let mut command = verbcast();
        command.args(["fabric", "program"]).args(args.split_whitespace());
        self.on(&mut command);
        command
    }

    pub fn program(&self, args: &str) -> Value {
        let output = run(self.command(args).arg("--json"));
        assert!(output.status.success(), "{args}: {}", text(&output.stderr));
        serde_json::from_slice(&output.stdout).unwrap()
    }

    #[track_caller]
    pub fn refused(&self, args: &str, status: i32, says: &str) {
        let output = run(&mut self.command(args));
        assert_eq!(output.status.code(), Some(status), "{args}: {}", text(&output.stderr));
        assert!(text(&output.stderr).contains(says), "{args}: {}", text(&output.stderr));
    }

    /// What an independent tool reads.
    pub fn dumped(&self) -> Tables {
        let output = self.tool("dump_fts", "-M");
        assert!(output.status.success(), "{}", text(&output.stderr));
        let mut tables = Tables::new();
        let mut guid = 0;
        let hexadecimal = |digits: &str| u64::from_str_radix(digits, 16).unwrap();
        for line in text(&output.stdout).lines() {
            if let Some((_, rest)) = line.split_once(" guid 0x") {
                guid = hexadecimal(rest.split_whitespace().next().unwrap());
            } else if let Some(rest) = line.strip_prefix("0x") {
                let (mlid, marks) = rest.split_at(4);
                // The marks stand below the ports, two characters each.
                let marks = marks.trim_end().bytes().enumerate().filter(|(_, mark)| *mark == b'x');
                let ports = marks.map(|(at, _)| at as u8 / 2 - DUMP_INDENT);
                tables.insert((guid, hexadecimal(mlid) as u16), ports.collect());
            }
        }
        tables
    }

    /// The hosts' LIDs, by their names.
    pub fn lids(&self) -> HashMap<String, u16> {
        let output = self.tool("ibnetdiscover", "");
        let text = text(&output.stdout);
        let hosts = text.lines().filter(|line| line.starts_with('[') && line.contains("\"H-"));
        let pair = |line: &str| {
            let (_, comment) = line.split_once("# \"")?;
            let (name, rest) = comment.split_once("\" lid ")?;
            Some((name.to_owned(), rest.split_whitespace().next()?.parse().ok()?))
        };
        hosts.filter_map(pair).collect()
    }
}

/// Columns between an MLID and the mark of port 0.
const DUMP_INDENT: u8 = 3;
