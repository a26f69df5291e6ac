//! Registered memory in slots, on a device.

use crate::needs;
use std::panic::{AssertUnwindSafe, catch_unwind};
use verbcast_verbs::{Pool, ProtectionDomain};

#[test]
fn a_slot_opens_no_other_pool() {
    let Some(names) = needs::devices() else { return };
    let devices = verbcast_verbs::devices().unwrap();
    let context = devices.iter().find(|one| names[0] == one.name()).unwrap().open().unwrap();
    let domain = ProtectionDomain::new(&context).unwrap();
    let (mut pool, mut slots) = Pool::new(&domain, 1, 64).unwrap();
    let mut slot = slots.pop().unwrap();
    pool.bytes_mut(&mut slot)[0] = 7;
    assert_eq!(pool.clone().bytes(&slot)[0], 7, "a clone is the same memory");
    let (mut other, _own) = Pool::new(&domain, 1, 64).unwrap();
    let read = catch_unwind(AssertUnwindSafe(|| other.bytes(&slot)[0]));
    let written = catch_unwind(AssertUnwindSafe(|| other.bytes_mut(&mut slot)[0] = 1));
    assert!(read.is_err() && written.is_err());
    // Nor does one that was its pool's, once that is gone.
    drop(pool);
    let (next, _own) = Pool::new(&domain, 1, 64).unwrap();
    assert!(catch_unwind(AssertUnwindSafe(|| next.bytes(&slot)[0])).is_err());
}
