//! The matrix of what verbcast assumes of adapters: its page, and the tests that it names.

use crate::pages::root;
use crate::support::{run, text, verbcast};
use std::fs;

#[test]
fn the_page_is_made_from_the_data() {
    let output = run(verbcast().arg("conformance"));
    assert!(output.status.success(), "{}", text(&output.stderr));
    let page = fs::read_to_string(root().join("docs/src/conformance.md")).unwrap_or_default();
    let hint = "make it anew: verbcast conformance >docs/src/conformance.md";
    assert!(text(&output.stdout) == page, "{hint}");
}

#[test]
fn the_tests_that_are_named_exist() {
    let data = fs::read_to_string(root().join("src/cli/conformance.toml")).unwrap();
    let places = data.split('"').filter(|text| text.starts_with("tests/"));
    let mut count = 0;
    for place in places {
        let (file, test) = place.split_once("::").unwrap_or_else(|| panic!("{place}: which test?"));
        let source = fs::read_to_string(root().join(file)).unwrap_or_else(|_| panic!("{file}"));
        assert!(source.contains(&format!("\nfn {test}()")), "{place}");
        count += 1;
    }
    assert!(count > 0, "tests are named");
}
