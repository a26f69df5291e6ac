//! What has become of a rank's copy, for when not all is well.

use super::destination::shown;
use super::host;
use super::staging::Unpublished;
use std::path::{Path, PathBuf};
use verbcast_core::rank::Rank;

#[derive(Default)]
pub struct Standing {
    target: Option<PathBuf>,
    kept: Option<PathBuf>,
    published: Part,
}

/// How much of the copy has its place.
#[derive(Default)]
enum Part {
    #[default]
    None,
    Some,
    All,
}

impl Standing {
    /// Data may have come from now on.
    pub fn begin(&mut self, target: Option<PathBuf>, kept: Option<&Path>) {
        (self.target, self.kept) = (target, kept.map(Path::to_owned));
    }

    /// All that is whole has its place now, or not.
    pub fn end(&mut self, published: &Result<(), Unpublished>) {
        self.published = match published {
            Ok(()) => Part::All,
            Err(Unpublished { is_partial: true, .. }) => Part::Some,
            Err(Unpublished { is_partial: false, .. }) => Part::None,
        };
    }

    /// Adds a line to a failure, for a rank that was to write files.
    pub fn add_to(&self, message: String, rank: Rank) -> String {
        let Some(target) = self.target.as_ref().filter(|_| rank != Rank(0)) else { return message };
        let host = host::name();
        let line = match self.published {
            Part::All => return format!("{message}\ncopied to {} on {host}", shown(target)),
            Part::Some => format!("partly copied to {} on {host}", shown(target)),
            Part::None => format!("not copied on {host}"),
        };
        match &self.kept {
            None => format!("{message}\n{line}"),
            Some(kept) => {
                format!("{message}\n{line}; what came is kept in {} for --resume", shown(kept))
            }
        }
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
        let failed = |is_partial| Err(Unpublished { what: "y".to_owned(), is_partial });
        standing.end(&failed(false));
        assert_eq!(standing.add_to("x".to_owned(), Rank(1)), format!("x\nnot copied on {host}"));
        standing.end(&failed(true));
        let partly = format!("x\npartly copied to d/f on {host}");
        assert_eq!(standing.add_to("x".to_owned(), Rank(1)), partly);
        standing.end(&Ok(()));
        assert_eq!(standing.add_to("x".to_owned(), Rank(1)), format!("x\ncopied to d/f on {host}"));
    }
}
