//! The command on a wire of several NICs, with losses.

use super::adapters::Adapter;
use super::doctor::doctor;
use crate::needs;
use crate::support::{run, text};
use std::process::Command;

/// The wire of one NIC carries less than its port.
#[test]
fn a_path_that_carries_less_than_its_ports_is_named() {
    let Some(devices) = needs::devices() else { return };
    if devices.len() < 2 {
        return needs::skip("needs a wire");
    }
    let set = |mtu: &str| {
        let status = Command::new("ip").args(["link", "set", "p2", "mtu", mtu]).status();
        assert!(status.unwrap().success());
    };
    set("1500");
    let output = run(doctor(&devices[..2]).args(["--ranks", "2"]));
    set("4500");
    let stdout = text(&output.stdout);
    assert_eq!(output.status.code(), Some(1), "{stdout}{}", text(&output.stderr));
    let (_, verdict) = stdout.split_once("something is wrong:\n").expect("a verdict");
    assert!(verdict.contains("path-mtu (6): ") && verdict.contains("what to do: "), "{verdict}");
}

/// Who makes an InfiniBand group gives it the MTU of its port, and ports that do less are refused from then on.
#[test]
fn ports_of_different_mtus_are_in_one_group_whatever_the_order() {
    let Some(devices) = needs::devices() else { return };
    let Some(mut order) = devices.get(..4).map(<[_]>::to_vec) else {
        return needs::skip("needs a wire");
    };
    for _ in 0..order.len() {
        Adapter::on("mlx5-ib,mtu=4096/2048/4096/1024", order.join(",")).copies(300_001, 4);
        order.rotate_left(1);
    }
}
