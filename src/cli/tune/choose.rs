//! From medians to a table.

use super::candidate::Candidate;
use crate::results::Point;
use std::collections::BTreeMap;
use verbcast_core::protocol::choice::{Table, TableError};

/// The medians of the candidates at one place, in microseconds.
pub type Medians = Vec<(Candidate, f64)>;

/// By size in bytes.
type Sizes = BTreeMap<u64, Medians>;

/// By the number of ranks, then by size in bytes.
pub type Measured = BTreeMap<u32, Sizes>;

/// What is taken, by size in bytes.
pub type Taken = BTreeMap<u64, Candidate>;

/// What is taken among so many ranks.
#[derive(Clone, Debug, PartialEq)]
pub struct Column {
    pub ranks: u32,
    pub taken: Taken,
    /// What is taken by programs without an MPI library.
    pub without_mpi: Taken,
}

impl Column {
    fn is_as(&self, other: &Column) -> bool {
        self.taken == other.taken && self.without_mpi == other.without_mpi
    }
}

/// What there is to choose from. Points without a time are not, nor are sizes at which nothing was measured but what the MPI
/// library does, which a program may not have.
pub fn measured(points: &[Point]) -> Measured {
    let mut measured = Measured::new();
    for point in points {
        if let (Ok(candidate), Some(median)) = (point.algorithm.parse(), point.figure()) {
            let sizes = measured.entry(point.ranks).or_default();
            sizes.entry(point.size).or_default().push((candidate, median));
        }
    }
    for sizes in measured.values_mut() {
        sizes
            .retain(|_, medians| medians.iter().any(|(candidate, _)| *candidate != Candidate::Mpi));
    }
    measured.retain(|_, sizes| !sizes.is_empty());
    measured
}

/// The candidate with the least median.
pub fn best(medians: &Medians) -> Option<(Candidate, f64)> {
    medians.iter().copied().min_by(|one, other| one.1.total_cmp(&other.1))
}

/// Takes the best at each place, but changes only for what is better by more than `margin`, a share of
/// the median: from one size to the next, and from what fewer ranks take to a column of their own.
pub fn choose(measured: &Measured, margin: f64) -> Vec<Column> {
    let mut columns: Vec<Column> = Vec::new();
    for (&ranks, sizes) in measured {
        let protocols: Sizes =
            sizes.iter().map(|(size, medians)| (*size, without_mpi(medians))).collect();
        let fewer = columns.last();
        let taken = take(fewer.map(|fewer| &fewer.taken), sizes, margin);
        let without_mpi = take(fewer.map(|fewer| &fewer.without_mpi), &protocols, margin);
        columns.push(Column { ranks, taken, without_mpi });
    }
    columns
}

fn without_mpi(medians: &Medians) -> Medians {
    medians.iter().copied().filter(|(candidate, _)| *candidate != Candidate::Mpi).collect()
}

fn take(fewer: Option<&Taken>, sizes: &Sizes, margin: f64) -> Taken {
    let same = fewer.and_then(|fewer| as_before(fewer, sizes, margin));
    same.unwrap_or_else(|| along_sizes(sizes, margin))
}

/// What fewer ranks take, if it is good enough at every size.
fn as_before(fewer: &Taken, sizes: &Sizes, margin: f64) -> Option<Taken> {
    let same = sizes.iter().map(|(size, medians)| {
        let candidate = *fewer.get(size)?;
        is_good(medians, candidate, margin).then_some((*size, candidate))
    });
    same.collect()
}

fn along_sizes(sizes: &Sizes, margin: f64) -> Taken {
    let mut last = None;
    let mut taken = Taken::new();
    for (size, medians) in sizes {
        last = last
            .filter(|candidate| is_good(medians, *candidate, margin))
            .or(best(medians).map(|(candidate, _)| candidate));
        taken.extend(last.map(|candidate| (*size, candidate)));
    }
    taken
}

/// Whether none is better than `candidate` by more than `margin`.
fn is_good(medians: &Medians, candidate: Candidate, margin: f64) -> bool {
    let own = medians.iter().find(|(other, _)| *other == candidate);
    own.zip(best(medians)).is_some_and(|((_, own), (_, least))| least >= own * (1.0 - margin))
}

/// The table: neighbours that take the same share a line, and the last measurement counts for all that
/// is beyond it. What is left to the MPI library has a line for programs without one behind it.
///
/// # Errors
/// If there is nothing to make it of.
pub fn table(columns: &[Column]) -> Result<Table, TableError> {
    let mut text = String::new();
    let mut columns = columns.iter().peekable();
    while let Some(column) = columns.next() {
        if columns.peek().is_some_and(|next| next.is_as(column)) {
            continue;
        }
        let ranks = bound(columns.peek().map(|_| u64::from(column.ranks)));
        for (most, candidate) in lines(column) {
            text += &format!("ranks {ranks} bytes {} {candidate}\n", bound(most));
        }
    }
    text.parse()
}

/// A column's lines: up to so many bytes, this.
fn lines(Column { taken, without_mpi, .. }: &Column) -> Vec<(Option<u64>, Candidate)> {
    let both = |(size, taken): (&u64, &Candidate)| {
        let protocol = if *taken == Candidate::Mpi { *without_mpi.get(size)? } else { *taken };
        Some((*size, *taken, protocol))
    };
    let mut lines = Vec::new();
    let mut sizes = taken.iter().filter_map(both).peekable();
    while let Some((size, taken, protocol)) = sizes.next() {
        let next = sizes.peek();
        let most = next.map(|_| size);
        let is_mpi = taken == Candidate::Mpi;
        let goes_on = next.is_some_and(|(_, _, next)| *next == protocol);
        let stays = next.is_some_and(|(_, next, _)| (*next == Candidate::Mpi) == is_mpi);
        if is_mpi && !(goes_on && stays) {
            lines.push((most, Candidate::Mpi));
        }
        // What goes on behind lines for MPI reaches as far as they do.
        if !goes_on || !is_mpi && !stays {
            lines.push((most, protocol));
        }
    }
    lines
}

fn bound(most: Option<u64>) -> String {
    most.map_or("any".to_owned(), |most| format!("<= {most}"))
}

#[cfg(test)]
mod tests;
