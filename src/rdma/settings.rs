//! What can be set about the transport.

use std::time::Duration;
use verbcast_core::protocol::{Counter, Depths, DepthsError};
use verbcast_core::wire::{Checks, HEADER_LEN};
use verbcast_verbs::page_size;

/// How a rank waits for its device.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Waiting {
    /// Poll without pause: the fastest, where a core is idle otherwise.
    Spin,
    /// Poll, and let other processes run in between.
    Yield,
    /// Sleep until the device tells.
    Block,
    /// Poll for a short while, and let other processes run in between; then block.
    #[default]
    Adaptive,
}

/// Whether the group is used.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Multicast {
    /// It must work, or the communicator is not made. Only where a device has more ranks than it takes QPs in a
    /// group, none uses it.
    #[default]
    Require,
    /// Where it does not work for all ranks, none uses it.
    Prefer,
    /// It is not used.
    Off,
}

/// Which kind of address a RoCE group gets.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Family {
    /// The kind of the chosen GID.
    #[default]
    Auto,
    /// 239.0.0.0/8.
    Ipv4,
    /// `ff15::/16`.
    Ipv6,
}

/// Whether ranks of a host share memory, by which one of them hands on to the others what it receives.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum NodeSharing {
    /// As [`Shared`](Self::Shared), by as many as there are.
    #[default]
    Auto,
    /// Each rank receives for itself.
    Flat,
    /// They do.
    Shared {
        /// As many ranks of a host share one memory at most.
        most: u16,
    },
}

impl NodeSharing {
    /// As many ranks share memory at most.
    pub(super) fn most(self) -> u16 {
        match self {
            NodeSharing::Auto => u16::MAX,
            NodeSharing::Flat => 1,
            NodeSharing::Shared { most } => most,
        }
    }
}

/// What can be set about the transport.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Settings {
    /// Devices to use, by name, and to open at all: local rank r takes the (r mod n)-th. None: the best.
    pub devices: Vec<String>,
    /// Port of the device, from 1; none: the best.
    pub port: Option<u8>,
    /// Ports that a rank uses at once, up to 4: each has a group, connections and buffers of its own, and
    /// fragments take turns. Local rank r takes those from the (r × rails)-th on, modulo how many there are. The same at every rank.
    /// With more than one, no message is sent or received without a copy.
    pub rails: u8,
    /// Which of them this is.
    pub(crate) rail: u8,
    /// Entry of the port's GID table; none: the first that suits.
    pub gid_index: Option<u8>,
    /// P_Key of the partition to use on InfiniBand; its low 15 bits count. None: that of the port's IPoIB
    /// interface, else the default partition.
    pub pkey: Option<u16>,
    /// Service level of all that is sent, from 0 to 15; none: as the subnet administrator gives it for the group.
    pub service_level: Option<u8>,
    /// Traffic class of all that is sent, on RoCE v2 with the DSCP in its upper six bits; none: as the subnet
    /// administrator or the kernel gives it for the group.
    pub traffic_class: Option<u8>,
    /// How many requests its queues hold.
    pub depths: Depths,
    /// Bytes from which on a message is sent from and received into its own memory, without a copy;
    /// none: never. Each rank decides for itself.
    pub zero_copy: Option<usize>,
    /// Bytes of messages' memory that stay registered at most: of buffers that verbcast allocates, used
    /// or free. 0: memory is registered for one operation.
    pub registration_cache: usize,
    /// How long an adapter may leave a reliable message unacknowledged until it counts as gone. An attempt of the hardware's
    /// takes a power of two, so that this can become nearly twice as long.
    pub ack_timeout: Duration,
    /// How long each collective step of the set-up may take; and how long a port may be down, a group not joined, or
    /// the UD QP not work.
    pub timeout: Duration,
    /// How to wait.
    pub waiting: Waiting,
    /// Whether to use multicast.
    pub multicast: Multicast,
    /// Which kind of group address to use on RoCE.
    pub group_family: Family,
    /// Communicators of an endpoint that have rings as deep as `depths` say at a time; the others have at most
    /// [`Depths::SHALLOW_RING`] slots, or as many as the window needs.
    pub deep_rings: u32,
    /// Whether ranks of a host share memory. Of ranks that say different things, the least counts.
    pub nodes: NodeSharing,
    /// Whether payloads have CRCs that their receivers check, besides what links check.
    pub payload_crc: bool,
    /// Whether fragments may fill their datagrams, where all ranks say so, and packets have neither authentication codes nor
    /// CRCs of payloads.
    pub whole_datagrams: bool,
    /// Whether packets have authentication codes in place of CRCs, which only ranks of the communicator can make. The same
    /// at every rank.
    pub mac: bool,
    /// Groups that an endpoint is in at most, before its communicators share them; more only where ranks
    /// have none in common.
    pub groups: u32,
}

impl Default for Settings {
    fn default() -> Self {
        Settings {
            devices: Vec::new(),
            port: None,
            rails: 1,
            rail: 0,
            gid_index: None,
            pkey: None,
            service_level: None,
            traffic_class: None,
            depths: Depths::default(),
            zero_copy: Some(64 << 10),
            registration_cache: 64 << 20,
            ack_timeout: Duration::from_secs(2),
            timeout: Duration::from_secs(30),
            waiting: Waiting::default(),
            multicast: Multicast::default(),
            group_family: Family::default(),
            deep_rings: 4,
            nodes: NodeSharing::default(),
            payload_crc: false,
            whole_datagrams: true,
            mac: false,
            groups: 8,
        }
    }
}

/// A setting that makes no sense.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum SettingsError {
    /// A depth that nothing works with.
    #[error(transparent)]
    Depths(#[from] DepthsError),
    /// Even empty messages would be sent without a copy.
    #[error(
        "messages without a copy need a length of at least 1 byte; `off`, in code None, has all of them copied"
    )]
    ZeroCopy,
    /// No rank has so many rails.
    #[error("a rank has 1 to {MAX_RAILS} rails, not {0}")]
    Rails(u8),
    /// Two rails would be one device.
    #[error("{rails} rails need {rails} devices, and {named} named")]
    FewDevices {
        /// Rails of a rank.
        rails: u8,
        /// Devices that are named.
        named: usize,
    },
    /// Communicators may have no group.
    #[error("communicators need at least one group")]
    Groups,
    /// InfiniBand has no such service level.
    #[error("the service level is {0}, but the largest is {MAX_SERVICE_LEVEL}")]
    ServiceLevel(u8),
    /// A P_Key of no partition.
    #[error("the P_Key {0:#06x} is of no partition: its low 15 bits are 0")]
    PKey(u16),
    /// A timeout is zero.
    #[error("timeouts must be greater than zero")]
    Timeout,
}

/// Looks at other ranks' rings that read headers at once, at most.
pub(super) const LOOKS: u32 = 4;

/// Rails of a rank at most.
const MAX_RAILS: u8 = 4;
/// Service levels have four bits.
const MAX_SERVICE_LEVEL: u8 = 15;
/// Length of a cell of the table that other ranks write numbers into.
pub(super) const CELL_LEN: usize = 16;
/// Reports to a rank under way at once: a second one need not wait for the first to be answered.
pub(super) const REPORTS_AT_ONCE: usize = 2;
/// Writes of nothing behind the last message to a process, each with an acknowledgement that stands for those of all before it
/// (InfiniBand Architecture, volume 1, section 9.7.5.1). Whoever has heard the message may be gone before its sender's adapter
/// asks again for one that was lost, and then that asks in vain until it gives up.
pub(super) const ECHOES: usize = 2;
/// Bytes that the device puts in front of every received datagram (the GRH).
pub(super) const GRH_LEN: usize = 40;
/// Bytes in front of that in a slot.
pub(super) const SLOT_PAD: usize = HEADER_LEN - GRH_LEN;
/// Send slots that fragments leave to handshakes, probes, announcements, aborts and farewells.
pub(super) const RESERVED_SLOTS: u32 = 6;
/// Reliable sends from the ring under way at most, over all connections, for each of its slots.
const SENDS_PER_RING_SLOT: u32 = 4;

impl Settings {
    /// Those of one of a rank's rails. Of several each places its fragments alone, so that none can receive a message in place.
    pub(crate) fn of_rail(&self, rail: u8) -> Self {
        let zero_copy = self.zero_copy.filter(|_| self.rails == 1);
        Settings { rail, zero_copy, ..self.clone() }
    }

    /// Where a rank of its host stands among all rails there.
    pub(super) fn local_rail(&self, local_rank: u32) -> u32 {
        local_rank.wrapping_mul(self.rails.into()).wrapping_add(self.rail.into())
    }

    /// Checks the settings against each other.
    ///
    /// # Errors
    /// If nothing can work with the depths, or a length or time is zero.
    pub fn validate(&self) -> Result<(), SettingsError> {
        self.depths.validate(RESERVED_SLOTS)?;
        match self {
            Settings { zero_copy: Some(0), .. } => Err(SettingsError::ZeroCopy),
            Settings { groups: 0, .. } => Err(SettingsError::Groups),
            Settings { rails, .. } if !(1..=MAX_RAILS).contains(rails) => {
                Err(SettingsError::Rails(*rails))
            }
            Settings { rails, devices, .. }
                if !devices.is_empty() && devices.len() < usize::from(*rails) =>
            {
                Err(SettingsError::FewDevices { rails: *rails, named: devices.len() })
            }
            Settings { service_level: Some(sl), .. } if *sl > MAX_SERVICE_LEVEL => {
                Err(SettingsError::ServiceLevel(*sl))
            }
            Settings { pkey: Some(pkey), .. } if *pkey & 0x7fff == 0 => {
                Err(SettingsError::PKey(*pkey))
            }
            _ if self.timeout.is_zero() || self.ack_timeout.is_zero() => {
                Err(SettingsError::Timeout)
            }
            _ => Ok(()),
        }
    }

    /// Reliable sends from the ring under way at most on a connection in a communicator of `size`
    /// ranks; others wait. Each connection has its share, so that a busy receiver holds up nobody else.
    pub(super) fn ring_sends(&self, size: u32) -> u32 {
        (SENDS_PER_RING_SLOT * self.depths.ring / size.max(1)).clamp(1, self.depths.ring)
    }

    /// Whole fragments at the end of a message that are received into slots. As many datagrams under
    /// way may be lost before receives are left over.
    pub(super) fn margin(&self) -> u32 {
        self.depths.receive / 4
    }

    /// Of a message with no more whole fragments than this, none can be received at its place: receives are posted that far ahead,
    /// and the [last ones](Self::margin) always go into slots.
    pub(super) fn none_in_place(&self) -> usize {
        (self.depths.receive + self.margin()) as usize
    }

    /// Whether fragments may fill their datagrams, as far as this process goes: neither codes nor CRCs of payloads go along.
    pub(super) fn fills_datagrams(&self) -> bool {
        self.whole_datagrams && !self.mac && !self.payload_crc
    }

    /// Bytes of a packet at most that is kept, read or sent over a connection, where datagrams have up to `packet_len`: that of
    /// a fragment which fills one has its header besides.
    pub(super) fn longest_packet(&self, packet_len: usize) -> usize {
        packet_len + if self.fills_datagrams() { HEADER_LEN } else { 0 }
    }

    /// What is checked of packets that an adapter received.
    pub(super) fn checks(&self) -> Checks {
        if self.payload_crc { Checks::Whole } else { Checks::Header }
    }

    /// Requests outstanding at most on the QP of datagrams.
    pub(super) fn datagram_requests(&self) -> u32 {
        self.depths.send + self.depths.ring
    }

    /// Slots of the ring of a further communicator of an endpoint that has so many.
    pub fn ring_among(&self, communicators: usize) -> u32 {
        match communicators < self.deep_rings as usize {
            true => self.depths.ring,
            false => self.depths.ring.min(Depths::SHALLOW_RING),
        }
    }

    /// Requests outstanding at most on a connection: messages, each with a write before it, sends from the ring, reports,
    /// fetches, and echoes of the last message.
    pub(super) fn connection_requests(&self, size: u32) -> u32 {
        2 * self.depths.reliable_send
            + self.ring_sends(size)
            + REPORTS_AT_ONCE as u32
            + self.depths.fetch
            + LOOKS
            + ECHOES as u32
    }

    /// Completions outstanding at most with so many connections, each with so many sends from rings.
    pub(super) fn completions_of(&self, connections: u32, ring_sends: u32) -> u32 {
        let (probes, reports) = (connections, REPORTS_AT_ONCE as u32 * connections);
        let echoes = ECHOES as u32 * connections;
        let reliable = self.depths.reliable_receive + 2 * self.depths.reliable_send;
        let one_sided = probes + reports + echoes + self.depths.fetch + LOOKS;
        let ring_sends = connections * ring_sends;
        self.depths.receive + self.datagram_requests() + reliable + ring_sends + one_sided
    }

    /// Bytes of registered memory per process, besides that of messages, in a communicator of `size` ranks
    /// with an endpoint of its own, for packets of `packet_len` bytes.
    pub fn registered_memory(&self, packet_len: usize, size: u32) -> usize {
        let channel = self.memory_of_channel(self.longest_packet(packet_len), size);
        self.memory_of_endpoint(packet_len) + channel
    }

    /// Bytes of registered memory of an endpoint, besides that of messages, whatever the number of its
    /// communicators.
    pub fn memory_of_endpoint(&self, packet_len: usize) -> usize {
        slots(self.depths.receive, SLOT_PAD + GRH_LEN + packet_len)
            + slots(self.depths.send, packet_len)
            + slots(self.depths.reliable_receive, self.longest_packet(packet_len))
            + slots(self.depths.reliable_send, packet_len)
            + slots(self.depths.fetch + LOOKS, self.longest_packet(packet_len))
    }

    /// Bytes of registered memory of a communicator of `size` ranks, besides its endpoint's, with so many bytes in a slot of
    /// its ring.
    pub fn memory_of_channel(&self, slot_len: usize, size: u32) -> usize {
        let cells = |count: u32| (count as usize * CELL_LEN).next_multiple_of(page_size());
        let ring = self.depths.ring;
        let ring = headers_len(ring) + ring as usize * payload_stride(slot_len);
        ring.next_multiple_of(page_size())
            + cells(Counter::KINDS as u32 * size)
            + cells(REPORTS_AT_ONCE as u32 * size)
    }
}

/// Bytes of so many slots, in whole pages.
fn slots(count: u32, len: usize) -> usize {
    (count as usize * len.next_multiple_of(64)).next_multiple_of(page_size())
}

/// From one payload to the next in a ring whose packets have so many bytes at most.
pub(super) fn payload_stride(slot_len: usize) -> usize {
    slot_len.saturating_sub(HEADER_LEN).next_multiple_of(16)
}

/// Bytes of the headers of so many slots of a ring, in whole cache lines.
pub(super) fn headers_len(slots: u32) -> usize {
    (slots as usize * HEADER_LEN).next_multiple_of(64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_defaults_take_little_memory() {
        let settings = Settings::default();
        settings.validate().unwrap();
        let endpoint = settings.memory_of_endpoint(4096);
        // Any of those with deep rings may have fragments that fill datagrams.
        let longest = settings.longest_packet(4096);
        let deep = settings.deep_rings as usize * settings.memory_of_channel(longest, 128);
        assert!(endpoint + deep < 8 << 20, "{endpoint} and {deep}");
        let depths = Depths { ring: Depths::SHALLOW_RING, ..settings.depths };
        let further = Settings { depths, ..settings }.memory_of_channel(4096, 128);
        assert!(further <= 140 << 10, "{further}");
    }

    #[test]
    fn the_book_says_how_much_memory_that_is() {
        let book = include_str!("../../docs/src/settings.md");
        let says = |bytes: usize| {
            let kib = bytes >> 10;
            let text = match kib {
                1000.. => format!("{},{:03} KiB", kib / 1000, kib % 1000),
                _ => format!("{kib} KiB"),
            };
            assert!(book.contains(&text), "{text}");
        };
        let settings = Settings::default();
        let longest = settings.longest_packet(4096);
        says(settings.registered_memory(4096, 128));
        says(settings.memory_of_endpoint(4096));
        says(settings.memory_of_channel(longest, 128));
        let shallow = Depths { ring: Depths::SHALLOW_RING, ..settings.depths };
        says(Settings { depths: shallow, ..settings.clone() }.memory_of_channel(4096, 128));
        let small = Depths { receive: 64, send: 32, reliable_receive: 32, fetch: 8, ..shallow };
        let small = Settings { depths: small, ..settings };
        says(small.memory_of_endpoint(4096));
        says(small.memory_of_channel(longest, 128));
    }

    #[test]
    fn what_infiniband_does_not_have_is_refused() {
        let level = Settings { service_level: Some(16), ..Settings::default() };
        assert_eq!(level.validate(), Err(SettingsError::ServiceLevel(16)));
        let pkey = Settings { pkey: Some(0x8000), ..Settings::default() };
        assert_eq!(pkey.validate(), Err(SettingsError::PKey(0x8000)));
        let largest = Settings { service_level: Some(15), pkey: Some(1), ..Settings::default() };
        largest.validate().unwrap();
    }

    #[test]
    fn a_rank_has_a_device_for_each_of_up_to_four_rails() {
        let rails = |rails, names: usize| {
            let devices = vec!["mlx5_0".to_owned(); names];
            Settings { rails, devices, ..Settings::default() }.validate()
        };
        assert_eq!(rails(0, 0), Err(SettingsError::Rails(0)));
        assert_eq!(rails(5, 0), Err(SettingsError::Rails(5)));
        assert_eq!(rails(2, 1), Err(SettingsError::FewDevices { rails: 2, named: 1 }));
        assert_eq!((rails(4, 0), rails(2, 2), rails(1, 1)), (Ok(()), Ok(()), Ok(())));
        let four = Settings { rails: 4, ..Settings::default() };
        assert_eq!((four.of_rail(3).zero_copy, four.of_rail(3).local_rail(2)), (None, 11));
        assert_eq!(Settings::default().of_rail(0), Settings::default());
    }

    #[test]
    fn sends_are_left_for_the_transport_itself() {
        let send = RESERVED_SLOTS + Depths::MIN.send;
        let settings = |send| {
            let depths = Depths { send, ..Depths::DEFAULT };
            Settings { depths, ..Settings::default() }
        };
        settings(send).validate().unwrap();
        let error = settings(send - 1).validate().unwrap_err().to_string();
        assert!(error.contains(&format!("send depth of {} ", send - 1)), "{error}");
    }
}
