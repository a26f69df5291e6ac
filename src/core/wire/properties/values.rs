//! Values that the formats are tried with.

use super::*;

/// Arbitrary bytes, mostly behind a tag and version that fit.
pub(super) fn noise(format: Format) -> impl Strategy<Value = Vec<u8>> {
    let start = [&format.tag[..], &[format.version]].concat();
    (prop::bool::weighted(0.9), vec(any::<u8>(), 0..600)).prop_map(move |(is_ours, bytes)| {
        if is_ours { [&start, &bytes[..]].concat() } else { bytes }
    })
}

pub(super) fn failure_kind() -> impl Strategy<Value = FailureKind> {
    prop::sample::select(&[FailureKind::Unreachable, FailureKind::GaveUp, FailureKind::Erroneous])
}

pub(super) fn group() -> impl Strategy<Value = GroupAddress> {
    prop_oneof![
        any::<[u8; 4]>().prop_map(|v4| GroupAddress::V4(v4.into())),
        any::<[u8; 16]>().prop_map(|v6| GroupAddress::V6(v6.into())),
        any::<[u8; 16]>().prop_map(GroupAddress::Mgid),
    ]
}

pub(super) fn number_of_24_bits() -> impl Strategy<Value = u32> {
    0..=0xff_ffff_u32
}

pub(super) fn datagram_qp() -> impl Strategy<Value = DatagramQp> {
    (number_of_24_bits(), any::<u32>()).prop_map(|(qpn, generation)| DatagramQp { qpn, generation })
}

pub(super) fn process_address() -> impl Strategy<Value = ProcessAddress> {
    let rest = (any::<[u8; 16]>(), any::<u16>(), 256..=4096_usize, any::<u8>());
    (any::<u64>(), datagram_qp(), rest).prop_map(
        |(incarnation, datagrams, (gid, lid, packet_len, reads))| ProcessAddress {
            incarnation,
            datagrams,
            gid,
            lid,
            packet_len,
            reads,
        },
    )
}

pub(super) fn region() -> impl Strategy<Value = Region> {
    any::<(u64, u32)>().prop_map(|(address, key)| Region { address, key })
}

pub(super) fn introduction() -> impl Strategy<Value = Introduction> {
    let draw = (any::<u64>(), any::<u64>(), [group(), group(), group()])
        .prop_map(|(key, seed, groups)| Draw { key, seed, groups });
    let proof = (group(), any::<(u64, u32)>())
        .prop_map(|(group, (members, packet_len))| ProvenGroup { group, members, packet_len });
    let proven = vec(proof, 0..=MAX_OFFERED_PROOFS);
    let offer = (vec(group(), 0..=MAX_OFFERED_GROUPS), any::<bool>(), proven)
        .prop_map(|(groups, is_full, proven)| GroupOffer { groups, is_full, proven });
    let adapter =
        any::<(u64, u32)>().prop_map(|(guid, max_attached)| Adapter { guid, max_attached });
    let port = any::<(u32, u16)>().prop_map(|(rate, pkey)| PortUse { rate, pkey });
    let mac = any::<([u8; 32], [u8; PROOF_LEN])>();
    let mac = prop::option::of(mac.prop_map(|(nonce, proof)| MacOffer { nonce, proof }));
    let node = any::<([u8; 16], u64, u16)>();
    let node = node.prop_map(|(host, space, most)| NodeOffer { host, space, most });
    let memory = any::<(u32, u32, u64, u32, u32)>();
    let memory = memory.prop_map(|(process, descriptor, nonce, slots, slot_len)| NodeMemory {
        process,
        descriptor,
        nonce,
        slots,
        slot_len,
    });
    let last = (mac, any::<u8>().prop_map(FreeTags), prop::option::of(memory));
    (process_address(), (adapter, port, node), region(), region(), draw, offer, last).prop_map(
        |(address, (adapter, port, node), ring, cells, draw, offer, (mac, tags, memory))| {
            Introduction {
                address,
                adapter,
                port,
                node,
                memory,
                ring,
                cells,
                draw,
                offer,
                mac,
                tags,
            }
        },
    )
}

pub(super) fn handshake_message() -> impl Strategy<Value = handshake::Message> {
    let end = || (number_of_24_bits(), number_of_24_bits()).prop_map(|(qpn, psn)| End { qpn, psn });
    let ends = (end(), end(), 256..=4096_usize).prop_map(|(messages, probes, mtu)| Ends {
        messages,
        probes,
        mtu,
    });
    let step = prop::sample::select(vec![Step::Open, Step::Accept, Step::Confirm]);
    (any::<u64>(), datagram_qp(), step, ends).prop_map(|(from, datagrams, step, ends)| {
        handshake::Message { from, datagrams, step, ends }
    })
}

pub(super) fn inquiry() -> impl Strategy<Value = Inquiry> {
    any::<(u64, u64, bool)>().prop_map(|(from, key, is_answer)| Inquiry {
        from,
        key: Key(key),
        is_answer,
    })
}

pub(super) fn header() -> impl Strategy<Value = Header> {
    use Kind::*;
    let kinds = vec![Fragment, Ready, Abort, Bye, Probe, Connect, Acknowledge];
    let kind = prop::sample::select(kinds);
    (kind, any::<(u32, u64, u32, u32, u64, u64, bool)>()).prop_map(
        |(kind, (source, key, op, fragment, message_len, report, asks))| Header {
            kind,
            source: Rank(source),
            key: Key(key),
            op: OpId(op),
            fragment: crate::rank::Fragment(fragment),
            message_len: message_len >> 16,
            report,
            asks,
        },
    )
}

pub(super) fn whereabouts() -> impl Strategy<Value = Whereabouts> {
    let network = || {
        prop::option::of(
            (any::<[u8; 16]>(), 0..=128_u8).prop_map(|(of, len)| Network::of(of.into(), len)),
        )
    };
    let fabric = prop_oneof![
        any::<u64>().prop_map(|subnet_prefix| Fabric::InfiniBand { subnet_prefix }),
        network().prop_map(Fabric::Ethernet),
    ];
    let names = vec("[!$-+.-<>-Z^-z|~-]{1,64}", 0..=MAX_SWITCHES);
    let switches = names.prop_map(|names| SwitchPath::new(names).unwrap());
    let name = "[!-~]{0,64}".prop_map(|name| HostName::new(&name));
    (any::<[u8; 16]>(), name, switches, vec(fabric, 0..=MAX_FABRICS))
        .prop_map(|(host, name, switches, fabrics)| Whereabouts { host, name, switches, fabrics })
}

pub(super) fn terms() -> impl Strategy<Value = Terms> {
    (0..32_u32, any::<u64>()).prop_map(|(ring, common)| Terms { ring: 1 << ring, common })
}

pub(super) const FRAMES: [FrameKind; 9] = [
    FrameKind::Hello,
    FrameKind::Entered,
    FrameKind::Blob,
    FrameKind::Gathered,
    FrameKind::Failed,
    FrameKind::Refused,
    FrameKind::Challenge,
    FrameKind::Response,
    FrameKind::Join,
];
