//! What a rank has sent, received and put right.

use std::iter::Sum;
use std::ops::AddAssign;

/// Makes a struct of counters, and its addition and difference from the same list of them.
macro_rules! counters {
    (
        $(#[$meta:meta])*
        pub struct $name:ident { $($(#[$field_meta:meta])* pub $field:ident: u64,)* }
    ) => {
        $(#[$meta])*
        pub struct $name { $($(#[$field_meta])* pub $field: u64,)* }

        impl $name {
            /// What was counted since `earlier`, which is of the same rank or ranks.
            #[must_use]
            pub fn since(self, earlier: $name) -> $name {
                $name { $($field: self.$field.saturating_sub(earlier.$field),)* }
            }
        }

        impl AddAssign for $name {
            fn add_assign(&mut self, other: $name) {
                $(self.$field += other.$field;)*
            }
        }
    };
}

counters! {
    /// Counters of one rank on one communicator, since its creation; or the sums over several ranks.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
    #[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(default))]
    pub struct Statistics {
        /// Broadcasts called.
        pub operations: u64,
        /// Of these, broadcasts that were over as soon as their message came, or this rank had sent it as their root, before
        /// anything was begun.
        pub short: u64,
        /// Fragments sent to the group.
        pub multicast_sent: u64,
        /// Fragments received from the group, copies included.
        pub multicast_received: u64,
        /// Messages sent over reliable connections.
        pub reliable_sent: u64,
        /// Messages received over reliable connections.
        pub reliable_received: u64,
        /// Reports written into other ranks' memory.
        pub reports_written: u64,
        /// Packets asked for in other ranks' rings.
        pub fetches: u64,
        /// Packets that fetches found there.
        pub fetched: u64,
        /// Fetches that found another packet, or none yet.
        pub missed: u64,
        /// Fragments whose multicast had not come when their operation completed here.
        pub lost: u64,
        /// Times that datagrams were missing from where all posted receives had been used up to where new ones began.
        pub receives_ran_out: u64,
        /// Microseconds in calls that wait for broadcasts.
        pub in_calls_us: u64,
        /// Of these, in pauses of more than 50 µs with nothing to do.
        pub waited_us: u64,
        /// Fragments that came first over a reliable connection, sent or fetched.
        pub repaired: u64,
        /// Copies of a fragment that had come by the same way before.
        pub duplicates: u64,
        /// Second copies that the protocol sends by design.
        pub redundant: u64,
        /// Fragments of operations that had ended here.
        pub late: u64,
        /// Datagrams of operations that had not begun here, or of a communicator that this process did
        /// not attend to, dropped for want of buffers to keep them.
        pub overflowed: u64,
        /// Packets of other communicators, or of no verbcast at all.
        pub foreign: u64,
        /// Packets of this communicator with a wrong CRC or length.
        pub damaged: u64,
        /// Packets with this communicator's key and a wrong authentication code, forged or damaged.
        pub forged: u64,
        /// Packets of this communicator that make no sense in its protocol.
        pub rejected: u64,
        /// Fragments sent out of their message's memory, without a copy.
        pub sent_in_place: u64,
        /// Fragments received right into their message's memory.
        pub received_in_place: u64,
        /// Datagrams received where another fragment was expected, and moved away.
        pub moved: u64,
        /// Times that receives posted for a message's memory were left over and had to be taken back,
        /// with all others. Datagrams that came meanwhile are lost.
        pub receive_flushes: u64,
        /// Times that memory of messages was registered with the device.
        pub registrations: u64,
        /// Broadcasts, and buffers handed out, for which memory was found registered.
        pub registration_hits: u64,
        /// Times that the rank's port went down and did not stay so.
        pub port_errors: u64,
        /// Milliseconds in which the port was down.
        pub port_down_ms: u64,
        /// Memberships in multicast groups that ended, and were made anew.
        pub rejoins: u64,
        /// Milliseconds from their ends to that.
        pub rejoin_ms: u64,
        /// Times that the UD QP failed, and was restarted.
        pub restarts: u64,
        /// Datagrams of the group that came by the memory of this rank's node.
        pub node_received: u64,
        /// Datagrams that this rank published there: what it multicast, and what it received for the others.
        pub node_published: u64,
        /// Of the reports, those that this rank wrote into memory that it shares with who reads them.
        pub node_reported: u64,
        /// Datagrams that were replaced there before this rank had taken them.
        pub node_lost: u64,
        /// Times that this rank became the one that receives for its node.
        pub node_roles: u64,
        /// Times that this rank woke one of its node that slept, as there was something for it.
        pub node_woken: u64,
    }
}

impl Sum for Statistics {
    fn sum<I: Iterator<Item = Statistics>>(ranks: I) -> Statistics {
        ranks.fold(Statistics::default(), |mut sum, rank| {
            sum += rank;
            sum
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_counter_is_summed_by_itself() {
        let ranks = [
            Statistics { operations: 1, lost: 3, ..Statistics::default() },
            Statistics { lost: 4, registration_hits: 5, ..Statistics::default() },
        ];
        let both =
            Statistics { operations: 1, lost: 7, registration_hits: 5, ..Statistics::default() };
        assert_eq!(ranks.into_iter().sum::<Statistics>(), both);
        assert_eq!(both.since(ranks[0]), ranks[1]);
    }
}
