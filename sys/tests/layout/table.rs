//! Pairs of a C and a Rust expression that must have the same value.

use std::collections::HashMap;
use std::mem::{align_of, offset_of, size_of};

#[allow(clippy::wildcard_imports, reason = "the table names everything")]
use verbcast_sys::*;

use crate::parse::{Items, Record};

/// The size of a field, in Rust.
macro_rules! field_size {
    ($record:ty, $($field:tt)+) => {{
        const fn of_place<T>(_: *const T) -> usize {
            size_of::<T>()
        }
        let record = ::std::mem::MaybeUninit::<$record>::uninit();
        // SAFETY: only the place inside `record` is named; nothing is read.
        of_place(unsafe { &raw const (*record.as_ptr()).$($field)+ })
    }};
}

/// The committed tables: C expressions and the values of their Rust counterparts.
#[allow(clippy::unnecessary_cast, clippy::cast_lossless, reason = "constants have several types")]
pub fn rows() -> Vec<(&'static str, i128)> {
    let rows: Vec<(&str, i128)> = include!("table.inc");
    #[cfg(feature = "umad")]
    let rows = [rows, include!("umad_table.inc")].concat();
    rows
}

/// The table's text.
pub fn text(items: &Items) -> String {
    let mut text = String::from("vec![\n");
    for (c, rust) in pairs(items) {
        text += &format!("    (\"{c}\", {rust} as i128),\n");
    }
    text + "]\n"
}

fn pairs(items: &Items) -> Vec<(String, String)> {
    let by_name: HashMap<&str, &Record> =
        items.records.iter().map(|record| (record.name.as_str(), record)).collect();
    let mut pairs = Vec::new();
    let mut nested = 0;
    for record in &items.records {
        // Types without a name in C are reached through their parents.
        if is_nested(&record.name) {
            nested += 1;
            continue;
        }
        let c = format!("{} {}", record.keyword, record.name);
        push_type(&mut pairs, &c, &record.name);
        let mut walk = Walk { pairs: &mut pairs, by_name: &by_name, top: record, c, reached: 0 };
        walk.fields(record, "", "");
        nested -= walk.reached;
    }
    assert_eq!(nested, 0, "every nested type is reached once");
    for constant in &items.constants {
        pairs.push((constant.clone(), constant.clone()));
    }
    pairs
}

/// Whether bindgen made the name up for a type declared within another.
fn is_nested(name: &str) -> bool {
    name.contains("__bindgen_ty_")
}

fn push_type(pairs: &mut Vec<(String, String)>, c: &str, rust: &str) {
    pairs.push((format!("sizeof({c})"), format!("size_of::<{rust}>()")));
    pairs.push((format!("_Alignof({c})"), format!("align_of::<{rust}>()")));
}

/// The fields of one named type, and of the nested ones within it.
struct Walk<'a> {
    pairs: &'a mut Vec<(String, String)>,
    by_name: &'a HashMap<&'a str, &'a Record>,
    top: &'a Record,
    c: String,
    /// How many nested types were met.
    reached: i32,
}

impl Walk<'_> {
    /// Adds the fields of `record`, which lies in the top type at these paths.
    /// A nested type that has no field name in C lends its own fields to its
    /// parent, so the C path has one step less.
    fn fields(&mut self, record: &Record, c_path: &str, rust_path: &str) {
        for (field, kind) in &record.fields {
            if field == "_bindgen_opaque_blob" {
                continue;
            }
            let rust = format!("{rust_path}{field}");
            let anonymous = field.starts_with("__bindgen_anon_");
            if !anonymous {
                self.field(&format!("{c_path}{}", c_name(field)), &rust, kind);
            }
            if is_nested(kind) {
                self.reached += 1;
                let inner = self.by_name[kind.as_str()];
                let c_path =
                    if anonymous { c_path.into() } else { format!("{c_path}{}.", c_name(field)) };
                self.fields(inner, &c_path, &format!("{rust}."));
            }
        }
    }

    fn field(&mut self, c_field: &str, rust_field: &str, kind: &str) {
        let (c, rust) = (&self.c, &self.top.name);
        let place = format!("(({c} *)0)->{c_field}");
        self.pairs.push((
            format!("offsetof({c}, {c_field})"),
            format!("offset_of!({rust}, {rust_field})"),
        ));
        if is_nested(kind) {
            push_type(self.pairs, &format!("__typeof__({place})"), kind);
        } else {
            let size = format!("field_size!({rust}, {rust_field})");
            self.pairs.push((format!("sizeof({place})"), size));
        }
    }
}

/// A field's name in C: bindgen adds `_` to those that are Rust keywords.
fn c_name(field: &str) -> &str {
    match field.strip_suffix('_') {
        Some(name @ ("type" | "priv" | "match" | "move" | "ref" | "use")) => name,
        _ => field,
    }
}
