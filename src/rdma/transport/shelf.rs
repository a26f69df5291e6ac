//! Received packets that the driver has and will give back.

use crate::rdma::endpoint::Body;
use std::ops::Range;
use verbcast_core::rank::OpId;
use verbcast_core::transport::Buffer;
use verbcast_core::wire::RawHeader;

/// A received packet, and its header if it has one. Where its payload is in a lent message, only the header is in its
/// body.
#[derive(Debug)]
pub struct Parcel {
    pub header: Option<RawHeader>,
    pub body: Body,
    pub in_place: Option<(OpId, Range<usize>)>,
}

/// The packets, by number.
#[derive(Debug, Default)]
pub struct Shelf {
    parcels: Vec<Option<Parcel>>,
    free: Vec<u32>,
}

impl Shelf {
    /// Keeps a packet.
    pub fn put(&mut self, parcel: Parcel) -> Buffer {
        let index = self.free.pop().unwrap_or_else(|| {
            self.parcels.push(None);
            self.parcels.len() as u32 - 1
        });
        self.parcels[index as usize] = Some(parcel);
        Buffer { index }
    }

    pub fn get(&self, buffer: &Buffer) -> Option<&Parcel> {
        self.parcels.get(buffer.index as usize)?.as_ref()
    }

    /// Gives a packet up.
    pub fn take(&mut self, buffer: Buffer) -> Option<Parcel> {
        let parcel = self.parcels.get_mut(buffer.index as usize)?.take()?;
        self.free.push(buffer.index);
        Some(parcel)
    }

    /// Gives all packets up.
    pub fn drain(&mut self) -> impl Iterator<Item = Parcel> {
        self.free.clear();
        self.parcels.drain(..).flatten()
    }

    pub fn iter_mut(&mut self) -> impl Iterator<Item = &mut Parcel> {
        self.parcels.iter_mut().flatten()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parcel(byte: u8) -> Parcel {
        Parcel { header: None, body: Body::Copy([byte].into()), in_place: None }
    }

    #[test]
    fn numbers_are_used_again() {
        let mut shelf = Shelf::default();
        assert!(shelf.get(&Buffer { index: 0 }).is_none());
        let (first, second) = (shelf.put(parcel(1)), shelf.put(parcel(2)));
        let index = first.index;
        assert!(matches!(&shelf.take(first).unwrap().body, Body::Copy(bytes) if **bytes == [1]));
        assert!(shelf.take(Buffer { index }).is_none());
        assert_eq!(shelf.put(parcel(3)).index, index);
        assert!(matches!(&shelf.get(&second).unwrap().body, Body::Copy(bytes) if **bytes == [2]));
        assert_eq!(shelf.drain().count(), 2);
        assert!(shelf.get(&second).is_none());
    }
}
