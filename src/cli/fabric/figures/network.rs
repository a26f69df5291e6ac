//! A fabric with its tables, on which figures are simulated.

use super::args::{FiguresArgs, OrderName, PaperName, UnicastName};
use super::catalogue::{CurveOf, Means};
use crate::fabric::args::{Spec, UnicastArgs};
use crate::failure::Failure;
use std::collections::HashMap;
use std::sync::Arc;
use verbcast_fabric::links::{Crowd, Fault, Links, Load, Message, Parameters, Share, To, carry};
use verbcast_fabric::opensm::{Hops, spanning_tree};
use verbcast_fabric::{Entries, Quality, Scheme, Shape, ShapedTopology, UnicastTables};

/// A fabric with its tables.
pub struct Network {
    pub name: String,
    pub loaded: ShapedTopology,
    tables: Arc<UnicastTables>,
    /// From all switches to each.
    hops: Vec<Hops>,
}

/// Who sends to whom by which means, and what is in the tables for that.
pub struct Drawn {
    means: Means,
    /// By source.
    messages: Vec<(u32, Addressed)>,
}

/// Where a source's message goes.
enum Addressed {
    /// To a multicast LID with these entries.
    Group(Arc<Entries>),
    /// To these LIDs, one after another.
    Lids(Vec<u16>),
}

impl Network {
    pub fn new(paper: PaperName, args: &FiguresArgs) -> Result<Network, Failure> {
        let fabric = match (paper, args.quick) {
            (PaperName::Mesh, false) => Spec::Mesh(16, 16),
            (PaperName::Mesh, true) => Spec::Mesh(4, 4),
            (_, false) => Spec::FatTree(8, 3),
            (_, true) => Spec::FatTree(4, 3),
        };
        let loaded = fabric.load(Quality { mtu: 4096, ..Quality::default() })?;
        let (tables, _) = UnicastArgs::default().tables(&loaded)?;
        let all = loaded.topology().switch_nodes();
        let hops = all.map(|target| Hops::shortest(loaded.topology(), target)).collect();
        Ok(Network { name: fabric.to_string(), loaded, tables: Arc::new(tables), hops })
    }

    /// Draws sources and groups; for each means the same of one seed.
    pub fn draw(
        &self,
        args: &FiguresArgs,
        [sources, members]: [Share; 2],
        means: Means,
        seed: u64,
    ) -> Result<Drawn, Failure> {
        let crowd = Crowd {
            sources,
            members,
            shared: args.groups == super::args::GroupsName::Shared,
            ascending: args.order == OrderName::Ascending,
        };
        let endpoints = self.loaded.topology().endpoints().len() as u32;
        let mut known: HashMap<(Vec<u32>, u32), Arc<Entries>> = HashMap::new();
        let mut messages = Vec::new();
        for (source, mut members) in crowd.draw(endpoints, seed) {
            members.retain(|member| *member != source);
            if means == Means::Unicast {
                let lids = members.iter().map(|member| self.lid(args, source, *member));
                messages.push((source, Addressed::Lids(lids.collect())));
                continue;
            }
            members.push(source);
            members.sort_unstable();
            let way = self.way(means, source);
            let entries = match known.get(&(members.clone(), way)) {
                Some(entries) => Arc::clone(entries),
                None => Arc::new(self.entries(means, &members, source)?),
            };
            known.insert((members, way), Arc::clone(&entries));
            messages.push((source, Addressed::Group(entries)));
        }
        Ok(Drawn { means, messages })
    }

    /// The LID by which one host sends to another.
    fn lid(&self, args: &FiguresArgs, source: u32, to: u32) -> u16 {
        match (self.loaded.shape(), args.unicast) {
            (Shape::FatTree(tree), UnicastName::Cyclic) => {
                tree.select(self.tables.lids(), source, to)
            }
            _ => self.tables.lids().base(to),
        }
    }

    /// Which of a group's tables carries a source's packets.
    fn way(&self, means: Means, source: u32) -> u32 {
        match means {
            Means::Proposed => Scheme::of(self.loaded.shape()).way(self.loaded.shape(), source),
            Means::Opensm | Means::Unicast => 0,
        }
    }

    fn entries(&self, means: Means, members: &[u32], source: u32) -> Result<Entries, Failure> {
        let topology = self.loaded.topology();
        let hops = |target| self.hops[topology.switch_index(target)].clone();
        match means {
            // Whoever sends is a member for OpenSM.
            Means::Opensm => Ok(spanning_tree(topology, members, hops)),
            _ => {
                let scheme = Scheme::of(self.loaded.shape());
                Ok(scheme.entries(&self.loaded, members, source)?)
            }
        }
    }

    /// Sends one message of each source, of so many bytes.
    pub fn carry(
        &self,
        args: &FiguresArgs,
        drawn: &Drawn,
        curve: &CurveOf,
        bytes: u32,
    ) -> Result<Result<Load, Fault>, Failure> {
        debug_assert_eq!(drawn.means, curve.means);
        let parameters: Parameters = args.links.parameters(curve.lanes, curve.rule);
        let links = Links::new(self.loaded.topology(), Arc::clone(&self.tables), parameters);
        let mut links = links.map_err(Failure::usage)?;
        let messages = drawn.messages.iter().map(|(source, to)| {
            let to = match to {
                Addressed::Group(entries) => vec![To::Group(links.group(Arc::clone(entries)))],
                Addressed::Lids(lids) => lids.iter().map(|lid| To::Lid(*lid)).collect(),
            };
            Message { source: *source, to, bytes }
        });
        let messages: Vec<Message> = messages.collect();
        let packet = args.packet.map_or(u32::MAX, |packet| packet as u32);
        Ok(carry(&mut links, &messages, packet))
    }
}
