//! A shared library that is preloaded under a program and makes SoftRoCE's devices look like other adapters, so that what
//! they do differently is tried where nobody has one.
//!
//! `VERBCAST_ADAPTER=PROFILE[,key=value…]` says what to imitate; the profiles, and the keys with what they mean, are the
//! text files in `tests/adapters/profiles`. Without that variable every call passes through. `VERBCAST_ADAPTER_STATE` is a
//! folder that the processes of a node share: it counts what an adapter has for all of them.
//!
//! Exported are the calls of libibverbs, librdmacm, libibumad and libc that a program with this adapter would see answered
//! differently. Those that the headers define as inline functions are replaced in the opened context. What the libraries
//! call among themselves goes to the real ones.
//!
//! On an imitated InfiniBand port, LIDs stand for SoftRoCE's addresses and MGIDs for IPv4 groups; each port has an IPoIB
//! interface that only `getifaddrs` and `rdma_bind_addr` know.
#![allow(
    clippy::missing_safety_doc,
    reason = "each asks for what the function asks for that it stands for"
)]

mod adapter;
mod administrator;
mod channel;
mod connections;
mod context;
mod datagrams;
mod groups;
mod happening;
mod ids;
mod interfaces;
mod limits;
mod node;
mod port;
mod profile;
mod qp;
mod real;
mod route;
mod shared;
