//! Numbers that are used once.

/// Random bytes that one side of a rendezvous has drawn for one connection, so that no proof can be used again; or a process
/// for its life, so that no key of packets is.
pub type Nonce = [u8; 32];
