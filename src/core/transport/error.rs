//! The failure of a transport.

use crate::cause::Cause;
use crate::rank::OpId;
use std::ops::Range;

/// Why a transport is unusable, or was asked for what it cannot do.
#[derive(Clone, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum TransportError {
    /// The device refused a call.
    #[error("{0}")]
    Device(#[source] Cause),
    /// The device has told that it, or its port, failed.
    #[error("{device} port {port}: {event}")]
    Fatal {
        /// The device.
        device: String,
        /// Its port.
        port: u8,
        /// What it has told.
        event: String,
    },
    /// A datagram could not be sent.
    #[error("a send on {device} failed: {reason}")]
    Send {
        /// The device.
        device: String,
        /// What the completion says.
        reason: String,
    },
    /// The device keeps requests that it should have given up.
    #[error("{device} does not end the requests of QP {qp:#08x}, which is in the error state")]
    Stuck {
        /// The device.
        device: String,
        /// The QP's number.
        qp: u32,
    },
    /// The system did not let the caller wait.
    #[error("waiting for {device} failed: {source}")]
    Wait {
        /// The device.
        device: String,
        /// What the system says.
        source: Cause,
    },
    /// The caller has not looked whether there is room.
    #[error("there is no room for {0}")]
    NoRoom(String),
    /// Bytes were asked for of a message that was not lent.
    #[error("{0} is in flight, but its message was not lent")]
    NotLent(OpId),
    /// Bytes that came are not a fragment of their message.
    #[error("bytes {range:?} of {op} are not a fragment")]
    NotAFragment {
        /// Whose message.
        op: OpId,
        /// Which bytes of it.
        range: Range<usize>,
    },
    /// Another thread panicked in the middle of a step.
    #[error("another thread panicked while it used the endpoint")]
    Poisoned,
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::error::Error;
    use std::io;

    #[test]
    fn what_the_device_said_is_kept() {
        let error = TransportError::Device(Cause::new(io::Error::from_raw_os_error(5)));
        let cause = error.source().and_then(|cause| cause.downcast_ref::<io::Error>());
        assert_eq!(cause.and_then(io::Error::raw_os_error), Some(5));
    }
}
