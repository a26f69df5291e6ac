//! A datagram that is longer than the place that its receive was posted for, on a device.

use crate::{needs, ranks};
use std::ptr::NonNull;
use std::time::{Duration, Instant};
use verbcast_core::rank::Rank;
use verbcast_verbs::{
    AddressHandle, CompletionQueue, Lease, Outcome, PathTo, Pool, PortPartition, ProtectionDomain,
    QueuePair, Service,
};

const GRH_LEN: usize = 40;
const HEAD: usize = 48;
const PLACE: usize = 100;
const SENT: usize = 2000;
const PATIENCE: Duration = Duration::from_secs(60);
const QKEY: u32 = 77;

/// What is longer than its place goes on in the slot, so that the receive does not fail.
#[test]
fn a_datagram_that_is_longer_than_its_place_is_received_whole() {
    let Some(devices) = needs::devices() else { return };
    let mut settings = ranks::flat().device;
    settings.devices = devices;
    let survey = verbcast::rdma::survey(&settings, Rank(0)).unwrap();
    let choice = survey.choice.unwrap();
    let report = &survey.devices[choice.device];
    let all = verbcast_verbs::devices().unwrap();
    let context = all.iter().find(|one| one.name() == report.name).unwrap().open().unwrap();
    let gids = &report.ports.as_ref().unwrap()[0].gids;
    let own = gids.iter().find(|gid| gid.index == choice.gid_index).unwrap();
    let domain = ProtectionDomain::new(&context).unwrap();
    let cq = CompletionQueue::new(&context, 8).unwrap();
    let (mut sends, mut free) = Pool::new(&domain, 1, 4096).unwrap();
    let (receives, mut slots) = Pool::new(&domain, 1, GRH_LEN + 4096).unwrap();
    let mut qp = QueuePair::datagram(&domain, &cq, (&sends, 1), (&receives, 1)).unwrap();
    qp.ready_datagrams(PortPartition { port: choice.port, pkey_index: 0 }, QKEY).unwrap();
    let mut memory = [0; PLACE];
    // SAFETY: nobody touches the memory before the lease has ended.
    let lease = unsafe { Lease::register(&domain, NonNull::from(&mut memory[..])) }.unwrap();
    let head = (slots.pop().unwrap(), 0..GRH_LEN + HEAD);
    qp.post_receive_with(head, (&lease, 0..PLACE), 1).unwrap();
    let mut slot = free.pop().unwrap();
    let sent: Vec<u8> = (0..SENT).map(|at| (at * 7 + at / 256) as u8).collect();
    sends.bytes_mut(&mut slot)[..SENT].copy_from_slice(&sent);
    let (gid, source_index, service) = (own.gid, choice.gid_index, Service::default());
    let path = PathTo { gid, lid: 0, port: choice.port, source_index, service };
    let handle = AddressHandle::new(&domain, &path).unwrap();
    let to = (qp.number(), QKEY);
    qp.submit_receives().unwrap();
    qp.send_datagram(slot, SENT, 0, &handle, to).unwrap();
    qp.submit().unwrap();
    let (begun, mut received) = (Instant::now(), None);
    while received.is_none() {
        assert!(begun.elapsed() < PATIENCE, "nothing was received");
        cq.poll(|completion| {
            if completion.id == 1 {
                received = Some(completion.outcome);
            }
        })
        .unwrap();
    }
    assert_eq!(received, Some(Outcome::Done(GRH_LEN + SENT)));
    // SAFETY: the receive has ended.
    let slot = unsafe { receives.reclaim(0) };
    // SAFETY: as above, and nothing else writes there.
    let place = unsafe { lease.bytes(0..PLACE) };
    let bytes = receives.bytes(&slot);
    let whole = [&bytes[GRH_LEN..][..HEAD], place, &bytes[GRH_LEN + HEAD..][..SENT - HEAD - PLACE]];
    assert!(whole.concat() == sent);
    // SAFETY: as above.
    unsafe { lease.completed() };
    lease.end();
}
