//! What one host tries by itself: a file for each check. To add one, write its file and name it here.

mod attach_limit;
mod completions;
mod dead_peer;
mod first_delivery;
mod flush;
mod fork;
mod grh;
mod group_mtu;
mod inline;
mod join;
mod join_by_request;
mod locked_memory;
mod order;
mod over_long;
mod overflow;
mod own_copy;
mod p_key;
mod q_key;
mod read_rewrite;
mod reads;
mod reset;
mod same_adapter;
mod service_level;
mod shared_receives;
mod torn_write;
mod zero_write;

use super::check::Check;
use super::lab::{Joined, Lab, Mailbox};
use std::time::{Duration, Instant};
use verbcast_verbs::{Attachment, LinkLayer};

/// Nothing else works without these.
pub const FIRST: &[Check] = &[p_key::CHECK, locked_memory::CHECK];

/// The ways to join a group, the first choice first: nothing after them works without one of them.
pub fn joins(link_layer: LinkLayer) -> &'static [Check] {
    const JOINS: &[Check] = &[join::CHECK, join_by_request::CHECK];
    if link_layer == LinkLayer::InfiniBand { JOINS } else { &JOINS[..1] }
}

/// All others. Those that take long where a machine is slow are last.
pub const OTHERS: &[Check] = &[
    q_key::CHECK,
    first_delivery::CHECK,
    own_copy::CHECK,
    same_adapter::CHECK,
    grh::CHECK,
    group_mtu::CHECK,
    reset::CHECK,
    over_long::CHECK,
    flush::CHECK,
    overflow::CHECK,
    order::CHECK,
    completions::CHECK,
    service_level::CHECK,
    fork::CHECK,
    inline::CHECK,
    reads::CHECK,
    shared_receives::CHECK,
    zero_write::CHECK,
    torn_write::CHECK,
    read_rewrite::CHECK,
    dead_peer::CHECK,
    attach_limit::CHECK,
];

/// How long what was sent may take to arrive on one host.
const ARRIVAL: Duration = Duration::from_secs(2);
/// How long a new group may take until it delivers.
const FIRST_ARRIVAL: Duration = Duration::from_secs(10);
/// Between two attempts to be heard in a new group.
const PAUSE: Duration = Duration::from_millis(20);

/// Two members of a new group at one device.
struct Pair {
    joined: Joined,
    sender: Mailbox,
    receiver: Mailbox,
    attachments: [Attachment; 2],
    /// How long the group took to deliver.
    took: Duration,
}

impl Pair {
    /// Two members, once the group delivers; the receiver has posted `depth` receives.
    fn open(site: &super::site::Site, depth: u32) -> Result<Pair, String> {
        let lab = Lab::open(site)?;
        let joined = lab.join(site.draw_group())?;
        let (mut sender, first) = lab.member(&joined, 64)?;
        let (mut receiver, second) = lab.member(&joined, depth)?;
        sender.post(64)?;
        receiver.post(depth)?;
        let begun = Instant::now();
        let took = until_heard(&joined, &mut sender, &mut receiver, begun)?;
        Ok(Pair { joined, sender, receiver, attachments: [first, second], took })
    }

    /// Fails the receiver's QP and makes it ready again, without receives. Where the adapter does not restart it, a new
    /// one is in the group in its place; then it says what the adapter refused.
    fn revive(&mut self) -> Result<Option<String>, String> {
        let receiver = &mut self.receiver;
        receiver.qp.give_up().map_err(|error| error.to_string())?;
        while receiver.take(Duration::from_millis(100))?.is_some() {}
        let Err(refused) = receiver.restart() else { return Ok(None) };
        receiver.replace()?;
        self.attachments[1] = receiver.attach(&self.joined)?;
        Ok(Some(refused.to_string()))
    }
}

/// Multicasts until a datagram arrives, and takes all that came of it; how long it took since `begun`.
fn until_heard(
    joined: &Joined,
    sender: &mut Mailbox,
    receiver: &mut Mailbox,
    begun: Instant,
) -> Result<Duration, String> {
    loop {
        sender.send(joined, b"hello")?;
        if receiver.expect(PAUSE, |payload| payload == b"hello")?.is_some() {
            break;
        }
        if begun.elapsed() >= FIRST_ARRIVAL {
            return Err(format!(
                "nothing that another QP of the same adapter multicast arrived within {} s",
                FIRST_ARRIVAL.as_secs()
            ));
        }
    }
    let took = begun.elapsed();
    sender.settle()?;
    // What was sent before arrives late.
    while receiver.receive(PAUSE)?.is_some() {}
    while sender.receive(Duration::ZERO)?.is_some() {}
    Ok(took)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::conformance::ASSUMPTIONS;

    #[test]
    fn every_check_has_a_number_of_its_own_in_the_matrix() {
        let joins = joins(LinkLayer::InfiniBand);
        let numbers = || FIRST.iter().chain(joins).chain(OTHERS).map(|check| check.number);
        for number in numbers() {
            assert_eq!(numbers().filter(|other| *other == number).count(), 1, "{number}");
            assert!(ASSUMPTIONS.iter().any(|one| one.number == number), "{number}");
        }
    }
}
