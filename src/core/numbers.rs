//! Maps and sets of numbers that this process has given out or drawn itself, so that nobody can choose them to collide:
//! their hash is one multiplication.

use std::collections::{HashMap, HashSet};
use std::hash::{BuildHasherDefault, Hasher};

/// A map from such numbers.
pub type NumberMap<K, V> = HashMap<K, V, BuildHasherDefault<NumberHasher>>;
/// A set of such numbers.
pub type NumberSet<K> = HashSet<K, BuildHasherDefault<NumberHasher>>;

/// An odd number whose multiples spread over all bits: 2⁶⁴ over the golden ratio.
const SPREAD: u64 = 0x9e37_79b9_7f4a_7c15;

/// The hash of one number.
#[derive(Clone, Copy, Debug, Default)]
pub struct NumberHasher(u64);

impl Hasher for NumberHasher {
    fn finish(&self) -> u64 {
        self.0 ^ (self.0 >> 32)
    }

    fn write(&mut self, bytes: &[u8]) {
        bytes.iter().for_each(|byte| self.write_u64((*byte).into()));
    }

    fn write_u16(&mut self, number: u16) {
        self.write_u64(number.into());
    }

    fn write_u32(&mut self, number: u32) {
        self.write_u64(number.into());
    }

    fn write_u64(&mut self, number: u64) {
        self.0 = (self.0 ^ number).wrapping_mul(SPREAD);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::hash::BuildHasher;

    #[test]
    fn neighbours_differ_in_the_bits_that_tables_go_by() {
        let hash = |number: u32| BuildHasherDefault::<NumberHasher>::default().hash_one(number);
        for shift in [0, 8, 24] {
            let low: NumberSet<u64> = (0..256).map(|n| hash(n << shift) & 0xff).collect();
            let high: NumberSet<u64> = (0..256).map(|n| hash(n << shift) >> 57).collect();
            assert!(low.len() > 100, "{} low ones, {shift}", low.len());
            assert!(high.len() > 60, "{} high ones, {shift}", high.len());
        }
    }
}
