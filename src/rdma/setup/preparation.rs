//! What a rank does and says for a communicator before it has heard the others.
//!
//! Where its endpoint is open already it introduces itself at once, with the memory that the communicator is to have.
//! Otherwise the ranks must first agree on a fabric, for which a device is opened then.

use super::agreement::{Place, host, whereabouts};
use super::nodes::{make, offer};
use super::opening::Prospect;
use super::shared::{Lead, SharedEndpoint};
use crate::bootstrap::{Bootstrap, Secret};
use crate::rdma::endpoint::{Access, Site};
use crate::rdma::group::{draw, generator};
use crate::rdma::memory::Memory;
use crate::rdma::node;
use crate::rdma::settings::Settings;
use rand_chacha::rand_core::Rng;
use verbcast_core::rank::Rank;
use verbcast_core::topology::SwitchPath;
use verbcast_core::wire::{Draw, FreeTags, Introduction, Key, MacKey, PortUse, Proposal, Terms};
use verbcast_verbs::Context;

/// What a communicator is made on.
#[derive(Debug)]
pub enum Origin<'a> {
    /// A device of its own, which the program may have opened.
    Own(Option<Context>),
    /// An endpoint that others use too.
    Shared(&'a SharedEndpoint),
}

/// What a further rail has of the communicator's first one.
#[derive(Clone, Copy, Debug)]
pub struct First {
    pub key: Key,
    pub mac: Option<MacKey>,
}

/// A rank of a communicator that is to be made.
#[derive(Debug)]
pub struct Preparation {
    pub(super) rank: Rank,
    pub(super) size: u32,
    /// What the keys of authentication codes follow from, if there are to be any.
    secret: Option<Secret>,
    /// What it has of the communicator's first rail, if this is a further one.
    first: Option<First>,
    stage: Stage,
}

#[derive(Debug)]
enum Stage {
    /// A device is to be opened, for the endpoint if there is one.
    Closed(Box<Lead>, Option<SharedEndpoint>),
    Ready(Box<Ready>),
}

/// An endpoint, and what the communicator has of its own there.
#[derive(Debug)]
pub struct Ready {
    pub endpoint: Access,
    pub secret: Option<Secret>,
    pub first: Option<First>,
    pub memory: Memory,
    /// The memory for its node, if it may be the one that makes it.
    pub node: Option<node::Memory>,
    pub introduction: Introduction,
}

impl Preparation {
    /// Prepares that of a bootstrap, which is asked for nothing that takes the others. On an endpoint, the settings are [a communicator's](SharedEndpoint::settings_for)
    /// there, with the deepest ring that it may have. A further rail of a communicator has the key of its first one.
    ///
    /// # Errors
    /// If there is no device, or the endpoint has no memory for a further communicator.
    pub fn new(
        origin: Origin<'_>,
        bootstrap: &dyn Bootstrap,
        settings: &Settings,
        first: Option<First>,
    ) -> Result<Self, String> {
        let (rank, size) = (bootstrap.rank(), bootstrap.size());
        let secret = if settings.mac { Some(bootstrap.secret()?) } else { None };
        let stage = match origin {
            Origin::Own(context) => {
                Stage::Closed(Box::new(Lead::New(Prospect::new(settings, context)?)), None)
            }
            Origin::Shared(shared) => match shared.opened() {
                Some(endpoint) => {
                    let place = (rank, size);
                    let ready = Ready::new(endpoint, place, settings, (secret.clone(), first))?;
                    Stage::Ready(Box::new(ready))
                }
                None => Stage::Closed(Box::new(shared.prospect()?), Some(shared.clone())),
            },
        };
        Ok(Preparation { rank, size, secret, first, stage })
    }

    /// What it says to the others, on a host below these switches.
    pub fn proposal(&self, terms: Terms, switches: SwitchPath) -> Proposal {
        let (fabrics, introduction) = match &self.stage {
            Stage::Closed(lead, _) => (lead.fabrics(), None),
            Stage::Ready(ready) => {
                let fabric = ready.endpoint.see().site.fabric;
                (vec![fabric], Some(ready.introduction.clone()))
            }
        };
        Proposal { terms, whereabouts: whereabouts(switches, fabrics), introduction }
    }

    /// Opens a device in this place, if none is open.
    ///
    /// # Errors
    /// If it cannot be opened.
    pub(super) fn open(self, place: Place, settings: &Settings) -> Result<Ready, String> {
        let Preparation { rank, size, secret, first, stage } = self;
        let endpoint = match stage {
            Stage::Ready(ready) => return Ok(*ready),
            Stage::Closed(lead, Some(shared)) => shared.open(*lead, rank, size, place)?,
            Stage::Closed(lead, None) => match *lead {
                Lead::New(prospect) => Access::Own(Box::new(prospect.open(rank, size, place)?)),
                Lead::Open(_) => unreachable!("only an endpoint is open before"),
            },
        };
        Ready::new(endpoint, (rank, size), settings, (secret, first))
    }
}

impl Ready {
    fn new(
        endpoint: Access,
        (rank, size): (Rank, u32),
        settings: &Settings,
        (secret, first): (Option<Secret>, Option<First>),
    ) -> Result<Self, String> {
        let seen = endpoint.see();
        let mac = secret.as_ref().zip(seen.keys.as_ref()).map(|(secret, keys)| keys.offer(secret));
        let Site { address, adapter, joiner, .. } = &seen.site;
        // The endpoint's buffers are as long as its own settings say.
        let tags = match settings.fills_datagrams() && seen.settings.fills_datagrams() {
            true => seen.free_tags(),
            false => FreeTags::default(),
        };
        let slot_len = tags.slot_len(address.packet_len);
        let memory = Memory::new(seen.device.domain(), slot_len, size, settings);
        let memory = memory.map_err(|error| error.to_string())?;
        let mut random = generator(rank);
        let kind = joiner.address_kind(settings.group_family);
        let draw = Draw {
            key: first.map_or_else(|| random.next_u64(), |First { key: Key(key), .. }| key),
            seed: random.next_u64(),
            groups: std::array::from_fn(|_: usize| draw(&mut random, kind)),
        };
        let (ring, cells) = memory.exposed();
        let node = offer(settings, host());
        let made = node.place().filter(|_| size > 1);
        let made = made.and_then(|_| make(settings, address.packet_len, draw.key));
        let introduction = Introduction {
            address: *address,
            adapter: *adapter,
            port: PortUse { rate: joiner.speed.rate, pkey: joiner.partition.pkey },
            node,
            memory: made.as_ref().map(node::Memory::told),
            ring,
            cells,
            draw,
            offer: seen.datagrams.groups().offer(),
            mac,
            tags,
        };
        drop(seen);
        Ok(Ready { endpoint, secret, first, memory, node: made, introduction })
    }
}
