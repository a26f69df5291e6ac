//! Things that happen to an imitated adapter while a program runs: when, and what comes of them.

use crate::{connections, context, datagrams, ids};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};
use verbcast_sys::*;

/// Something that happens.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Happening {
    /// An asynchronous event of the port.
    Port(ibv_event_type),
    /// The link of another port of the device goes down.
    OtherPortDown,
    /// Every UD queue pair fails.
    QpFatal,
    /// Every connection flushes its requests, and no failure is told.
    RequestsFlushed,
    /// The device fails, and with it every queue pair.
    DeviceFatal,
    /// Memberships end, without an event of the device.
    Ousted,
}

/// What they are called in a profile.
pub const NAMES: [(&str, Happening); 12] = [
    ("port_err", Happening::Port(IBV_EVENT_PORT_ERR)),
    ("port_active", Happening::Port(IBV_EVENT_PORT_ACTIVE)),
    ("lid_change", Happening::Port(IBV_EVENT_LID_CHANGE)),
    ("sm_change", Happening::Port(IBV_EVENT_SM_CHANGE)),
    ("client_reregister", Happening::Port(IBV_EVENT_CLIENT_REREGISTER)),
    ("pkey_change", Happening::Port(IBV_EVENT_PKEY_CHANGE)),
    ("gid_change", Happening::Port(IBV_EVENT_GID_CHANGE)),
    ("other_port_err", Happening::OtherPortDown),
    ("qp_fatal", Happening::QpFatal),
    ("requests_flushed", Happening::RequestsFlushed),
    ("device_fatal", Happening::DeviceFatal),
    ("ousted", Happening::Ousted),
];

/// When it happens.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum When {
    /// So long after the process has opened its first device.
    After(Duration),
    /// When the process has received so many datagrams.
    Datagrams(u64),
}

/// The device's other port.
const OTHER_PORT: i32 = 2;

/// When the process opened its first device.
static BEGUN: Mutex<Option<Instant>> = Mutex::new(None);
static DATAGRAMS: AtomicU64 = AtomicU64::new(0);
static HAVE_PKEYS_CHANGED: AtomicBool = AtomicBool::new(false);

/// Whether the table of P_Keys has changed.
pub fn has_pkeys_changed() -> bool {
    HAVE_PKEYS_CHANGED.load(Ordering::Relaxed)
}

/// The process has opened a device; with the first one, time begins.
pub fn begin(happenings: &[(Happening, When)]) {
    let mut begun = BEGUN.lock().unwrap_or_else(PoisonError::into_inner);
    if begun.is_some() {
        return;
    }
    *begun = Some(Instant::now());
    for (happening, when) in happenings {
        if let (happening, When::After(delay)) = (*happening, *when) {
            thread::spawn(move || {
                thread::sleep(delay);
                happen(happening);
            });
        }
    }
}

/// How long ago the process opened its first device.
pub fn age() -> Duration {
    let begun = BEGUN.lock().unwrap_or_else(PoisonError::into_inner);
    begun.map_or(Duration::ZERO, |begun| begun.elapsed())
}

/// A datagram has come.
pub fn count_datagram(happenings: &[(Happening, When)]) {
    let count = DATAGRAMS.fetch_add(1, Ordering::Relaxed) + 1;
    for (happening, when) in happenings {
        if *when == When::Datagrams(count) {
            happen(*happening);
        }
    }
}

fn happen(happening: Happening) {
    match happening {
        Happening::Port(kind) => {
            match kind {
                IBV_EVENT_PORT_ERR => context::set_port_up(false),
                IBV_EVENT_PORT_ACTIVE => context::set_port_up(true),
                IBV_EVENT_PKEY_CHANGE => HAVE_PKEYS_CHANGED.store(true, Ordering::Relaxed),
                _ => {}
            }
            context::tell(kind, context::Element::Port(1));
            // Those that end all memberships of the port (Linux, `mcast_event_handler`).
            let ends = [
                IBV_EVENT_PORT_ERR,
                IBV_EVENT_LID_CHANGE,
                IBV_EVENT_SM_CHANGE,
                IBV_EVENT_CLIENT_REREGISTER,
            ];
            if ends.contains(&kind) {
                ids::end_memberships();
            }
        }
        Happening::OtherPortDown => {
            context::tell(IBV_EVENT_PORT_ERR, context::Element::Port(OTHER_PORT));
        }
        Happening::QpFatal => {
            for qp in datagrams::fail_all() {
                context::tell(IBV_EVENT_QP_FATAL, context::Element::Qp(qp));
            }
        }
        Happening::RequestsFlushed => connections::flush_all(),
        Happening::DeviceFatal => {
            datagrams::fail_all();
            context::tell(IBV_EVENT_DEVICE_FATAL, context::Element::Port(0));
        }
        Happening::Ousted => ids::end_memberships(),
    }
}
