//! The tags of all that crosses a wire, in whatever crate it is.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

/// Every tag that is written in a source file under a folder, with the file.
fn tags(folder: &Path, found: &mut Vec<(String, String)>) {
    const BEFORE: &str = "tag: *b\"";
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            tags(&path, found);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            let text = fs::read_to_string(&path).unwrap();
            let each = text.split(BEFORE).skip(1).filter_map(|rest| rest.split('"').next());
            found.extend(each.map(|tag| (tag.to_owned(), path.display().to_string())));
        }
    }
}

#[test]
fn no_two_formats_have_the_same_tag() {
    let mut found = Vec::new();
    tags(&Path::new(env!("CARGO_MANIFEST_DIR")).join("src"), &mut found);
    let mut by_tag = BTreeMap::new();
    for (tag, path) in found {
        if let Some(other) = by_tag.insert(tag.clone(), path.clone()) {
            panic!("{path} and {other} have formats of the tag {tag}");
        }
    }
    assert!(by_tag.contains_key("vbW"), "{by_tag:?}");
}
