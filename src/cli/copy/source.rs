//! What rank 0 reads.

use super::destination::shown;
use super::manifest::{Kind, Layout, Manifest, Piece};
use super::scan::Origin;
use rustix::fs::{Mode, OFlags};
use std::fs::{File, Metadata};
use std::io::{self, Read};
use std::os::unix::fs::{FileExt, MetadataExt};
use std::sync::Arc;

pub enum Source {
    Files(Files),
    /// Standard input.
    Stream(File),
}

/// The files of a manifest, read one after the other.
pub struct Files {
    manifest: Arc<Manifest>,
    origins: Arc<Vec<Origin>>,
    layout: Layout,
    open: Option<(usize, File)>,
}

impl Source {
    pub fn new(manifest: &Arc<Manifest>, origins: &Arc<Vec<Origin>>) -> Result<Source, String> {
        if manifest.data().is_none() {
            let stdin = rustix::io::dup(io::stdin())
                .map_err(|error| format!("cannot read standard input: {error}"))?;
            return Ok(Source::Stream(stdin.into()));
        }
        Ok(Source::Files(Files {
            manifest: Arc::clone(manifest),
            origins: Arc::clone(origins),
            layout: Layout::new(manifest),
            open: None,
        }))
    }

    /// Fills `buffer` with the next bytes; returns less than its length only where a stream ends.
    pub fn read(&mut self, buffer: &mut [u8]) -> Result<usize, String> {
        match self {
            Source::Files(files) => files.read(buffer).map(|()| buffer.len()),
            Source::Stream(stdin) => read_stream(stdin, buffer),
        }
    }

    /// Makes sure that no file was changed in length since it was found.
    pub fn finish(mut self) -> Result<(), String> {
        match &mut self {
            Source::Files(files) => files.close(),
            Source::Stream(_) => Ok(()),
        }
    }
}

fn read_stream(stdin: &mut impl Read, buffer: &mut [u8]) -> Result<usize, String> {
    let mut filled = 0;
    while filled < buffer.len() {
        match stdin.read(&mut buffer[filled..]) {
            Ok(0) => break,
            Ok(count) => filled += count,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(format!("cannot read standard input: {error}")),
        }
    }
    Ok(filled)
}

impl Files {
    fn read(&mut self, mut buffer: &mut [u8]) -> Result<(), String> {
        while !buffer.is_empty() {
            let piece = self.layout.next(buffer.len()).ok_or("more was asked for than there is")?;
            let (part, rest) = buffer.split_at_mut(piece.len);
            self.read_piece(piece, part)?;
            buffer = rest;
        }
        Ok(())
    }

    fn read_piece(&mut self, piece: Piece, mut part: &mut [u8]) -> Result<(), String> {
        if self.open.as_ref().is_none_or(|(entry, _)| *entry != piece.entry) {
            self.close()?;
            self.open = Some((piece.entry, self.open(piece.entry)?));
        }
        let Some((entry, file)) = &self.open else { return Ok(()) };
        let mut offset = piece.offset;
        while !part.is_empty() {
            match file.read_at(part, offset) {
                Ok(0) => return Err(self.changed(*entry, offset)),
                Ok(count) => {
                    part = &mut part[count..];
                    offset += count as u64;
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(self.cannot_read(*entry, &error)),
            }
        }
        Ok(())
    }

    /// Opens the file that was found, and no other one that has its name by now.
    fn open(&self, entry: usize) -> Result<File, String> {
        let origin = &self.origins[entry];
        // To open a pipe would wait for its other end.
        let flags = OFlags::RDONLY | OFlags::CLOEXEC | OFlags::NONBLOCK;
        let file = rustix::fs::open(&origin.path, flags, Mode::empty())
            .map_err(|error| self.cannot_read(entry, &error.into()))?;
        let file = File::from(file);
        let metadata = file.metadata().map_err(|error| self.cannot_read(entry, &error))?;
        if (metadata.dev(), metadata.ino()) != origin.identity {
            return Err(format!("{} was replaced while it was copied", shown(&origin.path)));
        }
        self.check_len(entry, &metadata)?;
        Ok(file)
    }

    /// Closes the file that is open, which must be as long as ever.
    fn close(&mut self) -> Result<(), String> {
        match self.open.take() {
            Some((entry, file)) => {
                let metadata = file.metadata().map_err(|error| self.cannot_read(entry, &error))?;
                self.check_len(entry, &metadata)
            }
            None => Ok(()),
        }
    }

    fn check_len(&self, entry: usize, metadata: &Metadata) -> Result<(), String> {
        match metadata.len() == self.expected(entry) {
            true => Ok(()),
            false => Err(self.changed(entry, metadata.len())),
        }
    }

    fn expected(&self, entry: usize) -> u64 {
        match self.manifest.entries[entry].kind {
            Kind::File { size, .. } => size,
            _ => 0,
        }
    }

    fn changed(&self, entry: usize, got: u64) -> String {
        let (path, expected) = (shown(&self.origins[entry].path), self.expected(entry));
        let how = if got < expected { "shrank" } else { "grew" };
        format!("{path} {how} while it was read: expected {expected} bytes, got {got}")
    }

    fn cannot_read(&self, entry: usize, error: &io::Error) -> String {
        format!("cannot read {}: {error}", shown(&self.origins[entry].path))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::copy::scan::Wanted;
    use crate::copy::scratch::Scratch;
    use std::fs;

    fn files(scratch: &Scratch) -> Source {
        let sources = [scratch.path("")];
        let wanted =
            Wanted { sources: &sources, into_folder: false, recursive: true, finds_holes: true };
        let found = wanted.find().unwrap();
        Source::new(&Arc::new(found.manifest), &Arc::new(found.origins)).unwrap()
    }

    #[test]
    fn files_are_read_one_after_the_other() {
        let scratch = Scratch::new("read");
        for (name, text) in [("a", "12345"), ("b", ""), ("c", "678")] {
            fs::write(scratch.path(name), text).unwrap();
        }
        let mut source = files(&scratch);
        let mut buffer = [0; 4];
        assert_eq!(source.read(&mut buffer), Ok(4));
        assert_eq!(&buffer, b"1234");
        assert_eq!(source.read(&mut buffer), Ok(4));
        assert_eq!(&buffer, b"5678");
        assert!(source.read(&mut buffer).is_err());
        assert_eq!(source.finish(), Ok(()));
    }

    #[test]
    fn a_file_that_changes_is_named() {
        let scratch = Scratch::new("changes");
        let path = scratch.path("a");
        for (len, expected) in
            [(4, "a shrank while it was read: expected 9 bytes, got 4"), (12, "a grew")]
        {
            fs::write(&path, [0; 9]).unwrap();
            let mut source = files(&scratch);
            source.read(&mut [0; 2]).unwrap();
            File::options().write(true).open(&path).unwrap().set_len(len).unwrap();
            let read = source.read(&mut [0; 7]).and_then(|_| source.finish());
            assert!(read.as_ref().unwrap_err().contains(expected), "{read:?}");
        }
        let mut source = files(&scratch);
        fs::write(scratch.path("b"), [0; 12]).unwrap();
        fs::rename(scratch.path("b"), &path).unwrap();
        let read = source.read(&mut [0; 2]).unwrap_err();
        assert!(read.ends_with("a was replaced while it was copied"), "{read}");
    }

    #[test]
    fn a_stream_ends_somewhere() {
        let mut stream = &b"12345"[..];
        let mut buffer = [0; 3];
        assert_eq!(read_stream(&mut stream, &mut buffer), Ok(3));
        assert_eq!(read_stream(&mut stream, &mut buffer), Ok(2));
        assert_eq!(read_stream(&mut stream, &mut buffer), Ok(0));
    }
}
