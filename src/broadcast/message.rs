//! What a broadcast that is waited for later takes and gives back.

use super::Buffer;
use crate::rdma::Owned;

/// Memory that a broadcast takes until its message is waited for: a `Vec<u8>`, or a [`Buffer`], which need not
/// be registered with the device.
pub trait Message: sealed::Memory {}

impl Message for Vec<u8> {}

impl Message for Buffer {}

pub(super) mod sealed {
    use crate::rdma::Owned;

    /// What the transport needs of it.
    pub trait Memory: Sized {
        /// Its bytes.
        fn len(&self) -> usize;

        /// As the transport takes it.
        fn into_owned(self) -> Owned;

        /// What [`into_owned`](Self::into_owned) made of one.
        fn from_owned(owned: Owned) -> Self;
    }
}

impl sealed::Memory for Vec<u8> {
    fn len(&self) -> usize {
        self.as_slice().len()
    }

    fn into_owned(self) -> Owned {
        Owned::Vec(self)
    }

    fn from_owned(owned: Owned) -> Self {
        owned.into_vec()
    }
}

impl sealed::Memory for Buffer {
    fn len(&self) -> usize {
        <[u8]>::len(self)
    }

    fn into_owned(self) -> Owned {
        Buffer::into_owned(self)
    }

    fn from_owned(owned: Owned) -> Self {
        Buffer::from_owned(owned)
    }
}
