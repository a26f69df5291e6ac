//! Writes the data of a copy, piece after piece.

use super::super::manifest::{Kind, Layout, Manifest, Piece};
use super::Tree;
use std::fs::File;
use std::io::{self, Write};
use std::os::unix::fs::FileExt;
use std::sync::Arc;

/// Zeros that fill a hole where there cannot be one.
static ZEROS: [u8; 1 << 16] = [0; 1 << 16];

/// Where the data goes.
pub enum Output {
    Files(Writer),
    /// Standard output.
    Pipe(Pipe),
}

impl Output {
    pub fn write(&mut self, bytes: &[u8]) -> Result<(), String> {
        match self {
            Output::Files(writer) => writer.write(bytes),
            Output::Pipe(pipe) => pipe.write(bytes),
        }
    }

    /// Reads what was written in an earlier copy, and goes on behind it.
    pub fn read(&mut self, buffer: &mut [u8]) -> Result<(), String> {
        match self {
            Output::Files(writer) => writer.each(
                buffer,
                |file, part, offset| file.read_exact_at(part, offset),
                "read back",
            ),
            Output::Pipe(_) => Err("nothing can be read from standard output".to_owned()),
        }
    }

    pub fn finish(self) -> Result<(), String> {
        match self {
            Output::Files(mut writer) => writer.close(),
            Output::Pipe(mut pipe) => pipe.finish(),
        }
    }
}

/// Writes files.
pub struct Writer {
    tree: Arc<Tree>,
    layout: Layout,
    open: Option<(usize, File)>,
    /// Bytes of a stream that were written.
    written: u64,
}

impl Writer {
    pub fn new(tree: &Arc<Tree>) -> Writer {
        let layout = Layout::new(tree.manifest());
        Writer { tree: Arc::clone(tree), layout, open: None, written: 0 }
    }

    fn write(&mut self, bytes: &[u8]) -> Result<(), String> {
        if self.tree.entry(0).kind == Kind::Stream {
            let offset = self.written;
            let written = self.file(0)?.write_all_at(bytes, offset);
            written.map_err(|error| self.tree.cannot("write", 0, error))?;
            self.written += bytes.len() as u64;
            return Ok(());
        }
        let mut rest = bytes;
        while !rest.is_empty() {
            let Piece { entry, offset, len } = self.piece(rest.len())?;
            let (part, after) = rest.split_at(len);
            let written = self.file(entry)?.write_all_at(part, offset);
            written.map_err(|error| self.tree.cannot("write", entry, error))?;
            rest = after;
        }
        Ok(())
    }

    /// Does `step` with each piece of the next bytes.
    fn each(
        &mut self,
        buffer: &mut [u8],
        step: impl Fn(&File, &mut [u8], u64) -> io::Result<()>,
        what: &str,
    ) -> Result<(), String> {
        let mut rest = buffer;
        while !rest.is_empty() {
            let Piece { entry, offset, len } = self.piece(rest.len())?;
            let (part, after) = rest.split_at_mut(len);
            let done = step(self.file(entry)?, part, offset);
            done.map_err(|error| self.tree.cannot(what, entry, error))?;
            rest = after;
        }
        Ok(())
    }

    fn piece(&mut self, room: usize) -> Result<Piece, String> {
        self.layout.next(room).ok_or_else(|| "more has come than was announced".to_owned())
    }

    /// The file of an entry, which is open until that of another one is needed.
    fn file(&mut self, entry: usize) -> Result<&File, String> {
        if self.open.as_ref().is_none_or(|(open, _)| *open != entry) {
            self.close()?;
            let file = self.tree.open(entry)?;
            return Ok(&self.open.insert((entry, file)).1);
        }
        match &self.open {
            Some((_, file)) => Ok(file),
            None => Err("no file is open".to_owned()),
        }
    }

    fn close(&mut self) -> Result<(), String> {
        match self.open.take() {
            Some((entry, file)) => self.tree.finish(entry, &file),
            None => Ok(()),
        }
    }
}

/// Writes to standard output, with zeros where a file has holes.
pub struct Pipe {
    layout: Option<Layout>,
    size: u64,
    output: Box<dyn Write + Send>,
    written: u64,
}

impl Pipe {
    pub fn new(manifest: &Arc<Manifest>) -> Result<Pipe, String> {
        // Not Rust's own, which looks for ends of lines.
        let stdout = rustix::io::dup(io::stdout()).map_err(cannot_write)?;
        Ok(Pipe::to(Box::new(File::from(stdout)), manifest))
    }

    pub fn to(output: Box<dyn Write + Send>, manifest: &Arc<Manifest>) -> Pipe {
        let layout = manifest.data().map(|_| Layout::new(manifest));
        Pipe { layout, size: manifest.size(), output, written: 0 }
    }

    fn write(&mut self, bytes: &[u8]) -> Result<(), String> {
        let mut rest = bytes;
        while !rest.is_empty() {
            let (offset, len) = match &mut self.layout {
                Some(layout) => {
                    let piece = layout.next(rest.len());
                    let piece = piece.ok_or("more has come than was announced")?;
                    (piece.offset, piece.len)
                }
                None => (self.written, rest.len()),
            };
            self.fill(offset)?;
            let (part, after) = rest.split_at(len);
            self.output.write_all(part).map_err(cannot_write)?;
            self.written += len as u64;
            rest = after;
        }
        Ok(())
    }

    fn finish(&mut self) -> Result<(), String> {
        if self.layout.is_some() {
            self.fill(self.size)?;
        }
        self.output.flush().map_err(cannot_write)
    }

    fn fill(&mut self, end: u64) -> Result<(), String> {
        while self.written < end {
            let len = (end - self.written).min(ZEROS.len() as u64);
            self.output.write_all(&ZEROS[..len as usize]).map_err(cannot_write)?;
            self.written += len;
        }
        Ok(())
    }
}

fn cannot_write(error: impl Into<io::Error>) -> String {
    format!("cannot write to standard output: {}", error.into())
}

#[cfg(test)]
mod tests {
    use super::super::super::manifest::{Entry, Extent};
    use super::*;
    use std::sync::Mutex;

    #[derive(Clone, Default)]
    struct Kept(Arc<Mutex<Vec<u8>>>);

    impl Write for Kept {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.0.lock().unwrap().write(bytes)
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    #[test]
    fn holes_are_zeros_in_a_pipe() {
        let extents = vec![Extent { offset: 2, len: 3 }, Extent { offset: 7, len: 1 }];
        let kind = Kind::File { size: 10, extents };
        let entry = Entry { parent: 0, name: Vec::new(), mode: 0, modified: None, kind };
        let manifest = Arc::new(Manifest { entries: vec![entry] });
        let kept = Kept::default();
        let mut pipe = Pipe::to(Box::new(kept.clone()), &manifest);
        pipe.write(b"ab").unwrap();
        pipe.write(b"cd").unwrap();
        assert!(pipe.write(b"e").is_err());
        pipe.finish().unwrap();
        assert_eq!(*kept.0.lock().unwrap(), b"\0\0abc\0\0d\0\0");
    }
}
