//! The CPU time of a process.

use serde::{Deserialize, Serialize};
use std::iter::Sum;
use std::ops::{Add, AddAssign, Sub};

/// What a process has used, in nanoseconds. What the kernel does for it in threads of its own is in neither.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct CpuTime {
    /// In the program and its libraries.
    pub user: u64,
    /// In the kernel, on its behalf.
    pub system: u64,
}

impl Add for CpuTime {
    type Output = CpuTime;

    fn add(self, other: CpuTime) -> CpuTime {
        CpuTime { user: self.user + other.user, system: self.system + other.system }
    }
}

impl AddAssign for CpuTime {
    fn add_assign(&mut self, other: CpuTime) {
        *self = *self + other;
    }
}

impl Sub for CpuTime {
    type Output = CpuTime;

    /// What was used since `before`. The kernel divides the sum anew each time it is asked, so that either part may
    /// seem to shrink a little.
    fn sub(self, before: CpuTime) -> CpuTime {
        CpuTime {
            user: self.user.saturating_sub(before.user),
            system: self.system.saturating_sub(before.system),
        }
    }
}

impl Sum for CpuTime {
    fn sum<I: Iterator<Item = CpuTime>>(times: I) -> CpuTime {
        times.fold(CpuTime::default(), Add::add)
    }
}
