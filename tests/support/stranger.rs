//! Somebody else on a communicator's group.

use crate::ranks;
use std::time::Duration;
use verbcast::Broadcaster;
use verbcast::rdma::Settings;
use verbcast_core::rank::Rank;
use verbcast_core::wire::Compact;
use verbcast_verbs::{
    Access, AddressHandle, CompletionQueue, Membership, MulticastGroup, Pool, PortPartition,
    ProtectionDomain, QueuePair, Shared, Slot, Span,
};

const LONGEST: usize = 4096;
const SLOTS: u32 = 8;
const MULTICAST_QPN: u32 = 0xff_ffff;

/// A QP of its own in a group.
struct Stranger {
    domain: ProtectionDomain,
    cq: CompletionQueue,
    qp: QueuePair,
    pool: Pool,
    free: Vec<Slot>,
    to: AddressHandle,
    qkey: u32,
    _membership: Membership,
    noise: u64,
}

impl Stranger {
    fn join(group: &str) -> Stranger {
        let devices = verbcast_verbs::devices().unwrap();
        let survey = verbcast::rdma::survey(&Settings::default(), Rank(0)).unwrap();
        let choice = survey.choice.unwrap();
        let context = devices[choice.device].open().unwrap();
        let domain = ProtectionDomain::new(&context).unwrap();
        let cq = CompletionQueue::new(&context, 64).unwrap();
        let (pool, free) = Pool::new(&domain, SLOTS, LONGEST).unwrap();
        let (no_receives, _) = Pool::new(&domain, 1, 64).unwrap();
        let mut qp = QueuePair::datagram(&domain, &cq, (&pool, SLOTS), (&no_receives, 1)).unwrap();
        let ports = survey.devices[choice.device].ports.as_ref().unwrap();
        let gids = &ports.iter().find(|report| report.port.number == choice.port).unwrap().gids;
        let own = gids.iter().find(|gid| gid.index == choice.gid_index).unwrap().ipv4().unwrap();
        let address = MulticastGroup::Ip(group.parse().unwrap());
        let (membership, path) =
            Membership::join((own, 0).into(), address, Duration::from_secs(10)).unwrap();
        let at = PortPartition { port: choice.port, pkey_index: 0 };
        qp.ready_datagrams(at, path.qkey).unwrap();
        let to = path.handle(&domain).unwrap();
        let (qkey, noise) = (path.qkey, 0x9e37_79b9_7f4a_7c15);
        Stranger { domain, cq, qp, pool, free, to, qkey, _membership: membership, noise }
    }

    fn draw(&mut self) -> u64 {
        self.noise ^= self.noise << 13;
        self.noise ^= self.noise >> 7;
        self.noise ^= self.noise << 17;
        self.noise
    }

    /// Sends a datagram with a number along, and waits until it has left.
    fn send_numbered(&mut self, span: &Span, immediate: u32) {
        let to = (MULTICAST_QPN, self.qkey);
        self.qp.send_datagram_numbered((span, immediate), 0, &self.to, to).unwrap();
        self.qp.submit().unwrap();
        let mut ended = 0;
        while ended == 0 {
            self.cq.poll(|_| ended += 1).unwrap();
            std::thread::yield_now();
        }
    }

    /// A slot that is not being sent from.
    fn slot(&mut self) -> Slot {
        loop {
            let Stranger { cq, pool, free, .. } = self;
            // SAFETY: every completion here is of a send, whose id is its slot's index.
            cq.poll(|done| free.push(unsafe { pool.reclaim(done.id as u32) })).unwrap();
            match free.pop() {
                Some(slot) => return slot,
                None => std::thread::yield_now(),
            }
        }
    }
}

/// Broadcasts messages of `len` bytes by rank 1, and compares each, while a stranger in their group does its work beside
/// rank 0. Collective.
pub fn beside(broadcaster: &mut Broadcaster, len: usize, work: impl Fn(&str) + Sync) {
    let group = broadcaster.description().group.clone().unwrap();
    let me = broadcaster.rank();
    std::thread::scope(|scope| {
        let stranger = (me == Rank(0)).then(|| scope.spawn(|| work(&group)));
        for op in 0.. {
            let sent = ranks::message(op, len);
            let mut buffer = if me == Rank(1) { sent.clone() } else { vec![0; len] };
            broadcaster.broadcast_into(Rank(1), &mut buffer).unwrap();
            assert!(buffer == sent, "{me}, broadcast {op}");
            // Rank 0 tells whether the stranger goes on.
            let goes_on = stranger.as_ref().is_some_and(|stranger| !stranger.is_finished());
            let mut flag = [u8::from(goes_on)];
            broadcaster.broadcast_into(Rank(0), &mut flag).unwrap();
            if flag[0] == 0 {
                break;
            }
        }
    });
}

/// Sends datagrams of random bytes to a group from a QP of its own.
pub fn flood(group: &str, count: usize) {
    let mut stranger = Stranger::join(group);
    for _ in 0..count {
        let mut slot = stranger.slot();
        let bytes: Vec<u8> = (0..LONGEST).map(|_| stranger.draw() as u8).collect();
        stranger.pool.bytes_mut(&mut slot).copy_from_slice(&bytes);
        let (len, id) = ((stranger.draw() % LONGEST as u64) as usize, u64::from(slot.index()));
        let to = (MULTICAST_QPN, stranger.qkey);
        stranger.qp.send_datagram(slot, len, id, &stranger.to, to).unwrap();
        stranger.qp.submit().unwrap();
    }
}

/// Sends fragments that fill their datagrams to a group, with compact headers as a rank of the communicator might
/// send: of all tags, and of its first operations.
pub fn forge_compact(group: &str, count: usize) {
    const FIRST_OPS: u64 = 512;
    const FRAGMENTS: u64 = 4;
    let mut stranger = Stranger::join(group);
    let mut memory = Shared::new(&stranger.domain, LONGEST, Access::None).unwrap();
    memory.write(0, &[0xf0; LONGEST]);
    let span = memory.span(0, LONGEST);
    for _ in 0..count {
        let (flags, op) = (stranger.draw() % 32, stranger.draw() % FIRST_OPS);
        let fragment = stranger.draw() % FRAGMENTS;
        stranger.send_numbered(&span, ((flags << 27) | (op << 12) | fragment) as u32);
    }
}

/// Sends one fragment that fills its datagram to a group, with this compact header.
pub fn forge_fragment(group: &str, header: Compact) {
    let mut stranger = Stranger::join(group);
    let mut memory = Shared::new(&stranger.domain, LONGEST, Access::None).unwrap();
    memory.write(0, &[0xf0; LONGEST]);
    stranger.send_numbered(&memory.span(0, LONGEST), header.immediate());
}
