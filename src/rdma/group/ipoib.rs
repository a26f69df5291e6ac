//! The IPoIB interface through which a group is joined on InfiniBand.
//!
//! The kernel joins a group of an MGID of one's own choice only for an identifier that is bound to an IP address
//! of the port's: it takes partition, Q_Key, service level and traffic class from the IPoIB broadcast group of
//! that interface (`cma_join_ib_multicast` in drivers/infiniband/core/cma.c). The interface's IPv6 link-local
//! address serves, so that nobody has to configure it; it must only be up.

use super::partition::is_same;
use std::net::SocketAddr;
use verbcast_verbs::IpoibInterface;

/// The address to bind for a join in the partition of `pkey`; else what is missing, and what to do about it.
pub fn source(interfaces: &[IpoibInterface], pkey: u16) -> Result<SocketAddr, String> {
    let suits = |one: &&IpoibInterface| is_same(one.pkey, pkey);
    let usable = interfaces.iter().filter(suits).filter(|one| one.is_up);
    let addresses = usable.flat_map(|one| &one.addresses);
    // IPv4 first: a port may have any number of IPv6 addresses, of which some may be tentative.
    if let Some(address) = addresses.min_by_key(|address| address.is_ipv6()) {
        return Ok(*address);
    }
    Err(match interfaces.iter().find(suits) {
        None if interfaces.is_empty() => {
            "the port has no IPoIB interface: modprobe ib_ipoib, then ip link set ib0 up (or as its \
             interface is called)"
                .to_owned()
        }
        None => {
            let IpoibInterface { name, pkey: other, .. } = &interfaces[0];
            format!(
                "IPoIB interface {name} is in the partition {other:#06x}, none in that of P_Key \
                 {pkey:#06x}: ip link add link {name} name {name}.{:04x} type ipoib pkey {:#06x}, \
                 then ip link set {name}.{:04x} up",
                pkey | 0x8000,
                pkey | 0x8000,
                pkey | 0x8000,
            )
        }
        Some(IpoibInterface { name, is_up: false, .. }) => is_down(name),
        Some(IpoibInterface { name, .. }) => format!(
            "IPoIB interface {name} has no address, not even an IPv6 link-local one: \
             sysctl net.ipv6.conf.{name}.disable_ipv6=0, or ip address add ADDRESS/BITS dev {name}"
        ),
    })
}

/// What is missing where an interface is down.
pub fn is_down(name: &str) -> String {
    format!("IPoIB is down on {name}: ip link set {name} up")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn interface(name: &str, is_up: bool, pkey: u16, addresses: &[&str]) -> IpoibInterface {
        let addresses = addresses.iter().map(|text| text.parse().unwrap()).collect();
        let name = name.to_owned();
        IpoibInterface { name, index: 1, is_up, is_running: is_up, pkey, addresses }
    }

    #[test]
    fn an_address_of_the_partitions_interface_is_bound() {
        let link_local = "[fe80::2:c903:10:2031%6]:0";
        let child = interface("ib0.8001", true, 0x8001, &[link_local]);
        let parent = interface("ib0", true, 0xffff, &[link_local, "10.1.0.1:0"]);
        let both = [parent, child];
        assert_eq!(source(&both, 0xffff), Ok("10.1.0.1:0".parse().unwrap()));
        assert_eq!(source(&both, 0x0001), Ok(link_local.parse().unwrap()), "a limited member");
    }

    #[test]
    fn what_is_missing_is_said_with_what_to_do() {
        let says = |interfaces: &[IpoibInterface], pkey, what: &str| {
            let error = source(interfaces, pkey).unwrap_err();
            assert!(error.contains(what), "{error}");
        };
        says(&[], 0xffff, "modprobe ib_ipoib");
        let down = interface("ib3", false, 0xffff, &["10.1.0.1:0"]);
        says(std::slice::from_ref(&down), 0xffff, "ip link set ib3 up");
        says(&[down], 0x0004, "ip link add link ib3 name ib3.8004 type ipoib pkey 0x8004");
        says(&[interface("ib0", true, 0xffff, &[])], 0xffff, "disable_ipv6=0");
    }
}
