//! Which way a communicator's broadcasts take, decided once by all its ranks.

use super::adapter;
use super::hook;
use super::reason::Reason;
use super::settings::Settings;
use super::slot::Slot;
use super::tally;
use mpi::ffi::{self, MPI_Comm};
use multicast::bootstrap::{Bootstrap, VoteError, vote};
use multicast::mpi::{Error, Link, Member, Way, shared_endpoint};
use std::path::Path;
use verbcast_core::rank::Rank;
use verbcast_core::wire::{OneNode, PreloadBallot};

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
    let own = PreloadBallot {
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
    let ballots: Result<Vec<_>, _> =
        ballots.iter().map(|bytes| PreloadBallot::parse(bytes)).collect();
    let ballots = match ballots {
        Ok(ballots) => ballots,
        Err(error) => {
            let what = format!("the ranks have preloaded different versions: {error}");
            return Ok(passes(Reason::Settings, &what));
        }
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
    let wanted = Settings::get().config.as_ref().map(|config| &config.device.devices[..]);
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
    use super::{Reason, reason_of, willing};
    use crate::settings::Settings;

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
