//! The partition that an endpoint uses: the P_Key, and its place in the port's table.

use verbcast_verbs::IpoibInterface;

/// The bit of a full member (InfiniBand Architecture Specification, section 10.9.1.1); the others are the
/// partition.
const FULL_MEMBER: u16 = 0x8000;
/// The partition that every port is in (section 10.9.1.2).
const DEFAULT: u16 = 0x7fff;

/// A partition of a port.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Partition {
    /// The P_Key, with the port's membership.
    pub pkey: u16,
    /// Its place in the port's table.
    pub index: u16,
}

impl Partition {
    /// Whether the port is only a limited member: such members do not reach one another.
    pub fn is_limited(&self) -> bool {
        is_limited(self.pkey)
    }

    /// Whether a port with this table of P_Keys is in it at its place, with which queue pairs go: as the member that it was, or as
    /// a full one where it was limited. Who was a full member and is limited may not reach the other ranks any more.
    pub fn is_kept_by(&self, table: &[u16]) -> bool {
        let now = table.get(usize::from(self.index));
        now.is_some_and(|now| is_same(*now, self.pkey) && (self.is_limited() || !is_limited(*now)))
    }
}

/// Whether it is a limited member's P_Key.
pub fn is_limited(pkey: u16) -> bool {
    pkey & FULL_MEMBER == 0
}

/// Whether both P_Keys are of one partition.
pub fn is_same(a: u16, b: u16) -> bool {
    (a ^ b) & !FULL_MEMBER == 0
}

/// The partition to use at a port with this table of P_Keys and these IPoIB interfaces: the one that is wanted;
/// else that of the first interface, as the group is joined through it; else the default partition, unless the
/// port is only a limited member of it and a full one of another. Interfaces that run come first, and of them those where
/// the port is a full member; a limited membership without one that runs comes last.
pub fn choose(
    table: &[u16],
    wanted: Option<u16>,
    interfaces: &[IpoibInterface],
) -> Result<Partition, String> {
    if let Some(wanted) = wanted {
        return find(table, wanted).ok_or_else(|| {
            format!(
                "the port has no P_Key of the partition {wanted:#06x}, which VERBCAST_PKEY asks for; \
                 its table has {}: ask the fabric's administrator to make the port a member of it",
                listed(table)
            )
        });
    }
    let here = interfaces.iter().filter_map(|one| Some((one, find(table, one.pkey)?)));
    let by_use = |(one, own): &(&IpoibInterface, Partition)| {
        (!one.is_running, own.is_limited(), !one.is_up, one.addresses.is_empty(), one.index)
    };
    let first = here.min_by_key(by_use);
    let is_full = |one: &Partition| !one.is_limited();
    let is_useful = |one: &IpoibInterface, own: &Partition| one.is_running || is_full(own);
    let of_interface = first.filter(|(one, own)| is_useful(one, own)).map(|(_, own)| own);
    let first_full = || table.iter().copied().find(|pkey| *pkey & FULL_MEMBER != 0);
    of_interface
        .or_else(|| find(table, DEFAULT).filter(is_full))
        .or_else(|| first_full().and_then(|pkey| find(table, pkey)))
        .or_else(|| find(table, DEFAULT))
        .or_else(|| find(table, table.iter().copied().find(|pkey| *pkey != 0)?))
        .ok_or_else(|| "the port's table of P_Keys is empty: is a subnet manager running?".into())
}

/// The best entry of a partition: the port's full membership if it has one.
fn find(table: &[u16], wanted: u16) -> Option<Partition> {
    let entries = (0..).zip(table).map(|(index, pkey)| Partition { pkey: *pkey, index });
    let all = entries.filter(|one| one.pkey & !FULL_MEMBER != 0 && is_same(one.pkey, wanted));
    all.min_by_key(|one| (one.is_limited(), one.index))
}

fn listed(table: &[u16]) -> String {
    let used = table.iter().filter(|pkey| **pkey != 0).map(|pkey| format!("{pkey:#06x}"));
    match used.collect::<Vec<_>>() {
        used if used.is_empty() => "none".to_owned(),
        used => used.join(", "),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn interface(index: u32, is_up: bool, pkey: u16) -> IpoibInterface {
        let addresses = vec!["10.1.0.1:0".parse().unwrap()];
        let name = format!("ib{index}");
        IpoibInterface { name, index, is_up, is_running: is_up, pkey, addresses }
    }

    fn chosen(table: &[u16], wanted: Option<u16>, interfaces: &[IpoibInterface]) -> (u16, u16) {
        let Partition { pkey, index } = choose(table, wanted, interfaces).unwrap();
        (pkey, index)
    }

    #[test]
    fn a_limited_member_may_become_a_full_one_at_its_place() {
        for (pkey, table, is_kept) in [
            (0x8005, &[0xffff, 0x8005][..], true),
            (0x0005, &[0xffff, 0x0005], true),
            (0x0005, &[0xffff, 0x8005], true),
            (0x8005, &[0xffff, 0x0005], false),
            (0x8005, &[0x8005, 0xffff], false),
            (0x8005, &[0x8005], false),
        ] {
            let partition = Partition { pkey, index: 1 };
            assert_eq!(partition.is_kept_by(table), is_kept, "{pkey:#06x} in {table:#06x?}");
        }
    }

    #[test]
    fn the_partition_that_is_wanted_is_found_by_its_low_bits() {
        let table = [0xffff, 0x0001, 0, 0x8001, 0x8002];
        assert_eq!(chosen(&table, Some(0x8001), &[]), (0x8001, 3), "the full membership");
        assert_eq!(chosen(&table, Some(0x0002), &[]), (0x8002, 4));
        assert_eq!(chosen(&[0x7fff, 0x0001], Some(0x8001), &[]), (0x0001, 1), "limited will do");
        let error = choose(&table, Some(0x8005), &[]).unwrap_err();
        assert!(error.contains("0x8005") && error.contains("0xffff, 0x0001, 0x8001"), "{error}");
    }

    #[test]
    fn the_interfaces_partition_counts() {
        let interfaces = [interface(4, false, 0xffff), interface(5, true, 0x8001)];
        assert_eq!(chosen(&[0xffff, 0x0001], None, &interfaces), (0x0001, 1), "it is up");
        assert_eq!(chosen(&[0xffff, 0x0001], None, &interfaces[..1]), (0xffff, 0));
        assert_eq!(chosen(&[0x8001], None, &interfaces[..1]), (0x8001, 0), "it has no such P_Key");
    }

    #[test]
    fn an_interface_without_a_carrier_does_not_lead_into_a_limited_membership() {
        let idle = IpoibInterface { is_running: false, ..interface(4, true, 0xffff) };
        let child = interface(5, true, 0x8001);
        let table = [0x7fff, 0x8001];
        assert_eq!(chosen(&table, None, std::slice::from_ref(&idle)), (0x8001, 1));
        assert_eq!(chosen(&table, None, &[idle.clone(), child.clone()]), (0x8001, 1));
        assert_eq!(chosen(&[0xffff, 0x8001], None, &[idle.clone(), child.clone()]), (0x8001, 1));
        assert_eq!(chosen(&[0xffff, 0x8001], None, &[idle]), (0xffff, 0), "it may run yet");
        let both = [interface(4, true, 0xffff), child];
        assert_eq!(chosen(&table, None, &both), (0x8001, 1), "a full member of one that runs");
        assert_eq!(chosen(&table, None, &both[..1]), (0x7fff, 0), "as the group is joined there");
    }

    #[test]
    fn full_members_are_preferred_without_an_interface() {
        assert_eq!(chosen(&[0x8001, 0xffff], None, &[]), (0xffff, 1), "the default partition");
        assert_eq!(chosen(&[0x7fff, 0x8001], None, &[]), (0x8001, 1), "as Omni-Path has it");
        assert_eq!(chosen(&[0, 0x7fff, 0x0001], None, &[]), (0x7fff, 1));
        assert_eq!(chosen(&[0x0001], None, &[]), (0x0001, 0));
        assert!(choose(&[0, 0], None, &[]).unwrap_err().contains("subnet manager"));
    }
}
