//! The bindings' layouts and values against the system's C headers.
//!
//! Every struct, union, field, constant and function comes from the text of
//! `src/bindings.rs`, and with the feature `umad` of `src/umad.rs`, so none can
//! be forgotten. It is turned into a table of
//! pairs, a C expression and the Rust expression that must have the same
//! value; `cc` computes the one, rustc the other.
//!
//! The tables are committed, as `table.inc` and `umad_table.inc`, because rustc
//! must see them; likewise the lists of functions. `sys/regenerate` writes both, by
//! running this test with `VERBCAST_BLESS` set.

mod c;
mod functions;
mod parse;
mod table;

use std::env;
use std::fs;
use std::path::Path;

const BINDINGS: &str = include_str!("../../src/bindings.rs");
#[cfg(feature = "umad")]
const UMAD: &str = include_str!("../../src/umad.rs");
/// Makes a committed table's text.
type Writer = fn(&parse::Items) -> String;

/// The committed tables: name, text, and what the text should be.
const FILES: [(&str, &str, Writer); 2] = [
    ("table.inc", include_str!("table.inc"), table::text),
    ("functions.inc", include_str!("functions.inc"), functions::text),
];
#[cfg(feature = "umad")]
const UMAD_FILES: [(&str, &str, Writer); 2] = [
    ("umad_table.inc", include_str!("umad_table.inc"), table::text),
    ("umad_functions.inc", include_str!("umad_functions.inc"), functions::text),
];

/// The least numbers of structs and unions, of constants and of functions that
/// make the check worth its name: a parser that lost most must not pass.
const MIN_RECORDS: usize = 80;
const MIN_CONSTANTS: usize = 300;
const MIN_FUNCTIONS: usize = 55;

#[test]
fn the_committed_tables_are_those_of_the_bindings() {
    let items = parse::parse(BINDINGS);
    assert!(items.records.len() >= MIN_RECORDS, "{} records", items.records.len());
    assert!(items.constants.len() >= MIN_CONSTANTS, "{} constants", items.constants.len());
    assert!(items.functions.len() >= MIN_FUNCTIONS, "{} functions", items.functions.len());
    check_files(&items, FILES);
}

#[cfg(feature = "umad")]
#[test]
fn the_committed_tables_are_those_of_the_bindings_to_libibumad() {
    let items = parse::parse(UMAD);
    let found = (items.records.len(), items.constants.len(), items.functions.len());
    assert_eq!(found, (1, 0, 15));
    check_files(&items, UMAD_FILES);
}

fn check_files(items: &parse::Items, files: [(&str, &str, Writer); 2]) {
    for (name, committed, text) in files {
        let text = text(items);
        if env::var_os("VERBCAST_BLESS").is_some() {
            let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/layout").join(name);
            fs::write(path, text).expect("the table is written");
        } else {
            assert!(text == committed, "{name} is stale: run sys/regenerate");
        }
    }
}

#[test]
fn layouts_and_values_are_those_of_the_headers() {
    let rows = table::rows();
    let expressions: Vec<&str> = rows.iter().map(|row| row.0).collect();
    let values = match c::evaluate(&expressions) {
        Ok(values) => values,
        Err(c::Missing(reason)) => return c::skip(&reason),
    };
    let wrong = differences(&rows, &values);
    assert!(wrong.is_empty(), "{}\n{}", c::header_version(), wrong.join("\n"));
}

#[test]
fn a_wrong_number_is_found() {
    let rows = table::rows();
    let values: Vec<i128> = rows.iter().map(|row| row.1).collect();
    assert_eq!(differences(&rows, &values), Vec::<String>::new());
    for wrong in 0..rows.len() {
        let mut values = values.clone();
        values[wrong] += 1;
        let found = differences(&rows, &values);
        assert_eq!(found.len(), 1, "{found:?}");
        assert!(found[0].starts_with(rows[wrong].0), "{found:?}");
    }
}

fn differences(rows: &[(&str, i128)], values: &[i128]) -> Vec<String> {
    assert_eq!(rows.len(), values.len(), "C printed another number of values");
    rows.iter()
        .zip(values)
        .filter(|((_, rust), c)| rust != *c)
        .map(|((expression, rust), c)| format!("{expression}: {rust} in Rust, {c} in C"))
        .collect()
}
