//! `MPI_Bcast` itself, for a library that is preloaded under an MPI program that nobody recompiles.
//!
//! The symbols of C and Fortran are in `exports`, `requests`, `start` and `fortran`; whatever verbcast does not do itself they
//! pass on to MPI's own. A communicator's first broadcast makes its `State`, which hangs on it as
//! an attribute: `set_up` decides, by votes, which way all its broadcasts take. `Process` holds what
//! there is once in a process; when a communicator is freed, or MPI is finalised, its broadcaster is
//! `retire`d. `tally` counts all ways for `VERBCAST_STATS`, and `verdict`
//! says of all ranks' summaries what held them up. `tools` shows the `variables` to those that ask MPI for its own, and
//! `metrics` writes them into a file.
//!
//! A non-blocking broadcast is `in_flight`, in the `queue` of its communicator, which is then `busy`; its request is
//! a `promise`, and the `hook` has MPI bring it forward while the program waits. A `persistent` one is a non-blocking
//! one each time that it is started; `requests` and `fortran_requests` are what the program starts, completes
//! and frees it by.
//!
//! Only `PMPI_` functions are called in here, so that nothing comes back in. No function unwinds into the
//! program: a panic in an `extern "C"` function ends the process with its message, which MPI's launcher
//! takes for the failure that it is.

mod active;
mod adapter;
mod alone;
mod attendance;
mod busy;
mod call;
mod codes;
mod exports;
mod first;
mod fortran;
mod fortran_requests;
mod hook;
mod in_flight;
mod launched;
mod library;
mod listed;
mod meetings;
mod metrics;
mod own_type;
mod persistent;
mod place;
mod process;
mod promise;
mod queue;
mod reason;
mod requests;
mod retire;
mod roster;
mod set_up;
mod settings;
mod slot;
mod start;
mod state;
mod summary;
mod sync;
mod tally;
mod threads;
mod tool_handles;
mod tools;
mod totals;
mod variables;
mod verdict;
