//! What verbcast assumes of an adapter, and where each assumption was seen to hold: the data of `conformance.toml`.

mod kind;
mod page;

use crate::failure::Failure;
use serde::Deserialize;
use std::collections::BTreeMap;
use std::sync::LazyLock;

/// The page of the book.
pub fn run() -> Result<(), Failure> {
    crate::print(&page::render(&ASSUMPTIONS))
}

/// All assumptions, in the order of their numbers.
pub static ASSUMPTIONS: LazyLock<Vec<Assumption>> =
    LazyLock::new(|| parse(include_str!("../conformance.toml")).expect("a test reads it"));

/// A kind of adapter, or of its imitation: a column of the matrix.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Kind {
    Rxe,
    ShimMlx5Ib,
    ShimMlx5Roce,
    ShimHfi1,
    ShimIrdma,
    ConnectxIb,
    ConnectxRoce,
    Hfi1,
    Irdma,
}

impl Kind {
    pub const ALL: [Kind; 9] = [
        Kind::Rxe,
        Kind::ShimMlx5Ib,
        Kind::ShimMlx5Roce,
        Kind::ShimHfi1,
        Kind::ShimIrdma,
        Kind::ConnectxIb,
        Kind::ConnectxRoce,
        Kind::Hfi1,
        Kind::Irdma,
    ];

    /// What it is called on a page.
    pub fn name(self) -> &'static str {
        match self {
            Kind::Rxe => "SoftRoCE",
            Kind::ShimMlx5Ib => "shim mlx5-ib",
            Kind::ShimMlx5Roce => "shim mlx5-roce",
            Kind::ShimHfi1 => "shim hfi1",
            Kind::ShimIrdma => "shim irdma",
            Kind::ConnectxIb => "ConnectX InfiniBand",
            Kind::ConnectxRoce => "ConnectX RoCE",
            Kind::Hfi1 => "hfi1",
            Kind::Irdma => "irdma",
        }
    }
}

/// How it is known whether an assumption holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Evidence {
    /// Read in the source of the kernel, rdma-core or a subnet manager.
    Seen,
    /// By a test with an imitation.
    Emulated,
    /// It ran on such an adapter.
    Measured,
    /// By a site's report of `verbcast doctor`.
    Reported,
    /// The question does not arise.
    Absent,
    /// Nobody knows.
    Unknown,
}

/// What is known of an assumption on a kind of adapter.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(try_from = "Table")]
pub struct Cell {
    pub evidence: Evidence,
    /// Where that is to be seen, or why it is not.
    pub place: String,
    pub holds: bool,
}

/// Something that verbcast assumes of an adapter.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Assumption {
    pub number: u32,
    pub id: String,
    /// The assumption, in a sentence.
    pub says: String,
    /// Why it matters.
    pub matters: String,
    pub cells: BTreeMap<Kind, Cell>,
}

/// A cell as it is written.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Table {
    seen: Option<String>,
    emulated: Option<String>,
    measured: Option<String>,
    reported: Option<String>,
    absent: Option<String>,
    unknown: Option<String>,
    holds: Option<bool>,
}

impl TryFrom<Table> for Cell {
    type Error = String;

    fn try_from(table: Table) -> Result<Cell, String> {
        let holds = table.holds.unwrap_or(true);
        let mut known = [
            (Evidence::Seen, table.seen),
            (Evidence::Emulated, table.emulated),
            (Evidence::Measured, table.measured),
            (Evidence::Reported, table.reported),
            (Evidence::Absent, table.absent),
            (Evidence::Unknown, table.unknown),
        ]
        .into_iter()
        .filter_map(|(evidence, place)| Some((evidence, place?)));
        match (known.next(), known.next()) {
            (Some((evidence, place)), None) if !place.is_empty() => {
                Ok(Cell { evidence, place, holds })
            }
            _ => Err("a cell says one thing, and where that is to be seen".to_owned()),
        }
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    assumption: Vec<Assumption>,
}

fn parse(text: &str) -> Result<Vec<Assumption>, String> {
    let File { assumption: all } = toml::from_str(text).map_err(|error| error.to_string())?;
    for (assumption, number) in all.iter().zip(1..) {
        let Assumption { number: written, id, cells, .. } = assumption;
        if *written != number {
            return Err(format!("assumption {written} ({id}) stands where {number} should"));
        }
        if let Some(kind) = Kind::ALL.into_iter().find(|kind| !cells.contains_key(kind)) {
            return Err(format!("assumption {number} ({id}) has no cell for {}", kind.name()));
        }
    }
    Ok(all)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn one(cells: &str) -> String {
        format!(
            "[[assumption]]\nnumber = 1\nid = \"a\"\nsays = \"s\"\nmatters = \"m\"\n\
             [assumption.cells]\n{cells}"
        )
    }

    #[test]
    fn the_file_is_whole() {
        let all = parse(include_str!("../conformance.toml")).unwrap();
        assert!(all.len() >= 25);
        let mut ids: Vec<_> = all.iter().map(|assumption| &assumption.id).collect();
        ids.sort();
        ids.dedup();
        assert_eq!(ids.len(), all.len(), "ids differ");
        assert!(all.iter().all(|one| one.says.ends_with('.') && one.matters.ends_with('.')));
    }

    #[test]
    fn an_empty_or_a_missing_cell_is_refused() {
        let refused = |cells: &str| parse(&one(cells)).unwrap_err();
        assert!(refused("rxe = { unknown = \"why\" }").contains("has no cell for shim mlx5-ib"));
        for cell in ["\"unknown\"", "{}", "{ seen = \"\" }", "{ seen = \"a\", absent = \"b\" }"] {
            let error = refused(&format!("rxe = {cell}"));
            assert!(!error.contains("has no cell"), "{cell}: {error}");
        }
    }
}
