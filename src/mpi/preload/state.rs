//! What hangs on a communicator.

use super::super::{Error, Layout, Member, MpiError, Way};
use super::call::{Call, Refusal};
use super::codes::Codes;
use super::reason::Reason;
use super::retire;
use super::set_up::Decision;
use super::slot::Slot;
use super::tally;
use crate::broadcast::Error::Call as CallError;
use crate::rank::Rank;
use mpi::ffi::{self, MPI_Comm};
use std::ffi::c_int;
use std::sync::{Mutex, PoisonError};

/// What hangs on a communicator: the way that all its broadcasts take.
pub struct State {
    /// The same at all ranks, and another for each communicator.
    pub number: u64,
    way: Result<Mutex<Option<Active>>, Reason>,
}

/// Broadcasts by multicast.
struct Active {
    member: Member,
    slot: Slot,
    rank: u32,
    size: u32,
    /// The code of the first error. After it there are no more broadcasts.
    failed: Option<c_int>,
}

// SAFETY: what is not Send in it are handles, which name the same objects in all threads; which of them may
// call MPI is for the program to keep to, whose calls bring us here.
unsafe impl Send for Active {}

/// How a broadcast ended that did not succeed.
enum Trouble {
    /// MPI is to say what is wrong with the arguments.
    Refused,
    /// The error handler is to run with this code.
    Failed(c_int),
}

impl State {
    /// What was decided.
    pub fn new(decision: Decision) -> Self {
        let Decision { way, number, rank, size } = decision;
        let active = |(member, slot)| Active { member, slot, rank, size, failed: None };
        State { number, way: way.map(|made| Mutex::new(Some(active(made)))) }
    }

    /// Broadcasts, and returns what the program's call is to return.
    ///
    /// # Safety
    /// As for `MPI_Bcast`; `alone` is a communicator of this process alone whose errors are returned.
    pub unsafe fn broadcast(&self, call: &Call, codes: &Codes, alone: MPI_Comm) -> c_int {
        let active = match &self.way {
            // SAFETY: promised by the caller.
            Err(reason) => return unsafe { pass(call, *reason) },
            Ok(active) => active,
        };
        let outcome = {
            let mut active = active.lock().unwrap_or_else(PoisonError::into_inner);
            let active = active.as_mut().expect("the communicator was freed during a broadcast");
            // SAFETY: promised by the caller.
            unsafe { active.broadcast(call, codes, alone) }
        };
        // The lock is free again: an error handler may free the communicator.
        // SAFETY: promised by the caller.
        unsafe {
            match outcome {
                Ok(()) => {
                    tally::count_multicast(call.bytes());
                    ffi::MPI_SUCCESS as c_int
                }
                Err(Trouble::Refused) => {
                    tally::count_passed(Reason::Refused, 0);
                    call.pass()
                }
                Err(Trouble::Failed(code)) => call.raise(code),
            }
        }
    }

    /// Frees everything. Collective.
    pub fn leave(&self) {
        let Ok(active) = &self.way else { return };
        let active = active.lock().unwrap_or_else(PoisonError::into_inner).take();
        let Some(Active { member, slot, failed, .. }) = active else { return };
        let (way, link) = member.into_parts();
        if let Way::Multicast(broadcaster) = way {
            retire::retire(*broadcaster, slot, failed.is_some());
        }
        drop(link);
    }
}

impl Active {
    unsafe fn broadcast(
        &mut self,
        call: &Call,
        codes: &Codes,
        alone: MPI_Comm,
    ) -> Result<(), Trouble> {
        if let Some(code) = self.failed {
            return Err(Trouble::Failed(code));
        }
        // SAFETY: promised by the caller.
        if let Err(refusal) = unsafe { call.check(alone, self.size) } {
            self.give_up(codes.failed(), &why(refusal));
            return Err(Trouble::Refused);
        }
        // SAFETY: promised by the caller; the arguments are right.
        let mut outcome = unsafe { self.try_broadcast(call) };
        if matches!(outcome, Err(Error::Broadcast(CallError(_)))) {
            // As many are in flight as may be: the others are behind.
            // SAFETY: the same.
            outcome = self.flush().and_then(|()| unsafe { self.try_broadcast(call) });
        }
        let Err(error) = outcome else { return Ok(()) };
        let code = codes.of(&error);
        match &error {
            Error::Mpi(_) | Error::TooLong | Error::Broadcast(CallError(_)) => {
                // The others know nothing of it.
                self.give_up(code, &error.to_string());
            }
            Error::Broadcast(_) => self.fail(code, &error.to_string()),
        }
        Err(Trouble::Failed(code))
    }

    fn flush(&mut self) -> Result<(), Error> {
        match self.member.way_mut() {
            Way::Multicast(broadcaster) => Ok(broadcaster.flush()?),
            Way::Mpi(_) => Ok(()),
        }
    }

    unsafe fn try_broadcast(&mut self, call: &Call) -> Result<(), Error> {
        let count = usize::try_from(call.count).map_err(|_| Error::TooLong)?;
        // SAFETY: the type is committed, and the buffer is as the caller promised.
        unsafe {
            let layout = Layout::new(call.datatype, count)?;
            let len = layout.message_len().ok_or(Error::TooLong)?;
            if call.buffer.is_null() && layout.is_contiguous() && len > 0 {
                let code = ffi::MPI_ERR_BUFFER as c_int;
                return Err(MpiError { call: "MPI_Bcast", code }.into());
            }
            self.member.broadcast(Rank(call.root as u32), call.buffer, &layout, call.comm)
        }
    }

    /// Ends it, and has the other ranks get an error rather than wait.
    fn give_up(&mut self, code: c_int, why: &str) {
        if let Way::Multicast(broadcaster) = self.member.way_mut() {
            broadcaster.abort(why);
        }
        self.fail(code, why);
    }

    fn fail(&mut self, code: c_int, why: &str) {
        self.failed = Some(code);
        let Active { rank, size, .. } = self;
        tally::say(&format!("rank {rank} of {size}: MPI_Bcast failed: {why}"));
    }
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

/// Has MPI's own function do it, and counts why.
///
/// # Safety
/// As for `MPI_Bcast`.
pub unsafe fn pass(call: &Call, reason: Reason) -> c_int {
    // SAFETY: promised by the caller; where MPI has taken the arguments, the type is one.
    unsafe {
        let code = call.pass();
        let bytes = if code as u32 == ffi::MPI_SUCCESS { call.bytes() } else { 0 };
        tally::count_passed(reason, bytes);
        code
    }
}
