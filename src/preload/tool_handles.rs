//! The handles by which tools read this library's variables, beside those of MPI.
//!
//! Variables stay at their indices, and MPI may get more of them (MPI 4.0, section 15.3.7): this library's are behind those that
//! MPI had when they were first told, and what MPI gets later is behind them.

use super::library::Word;
use std::collections::HashMap;
use std::ffi::c_int;
use std::sync::{LazyLock, Mutex, MutexGuard, PoisonError};

/// Whose variable has an index.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    /// MPI's, by its own index.
    Theirs(c_int),
    /// One of [`VARIABLES`](super::variables::VARIABLES).
    Ours(usize),
}

/// Where an index of a tool's leads, with `count` variables of this library behind the first `base` of MPI.
pub fn place(index: c_int, base: c_int, count: c_int) -> Place {
    match index {
        _ if index < base => Place::Theirs(index),
        _ if index < base + count => Place::Ours((index - base) as usize),
        _ => Place::Theirs(index - count),
    }
}

/// The index that tools know a variable of MPI by.
pub fn index_of_theirs(index: c_int, base: c_int, count: c_int) -> c_int {
    if index < base { index } else { index + count }
}

/// A handle for a variable: what it has counted while it was started.
#[derive(Debug)]
struct Handle {
    session: Word,
    variable: usize,
    held: u64,
    /// The variable's value when it was started, if it is.
    since: Option<u64>,
    /// Memory of its own, so that no handle of MPI's has the same address.
    _address: Box<u8>,
}

/// The handles of a process.
#[derive(Debug, Default)]
pub struct Handles(HashMap<Word, Handle>);

/// No such handle in that session.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Invalid;

static HANDLES: LazyLock<Mutex<Handles>> = LazyLock::new(Mutex::default);

/// Those of this process.
pub fn handles() -> MutexGuard<'static, Handles> {
    HANDLES.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Handles {
    /// A handle for a variable, which counts nothing until it is started.
    pub fn add(&mut self, session: Word, variable: usize) -> Word {
        let address = Box::new(0_u8);
        let word = std::ptr::from_ref(&*address).addr();
        let handle = Handle { session, variable, held: 0, since: None, _address: address };
        self.0.insert(word, handle);
        word
    }

    /// Whether it is one of these.
    pub fn has(&self, handle: Word) -> bool {
        self.0.contains_key(&handle)
    }

    /// Frees a handle.
    ///
    /// # Errors
    /// If the session has no such handle.
    pub fn remove(&mut self, session: Word, handle: Word) -> Result<(), Invalid> {
        self.find(session, handle)?;
        self.0.remove(&handle);
        Ok(())
    }

    /// A session is freed, and with it its handles.
    pub fn remove_session(&mut self, session: Word) {
        self.0.retain(|_, handle| handle.session != session);
    }

    /// Does something with all handles of a session.
    pub fn for_each(&mut self, session: Word, mut each: impl FnMut(&mut Handles, Word)) {
        let of = self.0.iter().filter(|(_, handle)| handle.session == session);
        for word in of.map(|(word, _)| *word).collect::<Vec<_>>() {
            each(self, word);
        }
    }

    /// Begins to count, if it does not.
    ///
    /// # Errors
    /// If the session has no such handle.
    pub fn start(
        &mut self,
        session: Word,
        handle: Word,
        now: impl Fn(usize) -> u64,
    ) -> Result<(), Invalid> {
        let handle = self.find(session, handle)?;
        let variable = handle.variable;
        handle.since.get_or_insert_with(|| now(variable));
        Ok(())
    }

    /// Counts nothing more.
    ///
    /// # Errors
    /// If the session has no such handle.
    pub fn stop(
        &mut self,
        session: Word,
        handle: Word,
        now: impl Fn(usize) -> u64,
    ) -> Result<(), Invalid> {
        let handle = self.find(session, handle)?;
        handle.held = handle.value(now);
        handle.since = None;
        Ok(())
    }

    /// What it has counted.
    ///
    /// # Errors
    /// If the session has no such handle.
    pub fn read(
        &mut self,
        session: Word,
        handle: Word,
        now: impl Fn(usize) -> u64,
    ) -> Result<u64, Invalid> {
        Ok(self.find(session, handle)?.value(now))
    }

    /// Goes on from another value.
    ///
    /// # Errors
    /// If the session has no such handle.
    pub fn write(
        &mut self,
        session: Word,
        handle: Word,
        value: u64,
        now: impl Fn(usize) -> u64,
    ) -> Result<(), Invalid> {
        let handle = self.find(session, handle)?;
        let variable = handle.variable;
        handle.held = value;
        handle.since = handle.since.map(|_| now(variable));
        Ok(())
    }

    fn find(&mut self, session: Word, handle: Word) -> Result<&mut Handle, Invalid> {
        self.0.get_mut(&handle).filter(|handle| handle.session == session).ok_or(Invalid)
    }
}

impl Handle {
    fn value(&self, now: impl Fn(usize) -> u64) -> u64 {
        self.held + self.since.map_or(0, |since| now(self.variable).saturating_sub(since))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn variables_of_this_library_are_behind_those_of_mpi_and_stay_there() {
        // MPI had ten, and has got an eleventh since.
        let places = [
            (9, Place::Theirs(9)),
            (10, Place::Ours(0)),
            (12, Place::Ours(2)),
            (13, Place::Theirs(10)),
        ];
        for (index, expected) in places {
            assert_eq!(place(index, 10, 3), expected);
            if let Place::Theirs(theirs) = expected {
                assert_eq!(index_of_theirs(theirs, 10, 3), index);
            }
        }
    }

    #[test]
    fn a_handle_counts_while_it_is_started_whatever_others_do() {
        let mut handles = Handles::default();
        let (one, other) = (handles.add(1, 0), handles.add(2, 0));
        assert_eq!(handles.read(1, one, |_| 5), Ok(0), "nobody has started it");
        handles.start(1, one, |_| 10).unwrap();
        handles.start(1, one, |_| 11).unwrap();
        assert_eq!(handles.read(1, one, |_| 14), Ok(4));
        handles.stop(1, one, |_| 15).unwrap();
        assert_eq!(handles.read(1, one, |_| 99), Ok(5));
        handles.start(1, one, |_| 100).unwrap();
        assert_eq!(handles.read(1, one, |_| 101), Ok(6));
        handles.write(1, one, 0, |_| 101).unwrap();
        assert_eq!(handles.read(1, one, |_| 103), Ok(2), "it goes on");
        assert_eq!(handles.read(2, other, |_| 103), Ok(0));
    }

    #[test]
    fn a_handle_is_one_of_its_session_until_one_of_them_is_freed() {
        let mut handles = Handles::default();
        let (one, other, third) = (handles.add(1, 0), handles.add(2, 3), handles.add(2, 4));
        assert!(handles.has(one) && !handles.has(0));
        assert_eq!(handles.remove(2, one), Err(Invalid));
        assert_eq!(handles.remove(1, one), Ok(()));
        assert!(!handles.has(one));
        let mut all = Vec::new();
        handles.for_each(2, |_, handle| all.push(handle));
        all.sort_unstable();
        let mut expected = vec![other, third];
        expected.sort_unstable();
        assert_eq!(all, expected);
        handles.remove_session(2);
        assert!(!handles.has(other) && !handles.has(third));
    }
}
