//! The imitated adapters, by raw verbs: each test runs itself once more, with the library preloaded. Needs a device of
//! SoftRoCE, named in `VERBCAST_TEST_DEVICES`.

mod again;
mod infiniband;
mod keys;
#[path = "../../../support/needs.rs"]
mod needs;
mod rig;
