//! Joins that the subnet administrator is asked for, against OpenSM on ibsim: each host of the fabric is a process.

use crate::simulated_fabric::Simulated;
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::time::Duration;
use verbcast_umad::{NewGroup, SaMembership, SubnetAdministrator};

/// Names the variable that makes this test's process a host.
const HOST: &str = "VERBCAST_TEST_SUBNET_HOST";
const PATIENCE: Duration = Duration::from_secs(30);
/// What answers begin with, among what the test harness says.
const ANSWER: &str = "answer: ";

/// A host: it joins and leaves as it is told on standard input. Alone it is no test.
#[test]
fn host() {
    if std::env::var_os(HOST).is_none() {
        return;
    }
    let adapter = verbcast_umad::Port::open(None, 0, verbcast_umad::Patience::default()).unwrap();
    let (adapter, _) = adapter.name().split_once(',').unwrap();
    let administrator = SubnetAdministrator::open(adapter, 1).unwrap();
    let mut memberships = Vec::new();
    for line in std::io::stdin().lines() {
        let line = line.unwrap();
        let words: Vec<_> = line.split(' ').collect();
        match words[..] {
            ["join", from, to, pkey, rate] => {
                let number = |text: &str| text.parse::<u16>().unwrap();
                let rate = rate.parse().unwrap();
                let joined = (number(from)..number(to)).map(|group| {
                    join(&administrator, mgid(group), number(pkey), rate).map(|one| {
                        let (mlid, mtu) = (one.record().mlid, one.record().mtu());
                        memberships.push(one);
                        (mlid, mtu)
                    })
                });
                match joined.collect::<Result<Vec<_>, _>>() {
                    Ok(joined) => {
                        let text: Vec<_> =
                            joined.iter().map(|(mlid, mtu)| format!("{mlid},{mtu}")).collect();
                        println!("{ANSWER}{}", text.join(" "));
                    }
                    Err(error) => println!("{ANSWER}error {error}"),
                }
            }
            ["leave"] => {
                memberships.clear();
                println!("{ANSWER}left");
            }
            _ => panic!("{line:?} is not a command"),
        }
    }
}

fn mgid(group: u16) -> [u8; 16] {
    let mut mgid = [0x77; 16];
    mgid[..2].copy_from_slice(&[0xff, 0x12]);
    mgid[14..].copy_from_slice(&group.to_be_bytes());
    mgid
}

fn join(
    administrator: &SubnetAdministrator,
    mgid: [u8; 16],
    pkey: u16,
    rate: u32,
) -> Result<SaMembership, String> {
    let new = NewGroup { qkey: 0x0123_4567, pkey, sl: 0, traffic_class: 0, mtu: 2048, rate };
    administrator.join(mgid, new, PATIENCE).map_err(|error| error.to_string())
}

struct Host {
    process: Child,
    input: ChildStdin,
    output: BufReader<ChildStdout>,
}

impl Host {
    fn start(simulated: &Simulated, name: &str) -> Host {
        let mut command = Command::new(std::env::current_exe().unwrap());
        command.args(["--exact", "subnet_joins::host", "--nocapture"]).env(HOST, name);
        command.env("SIM_HOST", name).stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut process = simulated.on(&mut command).spawn().unwrap();
        let (input, output) = (process.stdin.take().unwrap(), process.stdout.take().unwrap());
        Host { process, input, output: BufReader::new(output) }
    }

    fn tell(&mut self, what: &str) {
        writeln!(self.input, "{what}").unwrap();
    }

    fn answer(&mut self) -> String {
        let lines = self.output.by_ref().lines();
        let mut lines = lines.map(|line| line.unwrap());
        let answer = lines.find_map(|line| Some(line.split_once(ANSWER)?.1.to_owned()));
        answer.expect("the host answers")
    }

    /// The MLIDs and MTUs of the groups of this range.
    fn joined(&mut self) -> Vec<(u16, usize)> {
        let answer = self.answer();
        assert!(!answer.starts_with("error"), "{answer}");
        let pair = |text: &str| {
            let (mlid, mtu) = text.split_once(',').unwrap();
            (mlid.parse().unwrap(), mtu.parse().unwrap())
        };
        answer.split(' ').map(pair).collect()
    }
}

impl Drop for Host {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// How many ports are in each group of the test's, as OpenSM says; of more than three memberships, ibsim brings only
/// the first ones.
fn members(simulated: &Simulated) -> BTreeMap<String, usize> {
    let output = simulated.tool("saquery", "--smkey 1 -m");
    let text = String::from_utf8_lossy(&output.stdout);
    let mut members = BTreeMap::new();
    for line in text.lines().filter(|line| line.contains("MGID") && line.contains(":7777:")) {
        *members.entry(line.trim().to_owned()).or_insert(0) += 1;
    }
    members
}

const FULL: u16 = 0xffff;
/// The rate of a new group in Mb/s that leaves it to the port that makes it, and one that every port has.
const OWN: u32 = 0;
const SLOWEST: u32 = 2_500;

/// The hosts of `fat-tree:4,2` but the first, where OpenSM and the tools are.
const HOSTS: [&str; 7] = ["P01", "P10", "P11", "P20", "P21", "P30", "P31"];

fn hosts(simulated: &Simulated) -> Vec<Host> {
    HOSTS.iter().map(|name| Host::start(simulated, name)).collect()
}

#[test]
fn two_thousand_joins_are_memberships_and_end() {
    let Some(simulated) = Simulated::new("fat-tree:4,2") else { return };
    let _manager = simulated.manage(&[]);
    let mut hosts = hosts(&simulated);
    let groups = 2000_usize.div_ceil(HOSTS.len());
    let all = format!("join 0 {groups} {FULL} {OWN}");
    let (first, others) = hosts.split_first_mut().unwrap();
    first.tell(&all);
    let made = first.joined();
    others.iter_mut().for_each(|host| host.tell(&all));
    for host in others {
        assert_eq!(host.joined(), made, "all are told the same of each group");
    }
    let mlids: BTreeSet<_> = made.iter().map(|(mlid, _)| *mlid).collect();
    assert!(mlids.len() == groups && mlids.iter().all(|mlid| *mlid > 0xc000), "{mlids:x?}");
    assert_ne!(members(&simulated).len(), 0);
    hosts.iter_mut().for_each(|host| host.tell("leave"));
    hosts.iter_mut().for_each(|host| assert_eq!(host.answer(), "left"));
    assert_eq!(members(&simulated).len(), 0, "not one is left");
}

#[test]
fn a_slower_port_is_in_every_group_whose_rate_it_has_whoever_made_it() {
    // Both ends of the link of P31 are of one lane.
    let slower = |net: &str| {
        let mut is_host = false;
        let lines = net.lines().map(|line| {
            let is_end = is_host || line.contains("\"P31\"[1]");
            is_host = line.ends_with("\"P31\"");
            if is_end { line.replace("w=2", "w=1") + "\n" } else { line.to_owned() + "\n" }
        });
        lines.collect()
    };
    let Some(simulated) = Simulated::with("fat-tree:4,2", slower) else { return };
    let _manager = simulated.manage(&[]);
    let (mut slow, mut fast) = (Host::start(&simulated, "P31"), Host::start(&simulated, "P10"));
    let join_after = |first: &mut Host, second: &mut Host, group: u16, rate: u32| {
        let all = format!("join {group} {} {FULL} {rate}", group + 1);
        first.tell(&all);
        let made = first.joined();
        second.tell(&all);
        made
    };
    let made = join_after(&mut slow, &mut fast, 0, OWN);
    assert_eq!(fast.joined(), made, "the slower one has made it");
    let made = join_after(&mut fast, &mut slow, 1, SLOWEST);
    assert_eq!(made[0].1, 2048, "the MTU that was asked for");
    assert_eq!(slow.joined(), made, "it was made for the slower one");
    join_after(&mut fast, &mut slow, 2, OWN);
    let refusal = slow.answer();
    assert!(
        refusal.starts_with("error") && refusal.contains("the group's MTU and rate"),
        "{refusal}"
    );
}

#[test]
fn limited_members_of_a_partition_join() {
    let Some(simulated) = Simulated::new("fat-tree:4,2") else { return };
    let partitions = simulated.folder.path("partitions");
    fs::write(&partitions, "Default=0x7fff: ALL=limited, SELF=full;\n").unwrap();
    let _manager = simulated.manage(&["-P", partitions.to_str().unwrap()]);
    let mut hosts = hosts(&simulated);
    for host in &mut hosts[..3] {
        host.tell(&format!("join 0 1 32767 {OWN}"));
        host.joined();
    }
    assert_eq!(members(&simulated).into_values().collect::<Vec<_>>(), [3]);
}

#[test]
fn groups_that_a_restarted_manager_has_forgotten_are_joined_again() {
    let Some(simulated) = Simulated::new("fat-tree:4,2") else { return };
    let manager = simulated.manage(&[]);
    let mut hosts = hosts(&simulated);
    let join = format!("join 0 1 {FULL} {OWN}");
    let join_all = |hosts: &mut [Host]| {
        for host in &mut hosts[..3] {
            host.tell(&join);
            host.joined();
        }
    };
    join_all(&mut hosts);
    assert_eq!(members(&simulated).into_values().collect::<Vec<_>>(), [3]);
    drop(manager);
    let _manager = simulated.manage(&[]);
    assert_eq!(members(&simulated).len(), 0, "it has forgotten them");
    join_all(&mut hosts);
    assert_eq!(members(&simulated).into_values().collect::<Vec<_>>(), [3]);
}
