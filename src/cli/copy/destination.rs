//! DST, as it was given: the names of the copies.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Component, Path, PathBuf};
use verbcast_core::rank::Rank;

const PLACEHOLDER: &[u8] = b"{rank}";
/// File names have at most 255 bytes; the temporary one adds about 40.
const MAX_STEM: usize = 200;

#[derive(Debug, PartialEq, Eq)]
pub enum Destination {
    /// Each rank's standard output.
    Output,
    Path(Template),
}

/// A path in which the rank's number may stand.
#[derive(Debug, PartialEq, Eq)]
pub struct Template(Vec<u8>);

impl Destination {
    pub fn parse(text: &OsStr) -> Result<Destination, String> {
        match text.as_bytes() {
            b"" => Err("DST is empty".to_owned()),
            b"-" => Ok(Destination::Output),
            bytes if bytes.contains(&0) => Err("DST has a byte of zero in it".to_owned()),
            bytes => Ok(Destination::Path(Template(bytes.to_owned()))),
        }
    }

    pub fn path(&self, rank: Rank) -> Option<PathBuf> {
        match self {
            Destination::Output => None,
            Destination::Path(template) => Some(template.path(rank)),
        }
    }
}

impl Template {
    /// Whether each rank writes a file of its own.
    pub fn is_numbered(&self) -> bool {
        self.0.windows(PLACEHOLDER.len()).any(|part| part == PLACEHOLDER)
    }

    /// Whether it can only be a folder, as it ends in `/`, `.` or `..`.
    pub fn is_folder(&self) -> bool {
        let path = Path::new(OsStr::from_bytes(&self.0));
        let last = path.components().next_back();
        self.0.ends_with(b"/")
            || self.0.ends_with(b"/.")
            || !matches!(last, Some(Component::Normal(_)))
    }

    /// What `rank` writes.
    pub fn path(&self, rank: Rank) -> PathBuf {
        let number = rank.0.to_string();
        let (mut name, mut rest) = (Vec::new(), &self.0[..]);
        while let Some((&byte, after)) = rest.split_first() {
            match rest.strip_prefix(PLACEHOLDER) {
                Some(after) => {
                    name.extend_from_slice(number.as_bytes());
                    rest = after;
                }
                None => {
                    name.push(byte);
                    rest = after;
                }
            }
        }
        OsString::from_vec(name).into()
    }

    /// Where what becomes `path` is kept until it is whole: beside it. `tag` tells copies apart.
    pub fn beside(path: &Path, tag: &str) -> PathBuf {
        let name = path.file_name().map(OsStr::as_bytes).unwrap_or_default();
        let mut end = name.len().min(MAX_STEM);
        // A character that is cut in two would make a name that some file systems refuse.
        while end < name.len() && end > 0 && name[end] & 0xc0 == 0x80 {
            end -= 1;
        }
        path.with_file_name(temporary_name(&[b".", &name[..end]].concat(), tag))
    }

    /// Where what is put into the existing folder `path` is kept until it is whole: in it.
    pub fn inside(path: &Path, tag: &str) -> PathBuf {
        path.join(temporary_name(b"", tag))
    }
}

fn temporary_name(stem: &[u8], tag: &str) -> OsString {
    OsString::from_vec([stem, b".verbcast", tag.as_bytes(), b".part"].concat())
}

/// What stands in temporary names: the job and the rank, or nothing where the next job is to find it.
pub fn tag(job: &str, rank: Rank, stays: bool) -> String {
    if stays { String::new() } else { format!("-{job}-{}", rank.0) }
}

/// A path in one line.
pub fn shown(path: &Path) -> String {
    let text = path.to_string_lossy();
    text.chars()
        .map(|c| if c.is_control() { c.escape_default().to_string() } else { c.to_string() })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn template(text: &[u8]) -> Template {
        match Destination::parse(OsStr::from_bytes(text)) {
            Ok(Destination::Path(template)) => template,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn each_rank_has_its_names() {
        let numbered = template(b"d{rank}/out.{rank}");
        assert!(numbered.is_numbered() && !numbered.is_folder());
        assert_eq!(numbered.path(Rank(3)), Path::new("d3/out.3"));
        let beside = |tag: &str| Template::beside(&numbered.path(Rank(3)), tag);
        assert_eq!(
            beside(&tag("abcd", Rank(3), false)),
            Path::new("d3/.out.3.verbcast-abcd-3.part")
        );
        assert_eq!(beside(&tag("abcd", Rank(3), true)), Path::new("d3/.out.3.verbcast.part"));
        assert_eq!(Template::inside(Path::new("d/"), "-a-1"), Path::new("d/.verbcast-a-1.part"));
        let long = template("ä".repeat(127).as_bytes());
        let beside =
            Template::beside(&long.path(Rank(511)), &tag("0123456789abcdef", Rank(511), false));
        assert!(beside.as_os_str().len() <= 255 && beside.to_str().is_some(), "{beside:?}");
        assert_eq!(template(b"\xff{rank}").path(Rank(1)).as_os_str().as_bytes(), b"\xff1");
    }

    #[test]
    fn a_folder_is_told_from_a_name() {
        for text in ["/", "out/", "..", "a/..", ".", "a/.", "./"] {
            assert!(template(text.as_bytes()).is_folder(), "{text}");
        }
        assert!(!template(b"./out").is_folder());
        assert!(Destination::parse(OsStr::new("")).is_err());
        assert_eq!(Destination::parse(OsStr::new("-")), Ok(Destination::Output));
    }

    #[test]
    fn what_is_shown_is_one_line() {
        assert_eq!(shown(Path::new("a\nb\u{1b}ä")), "a\\nb\\u{1b}ä");
    }
}
