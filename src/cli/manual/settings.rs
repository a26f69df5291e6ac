//! The page of the environment variables, verbcast-settings(7), made of the book's.

use clap_mangen::roff::{Inline, Roff, bold, roman};

/// The page's name, with its section behind it.
pub const NAME: &str = "verbcast-settings.7";

/// The book's page, whose names, values and defaults tests compare with the code.
const BOOK: &str = include_str!("../../../docs/src/settings.md");

/// What the book says to those who change verbcast.
const LEFT_OUT: &str = "## Tests and scripts";

/// The page, for `man`.
pub fn page() -> String {
    let version = concat!("verbcast ", env!("CARGO_PKG_VERSION"));
    let mut roff = Roff::new();
    // An argument of nothing would be left out: there is no date.
    roff.control("TH", ["verbcast-settings", "7", " ", version]);
    roff.control("SH", ["NAME"])
        .text([roman("verbcast-settings - environment variables of verbcast")]);
    roff.control("SH", ["DESCRIPTION"]);
    let (text, _) = BOOK.split_once(LEFT_OUT).unwrap_or((BOOK, ""));
    let mut head = Vec::new();
    // The page's own heading is its name.
    for block in text.split("\n\n").skip(1) {
        match block.strip_prefix("## ") {
            Some(heading) => roff.control("SH", [heading.to_uppercase().as_str()]),
            None if block.starts_with('|') => table(&mut roff, block, &mut head),
            None => roff.control("PP", []).text(prose(&block.replace('\n', " "))),
        };
    }
    roff.control("SH", ["SEE ALSO"]).text([bold("verbcast"), roman("(1)")]);
    roff.to_roff()
}

/// A table: what a row is of, then its other cells, each behind the name of its column.
fn table<'a>(roff: &'a mut Roff, block: &str, head: &mut Vec<String>) -> &'a mut Roff {
    for (number, line) in block.lines().enumerate() {
        let cells: Vec<&str> = line.trim_matches('|').split(" | ").map(str::trim).collect();
        match number {
            0 => *head = cells.iter().map(|cell| (*cell).to_owned()).collect(),
            1 => {}
            _ => {
                roff.control("TP", []).text(prose(cells[0]));
                for (name, cell) in head.iter().zip(&cells).skip(1) {
                    let mut inlines = vec![roman(format!("{name}: "))];
                    // The last says what it is about.
                    if name == "meaning" {
                        inlines.clear();
                    }
                    inlines.extend(prose(cell));
                    roff.text(inlines).control("br", []);
                }
            }
        }
    }
    roff
}

/// Text without its links, and what stands between back-ticks in bold.
fn prose(text: &str) -> Vec<Inline> {
    let mut plain = String::new();
    let mut rest = text;
    while let Some((before, link)) = rest.split_once('[') {
        let parts = link.split_once("](").and_then(|(name, end)| {
            let (_, after) = end.split_once(')')?;
            Some((name, after))
        });
        let Some((name, after)) = parts.filter(|(name, _)| !name.contains(']')) else {
            plain += before;
            plain.push('[');
            rest = link;
            continue;
        };
        plain += before;
        plain += name;
        rest = after;
    }
    plain += rest;
    let part = |(number, part): (usize, &str)| match number % 2 {
        0 => roman(part),
        _ => bold(part),
    };
    plain.split('`').enumerate().map(part).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use verbcast::broadcast::Config;

    #[test]
    fn every_variable_has_its_place() {
        let page = page();
        for variable in Config::variables() {
            let name = variable.name.replace('-', "\\-");
            assert!(page.contains(&format!(".TP\n\\fB{name}\\fR\ntakes: ")), "{name} in {page}");
        }
        assert!(
            page.contains("\\fBVERBCAST_STATS\\fR") && page.contains("\\fBVERBCAST_RENDEZVOUS\\fR")
        );
        assert!(!page.contains("VERBCAST_TEST_ALL") && !page.contains("](") && !page.contains('`'));
    }

    #[test]
    fn brackets_that_are_no_link_stay() {
        let text = |text| prose(text).len();
        assert_eq!(text("`[IPv6]:PORT`, see [a page](page.md#here) and `b`"), 5);
        let page = page();
        assert!(page.contains("[IPv6]:PORT") && page.contains("see the default table"), "{page}");
    }
}
