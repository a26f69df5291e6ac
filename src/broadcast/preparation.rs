//! A broadcaster that is to be made: what its rank says first, and what is done when all have said theirs.

use super::agree::{agree, first_peers, neighbours, order_by_place, terms};
use super::hosts::Hosts;
use super::told::number_of;
use super::{Broadcaster, Config, Endpoint, Error, Place};
use crate::bootstrap::{Bootstrap, VoteError, count_votes, read_all};
use crate::rdma::{self, Origin};
use verbcast_core::rank::Rank;
use verbcast_core::wire::{Ballot, Proposal};

/// A broadcaster that is to be made. What its rank says can go together with other things that the ranks tell one another.
#[derive(Debug)]
pub(crate) struct Preparation {
    config: Config,
    /// What it is made on, if that is for several.
    endpoint: Option<Endpoint>,
    rank: Rank,
    /// With what the rank says; or why it cannot take part.
    prepared: Result<(rdma::Preparation, Proposal), String>,
}

impl Preparation {
    /// Of a bootstrap's rank, on a device of its own or on an endpoint, whose [settings](Endpoint::settings_for) those of
    /// the configuration are.
    pub fn new(origin: Origin<'_>, bootstrap: &dyn Bootstrap, config: &Config) -> Self {
        let (rank, size) = (bootstrap.rank(), bootstrap.size());
        let _span = tracing::info_span!("prepare", %rank, size).entered();
        let own = config.device.depths.ring;
        let (endpoint, room) = match &origin {
            Origin::Own(_) => (None, own),
            Origin::Shared(endpoint) => (Some((*endpoint).clone()), endpoint.next_ring().min(own)),
        };
        let prepared = terms(config, room).map_err(|error| error.to_string());
        let prepared = prepared.and_then(|terms| {
            let mut settings = config.device.of_rail(0);
            settings.depths.ring = terms.ring;
            let prepared = rdma::Preparation::new(origin, bootstrap, &settings, None)?;
            let proposal = prepared.proposal(terms, config.switches.clone());
            Ok((prepared, proposal))
        });
        Preparation { config: config.clone(), endpoint, rank, prepared }
    }

    /// As [`new`](Self::new) on an endpoint, with any configuration.
    pub fn on(endpoint: &Endpoint, bootstrap: &dyn Bootstrap, config: &Config) -> Self {
        let settings = endpoint.settings_for(&config.device);
        let config = Config { device: settings, ..config.clone() };
        Self::new(Origin::Shared(endpoint), bootstrap, &config)
    }

    /// What the rank says to the others: its proposal, or why it cannot take part.
    pub fn ballot(&self) -> Vec<u8> {
        let said = self.prepared.as_ref().map(|(_, proposal)| proposal.emit());
        Ballot::emit(said.as_deref().map_err(|what| what.as_str()))
    }

    /// Makes it, when all ranks have said this. Collective.
    ///
    /// # Errors
    /// As [`Broadcaster::new`].
    pub fn complete(
        self,
        bootstrap: &mut dyn Bootstrap,
        ballots: &[Vec<u8>],
    ) -> Result<Broadcaster, Error> {
        let Preparation { config, endpoint, rank, prepared } = self;
        let (size, communicator) = (bootstrap.size(), tracing::field::Empty);
        let span = tracing::info_span!("set_up", %rank, size, communicator).entered();
        let proposals = read_all(&count_votes(ballots)?, Proposal::parse)?;
        let (prepared, _) = prepared.map_err(|what| VoteError::Refused(vec![(rank, what)]))?;
        let all: Vec<_> = proposals.iter().map(|proposal| proposal.terms).collect();
        let config = agree(bootstrap, &config, &all)?;
        let by_place = order_by_place(&proposals);
        let order = config.protocol.order(&by_place);
        let neighbours = neighbours(rank, &order, &by_place, &proposals);
        tracing::debug!(rank = rank.0, neighbours, "place on the ring");
        let peers = first_peers(rank, &order, &config);
        let settings = config.device.of_rail(0);
        let first = rdma::complete(bootstrap, prepared, &settings, &peers, &proposals)?;
        span.record("communicator", number_of(first.1.key));
        let (endpoint, known) = (endpoint.as_ref(), (&first.0, &first.1));
        let others = rdma::add_rails(bootstrap, known, endpoint, &config.device, &peers)?;
        let hosts = Hosts::of(&proposals);
        let place = Place { rank, order, neighbours: neighbours.into(), hosts };
        Broadcaster::assemble(config, place, rdma::join(first, others), endpoint.is_some())
    }
}
