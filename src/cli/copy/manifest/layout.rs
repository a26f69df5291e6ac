//! Where the data of a copy is in its files, from the first byte to the last.

use super::{Extent, Kind, Manifest};
use std::sync::Arc;

/// A run of bytes of one file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Piece {
    /// The file's entry.
    pub entry: usize,
    /// Where in the file it begins.
    pub offset: u64,
    pub len: usize,
}

/// Goes through the data once.
#[derive(Clone)]
pub struct Layout {
    manifest: Arc<Manifest>,
    entry: usize,
    extent: usize,
    /// Bytes of the extent that were given out.
    done: u64,
}

impl Layout {
    pub fn new(manifest: &Arc<Manifest>) -> Layout {
        Layout { manifest: Arc::clone(manifest), entry: 0, extent: 0, done: 0 }
    }

    /// The next piece, of at most `room` bytes, which is not 0.
    pub fn next(&mut self, room: usize) -> Option<Piece> {
        loop {
            let entry = self.manifest.entries.get(self.entry)?;
            let extents: &[Extent] = match &entry.kind {
                Kind::File { extents, .. } => extents,
                _ => &[],
            };
            let Some(extent) = extents.get(self.extent) else {
                (self.entry, self.extent) = (self.entry + 1, 0);
                continue;
            };
            let len = (extent.len - self.done).min(room as u64);
            let piece =
                Piece { entry: self.entry, offset: extent.offset + self.done, len: len as usize };
            self.done += len;
            if self.done == extent.len {
                (self.extent, self.done) = (self.extent + 1, 0);
            }
            return Some(piece);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::Entry;
    use super::*;

    #[test]
    fn pieces_cover_the_data_and_no_hole() {
        let extent = |offset, len| Extent { offset, len };
        let file = |size, extents| Entry {
            parent: 0,
            name: Vec::new(),
            mode: 0,
            modified: None,
            kind: Kind::File { size, extents },
        };
        let far = 5 << 32;
        let entries = vec![
            Entry { kind: Kind::Folder, ..file(0, Vec::new()) },
            file(0, Vec::new()),
            file(far + 9, vec![extent(2, 5), extent(far, 3)]),
            file(7, Vec::new()),
            file(4, vec![extent(0, 4)]),
        ];
        let mut layout = Layout::new(&Arc::new(Manifest { entries }));
        let pieces: Vec<_> = std::iter::from_fn(|| layout.next(4)).collect();
        let piece = |entry, offset, len| Piece { entry, offset, len };
        let expected = [piece(2, 2, 4), piece(2, 6, 1), piece(2, far, 3), piece(4, 0, 4)];
        assert_eq!(pieces, expected);
    }
}
