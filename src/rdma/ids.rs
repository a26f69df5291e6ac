//! The numbers of processes and communicators, as this process gives them.

/// A process, as this one numbers them. A process that begins anew gets another number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(super) struct ProcessId(pub u32);

/// A communicator, as its endpoint numbers them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub(super) struct ChannelId(pub u16);
