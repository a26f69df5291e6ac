//! Each line of the tables in the book's pages on security and faults names tests or something else, which exist.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

/// The names of all tests in the Rust files under a folder that are not left out: what never runs shows nothing.
fn functions(folder: &Path, found: &mut BTreeSet<String>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            functions(&path, found);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            let text = fs::read_to_string(&path).unwrap();
            // Tests have no parameters, but those of properties.
            let mut lines = text.lines().map(str::trim).peekable();
            while let Some(line) = lines.next() {
                if line != "#[test]" {
                    continue;
                }
                let mut is_ignored = false;
                while let Some(next) = lines.next_if(|next| !next.starts_with("fn ")) {
                    is_ignored |= next.starts_with("#[ignore");
                }
                let name =
                    lines.peek().and_then(|line| line.strip_prefix("fn ")?.split('(').next());
                found.extend(name.filter(|_| !is_ignored).map(str::to_owned));
            }
        }
    }
}

/// Each kind of fault has something that looks for it: a test, a mutation, a fuzz target, a file, or another page.
#[test]
fn every_kind_of_fault_is_looked_for() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut known = BTreeSet::new();
    for folder in ["src", "tests", "exploration"] {
        functions(&root.join(folder), &mut known);
    }
    for entry in fs::read_dir(root.join("ci/mutations.d")).unwrap() {
        let text = fs::read_to_string(entry.unwrap().path()).unwrap();
        known.extend(text.lines().filter_map(|line| line.strip_prefix("== ")).map(str::to_owned));
    }
    for entry in fs::read_dir(root.join("fuzz/targets")).unwrap() {
        known.extend(entry.unwrap().path().file_stem().map(|name| name.to_string_lossy().into()));
    }
    let page = fs::read_to_string(root.join("docs/src/faults.md")).unwrap();
    let rows =
        page.lines().filter(|line| line.starts_with("| ") && !line.contains("looked for by"));
    let mut count = 0;
    for row in rows {
        let looks = row.trim_end_matches(" |").rsplit(" | ").next().unwrap();
        let names: Vec<_> =
            looks.split('`').skip(1).step_by(2).filter(|name| *name != "unsafe").collect();
        assert!(!names.is_empty() || looks.contains("]("), "nothing looks for this: {row}");
        for name in names {
            // Of a command, the program.
            let file = name.split(' ').next().unwrap();
            let is_there = known.contains(name) || name.contains('/') && root.join(file).exists();
            assert!(is_there, "there is no {name}: {row}");
        }
        count += 1;
    }
    assert!(count > 0, "the page has no tables");
}

#[test]
fn every_line_of_the_threat_model_names_tests_that_exist() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut tests = BTreeSet::new();
    functions(&root.join("src"), &mut tests);
    functions(&root.join("tests"), &mut tests);
    let page = fs::read_to_string(root.join("docs/src/security.md")).unwrap();
    let rows = page.lines().filter(|line| line.starts_with("| ") && !line.contains("shown by"));
    let mut count = 0;
    for row in rows {
        let shown_by = row.trim_end_matches(" |").rsplit(" | ").next().unwrap();
        let named: Vec<_> = shown_by.split('`').skip(1).step_by(2).collect();
        assert!(!named.is_empty(), "no test shows this: {row}");
        for name in named {
            assert!(tests.contains(name), "there is no test {name}: {row}");
        }
        count += 1;
    }
    assert!(count > 0, "the page has no tables");
}
