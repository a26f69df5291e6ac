//! The page of the book: the matrix, and what is behind each of its cells.

use super::{Assumption, Cell, Evidence, Kind};
use std::fmt::Write;

const HEAD: &str = "\
# Conformance

What verbcast assumes of an adapter, and where each assumption was seen to hold. This page is made from
`src/cli/conformance.toml` by `verbcast conformance`. [`verbcast doctor`](guide/doctor.md) tries the assumptions on an
adapter; a site that sends its report fills a column.

| word | meaning |
|---|---|
| source | read in the source of the kernel, rdma-core or a subnet manager; nobody has seen it run |
| emulated | a test imitates the adapter |
| measured | it ran on such an adapter |
| reported | a site has sent the doctor's report |
| – | the question does not arise |
| unknown | nobody knows; the reason stands below |
| **no** | the assumption was found to be wrong; verbcast has another way, or the adapter is a problem |

";

/// The whole page.
pub fn render(assumptions: &[Assumption]) -> String {
    let mut page = HEAD.to_owned();
    // Writing to a String does not fail.
    let _ = matrix(&mut page, assumptions);
    for assumption in assumptions {
        let _ = detail(&mut page, assumption);
    }
    page
}

fn matrix(page: &mut String, assumptions: &[Assumption]) -> std::fmt::Result {
    writeln!(page, "| | assumption | {} |", Kind::ALL.map(Kind::name).join(" | "))?;
    writeln!(page, "|--:|---|{}", "---|".repeat(Kind::ALL.len()))?;
    for Assumption { number, id, cells, .. } in assumptions {
        let words: Vec<_> = Kind::ALL.iter().map(|kind| word(&cells[kind])).collect();
        writeln!(page, "| {number} | [{id}](#{number}-{id}) | {} |", words.join(" | "))?;
    }
    Ok(())
}

/// A cell in a word or two.
fn word(cell: &Cell) -> String {
    let word = match cell.evidence {
        Evidence::Seen => "source",
        Evidence::Emulated => "emulated",
        Evidence::Measured => "measured",
        Evidence::Reported => "reported",
        Evidence::Absent => "–",
        Evidence::Unknown => "unknown",
    };
    if cell.holds { word.to_owned() } else { format!("**no** ({word})") }
}

fn detail(page: &mut String, assumption: &Assumption) -> std::fmt::Result {
    let Assumption { number, id, says, matters, cells } = assumption;
    writeln!(page, "\n## {number} {id}\n\n{says} {matters}\n")?;
    // Kinds of which the same is known stand together.
    let mut told: Vec<(Vec<&str>, &Cell)> = Vec::new();
    for (kind, cell) in cells {
        match told.iter_mut().find(|(_, other)| *other == cell) {
            Some((kinds, _)) => kinds.push(kind.name()),
            None => told.push((vec![kind.name()], cell)),
        }
    }
    for (kinds, cell) in told {
        let place = match cell.place.split_once("::") {
            Some((file, test)) => format!("`{file}`, `{test}`"),
            None => cell.place.clone(),
        };
        writeln!(page, "- {}: {}: {place}", kinds.join(", "), word(cell))?;
    }
    Ok(())
}
