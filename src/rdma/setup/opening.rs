//! Opening a device for an endpoint.

use super::agreement::Place;
use super::choose::{choose, fabric_of, fabrics, rank as rank_ports};
use super::judge::ipv6_beside;
use super::limits::{Memlock, check_queues, connections};
use super::report::{Candidate, DeviceReport, PortReport};
use super::survey::look;
use crate::rdma::endpoint::{Device, Endpoint, Site};
use crate::rdma::group::{Joiner, PortSpeed, choose_partition, generator};
use crate::rdma::keys::ProcessKeys;
use crate::rdma::rc::{ConnectionPool, Local, Room};
use crate::rdma::settings::Settings;
use crate::rdma::ud::UdPort;
use rand_chacha::rand_core::Rng;
use verbcast_core::rank::Rank;
use verbcast_core::wire::{Adapter, DatagramQp, Fabric, Nonce, ProcessAddress};
use verbcast_verbs::{
    CompletionQueue, Context, PortPartition, ProtectionDomain, Service, ipoib_interfaces,
};

/// RDMA reads that a connection serves at a time where the devices can: enough to hide the way there
/// and back, few enough for the scarce resources that adapters keep for them.
const READS: u32 = 4;

/// A host that was looked at, of which no device is opened yet.
#[derive(Debug)]
pub struct Prospect {
    settings: Settings,
    devices: Vec<DeviceReport>,
    /// Each of them that could be opened; the program's as the program has.
    contexts: Vec<Option<Context>>,
}

impl Prospect {
    /// Looks at this host's devices, or at the one of `context`.
    ///
    /// # Errors
    /// If none of them can be used.
    pub fn new(settings: &Settings, context: Option<Context>) -> Result<Self, String> {
        settings.validate().map_err(|error| error.to_string())?;
        let mut settings = settings.clone();
        if let Some(context) = &context {
            settings.devices = vec![context.name().to_owned()];
        }
        let found = look(&settings).map_err(|error| error.to_string())?;
        let (devices, mut contexts): (Vec<DeviceReport>, Vec<_>) = found.into_iter().unzip();
        if let Some(context) = context
            && let Some(at) = devices.iter().position(|report| report.name == context.name())
        {
            contexts[at] = Some(context);
        }
        let prospect = Prospect { settings, devices, contexts };
        if prospect.fabrics().is_empty() {
            choose(&prospect.devices, &prospect.settings, 0, None).1?;
        }
        Ok(prospect)
    }

    /// The fabrics that it can use, the best first.
    pub fn fabrics(&self) -> Vec<Fabric> {
        fabrics(&rank_ports(&self.devices, &self.settings.devices).0)
    }

    /// Opens the device that a rank uses, for communicators of up to `size` ranks.
    ///
    /// # Errors
    /// If it has none in its place, or the device refuses.
    pub fn open(self, rank: Rank, size: u32, place: Place) -> Result<Endpoint, String> {
        let Prospect { mut settings, devices, mut contexts } = self;
        let fabric = Some(place.fabric);
        let (reasons, choice) = choose(&devices, &settings, place.local_rank, fabric);
        reasons.iter().for_each(|line| tracing::debug!("{line}"));
        let candidate = choice?;
        let report = &devices[candidate.device];
        let room = fit(&mut settings, size, report, chosen_port(report, &candidate).port.mtu)?;
        let context = contexts.swap_remove(candidate.device);
        let context = context.expect("a device that was chosen has been looked at");
        let joiner = joiner(report, &candidate, &context, &settings)?;
        open_candidate(report, &candidate, context, joiner, (rank, size, room), settings)
            .map_err(|error| error.to_string())
    }
}

fn open_candidate(
    report: &DeviceReport,
    candidate: &Candidate,
    context: Context,
    joiner: Joiner,
    (rank, size, room): (Rank, u32, Room),
    settings: Settings,
) -> verbcast_verbs::Result<Endpoint> {
    context.unblock_async_events()?;
    let port = context.port(candidate.port)?;
    let domain = ProtectionDomain::new(&context)?;
    let completions = settings.completions_of(room.now, settings.ring_sends(size));
    let cq = CompletionQueue::new(&context, completions)?;
    let at = PortPartition { port: port.number, pkey_index: joiner.partition.index };
    let most_groups = settings.groups.min(report.limits.multicast_groups) as usize;
    let datagrams = UdPort::new(&domain, &cq, at, port.mtu, most_groups, &settings)?;
    let reads = READS.min(report.limits.reads) as u8;
    let mut random = generator(rank);
    let incarnation = random.next_u64();
    let mut nonce = Nonce::default();
    random.fill_bytes(&mut nonce);
    let keys = settings.mac.then(|| ProcessKeys::new(incarnation, nonce));
    let address = ProcessAddress {
        incarnation,
        datagrams: DatagramQp { qpn: datagrams.qpn(), generation: 0 },
        gid: joiner.gid,
        lid: port.lid,
        packet_len: port.mtu,
        reads,
    };
    let (port, gid_index) = (port.number, candidate.gid_index);
    let local = Local { domain: domain.clone(), cq: cq.clone(), at, gid_index, address };
    let mut connections = ConnectionPool::new(local, (size, room), &settings)?;
    connections.set_service(joiner.service(Service::default()));
    let device = Device::new(cq, domain, context, port)?;
    let fabric = fabric_of(chosen_port(report, candidate), gid_index);
    let adapter = Adapter { guid: report.guid, max_attached: report.limits.multicast_qps };
    let site =
        Site { device: report.name.clone(), port, gid_index, fabric, adapter, address, joiner };
    Ok(Endpoint::new((device, datagrams, connections), site, settings, keys))
}

/// Fits what can be adapted to the device and the process, and refuses what cannot; with the connections that there
/// is room for.
fn fit(
    settings: &mut Settings,
    size: u32,
    report: &DeviceReport,
    packet_len: usize,
) -> Result<Room, String> {
    check_queues(settings, size, &report.limits, &report.name)?;
    let most = connections(settings, size, &report.limits, &report.name)?;
    let wanted = settings.registration_cache;
    let needed = settings.registered_memory(packet_len, size);
    settings.registration_cache = Memlock::of_process().spare(needed, wanted)?;
    if settings.registration_cache < wanted {
        tracing::info!(
            "{} bytes of messages' memory stay registered at most, not {wanted}, for the limit on locked memory",
            settings.registration_cache
        );
    }
    Ok(Room { now: size.clamp(1, most), most })
}

fn chosen_port<'a>(report: &'a DeviceReport, candidate: &Candidate) -> &'a PortReport {
    let mut ports = report.ports.iter().flatten();
    let chosen = ports.find(|report| report.port.number == candidate.port);
    chosen.expect("a port is chosen among those of the report")
}

/// The chosen port, with its partition, as joining needs it.
fn joiner(
    report: &DeviceReport,
    candidate: &Candidate,
    context: &Context,
    settings: &Settings,
) -> Result<Joiner, String> {
    let PortReport { port, gids, .. } = chosen_port(report, candidate);
    let own = gids.iter().find(|gid| gid.index == candidate.gid_index);
    let ipv6 = own.and_then(|own| ipv6_beside(own, gids)).map(|gid| (gid.index, gid.gid));
    let gid = own.map(|gid| gid.gid).unwrap_or_default();
    let named = |what: String| format!("{} port {}: {what}", report.name, port.number);
    let pkeys = context.pkeys(port.number).map_err(|error| error.to_string())?;
    // Only InfiniBand has such interfaces; where they cannot be listed, the join says so.
    let interfaces = ipoib_interfaces(gid).unwrap_or_default();
    let partition = choose_partition(&pkeys, settings.pkey, &interfaces).map_err(named)?;
    if partition.is_limited() {
        tracing::warn!(
            "{} port {}: it is a limited member of its partition (P_Key {:#06x}), and such members do \
             not reach one another",
            report.name,
            port.number,
            partition.pkey
        );
    }
    Ok(Joiner {
        link_layer: port.link_layer,
        device: report.name.clone(),
        port: port.number,
        gid_index: candidate.gid_index,
        speed: PortSpeed { mtu: port.mtu, rate: port.rate.unwrap_or(0) },
        gid,
        partition,
        ipv6,
        interface: own.map(|gid| gid.interface).unwrap_or_default(),
        service_level: settings.service_level,
        traffic_class: settings.traffic_class,
    })
}
