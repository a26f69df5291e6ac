//! Whether the ranks reach one another in their partitions.

use crate::rdma::group::{is_limited, is_same_partition};
use verbcast_core::rank::Rank;

/// The ranks that do not reach all others, by the P_Keys of all, and why not: those that use another partition than rank
/// 0, and limited members besides the first one, as such members do not reach one another.
pub fn refusals(pkeys: &[u16]) -> Vec<(Rank, String)> {
    let all = || (0..).map(Rank).zip(pkeys.iter().copied());
    let Some(first) = pkeys.first() else { return Vec::new() };
    let others: Vec<_> = all()
        .filter(|(_, pkey)| !is_same_partition(*pkey, *first))
        .map(|(rank, pkey)| {
            let what = format!(
                "uses P_Key {pkey:#06x}, but rank 0 uses {first:#06x}, of another partition: set \
                 VERBCAST_PKEY to one that all ports have"
            );
            (rank, what)
        })
        .collect();
    if !others.is_empty() {
        return others;
    }
    let mut limited = all().filter(|(_, pkey)| is_limited(*pkey));
    let Some((one, _)) = limited.next() else { return Vec::new() };
    let refuse = |(rank, pkey): (Rank, u16)| {
        let what = format!(
            "is a limited member of its partition (P_Key {pkey:#06x}), as {one} is, and such members do not \
             reach one another: have the fabric's administrator make the ports full members, or set \
             VERBCAST_PKEY to a partition in which they are"
        );
        (rank, what)
    };
    limited.map(refuse).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refused(pkeys: &[u16]) -> Vec<u32> {
        refusals(pkeys).into_iter().map(|(rank, _)| rank.0).collect()
    }

    #[test]
    fn one_limited_member_reaches_all_full_ones_but_two_do_not_reach_each_other() {
        assert!(refused(&[0xffff; 4]).is_empty());
        assert!(refused(&[0xffff, 0x7fff, 0xffff]).is_empty());
        assert_eq!(refused(&[0xffff, 0x7fff, 0xffff, 0x7fff, 0x7fff]), [3, 4]);
        let (_, what) = refusals(&[0x0001, 0x0001]).remove(0);
        assert!(what.contains("0x0001") && what.contains("as rank 0 is"), "{what}");
    }

    #[test]
    fn ranks_of_other_partitions_are_named_first() {
        assert_eq!(refused(&[0x8001, 0x0001, 0xffff, 0x0001]), [2]);
    }
}
