//! The adapter that is imitated in this process.

use crate::node::{self, Node};
use crate::profile::Profile;
use crate::real;
use std::sync::OnceLock;

/// What is imitated, and the devices that it is imitated with.
pub struct Adapter {
    pub profile: Profile,
    pub node: Node,
}

static ADAPTER: OnceLock<Option<Adapter>> = OnceLock::new();

/// What a call of the program's is answered with; none if it goes to the library as it is.
pub fn adapter() -> Option<&'static Adapter> {
    if real::is_inside() { None } else { ADAPTER.get_or_init(Adapter::asked_for).as_ref() }
}

/// The same for an InfiniBand port.
pub fn infiniband() -> Option<&'static Adapter> {
    adapter().filter(|adapter| adapter.profile.is_infiniband)
}

impl Adapter {
    fn asked_for() -> Option<Adapter> {
        let wanted = std::env::var("VERBCAST_ADAPTER").ok()?;
        match Profile::parse(&wanted) {
            Ok(profile) => {
                let node = node::read(profile.lid);
                Some(Adapter { profile, node })
            }
            Err(error) => die(&format!("VERBCAST_ADAPTER={wanted}: {error}")),
        }
    }
}

/// Ends the process, which cannot be told of an error in any other way.
pub fn die(error: &str) -> ! {
    eprintln!("error: {error}");
    std::process::exit(125);
}

/// Sets `errno`, and is it.
pub fn errno(number: i32) -> i32 {
    // SAFETY: errno's location is valid for this thread.
    unsafe { *libc::__errno_location() = number };
    number
}
