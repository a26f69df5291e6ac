//! What there is once in a process, and the states that hang on its communicators.

use super::alone::Alone;
use super::call::Call;
use super::codes::Codes;
use super::first::First;
use super::library::Word;
use super::reason::Reason;
use super::set_up::set_up;
use super::settings::Settings;
use super::state::{State, pass, pass_non_blocking};
use super::{launched, metrics, persistent, retire, tally, totals};
use mpi::ffi::{self, MPI_Comm, MPI_Request};
use multicast::mpi::{Link, MpiError};
use std::ffi::{c_int, c_void};
use std::ptr;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

/// Communicators that have had non-blocking broadcasts, and whose ranks have not decided yet.
static ASKED: AtomicUsize = AtomicUsize::new(0);
/// MPI is being finalised.
static ENDED: AtomicBool = AtomicBool::new(false);
const SUCCESS: c_int = ffi::MPI_SUCCESS as c_int;
static PROCESS: OnceLock<Result<Process, MpiError>> = OnceLock::new();

/// What there is once in a process.
struct Process {
    /// The attribute of communicators that is their state.
    keyval: c_int,
    /// That of those that are counted as having [`ASKED`].
    asked: c_int,
    /// Those of communicators whose ranks have not decided, about their first broadcasts.
    first: First,
    codes: Codes,
    alone: Alone,
    /// The owner of `alone`, until the end.
    link: Mutex<Option<Link>>,
    /// The communicators that have a state, by its number.
    states: Mutex<Vec<(u64, MPI_Comm)>>,
}

// SAFETY: handles name the same objects in all threads; which of them may call MPI is for the program to
// keep to, whose calls bring us here.
unsafe impl Send for Process {}
// SAFETY: the same, and what changes is behind locks.
unsafe impl Sync for Process {}

/// Does what the program's call asks for, and returns what it is to return.
///
/// # Safety
/// As for `MPI_Bcast`, of the MPI that this library was built with.
pub unsafe fn broadcast(call: &Call) -> c_int {
    // SAFETY: promised by the caller.
    unsafe {
        match find(call.comm) {
            Found::State(state) => return state.broadcast(call),
            Found::Undecided(process) => match process.first.takes(call.comm) {
                Ok(true) => return pass(call, Reason::Early),
                Ok(false) => {}
                Err(error) => return fail(call, error.code, &error.to_string()),
            },
            Found::Pass(_) | Found::Failed(_) => {}
        }
        match decide(call) {
            Ok(state) => state.broadcast(call),
            Err(Without::Pass(reason)) => pass(call, reason),
            Err(Without::Failed(code)) => code,
        }
    }
}

/// Begins what the program's call asks for, makes its request, and returns what it is to return. As long as
/// its ranks have not decided, MPI does it: to decide takes all ranks, and this must wait for none. They do at the next
/// call in which they [meet].
///
/// # Safety
/// As for `MPI_Ibcast`, of the MPI that this library was built with.
pub unsafe fn begin(call: &Call, request: *mut MPI_Request) -> c_int {
    // SAFETY: promised by the caller.
    unsafe {
        match find(call.comm) {
            Found::State(state) => state.begin(call, request),
            Found::Pass(reason) => pass_non_blocking(call, request, reason),
            Found::Failed(error) => fail(call, error.code, &error.to_string()),
            Found::Undecided(process) => {
                let early = process.first.takes_non_blocking(call.comm);
                match early.and_then(|early| process.ask(call.comm).map(|()| early)) {
                    Ok(true) => pass_non_blocking(call, request, Reason::Early),
                    Ok(false) => pass_non_blocking(call, request, Reason::NonBlocking),
                    Err(error) => fail(call, error.code, &error.to_string()),
                }
            }
        }
    }
}

/// Whether any communicator waits for its ranks to decide.
pub fn has_asked() -> bool {
    ASKED.load(Ordering::Acquire) > 0
}

/// The ranks of a communicator meet, and decide if it waits for that. What fails is told by the communicator's error
/// handler. Collective where it does.
///
/// # Safety
/// It is a communicator of the MPI that this library was built with, or null.
pub unsafe fn meet(comm: MPI_Comm) {
    // SAFETY: promised by the caller; the call is only used to tell of errors.
    unsafe {
        let (buffer, datatype) = (ptr::null_mut(), ffi::RSMPI_UINT8_T);
        let call = Call { buffer, count: 0, datatype, root: 0, comm };
        let Found::Undecided(process) = find(comm) else { return };
        if !process.is_asking(comm) {
            return;
        }
        match process.first.are_over(comm) {
            Ok(true) => {
                process.forget_asking(comm);
                // Each error has been told.
                let _ = decide(&call);
            }
            Ok(false) => {}
            Err(error) => _ = fail(&call, error.code, &error.to_string()),
        }
    }
}

/// Prepares what the program's call asks for, makes its request, and returns what it is to return. To decide takes
/// all ranks, which a program must expect here (MPI 4.0, section 6.13).
///
/// # Safety
/// As for `MPI_Bcast_init`, of the MPI that this library was built with.
pub unsafe fn prepare(call: &Call, info: Word, request: *mut MPI_Request) -> c_int {
    // SAFETY: promised by the caller.
    unsafe {
        let made = decide(call).and_then(|state| Ok((another(call, &state)?, state)));
        let way = match made {
            Ok(states) => Ok(states),
            Err(Without::Pass(reason)) => Err(reason),
            Err(Without::Failed(code)) => return code,
        };
        persistent::prepare(call, info, request, way)
    }
}

/// A state for a broadcast of its own on the call's communicator. Collective.
///
/// # Safety
/// MPI runs, and the calling thread may call it. All ranks of the communicator call this in the same order.
unsafe fn another(call: &Call, state: &State) -> Result<Arc<State>, Without> {
    // SAFETY: promised by the caller.
    let made = unsafe { state.another() };
    // SAFETY: the same.
    made.map_err(|error| Without::Failed(unsafe { state.raise(call, &error) }))?
        .map_err(Without::Pass)
}

/// Why a call's communicator has no state.
enum Without {
    /// MPI does its broadcasts.
    Pass(Reason),
    /// MPI has failed, and the call is to return this.
    Failed(c_int),
}

/// The state of the call's communicator, on which all its ranks decide if it has none. Collective.
///
/// # Safety
/// The call's communicator is one; the calling thread may call MPI.
unsafe fn decide(call: &Call) -> Result<Arc<State>, Without> {
    // SAFETY: promised by the caller.
    unsafe {
        let failed = |error: MpiError| Without::Failed(fail(call, error.code, &error.to_string()));
        let (process, decision) = match find(call.comm) {
            Found::State(state) => return Ok(state),
            Found::Pass(reason) => return Err(Without::Pass(reason)),
            Found::Failed(error) => return Err(failed(error)),
            Found::Undecided(process) => {
                process.forget_asking(call.comm);
                (process, set_up(call.comm))
            }
        };
        let decision = decision.map_err(|error| {
            let code = process.codes.of(&error, &format!("MPI_Bcast failed: {error}"));
            Without::Failed(call.raise(code))
        })?;
        let state = State::new(decision, process.codes, process.alone);
        process.attach(call.comm, state).map_err(failed)
    }
}

/// What there is for a communicator.
enum Found {
    State(Arc<State>),
    /// MPI does its broadcasts.
    Pass(Reason),
    /// MPI has failed.
    Failed(MpiError),
    /// Its ranks have not decided yet.
    Undecided(&'static Process),
}

/// Finds what there is for a communicator.
///
/// # Safety
/// It is one, or null, or MPI is not running.
unsafe fn find(comm: MPI_Comm) -> Found {
    // SAFETY: promised by the caller; MPI runs where it is asked for anything else.
    unsafe {
        if !is_running() {
            return Found::Pass(Reason::NotRunning);
        }
        if comm == ffi::RSMPI_COMM_NULL {
            return Found::Pass(Reason::Refused);
        }
        let process = match PROCESS.get_or_init(|| Process::new()) {
            Ok(process) => process,
            Err(error) => return Found::Failed(error.clone()),
        };
        match process.state_of(comm).and_then(|state| match state {
            Some(state) => Ok(Found::State(state)),
            None => Ok(why_without_state(comm)?.map_or(Found::Undecided(process), Found::Pass)),
        }) {
            Ok(found) => found,
            Err(error) => Found::Failed(error),
        }
    }
}

/// # Safety
/// The call's communicator is one; the calling thread may call MPI.
unsafe fn fail(call: &Call, code: c_int, why: &str) -> c_int {
    tally::say(&format!("MPI_Bcast failed: {why}"));
    // SAFETY: promised by the caller.
    unsafe { call.raise(code) }
}

fn is_running() -> bool {
    if PROCESS.get().is_some() {
        return !ENDED.load(Ordering::Acquire);
    }
    let (mut has_begun, mut is_over) = (0, 0);
    // SAFETY: both may be called at any time.
    unsafe {
        ffi::PMPI_Initialized(&mut has_begun);
        ffi::PMPI_Finalized(&mut is_over);
    }
    has_begun != 0 && is_over == 0
}

/// Why a communicator needs no state: for what can be asked of MPI without the other ranks.
///
/// # Safety
/// MPI runs, and the calling thread may call it; `comm` is a communicator.
unsafe fn why_without_state(comm: MPI_Comm) -> Result<Option<Reason>, MpiError> {
    let (mut is_inter, mut size) = (0, 0);
    // SAFETY: promised by the caller.
    unsafe {
        MpiError::check("MPI_Comm_test_inter", ffi::PMPI_Comm_test_inter(comm, &mut is_inter))?;
        MpiError::check("MPI_Comm_size", ffi::PMPI_Comm_size(comm, &mut size))?;
    }
    Ok(match (is_inter, size) {
        (0, 1) => Some(Reason::OneRank),
        (0, _) => None,
        _ => Some(Reason::InterCommunicator),
    })
}

impl Process {
    /// Makes it, and sees to its end with MPI's: whatever hangs on `MPI_COMM_SELF` is deleted before
    /// anything else is finalised (MPI 4.0, section 11.2.4).
    ///
    /// # Safety
    /// MPI runs, and the calling thread may call it.
    unsafe fn new() -> Result<Self, MpiError> {
        let (mut keyval, mut asked, mut ending) = (0, 0, 0);
        // SAFETY: promised by the caller; the functions have the types that MPI wants.
        unsafe {
            let state = ptr::null_mut();
            let code = ffi::PMPI_Comm_create_keyval(Some(copy), Some(forget), &mut keyval, state);
            MpiError::check("MPI_Comm_create_keyval", code)?;
            let code = ffi::PMPI_Comm_create_keyval(Some(copy), Some(answer), &mut asked, state);
            MpiError::check("MPI_Comm_create_keyval", code)?;
            let first = First::new()?;
            let code = ffi::PMPI_Comm_create_keyval(Some(copy), Some(end), &mut ending, state);
            MpiError::check("MPI_Comm_create_keyval", code)?;
            let link = Link::new(ffi::RSMPI_COMM_SELF)?;
            if launched::is_first() {
                Settings::get().complaints.iter().for_each(|what| tally::say(what));
            }
            let codes = Codes::new()?;
            let mut rank = 0;
            let code = ffi::PMPI_Comm_rank(ffi::RSMPI_COMM_WORLD, &mut rank);
            MpiError::check("MPI_Comm_rank", code)?;
            metrics::start(rank as u32);
            let code = ffi::PMPI_Comm_set_attr(ffi::RSMPI_COMM_SELF, ending, state);
            MpiError::check("MPI_Comm_set_attr", code)?;
            // It is gone when its last attribute is.
            ffi::PMPI_Comm_free_keyval(&mut ending);
            let (alone, link) = (Alone::of(&link), Mutex::new(Some(link)));
            Ok(Process { keyval, asked, first, codes, alone, link, states: Mutex::default() })
        }
    }

    fn states(&self) -> MutexGuard<'_, Vec<(u64, MPI_Comm)>> {
        self.states.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A communicator's state, if it has one.
    ///
    /// # Safety
    /// MPI runs, and the calling thread may call it; `comm` is a communicator.
    unsafe fn state_of(&self, comm: MPI_Comm) -> Result<Option<Arc<State>>, MpiError> {
        let (mut value, mut is_set) = (ptr::null_mut::<c_void>(), 0);
        // SAFETY: promised by the caller; the value is what `attach` has set, which owns a reference until
        // `forget` is called.
        unsafe {
            let to = ptr::from_mut(&mut value).cast();
            let code = ffi::PMPI_Comm_get_attr(comm, self.keyval, to, &mut is_set);
            MpiError::check("MPI_Comm_get_attr", code)?;
            if is_set == 0 {
                return Ok(None);
            }
            let state = value.cast_const().cast::<State>();
            Arc::increment_strong_count(state);
            Ok(Some(Arc::from_raw(state)))
        }
    }

    /// A communicator's ranks are to decide when they meet.
    ///
    /// # Safety
    /// MPI runs, and the calling thread may call it; `comm` is a communicator.
    unsafe fn ask(&self, comm: MPI_Comm) -> Result<(), MpiError> {
        // SAFETY: promised by the caller.
        unsafe {
            if self.is_asking(comm) {
                return Ok(());
            }
            ASKED.fetch_add(1, Ordering::AcqRel);
            let code = ffi::PMPI_Comm_set_attr(comm, self.asked, ptr::null_mut());
            let set = MpiError::check("MPI_Comm_set_attr", code);
            if set.is_err() {
                ASKED.fetch_sub(1, Ordering::AcqRel);
            }
            set
        }
    }

    /// # Safety
    /// MPI runs, and the calling thread may call it; `comm` is a communicator.
    unsafe fn is_asking(&self, comm: MPI_Comm) -> bool {
        let (mut value, mut is_set) = (ptr::null_mut::<c_void>(), 0);
        // SAFETY: promised by the caller.
        let code = unsafe {
            ffi::PMPI_Comm_get_attr(comm, self.asked, ptr::from_mut(&mut value).cast(), &mut is_set)
        };
        code == SUCCESS && is_set != 0
    }

    /// Whether its ranks were to decide; from now on they are not.
    ///
    /// # Safety
    /// MPI runs, and the calling thread may call it; `comm` is a communicator.
    unsafe fn forget_asking(&self, comm: MPI_Comm) -> bool {
        // SAFETY: promised by the caller; the attribute is there.
        unsafe { self.is_asking(comm) && ffi::PMPI_Comm_delete_attr(comm, self.asked) == SUCCESS }
    }

    /// # Safety
    /// MPI runs, and the calling thread may call it; `comm` is a communicator.
    unsafe fn attach(&self, comm: MPI_Comm, state: State) -> Result<Arc<State>, MpiError> {
        let state = Arc::new(state);
        totals::note(&state);
        let value = Arc::into_raw(Arc::clone(&state));
        // SAFETY: promised by the caller; `forget` takes the reference back.
        unsafe {
            let attribute = value.cast_mut().cast();
            let code = ffi::PMPI_Comm_set_attr(comm, self.keyval, attribute);
            if let Err(error) = MpiError::check("MPI_Comm_set_attr", code) {
                drop(Arc::from_raw(value));
                return Err(error);
            }
        }
        self.states().push((state.number, comm));
        Ok(state)
    }
}

/// Copies nothing: a new communicator gets a state of its own.
///
/// # Safety
/// For MPI alone, which gives what the function's type says.
unsafe extern "C" fn copy(
    _: MPI_Comm,
    _: c_int,
    _: *mut c_void,
    _: *mut c_void,
    _: *mut c_void,
    is_copied: *mut c_int,
) -> c_int {
    // SAFETY: MPI gives the address of a number.
    unsafe { *is_copied = 0 };
    SUCCESS
}

/// A communicator's ranks have met, or it is freed.
///
/// # Safety
/// For MPI alone, which gives what the function's type says.
unsafe extern "C" fn answer(_: MPI_Comm, _: c_int, _: *mut c_void, _: *mut c_void) -> c_int {
    ASKED.fetch_sub(1, Ordering::AcqRel);
    SUCCESS
}

/// A communicator is freed, and its state with it.
///
/// # Safety
/// For MPI alone, which gives what the function's type says. The value is what `attach` has set.
unsafe extern "C" fn forget(comm: MPI_Comm, _: c_int, value: *mut c_void, _: *mut c_void) -> c_int {
    // SAFETY: the value is what `attach` has set, and this is called once for it.
    let state = unsafe { Arc::from_raw(value.cast_const().cast::<State>()) };
    if let Some(Ok(process)) = PROCESS.get() {
        process.states().retain(|(_, other)| *other != comm);
    }
    // SAFETY: a thread of the program's has called MPI, which calls this.
    unsafe { state.leave() };
    SUCCESS
}

/// MPI is being finalised.
///
/// # Safety
/// For MPI alone, which gives what the function's type says.
unsafe extern "C" fn end(_: MPI_Comm, _: c_int, _: *mut c_void, _: *mut c_void) -> c_int {
    ENDED.store(true, Ordering::Release);
    let Some(Ok(process)) = PROCESS.get() else { return SUCCESS };
    let mut left = process.states().clone();
    // All ranks free in the same order, as it is collective.
    left.sort_unstable_by_key(|(number, _)| *number);
    let link = process.link.lock().unwrap_or_else(PoisonError::into_inner).take();
    // SAFETY: MPI still runs; each of the communicators has the attribute.
    unsafe {
        persistent::leave();
        for (_, comm) in left {
            ffi::PMPI_Comm_delete_attr(comm, process.keyval);
        }
        if let Some(link) = link {
            let mpi = link.progress();
            retire::wait(|| mpi.run());
        }
        tally::report();
        metrics::end();
        process.first.free();
        for mut keyval in [process.keyval, process.asked] {
            ffi::PMPI_Comm_free_keyval(&mut keyval);
        }
    }
    SUCCESS
}
