//! A manifest as bytes.

use super::{Entry, Extent, Kind, MAX_BYTES, Manifest};

const FOLDER: u8 = 0;
const FILE: u8 = 1;
const LINK: u8 = 2;
const STREAM: u8 = 3;
/// In place of the nanoseconds of a time: there is none.
const NO_TIME: u32 = u32::MAX;

pub fn encode(manifest: &Manifest) -> Result<Vec<u8>, String> {
    let mut bytes = Vec::new();
    for entry in &manifest.entries {
        bytes.push(match entry.kind {
            Kind::Folder => FOLDER,
            Kind::File { .. } => FILE,
            Kind::Link(_) => LINK,
            Kind::Stream => STREAM,
        });
        bytes.extend(entry.parent.to_le_bytes());
        bytes.extend(entry.mode.to_le_bytes());
        let (seconds, nanos) = entry.modified.unwrap_or((0, NO_TIME));
        bytes.extend(seconds.to_le_bytes());
        bytes.extend(nanos.to_le_bytes());
        put_text(&mut bytes, &entry.name)?;
        match &entry.kind {
            Kind::Folder | Kind::Stream => {}
            Kind::Link(target) => put_text(&mut bytes, target)?,
            Kind::File { size, extents } => {
                bytes.extend(size.to_le_bytes());
                bytes.extend((extents.len() as u64).to_le_bytes());
                for extent in extents {
                    bytes.extend(extent.offset.to_le_bytes());
                    bytes.extend(extent.len.to_le_bytes());
                }
            }
        }
        if bytes.len() as u64 > MAX_BYTES {
            let (count, most) = (manifest.entries.len(), MAX_BYTES >> 20);
            return Err(format!(
                "the list of {count} files and folders has more than {most} MiB; copy them in parts"
            ));
        }
    }
    Ok(bytes)
}

fn put_text(bytes: &mut Vec<u8>, text: &[u8]) -> Result<(), String> {
    let len = u16::try_from(text.len()).map_err(|_| "a name is too long".to_owned())?;
    bytes.extend(len.to_le_bytes());
    bytes.extend(text);
    Ok(())
}

/// Reads a manifest, and [checks](Manifest::check) it.
pub fn decode(bytes: &[u8]) -> Result<Manifest, String> {
    let mut reader = Reader(bytes);
    let mut entries = Vec::new();
    while !reader.0.is_empty() {
        entries.push(entry(&mut reader).ok_or("it ends within an entry, or has an unknown kind")?);
    }
    let manifest = Manifest { entries };
    manifest.check()?;
    Ok(manifest)
}

fn entry(reader: &mut Reader<'_>) -> Option<Entry> {
    let [kind] = reader.array()?;
    let (parent, mode) = (reader.u32()?, reader.u32()?);
    let modified = Some((i64::from_le_bytes(reader.array()?), reader.u32()?));
    let modified = modified.filter(|(_, nanos)| *nanos != NO_TIME);
    let name = reader.text()?;
    let kind = match kind {
        FOLDER => Kind::Folder,
        FILE => {
            let (size, count) = (reader.u64()?, reader.u64()?);
            // As many as there are bytes for.
            let extents =
                (0..count).map(|_| Some(Extent { offset: reader.u64()?, len: reader.u64()? }));
            Kind::File { size, extents: extents.collect::<Option<_>>()? }
        }
        LINK => Kind::Link(reader.text()?),
        STREAM => Kind::Stream,
        _ => return None,
    };
    Some(Entry { parent, name, mode, modified, kind })
}

struct Reader<'a>(&'a [u8]);

impl Reader<'_> {
    fn array<const LEN: usize>(&mut self) -> Option<[u8; LEN]> {
        let (taken, rest) = self.0.split_first_chunk()?;
        self.0 = rest;
        Some(*taken)
    }

    fn u32(&mut self) -> Option<u32> {
        self.array().map(u32::from_le_bytes)
    }

    fn u64(&mut self) -> Option<u64> {
        self.array().map(u64::from_le_bytes)
    }

    fn text(&mut self) -> Option<Vec<u8>> {
        let len = usize::from(u16::from_le_bytes(self.array()?));
        let (taken, rest) = self.0.split_at_checked(len)?;
        self.0 = rest;
        Some(taken.to_vec())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn kind() -> impl Strategy<Value = Kind> {
        prop_oneof![
            Just(Kind::Folder),
            prop::collection::vec(1..50_u8, 1..9).prop_map(Kind::Link),
            (prop::collection::vec((0..9_u64, 1..9_u64), 0..4), 0..9_u64).prop_map(
                |(parts, hole)| {
                    let mut end = 0;
                    let extents = parts.into_iter().map(|(hole, len)| {
                        let offset = end + hole;
                        end = offset + len;
                        Extent { offset, len }
                    });
                    let extents = extents.collect();
                    Kind::File { size: end + hole, extents }
                }
            ),
        ]
    }

    fn time() -> impl Strategy<Value = Option<(i64, u32)>> {
        prop::option::of((any::<i64>(), 0..1_000_000_000_u32))
    }

    proptest! {
        #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

        #[test]
        fn a_manifest_is_read_as_it_was_written(
            kinds in prop::collection::vec((kind(), any::<u32>(), time()), 0..9),
        ) {
            let root = Entry { parent: 0, name: Vec::new(), mode: 0, modified: None, kind: Kind::Folder };
            let mut entries = vec![root];
            for (number, (kind, mode, modified)) in (0_u8..).zip(kinds) {
                entries.push(Entry { parent: 0, name: vec![0xff, number + 1], mode, modified, kind });
            }
            let manifest = Manifest { entries };
            let bytes = encode(&manifest).unwrap();
            prop_assert_eq!(decode(&bytes), Ok(manifest));
            prop_assert!(decode(&bytes[..bytes.len() - 1]).is_err());
        }

        #[test]
        fn noise_is_read_or_refused(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
            if let Ok(manifest) = decode(&bytes) {
                prop_assert_eq!(manifest.check(), Ok(()));
            }
        }
    }
}
