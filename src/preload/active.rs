//! A communicator's broadcasts by multicast.

use super::alone::Alone;
use super::call::{Call, Refusal};
use super::codes::Codes;
use super::in_flight::InFlight;
use super::promise::Promise;
use super::queue::Queue;
use super::reason::Reason;
use super::retire;
use super::set_up::Made;
use super::slot::Slot;
use super::totals;
use mpi::ffi::{self, MPI_Comm, MPI_Request};
use multicast::bootstrap::Bootstrap;
use multicast::broadcast;
use multicast::mpi::{Error, Link, Member, MpiError};
use std::ffi::c_int;
use verbcast_core::driver::Statistics;
use verbcast_core::rank::Rank;

/// A communicator's broadcasts by multicast.
pub struct Active {
    member: Box<Member>,
    slot: Slot,
    /// Non-blocking ones.
    queue: Queue,
    /// An error that was met while the program did not ask for any.
    met: Option<Error>,
    /// The code of the first error. After it there are no more broadcasts.
    failed: Option<c_int>,
}

// SAFETY: what is not Send in it are handles and addresses of the program's buffers, which mean the same in all
// threads; which of them may call MPI is for the program to keep to, whose calls bring us here.
unsafe impl Send for Active {}

/// Why a broadcast was not done by multicast.
pub enum NotDone {
    /// MPI's own is to do it: to say what is wrong with the arguments, or since the table leaves it to MPI.
    ByMpi(Reason),
    /// The error handler is to run with this code.
    Failed(c_int),
}

impl Active {
    /// With what was made for it.
    pub fn new(made: Made) -> Self {
        let Made { member, slot } = made;
        totals::note_device(&member.broadcaster().description().device);
        Active { member, slot, queue: Queue::default(), met: None, failed: None }
    }

    /// The communicator beside the program's.
    pub fn link(&self) -> &Link {
        self.member.link()
    }

    /// Membership.
    pub fn member_mut(&mut self) -> &mut Member {
        &mut self.member
    }

    /// What the broadcaster has counted.
    pub fn statistics(&self) -> Statistics {
        self.member.broadcaster().statistics()
    }

    /// The code of the first error, if there was one.
    pub fn failed(&self) -> Option<c_int> {
        self.failed
    }

    /// Broadcasts, when none is in flight.
    ///
    /// # Errors
    /// If the arguments are wrong, or the broadcast fails.
    ///
    /// # Safety
    /// As for `MPI_Bcast`; `alone` is a communicator of this process alone whose errors are returned.
    pub unsafe fn broadcast(
        &mut self,
        call: &Call,
        codes: &Codes,
        alone: MPI_Comm,
    ) -> Result<(), NotDone> {
        // SAFETY: promised by the caller; the arguments are right where they have been checked.
        unsafe {
            self.check(call, codes, alone)?;
            let mut outcome = self.try_broadcast(call);
            if matches!(&outcome, Err(Error::Broadcast(error)) if error.is_too_many()) {
                // The others are behind.
                outcome = self.flush().and_then(|()| self.try_broadcast(call));
            }
            outcome.map_err(|error| NotDone::Failed(self.end_with(&error, codes)))
        }
    }

    /// Begins a broadcast, and makes the program's request.
    ///
    /// # Errors
    /// If the arguments are wrong, or MPI makes no request.
    ///
    /// # Safety
    /// As for `MPI_Ibcast`.
    pub unsafe fn begin(
        &mut self,
        call: &Call,
        request: *mut MPI_Request,
        codes: &Codes,
        alone: Alone,
    ) -> Result<(), NotDone> {
        // SAFETY: promised by the caller; the arguments are right where they have been checked.
        unsafe {
            self.check(call, codes, alone.comm)?;
            match InFlight::new(call, request, self.member.link(), alone.progress) {
                Ok(latest) => self.queue.push(latest),
                Err(error) => return Err(NotDone::Failed(self.end_with(&error, codes))),
            }
            // An error ends all that is in flight, and is told by the requests.
            if let Err(error) = self.queue.start(self.member.broadcaster_mut()) {
                self.end_with(&error.into(), codes);
            }
        }
        Ok(())
    }

    /// Brings what is in flight forward, and returns the requests of what has ended.
    ///
    /// # Safety
    /// MPI runs, and the calling thread may call it.
    pub unsafe fn advance(&mut self, codes: &Codes) -> Ended {
        let mut ended = Ended::default();
        if self.queue.is_empty() {
            return ended;
        }
        if self.failed.is_none() {
            let (broadcaster, link) = self.member.parts_mut();
            // SAFETY: promised by the caller.
            unsafe {
                let outcome = match self.met.take() {
                    Some(error) => Err(error),
                    None => self.queue.advance(broadcaster, link.comm(), &mut ended.complete),
                };
                if let Err(error) = outcome {
                    self.end_with(&error, codes);
                }
            }
        }
        if self.failed.is_some() {
            // SAFETY: promised by the caller.
            ended.lost = unsafe { self.queue.give_up() };
        }
        ended
    }

    /// Serves the other ranks, and starts what may start then, without a call of MPI.
    pub fn serve(&mut self) {
        if self.failed.is_none() && self.met.is_none() {
            let broadcaster = self.member.broadcaster_mut();
            let served = broadcaster.progress().and_then(|()| self.queue.start(broadcaster));
            self.met = served.err().map(Error::from);
        }
    }

    /// Frees everything, of which so much is counted already. Collective.
    ///
    /// # Safety
    /// MPI runs, and the calling thread may call it.
    pub unsafe fn leave(self, counted: Statistics) {
        let Active { member, slot, met, failed, .. } = self;
        let (broadcaster, link) = member.into_parts();
        // SAFETY: promised by the caller.
        unsafe { totals::add_waits(&link, broadcaster.waited_for()) };
        retire::retire(broadcaster, counted, slot, failed.is_some() || met.is_some());
        drop(link);
    }

    /// # Safety
    /// As [`Call::check`], for a call on the communicator of this state.
    unsafe fn check(&mut self, call: &Call, codes: &Codes, alone: MPI_Comm) -> Result<(), NotDone> {
        // SAFETY: promised by the caller.
        unsafe {
            if let Some(error) = self.met.take() {
                self.end_with(&error, codes);
            }
            if let Err(refusal) = call.check(alone, self.link().size()) {
                if self.failed.is_none() {
                    self.refuse(refusal, codes);
                }
                return Err(NotDone::ByMpi(Reason::Refused));
            }
            // Also after an error, of which other ranks may not know yet: they wait for this one in MPI.
            if self.leaves_to_mpi(call) {
                return Err(NotDone::ByMpi(Reason::Table));
            }
            self.failed.map_or(Ok(()), |code| Err(NotDone::Failed(code)))
        }
    }

    /// Whether the table leaves it to MPI: the same at every rank.
    ///
    /// # Safety
    /// MPI has taken the arguments.
    pub unsafe fn leaves_to_mpi(&self, call: &Call) -> bool {
        // SAFETY: promised by the caller.
        self.member.leaves_any_to_mpi() && self.member.leaves_to_mpi(unsafe { call.message_len() })
    }

    /// # Safety
    /// MPI would take the call's arguments, and the calling thread may call it.
    unsafe fn try_broadcast(&mut self, call: &Call) -> Result<(), Error> {
        // SAFETY: promised by the caller.
        unsafe {
            let layout = call.layout()?;
            self.member.broadcast(Rank(call.root as u32), call.buffer, &layout)
        }
    }

    fn flush(&mut self) -> Result<(), Error> {
        Ok(self.member.broadcaster_mut().flush()?)
    }

    /// There are no more broadcasts after this error; its code.
    ///
    /// # Safety
    /// MPI runs, and the calling thread may call it.
    unsafe fn end_with(&mut self, error: &Error, codes: &Codes) -> c_int {
        let why = error.to_string();
        // SAFETY: promised by the caller.
        let code = unsafe { codes.of(error, &self.in_words(&why)) };
        match error {
            Error::Mpi(_) | Error::TooLong | Error::Broadcast(broadcast::Error::Call(_)) => {
                // The others know nothing of it.
                self.give_up(code, &why);
            }
            _ => self.failed = Some(code),
        }
        code
    }

    /// Ends it, since this rank has called wrongly, and has the other ranks get an error rather than wait.
    ///
    /// # Safety
    /// MPI runs, and the calling thread may call it.
    pub unsafe fn refuse(&mut self, refusal: Refusal, codes: &Codes) {
        let why = why(refusal);
        // SAFETY: promised by the caller.
        let code = unsafe { codes.failed(&self.in_words(&why)) };
        self.give_up(code, &why);
    }

    /// Ends it, and has the other ranks get an error rather than wait.
    fn give_up(&mut self, code: c_int, why: &str) {
        self.member.broadcaster_mut().abort(why);
        self.failed = Some(code);
    }

    fn in_words(&self, why: &str) -> String {
        format!("rank {} of {}: MPI_Bcast failed: {why}", self.link().rank().0, self.link().size())
    }
}

/// Requests of broadcasts that have ended.
#[derive(Default)]
pub struct Ended {
    /// Their messages are in the program's buffers.
    pub complete: Vec<Promise>,
    /// Their communicator has failed.
    pub lost: Vec<Promise>,
}

fn why(refusal: Refusal) -> String {
    match refusal {
        Refusal::Root(root) => format!("called MPI_Bcast with root {root}"),
        Refusal::Arguments(code) => {
            let mut class = code;
            // SAFETY: MPI has given the code. The class has a shorter text, which fits into a notice.
            unsafe { ffi::PMPI_Error_class(code, &mut class) };
            MpiError { call: "called MPI_Bcast wrongly", code: class }.to_string()
        }
    }
}
