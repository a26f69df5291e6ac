//! The command on imitated adapters: what they do differently, one thing at a time. Needs RDMA devices, named in
//! `VERBCAST_TEST_DEVICES`, and `cargo build -p verbcast-adapters`.

use super::copy::devices;
use crate::support::{Folder, run, text, verbcast};
use std::fs;
use std::path::Path;
use std::process::{Command, Output};

/// What is imitated with `PROFILE[,key=value…]`; its state is in a folder of its own.
pub(super) struct Adapter<'a> {
    name: &'a str,
    folder: Folder,
    devices: String,
    /// Variables of the command.
    settings: Vec<(&'static str, &'static str)>,
}

impl<'a> Adapter<'a> {
    /// None where there is no device to imitate it with.
    fn new(name: &'a str) -> Option<Adapter<'a>> {
        Some(Adapter::on(name, devices()?))
    }

    /// It on these devices, separated by commas: local rank R uses the R-th of them, in turn.
    pub(super) fn on(name: &'a str, devices: String) -> Adapter<'a> {
        Adapter { name, folder: Folder::new(), devices, settings: Vec::new() }
    }

    /// It for a command with this variable.
    pub(super) fn setting(mut self, name: &'static str, value: &'static str) -> Adapter<'a> {
        self.settings.push((name, value));
        self
    }

    /// The command under it.
    fn command(&self, arguments: &str) -> Command {
        let built = Path::new(env!("CARGO_BIN_EXE_verbcast")).parent().unwrap();
        let library = built.join("libverbcast_adapters.so");
        let is_built = library.is_file();
        assert!(is_built, "{} is missing: cargo build -p verbcast-adapters", library.display());
        let mut command = verbcast();
        command.current_dir(self.folder.path("")).env("TMPDIR", self.folder.path(""));
        command.env("VERBCAST_ADAPTER", self.name).env("LD_PRELOAD", library);
        command.env("VERBCAST_ADAPTER_STATE", self.folder.path("state"));
        command.envs(self.settings.iter().copied());
        command.args(arguments.split_whitespace());
        command
    }

    /// Copies a file of so many bytes among ranks.
    fn copy(&self, len: usize, ranks: u32) -> Output {
        let data: Vec<u8> = (0..len).map(|at| (at ^ (at >> 8) ^ (at >> 16)) as u8).collect();
        fs::write(self.folder.path("src"), &data).unwrap();
        let arguments = format!("copy src dst.{{rank}} --ranks {ranks} --device {}", self.devices);
        let output = run(self.command(&arguments).args(["--timeout", "30"]));
        if output.status.success() {
            for rank in 1..ranks {
                let copied = fs::read(self.folder.path(&format!("dst.{rank}"))).unwrap();
                assert!(copied == data, "{}: rank {rank} has something else", self.name);
            }
        }
        output
    }

    /// The same, which must come out right; what was said.
    #[track_caller]
    pub(super) fn copies(&self, len: usize, ranks: u32) -> String {
        let output = self.copy(len, ranks);
        assert!(output.status.success(), "{}: {}", self.name, text(&output.stderr));
        text(&output.stderr)
    }
}

/// Checks that a file comes to four ranks.
#[track_caller]
fn copies_under(name: &str) {
    let Some(adapter) = Adapter::new(name) else { return };
    adapter.copies(1_000_003, 4);
}

/// Checks that a file comes to four ranks, long enough for what happens meanwhile, and that the summary tells how often.
#[track_caller]
fn copies_and_tells(name: &str, what: &str) {
    let Some(adapter) = Adapter::new(name) else { return };
    let output = adapter.copy(6_000_011, 4);
    let (stdout, stderr) = (text(&output.stdout), text(&output.stderr));
    assert!(output.status.success(), "{name}: {stderr}");
    let told = stdout.split_once("over all ranks: ").map(|(_, told)| told).unwrap_or_default();
    let times = told.split_once(what).and_then(|(_, rest)| rest.trim_start().split(' ').next());
    let times = times.and_then(|times| times.parse::<u32>().ok());
    assert!(times > Some(0), "{name}: {stdout}{stderr}");
}

/// Checks that `info` shows what is there, and that a file is copied and a latency measured.
#[track_caller]
fn works_under(name: &str, shown: &str) {
    let Some(adapter) = Adapter::new(name) else { return };
    let output = run(&mut adapter.command("info"));
    let info = text(&output.stdout);
    assert!(output.status.success() && info.contains(shown), "{info}{}", text(&output.stderr));
    adapter.copies(1_000_003, 4);
    let arguments = "bench latency --ranks 3 --sizes 8:8 --iterations 5 --warmup 1 --device";
    let output = run(adapter.command(arguments).arg(&adapter.devices));
    assert!(output.status.success(), "{}", text(&output.stderr));
}

#[test]
fn a_connectx_on_infiniband_works() {
    works_under("mlx5-ib", "link layer      InfiniBand");
}

#[test]
fn a_connectx_on_ethernet_works() {
    works_under("mlx5-roce", "link layer      Ethernet");
}

#[test]
fn omni_path_works() {
    works_under("hfi1", "link layer      InfiniBand");
}

#[test]
fn an_e800_with_shared_receives_works() {
    works_under("irdma,max_srq=-", "link layer      Ethernet");
}

#[test]
fn an_e800_without_them_is_refused_by_name() {
    let Some(adapter) = Adapter::new("irdma") else { return };
    let output = adapter.copy(1000, 2);
    let stderr = text(&output.stderr);
    assert!(!output.status.success() && stderr.contains("shared receive queues"), "{stderr}");
}

#[test]
fn ipoib_that_is_down_is_named() {
    let Some(adapter) = Adapter::new("mlx5-ib,ipoib=down") else { return };
    let output = adapter.copy(1000, 2);
    let stderr = text(&output.stderr);
    assert!(!output.status.success() && stderr.contains("ip link set ib0 up"), "{stderr}");
}

#[test]
fn the_partition_is_that_of_the_interface() {
    copies_under("mlx5-ib,pkeys=0xffff/0x8005,ipoib_pkey=0x8005");
}

#[test]
fn a_join_that_was_refused_is_tried_again() {
    copies_under("mlx5-ib,join_refusals=2,join_error=ETIMEDOUT,join_delay=300");
}

#[test]
fn a_group_that_delivers_late_is_waited_for() {
    copies_under("mlx5-ib,deaf_for=4000");
}

#[test]
fn a_path_that_carries_less_than_its_ports_is_found() {
    for name in ["mlx5-roce,path_mtu=1024", "irdma,max_srq=-,path_mtu=1024"] {
        let Some(adapter) = Adapter::new(name) else { return };
        let said = adapter.copies(1_000_003, 4);
        assert!(said.contains("trying an MTU of 1024"), "{said}");
    }
}

#[test]
fn a_change_of_the_subnet_manager_costs_nothing_but_a_new_join() {
    copies_and_tells("mlx5-ib,events=sm_change@100d", "groups were joined again");
}

#[test]
fn what_happens_to_another_port_is_its_own_affair() {
    copies_under("mlx5-ib,events=other_port_err@100d");
}

#[test]
fn a_queue_pair_that_fails_is_started_again() {
    copies_and_tells("mlx5-ib,events=qp_fatal@100d", "UD QPs were restarted");
}

#[test]
fn a_short_flap_of_the_port_costs_repairs() {
    copies_and_tells("mlx5-ib,events=port_err@100d/port_active@8", "ports went down");
}

#[test]
fn attachments_that_a_reset_loses_are_made_again() {
    copies_under("mlx5-ib,reset_detaches=yes,events=qp_fatal@100d");
}

#[test]
fn nothing_is_sent_inline_where_nothing_can_be() {
    copies_under("hfi1,max_inline=0");
}

#[test]
fn own_copies_do_no_harm() {
    copies_under("mlx5-ib,own_copies=all");
}

#[test]
fn queues_are_no_deeper_than_the_adapters() {
    copies_under("mlx5-ib,max_cqe=4000,max_qp_rd_atom=1");
    let Some(adapter) = Adapter::new("mlx5-ib,max_qp_wr=8") else { return };
    let output = adapter.copy(1000, 2);
    let stderr = text(&output.stderr);
    assert!(!output.status.success() && stderr.contains("VERBCAST_RECEIVE_DEPTH"), "{stderr}");
}

#[test]
fn more_ranks_than_a_group_takes_still_get_the_file() {
    for profile in ["mlx5-ib", "mlx5-roce", "hfi1", "irdma,max_srq=-"] {
        let name = format!("{profile},max_mcast_qp_attach=2");
        let Some(adapter) = Adapter::new(&name) else { return };
        let said = adapter.copies(1_000_003, 4);
        assert_eq!(said.matches("max_mcast_qp_attach").count(), 1, "it is said once: {said}");
        let said = adapter.setting("VERBCAST_NODES", "auto").copies(1_000_003, 4);
        assert!(!said.contains("max_mcast_qp_attach"), "they share memory: {said}");
    }
}

#[test]
fn without_ipoib_the_subnet_administrator_is_asked() {
    copies_under("mlx5-ib,ipoib=none,sa=answers");
    copies_under("hfi1,ipoib=none,sa=answers");
}

#[test]
fn without_ipoib_and_the_right_to_ask_both_ways_are_named() {
    let Some(adapter) = Adapter::new("mlx5-ib,ipoib=none") else { return };
    let output = adapter.copy(1000, 2);
    let stderr = text(&output.stderr);
    assert!(!output.status.success() && stderr.contains("modprobe ib_ipoib"), "{stderr}");
}

#[test]
fn a_device_whose_addresses_are_in_another_network_namespace_is_not_used() {
    let Some(devices) = devices() else { return };
    let device = devices.split(',').next().unwrap();
    let mut command = Command::new("unshare");
    command.args(["--net", env!("CARGO_BIN_EXE_verbcast"), "info", "--device", device]);
    let info = text(&run(&mut command).stdout);
    assert!(info.contains("but of another network namespace"), "{info}");
    assert!(!info.contains("usable          yes"), "{info}");
}

#[test]
fn an_adapter_that_keeps_multicasts_from_its_own_host_is_named() {
    let Some(adapter) = Adapter::new("hfi1,own_copies=away") else { return };
    fs::write(adapter.folder.path("src"), [1; 1000]).unwrap();
    let arguments = format!("copy src dst --ranks 2 --device {}", adapter.devices);
    let mut command = adapter.command(&arguments);
    // Who would rather go without multicast than not at all gets the file.
    command.env("VERBCAST_MULTICAST", "prefer").args(["--timeout", "4"]);
    let output = run(&mut command);
    let stderr = text(&output.stderr);
    assert!(output.status.success() && stderr.contains("from its own host"), "{stderr}");
    assert_eq!(fs::read(adapter.folder.path("dst")).unwrap(), [1; 1000]);
}

/// Checks that the doctor names one thing, and nothing else, on an adapter where only that is broken; what it said, where
/// there is a device.
#[track_caller]
fn is_named(name: &str, variables: &[(&str, &str)], expected: &[&str]) -> Option<String> {
    let adapter = Adapter::new(name)?;
    let device = adapter.devices.split(',').next().unwrap();
    let mut command = adapter.command(&format!("doctor --device {device}"));
    let output = run(command.envs(variables.iter().copied()));
    let stdout = text(&output.stdout);
    let (_, verdict) = stdout.split_once("something is wrong:\n").unwrap_or_else(|| {
        panic!("{name}: {stdout}{}", text(&output.stderr));
    });
    assert_eq!(output.status.code(), Some(1), "{name}: {stdout}");
    let lines: Vec<_> = verdict.lines().collect();
    assert_eq!(lines.len(), 2, "one thing and what to do: {verdict}");
    assert!(lines[1].starts_with("    what to do: "), "{verdict}");
    assert!(expected.iter().all(|part| verdict.contains(part)), "{verdict}");
    Some(stdout.to_string())
}

#[test]
fn the_doctor_names_ipoib_that_is_down() {
    is_named("mlx5-ib,ipoib=down", &[], &["join-by-address", "ip link set ib0 up"]);
}

#[test]
fn the_doctor_joins_by_request_where_ipoib_is_down() {
    let expected = ["join-by-address", "ip link set ib0 up"];
    let Some(said) = is_named("mlx5-ib,ipoib=down,sa=answers", &[], &expected) else { return };
    for tried in [" 2 join-by-request", "12 first-delivery", " 9 grh"] {
        assert!(said.contains(&format!("ok    {tried}")), "{tried}: {said}");
    }
}

#[test]
fn the_doctor_names_a_partition_that_the_port_is_not_in() {
    let variables = [("VERBCAST_PKEY", "0x8005")];
    is_named("hfi1", &variables, &["p-key", "no P_Key of the partition 0x8005"]);
}

#[test]
fn the_doctor_names_a_subnet_manager_that_is_gone() {
    is_named("mlx5-ib,sm_lid=0", &[], &["knows no subnet manager", "start the subnet manager"]);
}

#[test]
#[ignore = "takes long where the machine is emulated"]
fn the_doctor_names_a_path_that_carries_less_than_its_ports() {
    for profile in ["mlx5-ib", "mlx5-roce", "hfi1"] {
        let name = format!("{profile},path_mtu=2048");
        is_named(&name, &[], &["group-mtu", "those of 4096 bytes do not"]);
    }
}

#[test]
#[ignore = "takes long where the machine is emulated"]
fn the_doctor_names_what_is_broken_on_other_profiles() {
    is_named("hfi1,ipoib=down", &[], &["join-by-address", "ip link set ib0 up"]);
    is_named("hfi1,ipoib_pkey=0x8005", &[], &["join-by-address", "in the partition 0x8005"]);
    let silent = "hfi1,join_refusals=1000,join_error=ETIMEDOUT";
    is_named(silent, &[], &["the subnet administrator does not answer"]);
}

#[test]
#[ignore = "takes long where the machine is emulated"]
fn the_doctor_takes_a_new_queue_pair_where_one_is_not_restarted() {
    let Some(adapter) = Adapter::new("irdma,max_srq=-") else { return };
    let device = adapter.devices.split(',').next().unwrap();
    let output = run(&mut adapter.command(&format!("doctor --device {device}")));
    let stdout = text(&output.stdout);
    assert!(stdout.contains("a new one gets them"), "{stdout}");
    assert!(!stdout.contains("over-long (15)"), "it is not broken: {stdout}");
}

#[test]
#[ignore = "takes long where the machine is emulated"]
fn all_works_where_0x8001_is_the_only_partition() {
    for profile in ["mlx5-ib", "hfi1"] {
        let name = format!("{profile},pkeys=0x8001,ipoib_pkey=0x8001");
        works_under(&name, "link layer      InfiniBand");
    }
}

#[test]
#[ignore = "takes long where the machine is emulated"]
fn a_long_file_comes_to_eight_ranks() {
    for name in ["mlx5-ib", "hfi1", "mlx5-ib,pkeys=0x8001,ipoib_pkey=0x8001"] {
        let Some(adapter) = Adapter::new(name) else { return };
        adapter.copies(16 << 20, 8);
    }
}
