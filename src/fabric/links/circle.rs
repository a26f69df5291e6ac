//! Where packets wait for one another.

use super::engine::Links;
use crate::topology::Port;

impl Links {
    /// Ports with a full output buffer, each of which waits for the next, and the last for the first.
    ///
    /// A packet at an output without a credit waits for the input buffer at the other end; what is in that
    /// waits for outputs of its switch.
    pub(super) fn cycle(&self) -> Vec<Port> {
        let lanes = self.lanes.len() / self.wiring.len();
        let is_stuck =
            |at: &usize| !self.lanes[*at].ready.is_empty() && self.lanes[*at].credits == 0;
        let Some(mut at) = (0..self.lanes.len()).find(is_stuck) else { return Vec::new() };
        let mut path: Vec<usize> = Vec::new();
        loop {
            if let Some(begin) = path.iter().position(|before| *before == at) {
                let cycle = path[begin..].iter();
                return cycle.map(|at| self.wiring.place((at / lanes) as u32)).collect();
            }
            path.push(at);
            let (input, lane) = (self.wiring.peer((at / lanes) as u32), at % lanes);
            let is_there = |held: u32| {
                let held = self.held.get(held);
                held.port == input && usize::from(held.lane) == lane
            };
            let blocks = |next: &usize| {
                let mut waiting = self.lanes[*next].waiting.iter();
                is_stuck(next) && waiting.any(|held| is_there(*held))
            };
            match (0..self.lanes.len()).find(blocks) {
                Some(next) => at = next,
                None => return Vec::new(),
            }
        }
    }
}
