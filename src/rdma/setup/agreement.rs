//! What the ranks agree on before they open their devices: a fabric that all of them have.

use crate::bootstrap::{VoteError, name_ranks};
use verbcast_core::rank::Rank;
use verbcast_core::topology::SwitchPath;
use verbcast_core::wire::{Fabric, HostName, Whereabouts};

/// Where a rank is to open its device.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Place {
    /// Its rank among those of its host.
    pub local_rank: u32,
    /// The fabric that all ranks have.
    pub fabric: Fabric,
}

/// Where this rank is, below these switches, and the fabrics that it can use.
pub fn whereabouts(switches: SwitchPath, fabrics: Vec<Fabric>) -> Whereabouts {
    Whereabouts { host: host(), name: name(), switches, fabrics }
}

/// Agrees on a fabric, of those that all ranks say they can use. The local rank is `told`, or the place of `rank` among the
/// ranks on its host.
///
/// # Errors
/// The same at every rank, if they have none in common.
pub fn agree(all: &[Whereabouts], rank: Rank, told: Option<u32>) -> Result<Place, VoteError> {
    let fabric = common_fabric(all)?;
    let local_rank = told.unwrap_or_else(|| local_rank_among(all, rank));
    Ok(Place { local_rank, fabric })
}

/// The fabric that rank 0 likes best of those that all ranks have; where hosts have IP networks of their own, any
/// Ethernet.
fn common_fabric(all: &[Whereabouts]) -> Result<Fabric, VoteError> {
    let first = all.first().map_or(&[][..], |first| &first.fabrics);
    let any = [Fabric::Ethernet(None)];
    let mut candidates = first.iter().chain(&any);
    let is_everywhere =
        |fabric: &&Fabric| all.iter().all(|one| one.fabrics.iter().any(|own| own.is_on(fabric)));
    candidates.find(is_everywhere).copied().ok_or_else(|| disagreement(all))
}

/// Who has what.
fn disagreement(all: &[Whereabouts]) -> VoteError {
    let mut kinds: Vec<(&[Fabric], Vec<Rank>)> = Vec::new();
    for (rank, one) in (0..).map(Rank).zip(all) {
        match kinds.iter_mut().find(|(fabrics, _)| *fabrics == one.fabrics) {
            Some((_, ranks)) => ranks.push(rank),
            None => kinds.push((&one.fabrics, vec![rank])),
        }
    }
    let has = |(fabrics, ranks): &(&[Fabric], Vec<Rank>)| {
        let fabrics: Vec<_> = fabrics.iter().map(Fabric::to_string).collect();
        let verb = if ranks.len() == 1 { "has" } else { "have" };
        format!("{} {verb} {}", name_ranks(ranks), fabrics.join(" and "))
    };
    let list: Vec<_> = kinds.iter().map(has).collect();
    let what = format!(
        "no link layer and subnet is common to all ranks: {}; VERBCAST_DEVICE and VERBCAST_PORT choose among those \
         that a host has",
        list.join("; ")
    );
    let other = kinds.get(1).and_then(|(_, ranks)| ranks.first()).copied().unwrap_or_default();
    VoteError::Refused(vec![(other, what)])
}

fn local_rank_among(all: &[Whereabouts], rank: Rank) -> u32 {
    let own = &all[rank.index()].host;
    all[..rank.index()].iter().filter(|one| one.host == *own).count() as u32
}

/// What stands for this host: the number that its kernel drew when it started, which containers share; or its name.
pub fn host() -> [u8; 16] {
    let id = std::fs::read_to_string("/proc/sys/kernel/random/boot_id").unwrap_or_default();
    let digits: String = id.chars().filter(char::is_ascii_hexdigit).collect();
    let number = u128::from_str_radix(&digits, 16).unwrap_or_else(|_| {
        let name = rustix::system::uname();
        let name = name.nodename().to_bytes();
        name.iter().fold(0, |sum: u128, byte| sum.rotate_left(8) ^ u128::from(*byte))
    });
    number.to_be_bytes()
}

fn name() -> HostName {
    HostName::new(&rustix::system::uname().nodename().to_string_lossy())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::Ipv6Addr;
    use verbcast_core::wire::Network;

    const IB: Fabric = Fabric::InfiniBand { subnet_prefix: 0xfe80 << 48 };

    fn ethernet(third: u8) -> Fabric {
        let address = Ipv6Addr::from(0xffff_0a00_0001 | u128::from(third) << 8);
        Fabric::Ethernet(Some(Network::of(address, 120)))
    }

    fn on(host: u8, fabrics: &[Fabric]) -> Whereabouts {
        Whereabouts { host: [host; 16], fabrics: fabrics.to_vec(), ..Whereabouts::default() }
    }

    #[test]
    fn the_best_fabric_that_all_have_is_taken() {
        for (all, expected) in [
            (vec![on(0, &[IB, ethernet(1)]), on(1, &[IB])], IB),
            (vec![on(0, &[IB, ethernet(1)]), on(1, &[ethernet(2), ethernet(1)])], ethernet(1)),
            (vec![on(0, &[ethernet(1)]), on(1, &[ethernet(2)])], Fabric::Ethernet(None)),
        ] {
            assert_eq!(common_fabric(&all).unwrap(), expected);
        }
    }

    #[test]
    fn who_has_what_is_named_where_nothing_is_common() {
        let all = [on(0, &[IB]), on(0, &[IB]), on(1, &[ethernet(1)]), on(1, &[IB])];
        let error = common_fabric(&all).unwrap_err().to_string();
        assert!(error.starts_with("rank 2: no link layer"), "{error}");
        assert!(error.contains("ranks 0, 1 and 3 have InfiniBand subnet fe80::/64;"), "{error}");
        assert!(error.contains("rank 2 has Ethernet (RoCE) network 10.0.1.0/24;"), "{error}");
    }

    #[test]
    fn ranks_of_a_host_are_counted() {
        let all = [on(0, &[IB]), on(1, &[IB]), on(0, &[IB]), on(1, &[IB]), on(0, &[IB])];
        let local: Vec<_> = (0..5).map(|rank| local_rank_among(&all, Rank(rank))).collect();
        assert_eq!(local, [0, 0, 1, 1, 2]);
    }
}
