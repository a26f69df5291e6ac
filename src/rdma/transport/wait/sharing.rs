//! Whether a rank has its core for itself, as its yields show: one that finds nobody else who could run returns at once,
//! and the kernel counts a switch for each other one.
//!
//! That tells more than the numbers of ranks and of cores would: a rank may be bound to some cores, a job to a share of
//! them, and other programs run too.

/// Yields by which it is judged.
const YIELDS: u32 = 8;
/// Of these, switches from which on the core counts as shared. A rank with a core of its own shares it with the kernel's
/// own threads, which carry SoftRoCE's packets, but for most of its yields there are none that could run.
const SWITCHES: u64 = YIELDS as u64 / 2;
/// Naps after which a rank yields again, to see whether its core is still shared.
const NAPS: u32 = 64;

/// What is known of the core.
#[derive(Debug, Default)]
pub struct Sharing {
    is_shared: bool,
    /// Yields since it was judged; the first only begins the count.
    yields: u32,
    /// The thread's switches at the first of them.
    switches: u64,
    /// Naps since it was judged.
    naps: u32,
}

impl Sharing {
    /// Whether to nap now, instead of a yield.
    pub fn is_to_nap(&mut self) -> bool {
        let is_to_nap = self.is_shared && self.naps < NAPS;
        self.naps += u32::from(is_to_nap);
        is_to_nap
    }

    /// The thread has yielded; `switches` says how often the kernel has switched to others so far.
    pub fn note_yield(&mut self, switches: impl FnOnce() -> u64) {
        match self.yields {
            0 => (self.switches, self.yields) = (switches(), 1),
            YIELDS => self.judge(switches()),
            _ => self.yields += 1,
        }
    }

    fn judge(&mut self, switches: u64) {
        // Another thread, which has counted fewer, may have taken over.
        self.is_shared = switches.saturating_sub(self.switches) >= SWITCHES;
        (self.yields, self.naps) = (0, 0);
    }
}

/// How often the kernel has let others run in place of this thread although it could go on.
pub fn switches() -> u64 {
    // SAFETY: the structure is plain data, for which zero is valid.
    let mut usage: libc::rusage = unsafe { std::mem::zeroed() };
    // SAFETY: `usage` has the room that is written.
    let answer = unsafe { libc::getrusage(libc::RUSAGE_THREAD, &raw mut usage) };
    match answer {
        0 => u64::try_from(usage.ru_nivcsw).unwrap_or_default(),
        _ => 0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What is known after so many yields in a row, each of which has switched or not.
    fn after(sharing: &mut Sharing, each: impl Fn(u32) -> bool) {
        let mut switches = 1000;
        for at in 0..=YIELDS {
            switches += u64::from(each(at));
            sharing.note_yield(|| switches);
        }
    }

    #[test]
    fn a_core_to_which_most_yields_let_others_is_shared() {
        let mut sharing = Sharing::default();
        assert!(!sharing.is_to_nap());
        after(&mut sharing, |_| true);
        assert!(sharing.is_to_nap());
    }

    #[test]
    fn a_core_that_now_and_then_somebody_wants_is_its_own() {
        let mut sharing = Sharing::default();
        after(&mut sharing, |at| at % 3 == 0);
        assert!(!sharing.is_to_nap());
    }

    #[test]
    fn whether_it_is_still_shared_is_seen_again() {
        let mut sharing = Sharing::default();
        after(&mut sharing, |_| true);
        assert_eq!((0..2 * NAPS).filter(|_| sharing.is_to_nap()).count(), NAPS as usize);
        after(&mut sharing, |_| false);
        assert!(!sharing.is_to_nap());
        after(&mut sharing, |_| true);
        assert!(sharing.is_to_nap());
    }

    #[test]
    fn a_thread_that_has_counted_fewer_does_no_harm() {
        let mut sharing = Sharing { switches: 1 << 40, yields: YIELDS, ..Sharing::default() };
        sharing.note_yield(|| 3);
        assert!(!sharing.is_to_nap());
    }
}
