//! An endpoint that several communicators of a process use.

use super::agreement::Place;
use super::opening::Prospect;
use crate::rdma::endpoint::{Access, Endpoint, Usage, lock};
use crate::rdma::settings::Settings;
use std::sync::{Arc, Mutex, PoisonError};
use verbcast_core::protocol::Depths;
use verbcast_core::rank::Rank;
use verbcast_core::wire::Fabric;
use verbcast_verbs::Context;

/// Processes that a shared endpoint has room for at first; it makes more when it meets more.
const MIN_PROCESSES: u32 = 16;

/// What several communicators of a process share: a device, its queues and buffers, and a connection with
/// each other process, however many communicators both are in. A clone is the same endpoint.
///
/// Each communicator adds the memory that others reach (its ring and its table of numbers), and at most one
/// multicast group. The device is chosen and opened with the first communicator. It is
/// closed when the last clone and the last communicator are gone.
///
/// Whoever waits on one communicator receives for all of them: datagrams for the others are kept up to a
/// bound and then lost, as datagrams may be; reliable messages are kept in memory of the program's, as far
/// as the protocols let other ranks run ahead. Every process uses an endpoint of its own, and an endpoint
/// has one rank in each communicator.
///
/// Threads may use the communicators of one endpoint at the same time.
#[derive(Clone, Debug)]
pub struct SharedEndpoint {
    settings: Settings,
    /// Which of a rank's rails it stands for.
    rail: u8,
    rails: Arc<[Mutex<Lazy>]>,
}

#[derive(Debug)]
enum Lazy {
    /// To be opened, on a context that the program has opened or on the endpoint's own.
    Closed(Option<Context>),
    Open(Arc<Mutex<Endpoint>>),
}

/// What an endpoint is on, or could be opened on.
#[derive(Debug)]
pub(super) enum Lead {
    Open(Fabric),
    New(Prospect),
}

impl Lead {
    /// The fabrics that it can use, the best first.
    pub fn fabrics(&self) -> Vec<Fabric> {
        match self {
            Lead::Open(fabric) => vec![*fabric],
            Lead::New(prospect) => prospect.fabrics(),
        }
    }
}

impl SharedEndpoint {
    /// An endpoint that will use what `settings` say.
    pub fn new(settings: &Settings) -> Self {
        Self::closed(settings, None)
    }

    /// As [`new`](Self::new), on a device that the program has opened; its asynchronous events stay the
    /// program's.
    pub fn with_context(settings: &Settings, context: Context) -> Self {
        Self::closed(settings, Some(context))
    }

    fn closed(settings: &Settings, context: Option<Context>) -> Self {
        let others = (1..settings.rails.max(1)).map(|_| None);
        let rails = std::iter::once(context).chain(others);
        let rails = rails.map(|context| Mutex::new(Lazy::Closed(context))).collect();
        SharedEndpoint { settings: settings.clone(), rail: 0, rails }
    }

    /// The same endpoint, as that of another of a rank's rails.
    pub(crate) fn rail(&self, rail: u8) -> Self {
        SharedEndpoint { rail, ..self.clone() }
    }

    /// The settings of a communicator on this endpoint: of `settings`, those that are a communicator's own
    /// (timeout, multicast, messages without a copy, a ring that is no deeper than the endpoint's), and the
    /// endpoint's for the rest.
    pub fn settings_for(&self, settings: &Settings) -> Settings {
        let Settings { timeout, multicast, zero_copy, .. } = *settings;
        let ring = settings.depths.ring.min(self.settings.depths.ring);
        let depths = Depths { ring, ..self.settings.depths };
        Settings { timeout, multicast, zero_copy, depths, ..self.settings.clone() }
    }

    /// Slots of the ring that the next communicator may have.
    pub(crate) fn next_ring(&self) -> u32 {
        self.settings.ring_among(self.usage().communicators)
    }

    /// What it takes of its devices now; nothing before the first communicator.
    pub fn usage(&self) -> Usage {
        let usage = |rail: u8| match &*self.rail(rail).lazy() {
            Lazy::Closed(_) => Usage::default(),
            Lazy::Open(endpoint) => lock(endpoint).usage(),
        };
        (0..self.settings.rails).map(usage).fold(Usage::default(), Usage::and)
    }

    /// What it could be opened on, if it is not open yet.
    pub(super) fn prospect(&self) -> Result<Lead, String> {
        let context = match &*self.lazy() {
            Lazy::Open(endpoint) => return Ok(Lead::Open(lock(endpoint).site.fabric)),
            Lazy::Closed(context) => context.clone(),
        };
        Prospect::new(&self.settings.of_rail(self.rail), context).map(Lead::New)
    }

    /// The endpoint, if it is open.
    pub(super) fn opened(&self) -> Option<Access> {
        match &*self.lazy() {
            Lazy::Open(endpoint) => Some(Access::Shared(Arc::clone(endpoint))),
            Lazy::Closed(_) => None,
        }
    }

    /// The endpoint, opened now if it is not.
    pub(super) fn open(
        &self,
        lead: Lead,
        rank: Rank,
        size: u32,
        place: Place,
    ) -> Result<Access, String> {
        let mut lazy = self.lazy();
        let endpoint = match (&*lazy, lead) {
            (Lazy::Open(endpoint), _) => Arc::clone(endpoint),
            (Lazy::Closed(_), Lead::New(prospect)) => {
                let endpoint = prospect.open(rank, size.max(MIN_PROCESSES), place)?;
                let endpoint = Arc::new(Mutex::new(endpoint.into_shared()));
                *lazy = Lazy::Open(Arc::clone(&endpoint));
                endpoint
            }
            (Lazy::Closed(_), Lead::Open(_)) => unreachable!("an endpoint stays open"),
        };
        // Another thread may have opened it meanwhile, with other ranks.
        let fabric = lock(&endpoint).site.fabric;
        match fabric.is_on(&place.fabric) {
            true => Ok(Access::Shared(endpoint)),
            false => Err(format!(
                "its endpoint is open on {fabric}, but the ranks have in common only {}",
                place.fabric
            )),
        }
    }

    fn lazy(&self) -> std::sync::MutexGuard<'_, Lazy> {
        // What is in it is whole at any time.
        let lazy = &self.rails[usize::from(self.rail)];
        lazy.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn settings_that_it_was_made_with_are_those_of_its_communicators() {
        for rails in [1, 2, 4] {
            let settings = Settings { rails, ..Settings::default() };
            let endpoint = SharedEndpoint::new(&settings);
            assert_eq!(endpoint.settings_for(&settings), settings);
            assert_eq!(endpoint.usage(), Usage::default());
        }
    }
}
