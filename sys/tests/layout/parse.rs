//! Reads the items out of the bindings' text, which rustfmt has laid out.

/// A struct or union.
pub struct Record {
    /// `struct` or `union`.
    pub keyword: &'static str,
    /// Its name in Rust.
    pub name: String,
    /// Its public fields: name, and the type as far as the field's line has it.
    pub fields: Vec<(String, String)>,
}

/// What the bindings define.
pub struct Items {
    pub records: Vec<Record>,
    /// Types whose contents the C headers do not show.
    pub incomplete: Vec<String>,
    pub constants: Vec<String>,
    pub functions: Vec<String>,
}

/// Fields that bindgen invents for a type it knows nothing about.
const INCOMPLETE: [&str; 2] = ["_unused: [u8; 0]", "pub _address: u8"];

pub fn parse(text: &str) -> Items {
    let mut items = Items {
        records: Vec::new(),
        incomplete: Vec::new(),
        constants: Vec::new(),
        functions: Vec::new(),
    };
    let mut lines = text.lines();
    while let Some(line) = lines.next() {
        if let Some(rest) = line.strip_prefix("pub struct ") {
            // bindgen's own helpers, which are no C types.
            if !rest.starts_with("__Bindgen") {
                record(&mut items, "struct", rest, &mut lines);
            }
        } else if let Some(rest) = line.strip_prefix("pub union ") {
            record(&mut items, "union", rest, &mut lines);
        } else if let Some(rest) = line.strip_prefix("pub const ") {
            items.constants.push(until(rest, ':'));
        } else if let Some(rest) = line.strip_prefix("    pub fn ") {
            items.functions.push(until(rest, '('));
        }
    }
    items
}

/// Reads a record's body, up to its closing brace.
fn record<'a>(
    items: &mut Items,
    keyword: &'static str,
    heading: &str,
    lines: &mut impl Iterator<Item = &'a str>,
) {
    let name = heading.strip_suffix(" {").expect("a record's heading ends with a brace").to_owned();
    let mut fields = Vec::new();
    for line in lines.take_while(|line| *line != "}") {
        let Some(field) = line.strip_prefix("    ").filter(|field| !field.starts_with(' ')) else {
            continue; // within a type of several lines
        };
        if INCOMPLETE.contains(&field.trim_end_matches(',')) {
            items.incomplete.push(name);
            return;
        }
        if let Some((field, kind)) = field.strip_prefix("pub ").and_then(|it| it.split_once(':')) {
            fields.push((field.to_owned(), kind.trim().trim_end_matches(',').to_owned()));
        } else {
            assert_eq!(field, ">,", "unknown line in {name}");
        }
    }
    items.records.push(Record { keyword, name, fields });
}

fn until(text: &str, end: char) -> String {
    text.split(end).next().expect("split yields at least one").to_owned()
}

#[test]
fn every_record_is_read() {
    let text = super::BINDINGS;
    let items = parse(text);
    let headings = text.matches("\npub struct ").count() + text.matches("\npub union ").count();
    let helpers = text.matches("\npub struct __Bindgen").count();
    assert_eq!(items.records.len() + items.incomplete.len() + helpers, headings);
    assert_eq!(items.incomplete, ["_compat_ibv_port_attr", "verbs_ex_private"]);
    assert_eq!(items.constants.len(), text.matches("pub const ").count());
    assert_eq!(items.functions.len(), text.matches("pub fn ").count());
}
