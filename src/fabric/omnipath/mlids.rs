//! Multicast LIDs, which run out (section 4.5.2.2).

use crate::multicast::FIRST_MLID;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

/// A multicast GID.
pub type Mgid = u128;

/// Groups whose MGID, after `mask`, is `value` share a pool of MLIDs (`MLIDShare`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pool {
    /// Bits of the MGID that are looked at.
    pub mask: Mgid,
    /// What they have to be.
    pub value: Mgid,
    /// The most MLIDs of the pool.
    pub max: u32,
    /// The most of them for one P_Key; without a bound if none.
    pub max_per_pkey: Option<u32>,
}

impl Pool {
    /// The pool that is there by default: 500 MLIDs for all IPv6 solicited-node groups.
    pub const SOLICITED_NODE: Pool = Pool {
        mask: 0xffff_ffff_0000_ffff_ffff_ffff_ff00_0000,
        value: 0xff12_601b_0000_0000_0000_0001_ff00_0000,
        max: 500,
        max_per_pkey: None,
    };

    /// Whether groups of this MGID belong here.
    pub fn holds(&self, mgid: Mgid) -> bool {
        mgid & self.mask == self.value
    }
}

/// There is no MLID left that a group could have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Exhausted {
    /// All MLIDs up to `MLIDTableCap` are taken.
    Table,
    /// The pool has none of this P_Key, MTU and rate, and cannot have another.
    Pool,
}

impl fmt::Display for Exhausted {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Exhausted::Table => "all MLIDs up to MLIDTableCap are taken",
            Exhausted::Pool => "the pool has no MLID for this P_Key, MTU and rate",
        })
    }
}

impl std::error::Error for Exhausted {}

/// Groups share an MLID only if these are the same: P_Key without its membership bit, MTU, rate.
type Class = (u16, u16, u32);

/// Which MLIDs are taken, and by how many groups.
#[derive(Clone, Debug)]
pub struct Mlids {
    cap: u16,
    taken: BTreeSet<u16>,
    pools: Vec<(Pool, BTreeMap<u16, Use>)>,
}

#[derive(Clone, Copy, Debug)]
struct Use {
    class: Class,
    groups: u32,
}

impl Mlids {
    /// `cap` MLIDs (`MLIDTableCap`), and pools in the order in which MGIDs are looked up.
    pub fn new(cap: u16, pools: Vec<Pool>) -> Mlids {
        let pools = pools.into_iter().map(|pool| (pool, BTreeMap::new())).collect();
        Mlids { cap: cap.min(u16::MAX - FIRST_MLID), taken: BTreeSet::new(), pools }
    }

    /// An MLID for a new group: one of its own, or if its pool has no more to give, the least used of
    /// its class there, the lowest of several.
    ///
    /// # Errors
    /// If there is none.
    pub fn assign(
        &mut self,
        mgid: Mgid,
        pkey: u16,
        mtu: u16,
        rate_mbps: u32,
    ) -> Result<u16, Exhausted> {
        let class = (pkey & 0x7fff, mtu, rate_mbps);
        let free = (FIRST_MLID..FIRST_MLID + self.cap).find(|mlid| !self.taken.contains(mlid));
        let Some((pool, uses)) = self.pools.iter_mut().find(|(pool, _)| pool.holds(mgid)) else {
            let mlid = free.ok_or(Exhausted::Table)?;
            self.taken.insert(mlid);
            return Ok(mlid);
        };
        let of_pkey = uses.values().filter(|used| used.class.0 == class.0).count() as u32;
        let has_room = (uses.len() as u32) < pool.max;
        if has_room && pool.max_per_pkey.is_none_or(|max| of_pkey < max) {
            let mlid = free.ok_or(Exhausted::Table)?;
            self.taken.insert(mlid);
            uses.insert(mlid, Use { class, groups: 1 });
            return Ok(mlid);
        }
        let same = uses.iter_mut().filter(|(_, used)| used.class == class);
        let (mlid, used) = same.min_by_key(|(_, used)| used.groups).ok_or(Exhausted::Pool)?;
        used.groups += 1;
        Ok(*mlid)
    }

    /// Gives back the MLID of a group that is no more.
    pub fn release(&mut self, mlid: u16) {
        for (_, uses) in &mut self.pools {
            if let Some(used) = uses.get_mut(&mlid) {
                used.groups -= 1;
                if used.groups > 0 {
                    return;
                }
                uses.remove(&mlid);
            }
        }
        self.taken.remove(&mlid);
    }

    /// Number of MLIDs that there are: as many as asked for, but no more than exist.
    pub fn cap(&self) -> u16 {
        self.cap
    }

    /// Number of MLIDs that are taken.
    pub fn in_use(&self) -> usize {
        self.taken.len()
    }
}
