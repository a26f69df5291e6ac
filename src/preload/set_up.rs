//! Which way a communicator's broadcasts take, decided once by all its ranks.

use super::adapter;
use super::hook;
use super::place;
use super::reason::Reason;
use super::settings::{Report, Settings};
use super::slot::Slot;
use super::tally;
use mpi::ffi::{self, MPI_Comm};
use multicast::bootstrap::{Bootstrap, VoteError, vote};
use multicast::broadcast::{self, Further};
use multicast::mpi::{Error, Link, Member, Question, Way, shared_endpoint};
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
    let mut link = unsafe { Link::new(comm) }?;
    let settings = Settings::get();
    let drawn = tally::draw();
    let rank = link.rank();
    let undecided = |way| Decision { way, has_hooks: false, number: drawn };
    let passes = |reason, what: &str| {
        tally::warn(reason, what, rank == Rank(0));
        undecided(Err(reason))
    };
    let asked = willing(settings, Slot::take(settings.communicators)).and_then(|slot| {
        let config = settings.config.as_ref().map_err(ToString::to_string)?;
        Ok((slot, Question::new(&link, config)))
    });
    let own = PreloadBallot {
        number: drawn,
        wants_statistics: tally::is_wanted(),
        one_node: settings.one_node,
        has_adapter: has_adapter(),
        has_hook: hook::is_there(),
        proposal: asked.as_ref().map(|(_, question)| question.ballot()).unwrap_or_default(),
    };
    let own = own.emit();
    let said = asked.as_ref().map(|_| &own[..]).map_err(String::as_str);
    let refused = |who: Rank, said: &str| {
        let Refusal { reason, what, .. } = Refusal::read(said);
        passes(reason, &format!("{who}: {what}"))
    };
    let (ballots, (slot, question)) = match (vote(&mut link, said), asked) {
        (Ok(ballots), Ok(asked)) => (ballots, asked),
        (Ok(_), Err(what)) => return Ok(refused(rank, &what)),
        (Err(VoteError::Refused(refusals)), _) => {
            let wants_statistics =
                |(_, said): &(Rank, String)| Refusal::read(said).wants_statistics;
            // SAFETY: the link is a communicator for as long as it is there.
            if refusals.iter().any(wants_statistics) && unsafe { is_world(link.comm()) } {
                tally::sum_is_wanted();
            }
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
    let proposals: Vec<_> = ballots.into_iter().map(|ballot| ballot.proposal).collect();
    let way = match question.decide(link, &proposals) {
        Ok(way) => way,
        Err(Error::Broadcast(error)) => {
            return decided(passes(Reason::Settings, &error.to_string()));
        }
        Err(error) => return Err(error),
    };
    note_usage(settings);
    match way {
        Way::Multicast(member) => {
            place::note(member.broadcaster());
            decided(undecided(Ok(Made { member, slot })))
        }
        Way::Mpi(why) => decided(passes(Reason::Unavailable, &why)),
    }
}

/// Decides about broadcasts of their own order among the ranks of a communicator with multicast, whose link this is a clone
/// of: by what each rank has [prepared](prepare_further), in one exchange. Collective.
///
/// # Errors
/// If MPI fails.
pub fn set_up_further(
    link: Link,
    prepared: Result<(Slot, Further), String>,
) -> Result<Result<Made, Reason>, Error> {
    let rank = link.rank();
    let (slot, further) = match prepared {
        Ok((slot, further)) => (Some(slot), Ok(further)),
        Err(what) => (None, Err(what)),
    };
    match (Member::further(link, further), slot) {
        (Ok(member), Some(slot)) => {
            note_usage(Settings::get());
            Ok(Ok(Made { member: Box::new(member), slot }))
        }
        (Ok(_), None) => unreachable!("who has refused gets nothing"),
        (Err(Error::Broadcast(broadcast::Error::Setup(VoteError::Refused(refusals)))), _) => {
            let (who, said) = &refusals[0];
            let Refusal { reason, what, .. } = Refusal::read(said);
            tally::warn(reason, &format!("{who}: {what}"), rank == Rank(0));
            Ok(Err(reason))
        }
        (Err(error), _) => Err(error),
    }
}

/// This rank's part of [`set_up_further`], which does not wait for the others; or its [refusal](Refusal).
pub fn prepare_further(member: &mut Member) -> Result<(Slot, Further), String> {
    let settings = Settings::get();
    let slot = willing(settings, Slot::take(settings.communicators))?;
    let unavailable = |what: String| {
        Refusal { reason: Reason::Unavailable, wants_statistics: false, what: &what }.write()
    };
    Ok((slot, member.broadcaster_mut().further().map_err(unavailable)?))
}

fn note_usage(settings: &Settings) {
    if let Ok(config) = &settings.config {
        adapter::note(&shared_endpoint(config).usage());
    }
}

/// Why a rank would not have multicast, as it tells the others in words.
#[derive(Debug, PartialEq, Eq)]
struct Refusal<'a> {
    reason: Reason,
    wants_statistics: bool,
    what: &'a str,
}

/// Behind the index of the reason.
const WANTS_STATISTICS: char = '+';

impl<'a> Refusal<'a> {
    fn write(&self) -> String {
        let Refusal { reason, wants_statistics, what } = self;
        let wants = if *wants_statistics { WANTS_STATISTICS.to_string() } else { String::new() };
        format!("{}{wants} {what}", reason.index())
    }

    /// What another rank has said; who says something else has other settings.
    fn read(said: &'a str) -> Self {
        let known = said.split_once(' ').and_then(|(index, what)| {
            let number = index.trim_end_matches(WANTS_STATISTICS);
            let reason = Reason::at(number.parse().ok()?)?;
            Some(Refusal { reason, wants_statistics: number != index, what })
        });
        let unknown = || Refusal { reason: Reason::Settings, wants_statistics: false, what: said };
        known.unwrap_or_else(unknown)
    }
}

/// The slot, if this rank would, or its [refusal](Refusal).
fn willing<S>(settings: &Settings, slot: Option<S>) -> Result<S, String> {
    let wants_statistics = settings.report != Report::None;
    let refusal =
        |reason: Reason, what: String| Refusal { reason, wants_statistics, what: &what }.write();
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

/// Whether a communicator has the ranks of `MPI_COMM_WORLD`.
///
/// # Safety
/// MPI runs, and the calling thread may call it; `comm` is a communicator.
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
    use super::{Reason, Refusal, willing};
    use crate::settings::Settings;

    #[test]
    fn who_has_no_slot_says_why() {
        let settings = Settings::get();
        assert_eq!(willing(settings, Some(())), Ok(()));
        let said = willing::<()>(settings, None).unwrap_err();
        let Refusal { reason, what, .. } = Refusal::read(&said);
        assert_eq!(reason, Reason::Limit);
        assert!(what.contains("VERBCAST_COMMUNICATORS"), "{what}");
    }

    #[test]
    fn a_refusal_is_read_as_it_was_written() {
        for (reason, wants_statistics) in [(Reason::Off, true), (Reason::Limit, false)] {
            let refusal = Refusal { reason, wants_statistics, what: "+ why not" };
            assert_eq!(Refusal::read(&refusal.write()), refusal);
        }
        let other = Refusal { reason: Reason::Settings, wants_statistics: false, what: "why" };
        assert_eq!(Refusal::read("why"), other);
        let unknown = Refusal::read("1000 why");
        assert_eq!((unknown.reason, unknown.what), (Reason::Settings, "1000 why"));
    }
}
