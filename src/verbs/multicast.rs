//! Attaching a queue pair to a multicast group.

use super::error::{Error, Result, check};
use super::qp::{self, QueuePair};
use std::sync::Arc;
use verbcast_sys as sys;

/// A queue pair's place in a multicast group; dropping it detaches, while the queue pair lives.
#[derive(Debug)]
pub struct Attachment {
    qp: Arc<qp::Inner>,
    mgid: [u8; 16],
    mlid: u16,
    is_attached: bool,
}

impl Attachment {
    /// Attaches `qp` to the group.
    ///
    /// # Errors
    /// If the device refuses, for instance because its limit per group is reached.
    pub fn new(qp: &QueuePair, mgid: [u8; 16], mlid: u16) -> Result<Self> {
        let qp = Arc::clone(&qp.inner);
        let gid = sys::ibv_gid { raw: mgid };
        // SAFETY: the QP is live and `gid` valid during the call.
        let answer = unsafe { sys::ibv_attach_mcast(qp.ptr.as_ptr(), &gid, mlid) };
        check("ibv_attach_mcast", &qp.name(), answer).map_err(|error| match error.errno() {
            libc::ENOMEM => error.with_hint(
                "the device takes no more QPs in a group, or no more groups (max_mcast_qp_attach, \
                 max_mcast_grp of `verbcast info`)",
            ),
            _ => error,
        })?;
        Ok(Attachment { qp, mgid, mlid, is_attached: true })
    }

    /// Detaches.
    ///
    /// # Errors
    /// If the device refuses.
    pub fn close(mut self) -> Result<()> {
        self.detach()
    }

    fn detach(&mut self) -> std::result::Result<(), Error> {
        if !std::mem::take(&mut self.is_attached) {
            return Ok(());
        }
        let gid = sys::ibv_gid { raw: self.mgid };
        // SAFETY: the QP is live, since this value holds it, and is attached.
        let answer = unsafe { sys::ibv_detach_mcast(self.qp.ptr.as_ptr(), &gid, self.mlid) };
        check("ibv_detach_mcast", &self.qp.name(), answer)
    }
}

impl Drop for Attachment {
    fn drop(&mut self) {
        super::log_failure(self.detach());
    }
}
