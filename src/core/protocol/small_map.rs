//! A map for few keys, whose memory is used again.

use smallvec::SmallVec;

/// Entries that need no memory of their own.
const INLINE: usize = 4;

/// A sorted list of keys and values. In contrast to a tree it allocates only when it grows beyond what
/// it ever held, so that what comes and goes with every operation costs no memory's management.
#[derive(Clone, Debug)]
pub struct SmallMap<K, V> {
    entries: SmallVec<[(K, V); INLINE]>,
}

impl<K, V> Default for SmallMap<K, V> {
    fn default() -> Self {
        SmallMap { entries: SmallVec::new() }
    }
}

impl<K: Ord + Copy, V> SmallMap<K, V> {
    fn find(&self, key: K) -> Result<usize, usize> {
        self.entries.binary_search_by_key(&key, |(key, _)| *key)
    }

    /// The value of a key.
    pub fn get(&self, key: K) -> Option<&V> {
        self.find(key).ok().map(|at| &self.entries[at].1)
    }

    /// The value of a key, to be changed.
    pub fn get_mut(&mut self, key: K) -> Option<&mut V> {
        self.find(key).ok().map(|at| &mut self.entries[at].1)
    }

    /// The value of a key, which is `value` from now on if it had none.
    pub fn get_or_insert(&mut self, key: K, value: V) -> &mut V {
        let at = self.find(key).unwrap_or_else(|at| {
            self.entries.insert(at, (key, value));
            at
        });
        &mut self.entries[at].1
    }

    /// Gives a key a value.
    pub fn insert(&mut self, key: K, value: V) {
        match self.find(key) {
            Ok(at) => self.entries[at].1 = value,
            Err(at) => self.entries.insert(at, (key, value)),
        }
    }

    /// Takes a key and its value out.
    pub fn remove(&mut self, key: K) -> Option<V> {
        self.find(key).ok().map(|at| self.entries.remove(at).1)
    }

    /// Whether a key has a value.
    pub fn contains_key(&self, key: K) -> bool {
        self.find(key).is_ok()
    }

    /// Whether no key has a value.
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// All keys and values, by key.
    pub fn iter(&self) -> impl Iterator<Item = (K, &V)> {
        self.entries.iter().map(|(key, value)| (*key, value))
    }

    /// All values, by key.
    pub fn values(&self) -> impl Iterator<Item = &V> {
        self.entries.iter().map(|(_, value)| value)
    }

    /// All values, by key, to be changed.
    pub fn values_mut(&mut self) -> impl Iterator<Item = &mut V> {
        self.entries.iter_mut().map(|(_, value)| value)
    }
}

impl<K: Ord + Copy> SmallMap<K, u32> {
    /// Takes one from a key's count, if it has one; a key whose count is zero is taken out. Whether it
    /// was.
    pub fn count_down(&mut self, key: K) -> bool {
        let Ok(at) = self.find(key) else { return false };
        let count = &mut self.entries[at].1;
        *count -= 1;
        let is_zero = *count == 0;
        if is_zero {
            self.entries.remove(at);
        }
        is_zero
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_have_one_value_each_and_are_in_order() {
        let mut map = SmallMap::default();
        for key in [5, 1, 9, 3, 7, 1] {
            *map.get_or_insert(key, 0) += key;
        }
        assert_eq!(
            map.iter().map(|(key, value)| (key, *value)).collect::<Vec<_>>(),
            [(1, 2), (3, 3), (5, 5), (7, 7), (9, 9)]
        );
        map.insert(3, 30);
        assert_eq!((map.remove(5), map.remove(5), map.get(3)), (Some(5), None, Some(&30)));
        assert!(map.contains_key(9) && !map.contains_key(5) && !map.is_empty());
    }

    #[test]
    fn a_count_of_zero_leaves() {
        let mut map = SmallMap::default();
        map.insert('a', 2);
        assert!(!map.count_down('a') && map.count_down('a') && !map.count_down('a'));
        assert!(map.is_empty());
    }
}
