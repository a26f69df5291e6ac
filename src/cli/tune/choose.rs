//! From medians to a table.

use crate::results::Point;
use std::collections::BTreeMap;
use verbcast_core::protocol::choice::{Algorithm, Table, TableError};

/// The medians of the algorithms at one place, in microseconds.
pub type Medians = Vec<(Algorithm, f64)>;

/// By the number of ranks, then by size in bytes.
pub type Measured = BTreeMap<u32, BTreeMap<u64, Medians>>;

/// What is taken among so many ranks: by size in bytes.
#[derive(Clone, Debug, PartialEq)]
pub struct Column {
    pub ranks: u32,
    pub taken: BTreeMap<u64, Algorithm>,
}

/// What there is to choose from. Points without a time are not.
pub fn measured(points: &[Point]) -> Measured {
    let mut measured = Measured::new();
    for point in points {
        if let (Ok(algorithm), Some(median)) = (point.algorithm.parse(), point.figure()) {
            let sizes = measured.entry(point.ranks).or_default();
            sizes.entry(point.size).or_default().push((algorithm, median));
        }
    }
    measured
}

/// The algorithm with the least median.
pub fn best(medians: &Medians) -> Option<(Algorithm, f64)> {
    medians.iter().copied().min_by(|one, other| one.1.total_cmp(&other.1))
}

/// Takes the best at each place, but changes only for what is better by more than `margin`, a share of
/// the median: from one size to the next, and from what fewer ranks take to a column of their own.
pub fn choose(measured: &Measured, margin: f64) -> Vec<Column> {
    let mut columns: Vec<Column> = Vec::new();
    for (&ranks, sizes) in measured {
        let taken = columns
            .last()
            .and_then(|fewer| as_before(&fewer.taken, sizes, margin))
            .unwrap_or_else(|| along_sizes(sizes, margin));
        columns.push(Column { ranks, taken });
    }
    columns
}

/// What fewer ranks take, if it is good enough at every size.
fn as_before(
    fewer: &BTreeMap<u64, Algorithm>,
    sizes: &BTreeMap<u64, Medians>,
    margin: f64,
) -> Option<BTreeMap<u64, Algorithm>> {
    let same = sizes.iter().map(|(size, medians)| {
        let algorithm = *fewer.get(size)?;
        is_good(medians, algorithm, margin).then_some((*size, algorithm))
    });
    same.collect()
}

fn along_sizes(sizes: &BTreeMap<u64, Medians>, margin: f64) -> BTreeMap<u64, Algorithm> {
    let mut last = None;
    let mut taken = BTreeMap::new();
    for (size, medians) in sizes {
        last = last
            .filter(|algorithm| is_good(medians, *algorithm, margin))
            .or(best(medians).map(|(algorithm, _)| algorithm));
        taken.extend(last.map(|algorithm| (*size, algorithm)));
    }
    taken
}

/// Whether none is better than `algorithm` by more than `margin`.
fn is_good(medians: &Medians, algorithm: Algorithm, margin: f64) -> bool {
    let own = medians.iter().find(|(other, _)| *other == algorithm);
    own.zip(best(medians)).is_some_and(|((_, own), (_, least))| least >= own * (1.0 - margin))
}

/// The table: neighbours that take the same share a line, and the last measurement counts for all that
/// is beyond it.
///
/// # Errors
/// If there is nothing to make it of.
pub fn table(columns: &[Column]) -> Result<Table, TableError> {
    let mut text = String::new();
    let mut columns = columns.iter().peekable();
    while let Some(Column { ranks, taken }) = columns.next() {
        if columns.peek().is_some_and(|next| next.taken == *taken) {
            continue;
        }
        let ranks = bound(columns.peek().map(|_| u64::from(*ranks)));
        let mut sizes = taken.iter().peekable();
        while let Some((size, algorithm)) = sizes.next() {
            if sizes.peek().is_none_or(|(_, next)| *next != algorithm) {
                let bytes = bound(sizes.peek().map(|_| *size));
                text += &format!("ranks {ranks} bytes {bytes} {algorithm}\n");
            }
        }
    }
    text.parse()
}

fn bound(most: Option<u64>) -> String {
    most.map_or("any".to_owned(), |most| format!("<= {most}"))
}

#[cfg(test)]
mod tests;
