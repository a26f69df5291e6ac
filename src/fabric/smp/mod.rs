//! Subnet management packets (SMP): how switches are asked what is in their tables, and told.
//!
//! A packet is a [`Smp`], which goes along a [`Route`]; [`Attribute`] is what it asks for. Whoever can send
//! one and wait for the answer is an [`Agent`]. [`discover`] walks through a fabric by them. Nothing here
//! opens a device: `verbcast::umad` does, with the feature `umad`.
//!
//! All numbers of sections are those of the InfiniBand Architecture Specification, volume 1, chapter 14.

mod attributes;
mod datagram;
mod discover;
mod multicast;

#[cfg(test)]
mod tests;

pub use attributes::{Attribute, LFT_BLOCK, NodeInfo, PortInfo, SwitchInfo, description};
pub use datagram::{Addressing, Data, LEN, MAX_HOPS, Method, Path, Route, Smp};
pub use discover::{Discovered, Switch, discover};
pub use multicast::{MAX_BLOCK, MFT_PORTS, MftBlock, Place, places, positions};

use std::fmt;

/// A question that got no good answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unanswered {
    /// What was asked of whom.
    pub asked: String,
    /// Why there is no answer.
    pub why: String,
}

impl fmt::Display for Unanswered {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.asked, self.why)
    }
}

impl std::error::Error for Unanswered {}

/// Sends SMPs and waits for the answers.
pub trait Agent {
    /// Sends a packet along its route and returns the answer to it, or why there is none. Must end by itself,
    /// whether an answer comes or not.
    ///
    /// # Errors
    /// If the packet cannot be sent, or no answer came in time.
    fn exchange(&mut self, request: &Smp, route: &Route) -> Result<Smp, String>;

    /// The M_Key of all packets (section 14.2.4); 0 suits ports that are not protected.
    fn key(&self) -> u64 {
        0
    }

    /// Reads an attribute.
    ///
    /// # Errors
    /// If there is no answer, or it is a refusal.
    fn get(&mut self, route: &Route, attribute: Attribute) -> Result<Data, Unanswered> {
        self.ask(Method::Get, route, attribute, &[0; 64])
    }

    /// Writes an attribute; returns what the node says it is now.
    ///
    /// # Errors
    /// If there is no answer, or it is a refusal.
    fn set(
        &mut self,
        route: &Route,
        attribute: Attribute,
        data: &Data,
    ) -> Result<Data, Unanswered> {
        self.ask(Method::Set, route, attribute, data)
    }

    /// Reads or writes an attribute.
    ///
    /// # Errors
    /// If there is no answer, or it is a refusal.
    fn ask(
        &mut self,
        method: Method,
        route: &Route,
        attribute: Attribute,
        data: &Data,
    ) -> Result<Data, Unanswered> {
        let request = Smp::new(method, route, attribute, self.key(), data);
        let answer = self.exchange(&request, route).and_then(|answer| match answer.refusal() {
            None => Ok(*answer.data()),
            Some(refusal) => Err(refusal),
        });
        answer.map_err(|why| Unanswered { asked: format!("{method} of {attribute} {route}"), why })
    }
}
