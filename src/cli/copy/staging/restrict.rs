//! Gives folders that have their place the permissions that would have kept their owner from moving them.
//!
//! All goes by open folders and never by a link, so that nothing elsewhere changes.

use super::PRIVATE;
use super::merge::open_in;
use super::tree::{Tree, set_mode};
use crate::copy::manifest::Kind;
use std::fs::File;

pub struct Restriction<'a> {
    tree: &'a Tree,
    children: Vec<Vec<usize>>,
    /// By entry, whether it or a folder in it has other permissions than they were moved with.
    is_concerned: Vec<bool>,
}

impl Restriction<'_> {
    pub fn new(tree: &Tree) -> Restriction<'_> {
        let mut is_concerned = vec![false; tree.manifest().entries.len()];
        // What is in a folder stands behind it.
        for (entry, folder) in tree.folders().rev() {
            is_concerned[entry] |= entry == 0 || tree.mode(entry) & PRIVATE != PRIVATE;
            is_concerned[folder.parent as usize] |= is_concerned[entry];
        }
        Restriction { tree, children: tree.manifest().children(), is_concerned }
    }

    /// To an open folder and all that came with it.
    pub fn apply(&self, folder: &File, entry: usize) -> Result<(), String> {
        if !self.is_concerned[entry] {
            return Ok(());
        }
        for &child in &self.children[entry] {
            let Kind::Folder = self.tree.entry(child).kind else { continue };
            let inner = open_in(folder, &self.tree.entry(child).name);
            self.apply(&inner.map_err(|error| self.tree.cannot("write", child, error))?, child)?;
        }
        // What is in it had to be opened before.
        set_mode(folder, self.tree.mode(entry))
            .map_err(|error| self.tree.cannot("write", entry, error))
    }
}
