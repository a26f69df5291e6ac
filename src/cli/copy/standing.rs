//! What has become of a rank's copy, for when not all is well.

use super::destination::shown;
use super::host;
use std::path::{Path, PathBuf};
use verbcast_core::rank::Rank;

#[derive(Default)]
pub struct Standing {
    target: Option<PathBuf>,
    kept: Option<PathBuf>,
    pub is_published: bool,
}

impl Standing {
    /// Data may have come from now on.
    pub fn begin(&mut self, target: Option<PathBuf>, kept: Option<&Path>) {
        (self.target, self.kept) = (target, kept.map(Path::to_owned));
    }

    /// Adds a line to a failure, for a rank that was to write files.
    pub fn add_to(&self, message: String, rank: Rank) -> String {
        let Some(target) = self.target.as_ref().filter(|_| rank != Rank(0)) else { return message };
        let host = host::name();
        let line = match (self.is_published, &self.kept) {
            (true, _) => format!("copied to {} on {host}", shown(target)),
            (false, None) => format!("not copied on {host}"),
            (false, Some(kept)) => {
                format!("not copied on {host}; what came is kept in {} for --resume", shown(kept))
            }
        };
        format!("{message}\n{line}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rank_says_what_it_has() {
        let mut standing = Standing::default();
        assert_eq!(standing.add_to("x".to_owned(), Rank(1)), "x", "nothing has come");
        standing.begin(Some("d/f".into()), None);
        assert_eq!(standing.add_to("x".to_owned(), Rank(0)), "x", "it has the source");
        let host = host::name();
        assert_eq!(standing.add_to("x".to_owned(), Rank(1)), format!("x\nnot copied on {host}"));
        standing.is_published = true;
        assert_eq!(standing.add_to("x".to_owned(), Rank(1)), format!("x\ncopied to d/f on {host}"));
    }
}
