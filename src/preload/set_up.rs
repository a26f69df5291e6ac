//! Which way a communicator's broadcasts take, decided once by all its ranks.

use super::adapter;
use super::hook;
use super::reason::Reason;
use super::settings::{OneNode, Settings};
use super::slot::Slot;
use super::tally;
use mpi::ffi::{self, MPI_Comm};
use multicast::bootstrap::{Bootstrap, VoteError, vote};
use multicast::mpi::{Error, Link, Member, Way, shared_endpoint};
use std::path::Path;
use verbcast_core::rank::Rank;

/// What came out of it.
pub struct Decision {
    /// Multicast, or why not.
    pub way: Result<Made, Reason>,
    /// Whether non-blocking ones go that way too.
    pub has_hooks: bool,
    /// A number that is the same at all ranks, and another for each communicator.
    pub number: u64,
}

/// What multicast takes.
pub struct Made {
    /// Membership.
    pub member: Box<Member>,
    /// The right to it.
    pub slot: Slot,
}

/// What a rank says before anything is made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Ballot {
    number: u64,
    wants_statistics: bool,
    one_node: OneNode,
    has_adapter: bool,
    has_hook: bool,
}

impl Ballot {
    fn emit(self) -> [u8; 12] {
        let mut bytes = [0; 12];
        bytes[..8].copy_from_slice(&self.number.to_be_bytes());
        bytes[8] = self.wants_statistics.into();
        bytes[9] = self.one_node as u8;
        bytes[10] = self.has_adapter.into();
        bytes[11] = self.has_hook.into();
        bytes
    }

    fn parse(bytes: &[u8]) -> Option<Self> {
        let (number, rest) = bytes.split_first_chunk()?;
        let [wants_statistics, one_node, has_adapter, has_hook] = *rest else { return None };
        let modes = [OneNode::Auto, OneNode::Use, OneNode::Pass];
        Some(Ballot {
            number: u64::from_be_bytes(*number),
            wants_statistics: wants_statistics != 0,
            one_node: modes.into_iter().find(|mode| *mode as u8 == one_node)?,
            has_adapter: has_adapter != 0,
            has_hook: has_hook != 0,
        })
    }
}

/// Decides about the broadcasts of a communicator. Collective.
///
/// # Errors
/// If MPI fails.
///
/// # Safety
/// MPI is initialised, and `comm` is an intra-communicator of more than one rank.
pub unsafe fn set_up(comm: MPI_Comm) -> Result<Decision, Error> {
    // SAFETY: promised by the caller.
    unsafe { set_up_on(Link::new(comm)?) }
}

/// The same over a communicator of verbcast's own. Collective.
///
/// # Errors
/// If MPI fails.
///
/// # Safety
/// MPI is initialised, and there is more than one rank.
pub unsafe fn set_up_on(mut link: Link) -> Result<Decision, Error> {
    let settings = Settings::get();
    let slot = willing(settings, Slot::take(settings.communicators));
    let drawn = tally::draw();
    let rank = link.rank();
    let undecided = |way| Decision { way, has_hooks: false, number: drawn };
    let passes = |reason, what: &str| {
        if rank == Rank(0) {
            tally::warn(reason, what);
        }
        undecided(Err(reason))
    };
    let own = Ballot {
        number: drawn,
        wants_statistics: tally::is_wanted(),
        one_node: settings.one_node,
        has_adapter: has_adapter(),
        has_hook: hook::is_there(),
    };
    let own = own.emit();
    let said = slot.as_ref().map(|_| &own[..]).map_err(String::as_str);
    let refused = |who: Rank, what: &str| {
        let (reason, what) = reason_of(what);
        passes(reason, &format!("{who}: {what}"))
    };
    let (ballots, slot) = match (vote(&mut link, said), slot) {
        (Ok(ballots), Ok(slot)) => (ballots, slot),
        (Ok(_), Err(what)) => return Ok(refused(rank, &what)),
        (Err(VoteError::Refused(refusals)), _) => {
            let (who, what) = &refusals[0];
            return Ok(refused(*who, what));
        }
        (Err(error), _) => return Err(error.into()),
    };
    let ballots: Option<Vec<Ballot>> = ballots.iter().map(|bytes| Ballot::parse(bytes)).collect();
    let Some(ballots) = ballots else {
        return Ok(passes(Reason::Settings, "the ranks have preloaded different versions"));
    };
    // SAFETY: the link is a communicator for as long as it is there.
    if ballots.iter().any(|ballot| ballot.wants_statistics) && unsafe { is_world(link.comm()) } {
        tally::sum_is_wanted();
    }
    let number = ballots[0].number;
    let has_hooks = ballots.iter().all(|ballot| ballot.has_hook);
    let decided = |decision: Decision| Ok(Decision { has_hooks, number, ..decision });
    let may_share = match ballots[0].one_node {
        OneNode::Use => false,
        OneNode::Pass => true,
        OneNode::Auto => ballots.iter().any(|ballot| ballot.has_adapter),
    };
    if may_share && link.is_one_node()? {
        return decided(passes(Reason::OneNode, ""));
    }
    let way = match Way::decide(link, settings.config.as_ref()) {
        Ok(way) => way,
        Err(Error::Broadcast(error)) => {
            return decided(passes(Reason::Settings, &error.to_string()));
        }
        Err(error) => return Err(error),
    };
    if let Ok(config) = &settings.config {
        adapter::note(&shared_endpoint(config).usage());
    }
    match way {
        Way::Multicast(member) => decided(undecided(Ok(Made { member, slot }))),
        Way::Mpi(why) => decided(passes(Reason::Unavailable, &why)),
    }
}

/// The slot, if this rank would, or the index of its reason and what it says.
fn willing<S>(settings: &Settings, slot: Option<S>) -> Result<S, String> {
    let refusal = |reason: Reason, what: String| format!("{} {what}", reason.index());
    if settings.is_off {
        return Err(refusal(Reason::Off, "VERBCAST_PRELOAD=off".to_owned()));
    }
    if let Some(mistake) = &settings.mistake {
        return Err(refusal(Reason::Settings, mistake.clone()));
    }
    if let Err(error) = &settings.config {
        return Err(refusal(Reason::Settings, error.to_string()));
    }
    slot.ok_or_else(|| {
        let most = settings.communicators;
        let what = format!("has {most} communicators with multicast (VERBCAST_COMMUNICATORS)");
        refusal(Reason::Limit, what)
    })
}

fn reason_of(said: &str) -> (Reason, &str) {
    let parts = said.split_once(' ');
    let known = parts.and_then(|(index, what)| Some((Reason::at(index.parse().ok()?)?, what)));
    known.unwrap_or((Reason::Settings, said))
}

/// Whether a communicator has the ranks of `MPI_COMM_WORLD`.
unsafe fn is_world(comm: MPI_Comm) -> bool {
    // SAFETY: promised by the caller; the values are of the library's own.
    unsafe {
        let mut outcome = ffi::RSMPI_UNEQUAL;
        ffi::PMPI_Comm_compare(comm, ffi::RSMPI_COMM_WORLD, &mut outcome);
        outcome != ffi::RSMPI_UNEQUAL
    }
}

/// Whether a device that this rank may use is more than software.
fn has_adapter() -> bool {
    let Ok(devices) = std::fs::read_dir("/sys/class/infiniband") else { return false };
    let wanted = Settings::get().config.as_ref().map(|config| &config.settings.devices[..]);
    let wanted = wanted.unwrap_or_default();
    devices.flatten().any(|device| {
        let is_wanted =
            wanted.is_empty() || wanted.iter().any(|name| **name == *device.file_name());
        is_wanted && !is_software(&device.path())
    })
}

/// SoftRoCE's devices name the network interface that they are made on as their parent; the others that
/// are software stand on no hardware.
fn is_software(device: &Path) -> bool {
    device.join("parent").exists() || !device.join("device").exists()
}

#[cfg(test)]
mod tests {
    use super::{Ballot, OneNode, Reason, reason_of, willing};
    use crate::settings::Settings;

    #[test]
    fn ballots_are_read_as_they_were_written() {
        for one_node in [OneNode::Auto, OneNode::Use, OneNode::Pass] {
            let ballot = Ballot {
                number: 77 << 40,
                wants_statistics: true,
                one_node,
                has_adapter: false,
                has_hook: true,
            };
            assert_eq!(Ballot::parse(&ballot.emit()), Some(ballot));
        }
        assert_eq!(Ballot::parse(&[0; 11]), None);
    }

    #[test]
    fn who_has_no_slot_says_why() {
        let settings = Settings::get();
        assert_eq!(willing(settings, Some(())), Ok(()));
        let said = willing::<()>(settings, None).unwrap_err();
        let (reason, what) = reason_of(&said);
        assert_eq!(reason, Reason::Limit);
        assert!(what.contains("VERBCAST_COMMUNICATORS"), "{what}");
    }
}
