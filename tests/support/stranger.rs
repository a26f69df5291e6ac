//! Somebody else on a communicator's group.

use std::time::Duration;
use verbcast::rdma::Settings;
use verbcast_core::rank::Rank;

/// Sends datagrams of random bytes to a group from a QP of its own; how many.
pub fn flood(group: &str, count: usize) -> usize {
    let devices = verbcast_verbs::devices().unwrap();
    let survey = verbcast::rdma::survey(&Settings::default(), Rank(0)).unwrap();
    let choice = survey.choice.unwrap();
    let device = &devices[choice.device];
    let context = device.open().unwrap();
    let domain = verbcast_verbs::ProtectionDomain::new(&context).unwrap();
    let cq = verbcast_verbs::CompletionQueue::new(&context, 64).unwrap();
    let (mut pool, mut free) = verbcast_verbs::Pool::new(&domain, 8, 4096).unwrap();
    let (no_receives, _) = verbcast_verbs::Pool::new(&domain, 1, 64).unwrap();
    let mut qp =
        verbcast_verbs::QueuePair::datagram(&domain, &cq, (&pool, 8), (&no_receives, 1)).unwrap();
    let ports = survey.devices[choice.device].ports.as_ref().unwrap();
    let gids = &ports.iter().find(|report| report.port.number == choice.port).unwrap().gids;
    let own = gids.iter().find(|gid| gid.index == choice.gid_index).unwrap().ipv4().unwrap();
    let address = verbcast_verbs::MulticastGroup::Ip(group.parse().unwrap());
    let (_membership, path) =
        verbcast_verbs::Membership::join((own, 0).into(), address, Duration::from_secs(10))
            .unwrap();
    let at = verbcast_verbs::PortPartition { port: choice.port, pkey_index: 0 };
    qp.ready_datagrams(at, path.qkey).unwrap();
    let handle = path.handle(&domain).unwrap();
    let mut noise = 0x9e37_79b9_7f4a_7c15_u64;
    let mut sent = 0;
    while sent < count {
        // SAFETY: every completion here is of a send, whose id is its slot's index.
        cq.poll(|completion| free.push(unsafe { pool.reclaim(completion.id as u32) })).unwrap();
        let Some(mut slot) = free.pop() else {
            std::thread::yield_now();
            continue;
        };
        for byte in pool.bytes_mut(&mut slot) {
            noise ^= noise << 13;
            noise ^= noise >> 7;
            noise ^= noise << 17;
            *byte = noise as u8;
        }
        let (len, id) = ((noise % 4096) as usize, u64::from(slot.index()));
        qp.send_datagram(slot, len, id, &handle, (0xff_ffff, path.qkey)).unwrap();
        qp.submit().unwrap();
        sent += 1;
    }
    sent
}
