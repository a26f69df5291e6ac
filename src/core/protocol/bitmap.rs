//! Which fragments are here (the status bitmap of Hoefler 2007, section 2.1).

use smallvec::{SmallVec, smallvec};

/// Words that need no memory of their own: as many as fit beside a pointer and a length.
const INLINE: usize = 2;

/// A fixed number of flags and how many of them are set.
#[derive(Clone, Debug)]
pub struct Bitmap {
    words: SmallVec<[u64; INLINE]>,
    len: u32,
    set: u32,
}

impl Bitmap {
    /// `len` flags, none of them set.
    pub fn new(len: u32) -> Self {
        Bitmap { words: smallvec![0; len.div_ceil(64) as usize], len, set: 0 }
    }

    /// `len` flags, all of them set.
    pub fn full(len: u32) -> Self {
        let mut bitmap = Bitmap { set: len, ..Bitmap::new(len) };
        bitmap.words.fill(u64::MAX);
        if let Some(last) = bitmap.words.last_mut()
            && !len.is_multiple_of(64)
        {
            *last >>= 64 - len % 64;
        }
        bitmap
    }

    /// Sets a flag; whether it was clear before.
    ///
    /// # Panics
    /// If `index` is not below the number of flags.
    pub fn insert(&mut self, index: u32) -> bool {
        assert!(index < self.len, "flag {index} of {}", self.len);
        let word = &mut self.words[index as usize / 64];
        let flag = 1 << (index % 64);
        let new = *word & flag == 0;
        *word |= flag;
        self.set += u32::from(new);
        new
    }

    /// Sets `count` flags from one on, which are clear.
    ///
    /// # Panics
    /// If there are not so many.
    pub fn insert_run(&mut self, start: u32, count: u32) {
        let end = start + count;
        assert!(end <= self.len, "flags {start} to {end} of {}", self.len);
        let mut from = start;
        while from < end {
            let (word, bit) = (from as usize / 64, from % 64);
            let here = (end - from).min(64 - bit);
            self.words[word] |= u64::MAX >> (64 - here) << bit;
            from += here;
        }
        self.set += count;
    }

    /// Whether a flag is set; false beyond the end.
    pub fn contains(&self, index: u32) -> bool {
        self.words.get(index as usize / 64).is_some_and(|word| word >> (index % 64) & 1 == 1)
    }

    /// How many flags are set.
    pub fn set(&self) -> u32 {
        self.set
    }

    /// How many flags are clear.
    pub fn clear(&self) -> u32 {
        self.len - self.set
    }

    /// Whether all flags are set.
    pub fn is_full(&self) -> bool {
        self.set == self.len
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_run_sets_what_each_of_its_flags_would_set() {
        for (start, count) in [(0, 0), (0, 1), (3, 61), (3, 62), (64, 64), (10, 150), (0, 200)] {
            let (mut run, mut each) = (Bitmap::new(200), Bitmap::new(200));
            run.insert_run(start, count);
            (start..start + count).for_each(|flag| assert!(each.insert(flag)));
            assert_eq!((run.words, run.set), (each.words, each.set), "{count} from {start}");
        }
    }

    #[test]
    fn a_flag_is_new_once() {
        let mut bitmap = Bitmap::new(65);
        assert!(bitmap.insert(64));
        assert!(!bitmap.insert(64));
        assert!(bitmap.contains(64) && !bitmap.contains(63) && !bitmap.contains(1000));
        assert_eq!((bitmap.set(), bitmap.clear()), (1, 64));
        assert!(!bitmap.is_full() && Bitmap::full(65).is_full() && Bitmap::new(0).is_full());
    }
}
