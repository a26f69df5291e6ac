//! A further broadcaster of the ranks of another one.

use super::{Broadcaster, Config, Error, Place};
use crate::bootstrap::{Bootstrap, VoteError, read_all, vote};
use crate::rdma::{self, RdmaTransport};
use verbcast_core::wire::Exposure;

/// A further broadcaster of the same ranks, before they have said that all can have it. It needs no agreement but that: what
/// it shares with the other one was agreed on when that was made.
#[derive(Debug)]
pub struct Further {
    first: rdma::Further,
    /// Those of the other rails.
    others: Vec<rdma::Further>,
    config: Config,
    place: Place,
}

impl Broadcaster {
    /// Prepares a further broadcaster of the same ranks on the same [endpoint](super::Endpoint), with an order of its own. All
    /// ranks do this in the same order, and then [complete](Further::complete) it.
    ///
    /// # Errors
    /// If this broadcaster does not share its device, or memory runs out: a sentence that says which.
    pub fn further(&mut self) -> Result<Further, String> {
        self.further += 1;
        let number = self.further;
        let (config, agreed) = (*self.origin).clone();
        let place = self.place.clone();
        let window = config.protocol.window;
        let (first, others) = self.driver.transport_mut().inner_mut().split_mut();
        let prepare = |rail| rdma::Further::new(rail, &agreed, number, window);
        let first = prepare(first)?;
        let others = others.iter_mut().map(prepare).collect::<Result<_, _>>()?;
        Ok(Further { first, others, config, place })
    }
}

impl Further {
    /// Makes what this rank has prepared, or tells the others why it has nothing. Collective, for each rail one exchange,
    /// and another one where ranks of a host share memory.
    ///
    /// # Errors
    /// The same at every rank, if one of them cannot have it; or if the bootstrap fails.
    pub fn complete(
        prepared: Result<Self, String>,
        bootstrap: &mut dyn Bootstrap,
    ) -> Result<Broadcaster, Error> {
        let said = prepared.as_ref().map(|further| further.first.exposure().emit());
        let said = vote(bootstrap, said.as_deref().map_err(|what| what.as_str()))?;
        let refused = |what| VoteError::Refused(vec![(bootstrap.rank(), what)]);
        let Further { first, others, mut config, place } = prepared.map_err(refused)?;
        let first = complete(first, &said, bootstrap)?;
        let others = others.into_iter().map(|rail| {
            let said = vote(bootstrap, Ok(&rail.exposure().emit()))?;
            complete(rail, &said, bootstrap)
        });
        let made = rdma::join(first, others.collect::<Result<_, _>>()?);
        let rings = made.0.iter().map(RdmaTransport::ring_len);
        config.device.depths.ring = rings.min().unwrap_or_default();
        Broadcaster::assemble(config, place, made, true)
    }
}

/// Makes one rail, when all ranks have said this of it.
fn complete(
    mut rail: rdma::Further,
    said: &[Vec<u8>],
    bootstrap: &mut dyn Bootstrap,
) -> Result<rdma::Made, VoteError> {
    let all = read_all(said, Exposure::parse)?;
    if rdma::shares_memory(&all) {
        let joined = rail.join_node(&all).map(|()| Vec::new());
        vote(bootstrap, joined.as_deref().map_err(|what| what.as_str()))?;
    }
    Ok(rail.complete(&all))
}
