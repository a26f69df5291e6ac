//! All orders in which threads can come to what they share in the preloaded library: loom takes the place of the standard
//! library's locks and atomics. A deadlock, or a wake-up that is lost, fails too.

#[path = "../../src/preload/attendance.rs"]
mod attendance;
#[path = "../../src/preload/listed.rs"]
mod listed;
#[path = "../../src/preload/roster.rs"]
mod roster;
mod sync {
    pub use loom::sync::atomic::{AtomicBool, Ordering};
    pub use loom::sync::{Condvar, Mutex, MutexGuard};
}

use attendance::Attendance;
use listed::Counted;
use loom::sync::atomic::AtomicUsize;
use loom::thread::{self, JoinHandle};
use roster::Roster;
use std::sync::Arc;
use sync::{AtomicBool, Mutex, Ordering};

/// A communicator with so many broadcasts in flight.
struct Communicator(AtomicUsize);

impl Counted for Communicator {
    fn in_flight(&self) -> usize {
        self.0.load(Ordering::Acquire)
    }
}

impl Communicator {
    fn idle() -> Arc<Self> {
        Arc::new(Communicator(AtomicUsize::new(0)))
    }

    /// As a thread of the program does.
    fn begin(self: &Arc<Self>, roster: &Roster<Self>) {
        self.0.fetch_add(1, Ordering::AcqRel);
        roster.add(self, || true);
    }

    /// As another one does that looks for what is complete; whether there was one.
    fn complete(&self, roster: &Roster<Self>) -> bool {
        let less = |count: usize| count.checked_sub(1);
        let is_one = self.0.fetch_update(Ordering::AcqRel, Ordering::Acquire, less).is_ok();
        if is_one {
            roster.prune();
        }
        is_one
    }
}

#[test]
fn the_thread_that_serves_hears_of_the_first_broadcast() {
    loom::model(|| {
        let (roster, one) = (Arc::new(Roster::new()), Communicator::idle());
        let other = Arc::clone(&roster);
        let serving = thread::spawn(move || other.wait().len());
        one.begin(&roster);
        assert_eq!(serving.join().unwrap(), 1);
    });
}

#[test]
fn what_is_in_flight_is_listed_and_nothing_else() {
    loom::model(|| {
        let (roster, one) = (Arc::new(Roster::new()), Communicator::idle());
        let begins = {
            let (roster, one) = (Arc::clone(&roster), Arc::clone(&one));
            thread::spawn(move || (0..2).for_each(|_| one.begin(&roster)))
        };
        let completed = (0..2).filter(|_| one.complete(&roster)).count();
        begins.join().unwrap();
        let is_any = completed < 2;
        assert_eq!((roster.is_any(), roster.all().len()), (is_any, usize::from(is_any)));
        while one.complete(&roster) {}
        assert_eq!((roster.is_any(), roster.all().len()), (false, 0));
    });
}

#[test]
fn one_thread_serves_all() {
    loom::model(|| {
        let roster = Arc::new(Roster::new());
        let started = Arc::new(AtomicUsize::new(0));
        let begin = |roster: &Roster<Communicator>, started: &AtomicUsize| {
            let one = Communicator::idle();
            one.0.fetch_add(1, Ordering::AcqRel);
            roster.add(&one, || {
                started.fetch_add(1, Ordering::AcqRel);
                true
            });
        };
        let other = {
            let (roster, started) = (Arc::clone(&roster), Arc::clone(&started));
            thread::spawn(move || begin(&roster, &started))
        };
        begin(&roster, &started);
        other.join().unwrap();
        assert_eq!((started.load(Ordering::Acquire), roster.all().len()), (1, 2));
        // It ends, and the next broadcast starts another one.
        roster.leave();
        begin(&roster, &started);
        assert_eq!(started.load(Ordering::Acquire), 2);
    });
}

/// What is handed over, who takes it, and how much was taken.
struct Retiring {
    attendance: Attendance<u32>,
    is_taken_care_of: AtomicBool,
    taken: AtomicUsize,
    threads: Mutex<Vec<JoinHandle<()>>>,
}

impl Retiring {
    fn hand(self: &Arc<Self>, one: u32) {
        let own = Arc::clone(self);
        self.attendance.hand(one, || {
            let thread = thread::spawn({
                let own = Arc::clone(&own);
                move || own.attend()
            });
            own.threads.lock().unwrap().push(thread);
            true
        });
    }

    fn attend(&self) {
        let mut all = Vec::new();
        loop {
            if !self.attendance.take(&mut all) {
                return;
            }
            assert!(!self.is_taken_care_of.swap(true, Ordering::AcqRel), "two threads attend");
            self.taken.fetch_add(all.len(), Ordering::AcqRel);
            all.clear();
            self.is_taken_care_of.store(false, Ordering::Release);
        }
    }
}

#[test]
fn what_is_handed_over_is_attended_to_by_one_thread() {
    loom::model(|| {
        let retiring = Arc::new(Retiring {
            attendance: Attendance::new(),
            is_taken_care_of: AtomicBool::new(false),
            taken: AtomicUsize::new(0),
            threads: Mutex::new(Vec::new()),
        });
        retiring.hand(1);
        retiring.hand(2);
        loop {
            let next = retiring.threads.lock().unwrap().pop();
            let Some(thread) = next else { break };
            thread.join().unwrap();
        }
        assert!(!retiring.attendance.is_attended(), "nobody is there, and it is not known");
        assert_eq!(retiring.taken.load(Ordering::Acquire), 2, "something is left");
    });
}

#[test]
fn what_a_thread_leaves_is_taken_by_the_next() {
    loom::model(|| {
        let attendance = Attendance::new();
        attendance.hand(1, || true);
        attendance.leave();
        attendance.hand(2, || false);
        assert!(!attendance.is_attended(), "no thread could be started");
        let mut all = Vec::new();
        assert!(attendance.take(&mut all));
        assert_eq!(all, [1, 2]);
    });
}
