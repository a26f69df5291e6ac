//! Whose turn it is: an order of the contenders that is drawn anew for each round, so that none always comes after
//! the same other one, or when the machine is busy with the same thing.

use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::{Rng, SeedableRng};

/// A stream of the seed that no rank's delays have.
const STREAM: u64 = u64::MAX;

/// Draws orders: the same at every rank.
pub struct Order(ChaCha8Rng);

impl Order {
    pub fn new(seed: u64) -> Order {
        let mut generator = ChaCha8Rng::seed_from_u64(seed);
        generator.set_stream(STREAM);
        Order(generator)
    }

    /// The numbers below `count` in the order of the next round (Fisher and Yates).
    pub fn draw(&mut self, count: usize) -> Vec<usize> {
        let mut order: Vec<usize> = (0..count).collect();
        for last in (1..count).rev() {
            // The few numbers make the remainder's bias less than one in 10⁸.
            let other = self.0.next_u64() % (last as u64 + 1);
            order.swap(last, other as usize);
        }
        order
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn orders_repeat_and_each_is_as_likely() {
        let draws = |seed| {
            let mut order = Order::new(seed);
            (0..6000).map(|_| order.draw(3)).collect::<Vec<_>>()
        };
        let all = draws(5);
        assert_eq!(all, draws(5));
        assert_ne!(all, draws(6));
        for order in [[0, 1, 2], [0, 2, 1], [1, 0, 2], [1, 2, 0], [2, 0, 1], [2, 1, 0]] {
            let count = all.iter().filter(|one| **one == order).count();
            assert!((850..1150).contains(&count), "{order:?} {count} times");
        }
        assert_eq!(Order::new(1).draw(1), [0]);
    }
}
