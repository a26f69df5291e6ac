//! Compares every struct, union and constant of the bindings with the system's C headers.
//!
//! The Rust side is the text of the bindings: bindgen's own assertions, which the compiler checks
//! against the Rust types, give each size, alignment and offset as a number. The C side is a
//! program made from the same names.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::process::Command;

const BINDINGS: &str = include_str!("../src/bindings.rs");
const HEADERS: &str = include_str!("../wrapper.h");

#[derive(Default)]
struct Record {
    is_union: bool,
    size: Option<usize>,
    align: Option<usize>,
    /// Name, type and offset.
    fields: Vec<(String, String, Option<usize>)>,
}

/// The number in `[size_of::<T>() - 8usize]`.
fn asserted_number(text: &str) -> usize {
    let (_, number) = text.rsplit_once("- ").unwrap_or_else(|| panic!("no number in {text:?}"));
    number.trim_end_matches(['u', 's', 'i', 'z', 'e', ']', ';', ')']).parse().expect("a number")
}

/// The bindings' lines, with an assertion that rustfmt broke over several joined to one.
fn statements() -> Vec<String> {
    let mut statements: Vec<String> = Vec::new();
    for line in BINDINGS.lines() {
        match statements.last_mut() {
            Some(last) if last.trim_start().starts_with("[\"") && !last.ends_with(';') => {
                last.push_str(line.trim_start());
            }
            _ => statements.push(line.to_owned()),
        }
    }
    statements
}

fn records() -> BTreeMap<String, Record> {
    let mut records: BTreeMap<String, Record> = BTreeMap::new();
    let mut current = None;
    for line in statements() {
        let line = line.as_str();
        if let Some((keyword, name)) = line
            .strip_prefix("pub ")
            .and_then(|rest| rest.strip_suffix(" {"))
            .and_then(|rest| rest.split_once(' '))
            && ["struct", "union"].contains(&keyword)
        {
            let is_union = keyword == "union";
            records.insert(name.to_owned(), Record { is_union, ..Record::default() });
            current = Some(name.to_owned());
        } else if line == "}" {
            current = None;
        } else if let (Some(name), Some(field)) = (&current, line.strip_prefix("    pub ")) {
            if let Some((field, kind)) = field.split_once(':') {
                let kind = kind.trim().trim_end_matches(',').to_owned();
                let record = records.get_mut(name).expect("the record is open");
                record.fields.push((field.to_owned(), kind, None));
            }
        } else if let Some((what, number)) =
            line.trim_start().strip_prefix("[\"").and_then(|rest| rest.split_once("\"]"))
        {
            let number = asserted_number(number);
            if let Some(name) = what.strip_prefix("Size of ") {
                records.get_mut(name).expect("a known record").size = Some(number);
            } else if let Some(name) = what.strip_prefix("Alignment of ") {
                records.get_mut(name).expect("a known record").align = Some(number);
            } else if let Some(path) = what.strip_prefix("Offset of field: ") {
                let (name, field) = path.split_once("::").expect("record and field");
                let record = records.get_mut(name).expect("a known record");
                let field = record.fields.iter_mut().find(|(known, ..)| known == field);
                field.expect("a known field").2 = Some(number);
            }
        }
    }
    records
}

/// Every field that C can name from `record`, through nested anonymous records, with its offset.
fn paths(
    records: &BTreeMap<String, Record>,
    name: &str,
    prefix: &str,
    base: usize,
    found: &mut Vec<(String, usize)>,
) {
    for (field, kind, offset) in &records[name].fields {
        let Some(offset) = offset.map(|offset| base + offset) else { continue };
        let anonymous = field.starts_with("__bindgen_anon");
        let plain = field.strip_suffix('_').unwrap_or(field);
        let path = if anonymous { prefix.to_owned() } else { format!("{prefix}{plain}.") };
        if !anonymous && !field.starts_with('_') {
            found.push((path.trim_end_matches('.').to_owned(), offset));
        }
        if kind.contains("__bindgen_ty") && records.contains_key(kind) {
            paths(records, kind, &path, offset, found);
        }
    }
}

fn constants() -> Vec<(&'static str, &'static str)> {
    let constants = BINDINGS.lines().filter_map(|line| {
        let (name, rest) = line.strip_prefix("pub const ")?.split_once(": ")?;
        let value = rest.split_once("= ")?.1.strip_suffix(';')?;
        value.parse::<i64>().is_ok().then_some((name, value))
    });
    constants.collect()
}

#[test]
fn the_bindings_match_the_systems_headers() {
    let records = records();
    let mut program =
        format!("{HEADERS}\n#include <stdio.h>\n#include <stddef.h>\nint main(void) {{\n");
    let mut expected = Vec::new();
    let mut ask = |line: &str, label: String, value: String| {
        writeln!(program, "    printf(\"{label} %lld\\n\", (long long)({line}));").unwrap();
        expected.push(format!("{label} {value}"));
    };
    let mut seen = 0;
    for (name, record) in &records {
        let tag = if record.is_union { "union" } else { "struct" };
        let (Some(size), Some(align)) = (record.size, record.align) else { continue };
        if name.contains("__bindgen_ty") {
            continue;
        }
        seen += 1;
        ask(&format!("sizeof({tag} {name})"), format!("sizeof {name}"), size.to_string());
        ask(&format!("_Alignof({tag} {name})"), format!("alignof {name}"), align.to_string());
        let mut fields = Vec::new();
        paths(&records, name, "", 0, &mut fields);
        for (path, offset) in fields {
            let line = format!("offsetof({tag} {name}, {path})");
            ask(&line, format!("offsetof {name} {path}"), offset.to_string());
        }
    }
    let constants = constants();
    for (name, value) in &constants {
        ask(name, (*name).to_owned(), (*value).to_owned());
    }
    program.push_str("    return 0;\n}\n");
    assert!(seen > 30, "only {seen} records found in the bindings");
    assert!(constants.len() > 100, "only {} constants found", constants.len());

    let folder = env!("CARGO_TARGET_TMPDIR");
    let (source, binary) = (format!("{folder}/layout.c"), format!("{folder}/layout"));
    std::fs::write(&source, program).unwrap();
    let compiler = std::env::var("CC").unwrap_or_else(|_| "cc".to_owned());
    let compiled = match Command::new(&compiler).args(["-o", &binary, &source]).output() {
        Ok(compiled) => compiled,
        Err(error) => {
            assert!(std::env::var_os("CI").is_none(), "CI promises a C compiler: {error}");
            println!("SKIPPED: no C compiler ({compiler}: {error})");
            return;
        }
    };
    assert!(compiled.status.success(), "{}", String::from_utf8_lossy(&compiled.stderr));
    let output = Command::new(&binary).output().unwrap();
    let actual = String::from_utf8(output.stdout).unwrap();
    let actual: Vec<&str> = actual.lines().collect();
    assert_eq!(actual.len(), expected.len());
    let wrong: Vec<_> = expected.iter().zip(&actual).filter(|(rust, c)| *rust != *c).collect();
    assert!(wrong.is_empty(), "Rust against C: {wrong:#?}");
    println!("{seen} records, {} constants, {} numbers agree", constants.len(), expected.len());
}
