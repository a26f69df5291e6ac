//! A provider that refuses: every call of libibverbs and librdmacm fails in turn, the first time, later, or from some time
//! on. Nothing hangs, crashes or leaks; what cannot go on says which call failed.
//!
//! This program's own functions come before those of the libraries ([`calls`], [`operations`]), and pass on what they do
//! not refuse. Each call is tried in a process of its own, whose ranks are threads. Needs RDMA devices, named in
//! `VERBCAST_TEST_DEVICES`.

mod calls;
mod ledger;
#[path = "../support/needs.rs"]
mod needs;
mod operations;
#[path = "../support/ranks.rs"]
mod ranks;
mod real;
mod trial;

use std::io::Read;
use std::process::{Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};
use trial::Trials;

/// How long all trials of a call may take; an emulated machine is slow.
const PATIENCE: Duration = Duration::from_secs(240);
/// What a trial's process is told: the call that is refused.
const WHICH: &str = "VERBCAST_TEST_REFUSE";
/// Set if there are many trials.
const MANY: &str = "VERBCAST_TEST_REFUSE_MANY";

/// What a process has said of its trials, and whether it ended well and in time.
fn tried(call: &str, trials: Trials) -> (bool, String) {
    let mut command = Command::new(std::env::current_exe().unwrap());
    if let Trials::Many = trials {
        command.env(MANY, "1");
    }
    command.args(["--exact", "trials_of_one_call", "--ignored", "--nocapture"]).env(WHICH, call);
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let [mut out, mut err] = [String::new(), String::new()];
    let (mut stdout, mut stderr) = (child.stdout.take().unwrap(), child.stderr.take().unwrap());
    let is_well = thread::scope(|scope| {
        scope.spawn(|| stdout.read_to_string(&mut out));
        scope.spawn(|| stderr.read_to_string(&mut err));
        let begun = Instant::now();
        loop {
            if let Some(status) = child.try_wait().unwrap() {
                return status.success();
            }
            if begun.elapsed() > PATIENCE {
                child.kill().unwrap();
                child.wait().unwrap();
                return false;
            }
            thread::sleep(Duration::from_millis(5));
        }
    });
    (is_well, out + &err)
}

fn try_all(calls: &[&str], trials: Trials) {
    if needs::devices().is_none() {
        return;
    }
    let mut wrong = Vec::new();
    for call in calls {
        let (is_well, said) = tried(call, trials);
        println!("{said}");
        // Who cannot take a program's memory back from the device must end, and says so.
        let must_end = "memory of the program cannot be taken from the device: ibv_dereg_mr";
        let ends = *call == "ibv_dereg_mr" && said.contains(must_end);
        let is_tried = is_well && said.contains("refused ");
        if !is_tried && !ends {
            wrong.push(*call);
        }
    }
    assert!(wrong.is_empty(), "see above for {wrong:?}");
}

/// Calls that make something.
const MAKE: &[&str] = &[
    "ibv_get_device_list",
    "ibv_open_device",
    "ibv_alloc_pd",
    "ibv_reg_mr",
    "ibv_create_comp_channel",
    "ibv_create_cq",
    "ibv_create_srq",
    "ibv_create_qp",
    "ibv_create_ah",
    "rdma_create_event_channel",
    "rdma_create_id",
];
/// Calls that ask or change something.
const CHANGE: &[&str] = &[
    "ibv_query_device",
    "ibv_query_port",
    "ibv_modify_qp",
    "ibv_attach_mcast",
    "rdma_bind_addr",
    "rdma_join_multicast",
    "rdma_get_cm_event",
    "ibv_get_cq_event",
];
/// Calls of the data path.
const DATA_PATH: &[&str] =
    &["ibv_post_send", "ibv_post_recv", "ibv_post_srq_recv", "ibv_poll_cq", "ibv_req_notify_cq"];
/// Calls that end something.
const END: &[&str] = &[
    "ibv_detach_mcast",
    "ibv_destroy_ah",
    "ibv_destroy_qp",
    "ibv_destroy_srq",
    "ibv_destroy_cq",
    "ibv_destroy_comp_channel",
    "ibv_dereg_mr",
    "ibv_dealloc_pd",
    "ibv_close_device",
    "rdma_leave_multicast",
    "rdma_destroy_id",
];

#[test]
fn calls_that_make_something_are_refused_in_turn() {
    try_all(MAKE, Trials::Few);
}

#[test]
fn calls_that_ask_or_change_something_are_refused_in_turn() {
    try_all(CHANGE, Trials::Few);
}

#[test]
fn calls_of_the_data_path_are_refused_in_turn() {
    try_all(DATA_PATH, Trials::Few);
}

#[test]
fn calls_that_end_something_are_refused_in_turn() {
    try_all(END, Trials::Few);
}

#[test]
#[ignore = "takes minutes where the machine is emulated"]
fn all_calls_are_refused_at_more_times() {
    try_all(&[MAKE, CHANGE, DATA_PATH, END].concat(), Trials::Many);
}

#[test]
#[ignore = "the other tests run it, in a process of its own"]
fn trials_of_one_call() {
    // With all ignored tests it runs by itself, too.
    let Ok(call) = std::env::var(WHICH) else { return };
    let trials = if std::env::var_os(MANY).is_some() { Trials::Many } else { Trials::Few };
    trial::of(ledger::known(&call), trials, &needs::devices().unwrap());
}
