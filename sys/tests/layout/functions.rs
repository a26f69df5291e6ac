//! The bound functions against the libraries' symbols.

use std::ffi::CString;

#[allow(clippy::wildcard_imports, reason = "the table names everything")]
use verbcast_sys::*;

use crate::parse::Items;

/// The committed tables: every bound function's name and the address it links to.
fn rows() -> Vec<(&'static str, *const ())> {
    let rows: Vec<(&str, *const ())> = include!("functions.inc");
    #[cfg(feature = "umad")]
    let rows = [rows, include!("umad_functions.inc")].concat();
    rows
}

/// The table's text.
pub fn text(items: &Items) -> String {
    let mut text = String::from("vec![\n");
    for name in &items.functions {
        text += &format!("    (\"{name}\", {name} as *const ()),\n");
    }
    text + "]\n"
}

#[test]
fn functions_are_the_libraries_symbols() {
    for (name, address) in rows() {
        let symbol = CString::new(name).expect("a name without NUL");
        // SAFETY: `symbol` is a C string.
        let found = unsafe { libc::dlsym(libc::RTLD_DEFAULT, symbol.as_ptr()) };
        assert_eq!(found.cast_const().cast(), address, "{name}");
    }
}
