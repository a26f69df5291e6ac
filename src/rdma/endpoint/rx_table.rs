//! Received packets that the driver has and will give back.

use super::event::Body;
use std::ops::Range;
use verbcast_core::rank::OpId;
use verbcast_core::transport::Buffer;
use verbcast_core::wire::{Checks, RawHeader};

/// A received packet, and its header if it has one. Where its payload is in a lent message, only the header is in its
/// body.
#[derive(Debug)]
pub struct RxPacket {
    pub header: Option<RawHeader>,
    /// What is still to be checked of it; none where all was found right when it came.
    pub checks: Option<Checks>,
    pub body: Body,
    pub in_place: Option<(OpId, Range<usize>)>,
}

/// The packets, by number.
#[derive(Debug, Default)]
pub struct RxTable {
    packets: Vec<Option<RxPacket>>,
    free: Vec<u32>,
}

impl RxTable {
    /// Keeps a packet.
    #[inline]
    pub fn put(&mut self, packet: RxPacket) -> Buffer {
        let index = self.free.pop().unwrap_or_else(|| {
            self.packets.push(None);
            self.packets.len() as u32 - 1
        });
        self.packets[index as usize] = Some(packet);
        Buffer { index }
    }

    pub fn get(&self, buffer: &Buffer) -> Option<&RxPacket> {
        self.packets.get(buffer.index as usize)?.as_ref()
    }

    pub fn get_mut(&mut self, buffer: &Buffer) -> Option<&mut RxPacket> {
        self.packets.get_mut(buffer.index as usize)?.as_mut()
    }

    /// Gives a packet up; its bytes.
    #[inline]
    pub fn take(&mut self, buffer: Buffer) -> Option<Body> {
        let RxPacket { body, .. } = self.packets.get_mut(buffer.index as usize)?.take()?;
        self.free.push(buffer.index);
        Some(body)
    }

    /// Gives all packets up.
    pub fn drain(&mut self) -> impl Iterator<Item = RxPacket> {
        self.free.clear();
        self.packets.drain(..).flatten()
    }

    pub fn iter_mut(&mut self) -> impl Iterator<Item = &mut RxPacket> {
        self.packets.iter_mut().flatten()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn packet(byte: u8) -> RxPacket {
        RxPacket { header: None, checks: None, body: Body::Copy([byte].into()), in_place: None }
    }

    #[test]
    fn numbers_are_used_again() {
        let mut rx_table = RxTable::default();
        assert!(rx_table.get(&Buffer { index: 0 }).is_none());
        let (first, second) = (rx_table.put(packet(1)), rx_table.put(packet(2)));
        let index = first.index;
        assert!(matches!(rx_table.take(first), Some(Body::Copy(bytes)) if bytes == [1]));
        assert!(rx_table.take(Buffer { index }).is_none());
        assert_eq!(rx_table.put(packet(3)).index, index);
        assert!(matches!(&rx_table.get(&second).unwrap().body, Body::Copy(bytes) if *bytes == [2]));
        assert_eq!(rx_table.drain().count(), 2);
        assert!(rx_table.get(&second).is_none());
    }
}
