//! Who a rank has to do with under a root, worked out once.

use super::groups::Groups;
use crate::order::RankOrder;
use crate::rank::Rank;
use std::collections::BTreeMap;
use std::sync::Arc;

/// Who a rank has to do with in the broadcasts of a root.
#[derive(Debug)]
pub(super) struct Neighbours {
    pub root: Rank,
    /// Who repairs whom in them.
    pub groups: Groups,
    /// The rank that repairs this one, if one does.
    pub repairer: Option<Rank>,
    /// The rank that this one gets a message from for certain; none at the root.
    pub source: Option<Rank>,
    /// Whether this rank gets a message reliably in any case.
    pub is_head: bool,
    /// The co-roots that this rank sends to, in order.
    pub heads_below: Vec<Rank>,
    /// Who reports to this rank without being repaired by it: at the root, all co-roots.
    pub co_roots: Vec<Rank>,
    /// The ranks that this one repairs, in the order in which it does.
    pub leaves: Vec<Rank>,
    /// The same by their numbers.
    sorted: Vec<Rank>,
    /// Those of them who repair others, by their numbers.
    between: Vec<Rank>,
}

impl Neighbours {
    fn new(me: Rank, root: Rank, groups: Groups, order: &RankOrder) -> Self {
        let under = groups.under(root, order);
        let leaves: Vec<_> = under.leaves(me).collect();
        let mut sorted = leaves.clone();
        sorted.sort_unstable();
        let between = sorted.iter().copied().filter(|leaf| under.is_between(*leaf)).collect();
        Neighbours {
            root,
            groups,
            repairer: under.repairer(me),
            source: under.source(me),
            is_head: under.is_head(me),
            heads_below: under.heads_below(me).collect(),
            co_roots: if root == me { under.co_roots().collect() } else { Vec::new() },
            leaves,
            sorted,
            between,
        }
    }

    /// Whether a rank that this one repairs repairs others.
    pub fn is_between(&self, leaf: Rank) -> bool {
        self.between.binary_search(&leaf).is_ok()
    }

    /// Whether this rank repairs another one.
    pub fn repairs(&self, rank: Rank) -> bool {
        self.sorted.binary_search(&rank).is_ok()
    }

    /// Whether others need what this rank keeps.
    pub fn has_any_below(&self) -> bool {
        !(self.leaves.is_empty() && self.heads_below.is_empty())
    }
}

/// A rank's neighbourhoods under the roots that there were so far.
#[derive(Clone, Debug)]
pub(super) struct Neighbourhoods {
    me: Rank,
    order: RankOrder,
    known: BTreeMap<(Rank, Groups), Arc<Neighbours>>,
    /// Those of the latest broadcast, which most often are the next one's.
    latest: Option<Arc<Neighbours>>,
}

impl Neighbourhoods {
    pub fn new(me: Rank, order: RankOrder) -> Self {
        Neighbourhoods { me, order, known: BTreeMap::new(), latest: None }
    }

    /// Those under a root, and whether it is the first time that they are asked for.
    pub fn under(&mut self, root: Rank, groups: Groups) -> (Arc<Neighbours>, bool) {
        if let Some(latest) = self.latest(root, groups) {
            return (Arc::clone(latest), false);
        }
        let Neighbourhoods { me, order, known, latest } = self;
        let mut is_new = false;
        let neighbours = known.entry((root, groups)).or_insert_with(|| {
            is_new = true;
            Arc::new(Neighbours::new(*me, root, groups, order))
        });
        *latest = Some(Arc::clone(neighbours));
        (Arc::clone(neighbours), is_new)
    }

    fn latest(&self, root: Rank, groups: Groups) -> Option<&Arc<Neighbours>> {
        self.latest.as_ref().filter(|latest| latest.root == root && latest.groups == groups)
    }

    /// Those under a root, if they were asked for before.
    pub fn known(&self, root: Rank, groups: Groups) -> Option<&Arc<Neighbours>> {
        self.latest(root, groups).or_else(|| self.known.get(&(root, groups)))
    }

    /// The ranks on the way from the repairer of this rank to the root, the nearest first.
    pub fn above_repairer(&self, neighbours: &Neighbours) -> impl Iterator<Item = Rank> + '_ {
        let under = neighbours.groups.under(neighbours.root, &self.order);
        let above = neighbours.repairer.and_then(|repairer| under.repairer(repairer));
        std::iter::successors(above, move |rank| under.repairer(*rank))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::order::tests::placements;
    use crate::protocol::window::Repairers;

    #[test]
    fn a_rank_repairs_those_whose_repairer_it_is() {
        let kinds =
            [Repairers::Root, Repairers::CoRoots(3), Repairers::Predecessor, Repairers::Tree(2)];
        for order in placements() {
            for groups in kinds.map(|kind| Groups::new(kind, order.size())) {
                let ranks = || (0..order.size()).map(Rank);
                for (root, me) in ranks().flat_map(|root| ranks().map(move |me| (root, me))) {
                    let (neighbours, is_new) =
                        Neighbourhoods::new(me, order.clone()).under(root, groups);
                    let under = groups.under(root, &order);
                    let is_mine = |rank: Rank| under.repairer(rank) == Some(me);
                    assert!(is_new);
                    assert!(
                        ranks().all(|rank| neighbours.repairs(rank) == is_mine(rank)),
                        "{neighbours:?}"
                    );
                }
            }
        }
    }

    #[test]
    fn what_is_known_is_not_worked_out_again() {
        let mut neighbourhoods = Neighbourhoods::new(Rank(1), RankOrder::by_number(4));
        let groups = Groups::new(Repairers::Root, 4);
        let (first, _) = neighbourhoods.under(Rank(0), groups);
        let (again, is_new) = neighbourhoods.under(Rank(0), groups);
        assert!(Arc::ptr_eq(&first, &again) && !is_new);
        assert!(neighbourhoods.under(Rank(2), groups).1);
        let (once_more, is_new) = neighbourhoods.under(Rank(0), groups);
        assert!(Arc::ptr_eq(&first, &once_more) && !is_new);
        let (of_two, of_three) = (Rank(2), Rank(3));
        assert_eq!(neighbourhoods.known(of_two, groups).map(|known| known.root), Some(of_two));
        assert!(neighbourhoods.known(of_three, groups).is_none());
        let others = Groups::new(Repairers::Predecessor, 4);
        assert!(neighbourhoods.known(Rank(0), others).is_none());
    }
}
