//! Socket addresses as librdmacm takes them.

use std::net::SocketAddr;
use verbcast_sys as sys;

/// A socket address as C wants it.
#[derive(Clone, Copy)]
pub(super) enum SocketAddress {
    V4(libc::sockaddr_in),
    V6(libc::sockaddr_in6),
    Ib(sys::sockaddr_ib),
}

impl std::fmt::Debug for SocketAddress {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("SocketAddress")
    }
}

impl SocketAddress {
    pub fn ip(address: SocketAddr) -> Self {
        match address {
            SocketAddr::V4(v4) => SocketAddress::V4(libc::sockaddr_in {
                sin_family: libc::AF_INET as libc::sa_family_t,
                sin_port: v4.port().to_be(),
                sin_addr: libc::in_addr { s_addr: u32::from_ne_bytes(v4.ip().octets()) },
                sin_zero: [0; 8],
            }),
            SocketAddr::V6(v6) => SocketAddress::V6(libc::sockaddr_in6 {
                sin6_family: libc::AF_INET6 as libc::sa_family_t,
                sin6_port: v6.port().to_be(),
                sin6_flowinfo: v6.flowinfo(),
                sin6_addr: libc::in6_addr { s6_addr: v6.ip().octets() },
                sin6_scope_id: v6.scope_id(),
            }),
        }
    }

    pub fn ib(gid: [u8; 16]) -> Self {
        // SAFETY: the address is plain numbers, for which zero is valid.
        let mut address: sys::sockaddr_ib = unsafe { std::mem::zeroed() };
        address.sib_family = sys::AF_IB as u16;
        address.sib_pkey = 0xffff_u16.to_be();
        // A service of the UDP port space, with a port of the kernel's choice.
        address.sib_sid = (u64::from(sys::RDMA_PS_UDP) << 16).to_be();
        address.sib_sid_mask = (!0xffff_u64).to_be();
        // SAFETY: both are sixteen bytes of plain data.
        address.sib_addr = unsafe { std::mem::transmute::<[u8; 16], sys::ib_addr>(gid) };
        SocketAddress::Ib(address)
    }

    pub fn as_ptr(&mut self) -> *mut libc::sockaddr {
        match self {
            SocketAddress::V4(address) => std::ptr::from_mut(address).cast(),
            SocketAddress::V6(address) => std::ptr::from_mut(address).cast(),
            SocketAddress::Ib(address) => std::ptr::from_mut(address).cast(),
        }
    }
}
