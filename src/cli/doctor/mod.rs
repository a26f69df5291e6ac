//! `verbcast doctor`: tries what verbcast assumes of an adapter and its fabric.

pub mod args;
mod bounded;
mod cells;
mod check;
mod checks;
mod finding;
pub mod group;
mod helper;
mod hide;
mod inventory;
pub mod lab;
mod packets;
mod progress;
mod ranks;
mod report;
pub mod site;
mod text;
mod together;

use crate::failure::Failure;
use crate::files::{check_file, write_whole};
use crate::launch::{Job, random_name};
use args::DoctorArgs;
use bounded::{Without, end_after, step, within};
use check::Check;
use finding::{Finding, Outcome};
use inventory::Host;
use progress::Progress;
use report::{HostReport, Report};
use site::Site;
use std::path::Path;
use std::time::{Duration, Instant};
use verbcast::bootstrap::Environment;
use verbcast::broadcast::Config;
use verbcast::rdma::{Settings, Survey, survey};
use verbcast_core::rank::Rank;

/// A rank, or a process alone, ends after this time in any case; one that waits for its ranks a little later.
const END: Duration = Duration::from_secs(110);
const END_OF_LAUNCHER: Duration = Duration::from_secs(116);
/// What one host tries by itself begins before this time.
const ALONE: Duration = Duration::from_secs(90);
/// How long the devices may take to be looked at.
const LOOK: Duration = Duration::from_secs(20);

pub fn run(args: &DoctorArgs) -> Result<(), Failure> {
    let begun = Instant::now();
    let mut settings = Config::from_env().map_err(Failure::usage)?.device;
    if !args.device.is_empty() {
        settings.devices.clone_from(&args.device);
    }
    if let Some(task) = args.assist {
        let survey = surveyed(&settings, Rank(0));
        return helper::assist(task, Site::of(&survey, &settings));
    }
    if let Some(path) = &args.json {
        check_file("--json", path).map_err(Failure::usage)?;
    }
    let environment = Environment::from_env().map_err(Failure::usage)?;
    let is_alone = args.ranks.is_none() && environment.as_ref().is_none_or(|one| one.size == 1);
    let is_first = environment.as_ref().is_none_or(|one| one.rank == Rank(0));
    let progress = Progress::new(args.json.clone().filter(|_| is_first));
    let of_all = progress.clone();
    let last = move |why: &str| of_all.give_up(why);
    let report = if is_alone {
        end_after(END, last);
        examine(Rank(0), &settings, begun + ALONE, &progress);
        Some(Report { ranks: 1, ..progress.report() })
    } else {
        let job = Job {
            ranks: args.ranks,
            timeout: settings.timeout,
            interrupted: "interrupted",
            finds_rendezvous: false,
            reads_stdin: false,
        };
        match job.is_launcher() {
            // Its rank 0 writes what there is.
            true => end_after(END_OF_LAUNCHER, |_| Ok(())),
            false => end_after(END, last),
        }
        step("waiting for the ranks");
        job.run(|_| (), |environment, _| ranks::run(environment, &settings, begun, &progress))?
    };
    let Some(mut report) = report else { return Ok(()) };
    report.seconds = begun.elapsed().as_secs_f64();
    crate::print(&text::render(&report))?;
    save(args, &report)?;
    match report.is_healthy() {
        true => Ok(()),
        // All was said.
        false => Err(Failure { messages: Vec::new(), status: 1 }),
    }
}

/// Writes the file that is asked for, if one is.
fn save(args: &DoctorArgs, report: &Report) -> Result<(), Failure> {
    let Some(path) = &args.json else { return Ok(()) };
    write_json(path, report)?;
    let name = path.display();
    crate::print(&format!(
        "{name}: send this file; host names, GUIDs and addresses are replaced in it\n"
    ))
}

fn write_json(path: &Path, report: &Report) -> Result<(), Failure> {
    let salt = random_name().map_err(Failure::new)?;
    let json = report.to_json(&salt).map_err(Failure::new)?;
    let text = serde_json::to_string_pretty(&json).map_err(Failure::new)?;
    write_whole(path, &(text + "\n"))
}

/// The devices of this host, and the choice of one.
fn surveyed(settings: &Settings, rank: Rank) -> Survey {
    step("looking at the devices");
    let owned = settings.clone();
    let looked = within(LOOK, move || survey(&owned, rank));
    let why = match looked {
        Ok(Ok(survey)) => return survey,
        Ok(Err(error)) => format!("the kernel's list of RDMA devices cannot be read: {error}"),
        Err(Without::End) => format!(
            "a device does not answer within {} s: see the kernel's log (dmesg)",
            LOOK.as_secs()
        ),
        Err(Without::Outcome) => "the devices cannot be looked at".to_owned(),
    };
    let (devices, reasons, rails) = (Vec::new(), Vec::new(), Vec::new());
    Survey { devices, reasons, local_rank: 0, choice: Err(why), rails }
}

/// What this host is and finds by itself, which `progress` has too.
fn examine(rank: Rank, settings: &Settings, until: Instant, progress: &Progress) -> HostReport {
    let survey = surveyed(settings, rank);
    let host: Host = inventory::look(&survey);
    let site = Site::of(&survey, settings);
    let tried = site.as_ref().map(Site::name).map_err(Clone::clone);
    let mut report = HostReport { rank: rank.0, host, tried, findings: Vec::new() };
    progress.begin(report.clone());
    if let Ok(site) = site {
        report.findings = try_all(&site, until, |finding| progress.add(finding.clone()));
    }
    report
}

/// What is missing after this finding to others that need what was tried.
fn lack(finding: &Finding) -> Option<String> {
    let is_broken = finding.outcome == Outcome::Broken;
    is_broken.then(|| format!("needs {} ({}) first", finding.id, finding.number))
}

fn try_all(site: &Site, until: Instant, note: impl Fn(&Finding)) -> Vec<Finding> {
    let mut findings = Vec::new();
    let mut add = |finding: Finding| {
        note(&finding);
        findings.push(finding);
    };
    // Once something is missing that others need, nothing else is said to be wrong.
    let mut missing: Option<String> = None;
    let run = |check: &Check, missing: &Option<String>| match missing {
        Some(why) => check.skip(why),
        None => check.run(site, until),
    };
    for check in checks::FIRST {
        let finding = run(check, &missing);
        missing = missing.or_else(|| lack(&finding));
        add(finding);
    }
    // One way to join is enough; where the first choice is broken, others that do not work either are not said to be.
    let mut broken: Option<String> = None;
    let mut is_joined = false;
    for check in checks::joins(site.link_layer) {
        let finding = run(check, &missing);
        is_joined |= finding.outcome == Outcome::Holds;
        match &broken {
            Some(why) if !is_joined => add(check.skip(why)),
            _ => {
                broken = broken.or_else(|| lack(&finding));
                add(finding);
            }
        }
    }
    missing = missing.or(broken.filter(|_| !is_joined));
    for check in checks::OTHERS {
        add(run(check, &missing));
    }
    findings
}
