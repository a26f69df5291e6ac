//! What this host has: its kernel and libraries, its adapters and their ports.

use crate::conformance::Kind;
use rustix::process::{Resource, getrlimit};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fs;
use std::net::Ipv6Addr;
use std::path::Path;
use verbcast::rdma::{DeviceReport, PortReport, Survey};
use verbcast_verbs::{
    Context, ForkSafety, GidKind, IpoibInterface, LinkLayer, devices, fork_safety, ipoib_interfaces,
};

/// A host.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Host {
    pub name: String,
    pub verbcast: String,
    pub kernel: String,
    pub rdma_core: Option<String>,
    /// Bytes that may be locked; none: no limit.
    pub locked_memory: Option<u64>,
    /// What becomes of registered memory when a program forks.
    pub fork: String,
    pub adapters: Vec<Adapter>,
}

/// A device.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Adapter {
    pub name: String,
    pub guid: String,
    /// A column of the matrix, if it is one of those.
    pub kind: Option<String>,
    pub vendor: u32,
    pub part: u32,
    pub firmware: String,
    /// As ibv_query_device(3) names them.
    pub limits: BTreeMap<String, i64>,
    pub ports: Vec<PortInventory>,
    pub error: Option<String>,
}

/// A port.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct PortInventory {
    pub number: u8,
    pub is_active: bool,
    pub link_layer: String,
    pub mtu: usize,
    /// Mb/s.
    pub rate: Option<u32>,
    pub lid: u16,
    pub sm_lid: u16,
    pub sm_sl: u8,
    pub p_keys: Vec<String>,
    pub gids: Vec<Gid>,
    pub ipoib: Vec<Ipoib>,
    /// Why it is not usable.
    pub problem: Option<String>,
}

/// An entry of a port's GID table.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Gid {
    pub index: u8,
    pub gid: String,
    pub kind: String,
    pub interface: Option<String>,
}

/// An IPoIB interface.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Ipoib {
    pub name: String,
    pub is_up: bool,
    pub p_key: String,
    pub addresses: Vec<String>,
}

/// Looks at this host, of whose devices a survey was made.
pub fn look(survey: &Survey) -> Host {
    let uname = rustix::system::uname();
    let kernel = uname.release().to_string_lossy().into_owned();
    let interfaces = interfaces();
    Host {
        name: uname.nodename().to_string_lossy().into_owned(),
        verbcast: env!("CARGO_PKG_VERSION").to_owned(),
        rdma_core: rdma_core(&fs::read_to_string("/proc/self/maps").unwrap_or_default()),
        locked_memory: locked_memory(),
        fork: fork(),
        kernel,
        adapters: survey.devices.iter().map(|device| adapter(device, &interfaces)).collect(),
    }
}

/// What becomes of registered memory when a program forks here.
pub fn fork() -> String {
    match fork_safety() {
        ForkSafety::Copied => "the kernel copies registered memory for children",
        ForkSafety::KeptByLibrary => "libibverbs keeps registered memory from children",
        ForkSafety::None => "verbcast keeps its own memory from children, and copies the program's",
    }
    .to_owned()
}

/// Bytes that this process may lock; none: no limit.
pub fn locked_memory() -> Option<u64> {
    getrlimit(Resource::Memlock).current
}

fn adapter(report: &DeviceReport, interfaces: &BTreeMap<u32, String>) -> Adapter {
    let mut adapter = Adapter {
        name: report.name.clone(),
        guid: format!("{:016x}", report.guid),
        kind: None,
        vendor: 0,
        part: 0,
        firmware: String::new(),
        limits: BTreeMap::new(),
        ports: Vec::new(),
        error: None,
    };
    let looked = match &report.ports {
        Ok(ports) => look_inside(&mut adapter, ports, interfaces),
        Err(error) => Err(error.clone()),
    };
    adapter.error = looked.err();
    adapter
}

fn look_inside(
    adapter: &mut Adapter,
    ports: &[PortReport],
    interfaces: &BTreeMap<u32, String>,
) -> Result<(), String> {
    let refused = |error: verbcast_verbs::Error| error.to_string();
    let all = devices().map_err(refused)?;
    let device = all.iter().find(|device| device.name() == adapter.name);
    let context = device.ok_or("it is gone")?.open().map_err(refused)?;
    let limits = context.limits().map_err(refused)?;
    adapter.vendor = limits.vendor_id;
    adapter.part = limits.vendor_part_id;
    adapter.kind = ports.first().and_then(|report| {
        Kind::of(limits.vendor_id, report.port.link_layer).map(|kind| kind.name().to_owned())
    });
    let firmware = limits.fw_ver.iter().take_while(|byte| **byte != 0);
    adapter.firmware = firmware.map(|byte| char::from(*byte as u8)).collect();
    let numbers = [
        ("max_mcast_grp", i64::from(limits.max_mcast_grp)),
        ("max_mcast_qp_attach", limits.max_mcast_qp_attach.into()),
        ("max_qp", limits.max_qp.into()),
        ("max_qp_wr", limits.max_qp_wr.into()),
        ("max_sge", limits.max_sge.into()),
        ("max_cqe", limits.max_cqe.into()),
        ("max_srq", limits.max_srq.into()),
        ("max_srq_wr", limits.max_srq_wr.into()),
        ("max_qp_rd_atom", limits.max_qp_rd_atom.into()),
        ("max_qp_init_rd_atom", limits.max_qp_init_rd_atom.into()),
        ("max_ah", limits.max_ah.into()),
        ("max_pkeys", limits.max_pkeys.into()),
        ("device_cap_flags", limits.device_cap_flags.into()),
    ];
    adapter.limits = numbers.map(|(name, number)| (name.to_owned(), number)).into();
    adapter.ports = ports.iter().map(|report| port(report, &context, interfaces)).collect();
    Ok(())
}

fn port(
    report: &PortReport,
    context: &Context,
    interfaces: &BTreeMap<u32, String>,
) -> PortInventory {
    let port = &report.port;
    let manager = context.subnet_manager(port.number).ok();
    let pkeys = context.pkeys(port.number).unwrap_or_default();
    let gids = report.gids.iter().map(|gid| Gid {
        index: gid.index,
        gid: Ipv6Addr::from(gid.gid).to_string(),
        kind: match gid.kind {
            GidKind::InfiniBand => "InfiniBand".to_owned(),
            GidKind::RoceV1 => "RoCE v1".to_owned(),
            GidKind::RoceV2 => "RoCE v2".to_owned(),
        },
        interface: interfaces.get(&gid.interface).cloned(),
    });
    let ipoib = report.gids.iter().flat_map(|gid| ipoib_interfaces(gid.gid).unwrap_or_default());
    let mut problem = report.verdict.as_ref().err().cloned();
    if port.link_layer == LinkLayer::InfiniBand && manager.is_some_and(|manager| manager.lid == 0) {
        problem = problem.or(Some("it knows no subnet manager".to_owned()));
    }
    PortInventory {
        number: port.number,
        is_active: port.is_active,
        link_layer: format!("{:?}", port.link_layer),
        mtu: port.mtu,
        rate: port.rate,
        lid: port.lid,
        sm_lid: manager.map_or(0, |manager| manager.lid),
        sm_sl: manager.map_or(0, |manager| manager.sl),
        p_keys: pkeys
            .iter()
            .filter(|pkey| **pkey != 0)
            .map(|pkey| format!("{pkey:#06x}"))
            .collect(),
        gids: gids.collect(),
        ipoib: ipoib.map(describe_ipoib).collect(),
        problem,
    }
}

fn describe_ipoib(interface: IpoibInterface) -> Ipoib {
    Ipoib {
        name: interface.name,
        is_up: interface.is_up,
        p_key: format!("{:#06x}", interface.pkey),
        addresses: interface.addresses.iter().map(|address| address.ip().to_string()).collect(),
    }
}

/// The host's network interfaces by their index. Verbs tell only the index.
fn interfaces() -> BTreeMap<u32, String> {
    let Ok(entries) = fs::read_dir("/sys/class/net") else { return BTreeMap::new() };
    let index = |path: &Path| fs::read_to_string(path.join("ifindex")).ok()?.trim().parse().ok();
    entries
        .filter_map(Result::ok)
        .filter_map(|entry| Some((index(&entry.path())?, entry.file_name().into_string().ok()?)))
        .collect()
}

/// rdma-core's version, which is in the name of its library's file: libibverbs.so.1.14.44.0 is of version 44.0.
fn rdma_core(maps: &str) -> Option<String> {
    let path = maps.lines().find_map(|line| {
        let path = line.split_whitespace().last()?;
        path.contains("/libibverbs.so.").then_some(path)
    })?;
    let (_, version) = path.rsplit_once(".so.")?;
    let mut numbers = version.splitn(3, '.');
    numbers.by_ref().take(2).for_each(drop);
    numbers.next().map(str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rdma_cores_version_is_in_its_librarys_name() {
        let maps = "7f0 r-xp 0 08:01 1 /lib/libc.so.6\n\
                    7f1 r-xp 0 08:01 1 /usr/lib/x86_64-linux-gnu/libibverbs.so.1.14.44.0\n";
        assert_eq!(rdma_core(maps).as_deref(), Some("44.0"));
        assert_eq!(rdma_core("7f0 r-xp 0 08:01 1 /opt/libibverbs.so.1\n"), None);
    }
}
