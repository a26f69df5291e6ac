//! A broadcast in flight.

use super::process::count;
use super::{Error, Layout, Member};
use crate::broadcast::Pending;
use mpi::datatype::BufferMut;
use mpi::request::Scope;
use mpi::traits::AsRaw;
use std::cell::RefCell;
use std::fmt;
use std::task::Poll;

/// A broadcast in flight, in rsmpi's style: to be waited for or tested until it is complete.
///
/// # Panics
/// If it is dropped before, as rsmpi's requests.
#[must_use]
pub struct Request<'a, 'b, B: ?Sized, S: Scope<'b>> {
    /// None when it has ended.
    under_way: Option<UnderWay<'a, 'b, B, S>>,
}

enum UnderWay<'a, 'b, B: ?Sized, S: Scope<'b>> {
    Multicast(Multicast<'a, 'b, B, S>),
    Mpi(mpi::request::Request<'b, B, S>),
}

struct Multicast<'a, 'b, B: ?Sized, S> {
    member: &'a RefCell<Member>,
    pending: Pending,
    is_root: bool,
    buffer: &'b mut B,
    scope: S,
}

impl<'a, 'b, B: BufferMut + ?Sized, S: Scope<'b>> Request<'a, 'b, B, S> {
    pub(super) fn by_multicast(
        member: &'a RefCell<Member>,
        pending: Pending,
        is_root: bool,
        buffer: &'b mut B,
        scope: S,
    ) -> Self {
        scope.register();
        let multicast = Multicast { member, pending, is_root, buffer, scope };
        Request { under_way: Some(UnderWay::Multicast(multicast)) }
    }

    pub(super) fn by_mpi(request: mpi::request::Request<'b, B, S>) -> Self {
        Request { under_way: Some(UnderWay::Mpi(request)) }
    }

    /// Waits until the message is in the buffer.
    ///
    /// # Errors
    /// As [`broadcast_into`](super::Process::broadcast_into).
    pub fn wait(mut self) -> Result<(), Error> {
        match self.under_way.take() {
            None => Ok(()),
            Some(UnderWay::Mpi(request)) => {
                request.wait_without_status();
                Ok(())
            }
            Some(UnderWay::Multicast(Multicast { member, pending, is_root, buffer, scope })) => {
                let mut member = member.borrow_mut();
                let message = member.broadcaster_mut().wait(pending).map_err(Error::from);
                finish(&member, message, is_root, buffer, &scope)
            }
        }
    }

    /// Makes progress, and says whether the message is in the buffer; it stays so once it is.
    ///
    /// # Errors
    /// As [`broadcast_into`](super::Process::broadcast_into).
    pub fn test(&mut self) -> Poll<Result<(), Error>> {
        match self.under_way.take() {
            None => Poll::Ready(Ok(())),
            Some(UnderWay::Mpi(request)) => match request.test() {
                Ok(_) => Poll::Ready(Ok(())),
                Err(request) => {
                    self.under_way = Some(UnderWay::Mpi(request));
                    Poll::Pending
                }
            },
            Some(UnderWay::Multicast(mut multicast)) => {
                let mut member = multicast.member.borrow_mut();
                let outcome = member.broadcaster_mut().try_wait(&mut multicast.pending);
                let Poll::Ready(message) = outcome else {
                    drop(member);
                    self.under_way = Some(UnderWay::Multicast(multicast));
                    return Poll::Pending;
                };
                let Multicast { is_root, buffer, scope, .. } = multicast;
                let message = message.map_err(Error::from);
                Poll::Ready(finish(&member, message, is_root, buffer, &scope))
            }
        }
    }
}

/// Puts the message into the buffer, which is nobody else's from then on.
fn finish<'b, B: BufferMut + ?Sized, S: Scope<'b>>(
    member: &Member,
    message: Result<Vec<u8>, Error>,
    is_root: bool,
    buffer: &mut B,
    scope: &S,
) -> Result<(), Error> {
    // SAFETY: it was registered when the request was made, and ends here.
    unsafe { scope.unregister() };
    let message = message?;
    if !is_root {
        let datatype = buffer.as_datatype();
        // SAFETY: rsmpi's buffers have committed types and are writable where those say.
        unsafe {
            let layout = Layout::new(datatype.as_raw(), count(buffer))?;
            layout.unpack(&message, buffer.pointer_mut(), member.link().comm())?;
        }
    }
    Ok(())
}

impl<'b, B: ?Sized, S: Scope<'b>> Drop for Request<'_, 'b, B, S> {
    fn drop(&mut self) {
        if self.under_way.is_some() && !std::thread::panicking() {
            panic!("a broadcast was dropped without being waited for");
        }
    }
}

impl<'b, B: ?Sized, S: Scope<'b>> fmt::Debug for Request<'_, 'b, B, S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Request").field("has_ended", &self.under_way.is_none()).finish()
    }
}
