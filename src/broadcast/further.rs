//! A further broadcaster of the ranks of another one.

use super::{Broadcaster, Config, Error, Place};
use crate::bootstrap::{Bootstrap, VoteError, read_all, vote};
use crate::rdma::{self, RdmaTransport};
use verbcast_core::wire::Exposure;

/// A further broadcaster of the same ranks, before they have said that all can have it. It needs no agreement but that: what
/// it shares with the other one was agreed on when that was made.
#[derive(Debug)]
pub struct Further {
    /// By rail.
    prepared: Vec<rdma::Further>,
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
        let rails = self.driver.transport_mut().inner_mut().all_mut().iter_mut();
        let prepared = rails.map(|rail| rdma::Further::new(rail, &agreed, number, window));
        Ok(Further { prepared: prepared.collect::<Result<_, _>>()?, config, place })
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
        let said = prepared.as_ref().map(|further| further.prepared[0].exposure().emit());
        let mut said = vote(bootstrap, said.as_deref().map_err(|what| what.as_str()))?;
        let refused = |what| VoteError::Refused(vec![(bootstrap.rank(), what)]);
        let Further { prepared, mut config, place } = prepared.map_err(refused)?;
        let mut made = Vec::new();
        for mut rail in prepared {
            if !made.is_empty() {
                said = vote(bootstrap, Ok(&rail.exposure().emit()))?;
            }
            let all = read_all(&said, Exposure::parse)?;
            if rdma::shares_memory(&all) {
                let joined = rail.join_node(&all).map(|()| Vec::new());
                vote(bootstrap, joined.as_deref().map_err(|what| what.as_str()))?;
            }
            made.push(rail.complete(&all));
        }
        let made = rdma::join(made);
        let rings = made.0.all().iter().map(RdmaTransport::ring_len);
        config.device.depths.ring = rings.min().unwrap_or_default();
        Broadcaster::assemble(config, place, made, true)
    }
}
