//! Fragments that come one behind the other, on their way to the memory of their message.

use super::RdmaTransport;
use super::loans::Loan;
use verbcast_core::protocol::Run;
use verbcast_core::transport::{Purpose, TransportError};

impl RdmaTransport {
    /// Takes what has come of a run, into memory of the driver or into a message that was lent. Where receives may be posted for
    /// places of lent messages, it takes nothing.
    pub(super) fn receive_run(
        &mut self,
        run: &Run,
        into: Option<&mut [u8]>,
    ) -> Result<u32, TransportError> {
        let RdmaTransport { endpoint, channel, loans, now, .. } = self;
        if !loans.by_op.values().all(|loan| loan.places.are_closed()) {
            return Ok(0);
        }
        let mut endpoint = endpoint.hold();
        if let Some(bytes) = into {
            return endpoint.take_run(*channel, *now, run, bytes);
        }
        let Some(Loan { lease, purpose: Purpose::Receive, .. }) = loans.by_op.get(&run.op) else {
            return Ok(0);
        };
        // SAFETY: the lease ends only when its loan is removed. No receive is posted for any place of the message,
        // nothing is sent that was not here before, and what is received comes from slots, or from the memory of a node. To take
        // a run calls nothing of a lease.
        unsafe { lease.fill(run.range(), |bytes| endpoint.take_run(*channel, *now, run, bytes)) }
    }
}
