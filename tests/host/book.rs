//! What the book says, compared with the code.

use crate::pages::{Page, code, files, pages, root};
use std::collections::{BTreeMap, BTreeSet};
use std::fs;

fn page(name: &str) -> Page {
    pages().into_iter().find(|page| page.name() == name).unwrap()
}

/// What links name the headings of a page by, as mdBook and GitHub do it, and its own marks.
fn anchors(page: &Page) -> BTreeSet<String> {
    let (_, prose) = page.parts();
    let mut anchors = BTreeSet::new();
    for line in prose {
        if let Some(heading) = line.trim_start_matches('#').strip_prefix(' ')
            && line.starts_with('#')
        {
            let kept = heading.chars().filter(|c| c.is_alphanumeric() || " -_".contains(*c));
            let kept: String = kept.collect();
            anchors.insert(kept.trim().to_lowercase().replace(' ', "-"));
        }
        let mark = line.strip_prefix("<a id=\"").and_then(|rest| rest.split('"').next());
        anchors.extend(mark.map(str::to_owned));
    }
    anchors
}

#[test]
fn every_link_resolves() {
    let pages = pages();
    let anchors: BTreeMap<_, _> =
        pages.iter().map(|page| (page.path.clone(), anchors(page))).collect();
    for page in &pages {
        let (_, prose) = page.parts();
        for link in prose.iter().flat_map(|line| line.split("](").skip(1)) {
            let (target, _) = link.split_once(')').expect("a link ends");
            if target.starts_with("http") {
                continue;
            }
            let (path, anchor) = target.split_once('#').unwrap_or((target, ""));
            let path = match path {
                "" => page.path.clone(),
                path => page.path.parent().unwrap().join(path),
            };
            let path = path.canonicalize().unwrap_or_else(|_| panic!("{}: {target}", page.name()));
            let is_there = anchor.is_empty() || anchors[&path].contains(anchor);
            assert!(is_there, "{}: {target}", page.name());
        }
    }
}

#[test]
fn every_page_is_in_the_summary_once() {
    let summary = page("docs/src/SUMMARY.md").text;
    for path in files("docs/src", ".md") {
        let name = path.strip_prefix(root().join("docs/src")).unwrap().to_str().unwrap().to_owned();
        let count = summary.matches(&format!("]({name})")).count();
        assert_eq!(count, usize::from(name != "SUMMARY.md"), "{name}");
    }
}

/// Files and folders that pages name, between back-ticks, by their place in the workspace.
#[test]
fn every_place_that_is_named_is_there() {
    let folders = ["src/", "tests/", "ci/", "docs/", "sys/", "benches/", "exploration/"];
    for page in pages() {
        let (_, prose) = page.parts();
        for place in prose.iter().flat_map(|line| code(line)) {
            if !folders.iter().any(|folder| place.starts_with(folder)) || place.contains(' ') {
                continue;
            }
            assert!(root().join(place).exists(), "{}: {place}", page.name());
        }
    }
}

#[test]
fn where_to_find_something_is_where_it_is_found() {
    let mut count = 0;
    for row in page("docs/src/architecture.md").rows() {
        let [_, paths, names] = row[..] else { continue };
        let text: String =
            code(paths).filter_map(|path| fs::read_to_string(root().join(path)).ok()).collect();
        for name in code(names) {
            assert!(text.contains(name), "{name} is not in {paths}");
            count += 1;
        }
    }
    assert!(count > 10, "the table is there");
}

/// The crates that a manifest asks for, without those of this workspace.
fn asked_for(manifest: &str) -> Vec<String> {
    let mut is_dependencies = false;
    let mut found = Vec::new();
    for line in manifest.lines() {
        if line.starts_with('[') {
            is_dependencies = line.ends_with("dependencies]");
        } else if let Some((name, _)) = line.split_once([' ', '.', '='])
            && is_dependencies
            && !name.starts_with(['#', '}', ']'])
            && !line.contains("package = \"verbcast")
        {
            found.push(name.to_owned());
        }
    }
    found.retain(|name| !name.is_empty() && !name.starts_with("verbcast"));
    found
}

#[test]
fn every_dependency_has_a_reason() {
    let page = page("docs/src/architecture.md").text;
    let (_, table) = page.split_once("## Dependencies").unwrap();
    let firsts = table.lines().filter_map(|line| line.strip_prefix("| ")?.split(" | ").next());
    let told: BTreeSet<&str> = firsts.flat_map(code).filter(|name| !name.contains('/')).collect();
    let manifests = files("src", "Cargo.toml").into_iter();
    let others = [
        "Cargo.toml",
        "sys/Cargo.toml",
        "benches/Cargo.toml",
        "exploration/Cargo.toml",
        "xtask/Cargo.toml",
    ];
    let manifests = manifests.chain(others.map(|path| root().join(path)));
    let texts: Vec<String> = manifests.map(|path| fs::read_to_string(path).unwrap()).collect();
    let asked: BTreeSet<String> = texts.iter().flat_map(|text| asked_for(text)).collect();
    assert_eq!(told, asked.iter().map(String::as_str).collect());
}

#[test]
fn every_feature_is_described() {
    let manifest = fs::read_to_string(root().join("Cargo.toml")).unwrap();
    let (_, features) = manifest.split_once("\n[features]\n").unwrap();
    let features = features.lines().take_while(|line| !line.starts_with('['));
    let features: BTreeSet<&str> = features
        .filter_map(|line| line.split_once(" = ").map(|(name, _)| name))
        .filter(|name| *name != "default")
        .collect();
    let page = page("docs/src/guide/library.md").text;
    let (_, table) = page.split_once("## Features").unwrap();
    let (table, _) = table.split_once("\n## ").unwrap();
    let firsts = table.lines().filter_map(|line| line.strip_prefix("| ")?.split(" | ").next());
    let told: BTreeSet<&str> = firsts.flat_map(code).collect();
    assert_eq!(told, features);
}

/// Each page with Rust is compiled by `src/book.rs`.
#[test]
fn every_rust_example_is_compiled() {
    let compiled = fs::read_to_string(root().join("src/book.rs")).unwrap();
    for page in pages() {
        let (blocks, _) = page.parts();
        if blocks.iter().any(|block| block.language[0] == "rust") {
            let include = format!("include_str!(\"../{}\")", page.name());
            assert!(compiled.contains(&include), "{include}");
        }
    }
}

/// The page's variables that are read by the transport and the protocols are theirs, with what they take and their
/// defaults.
#[cfg(feature = "verbs")]
#[test]
fn the_settings_are_the_codes() {
    let page = page("docs/src/settings.md");
    let rows = page.rows();
    for variable in verbcast::broadcast::Config::variables() {
        let name = format!("`{}`", variable.name);
        let row = rows.iter().find(|row| row[0] == name).unwrap_or_else(|| panic!("{name}"));
        assert_eq!(row[1], variable.takes, "{name}");
        match variable.default {
            Some(default) => assert_eq!(row[2], format!("`{default}`"), "{name}"),
            None => assert!(!row[2].starts_with('`'), "{name}: {}", row[2]),
        }
    }
}

/// Whoever adds an algorithm tells its users.
#[test]
fn every_algorithm_is_described() {
    let takes = verbcast_core::protocol::options::Options::PARAMETERS[0].takes;
    let protocols = fs::read_to_string(root().join("docs/src/protocols.md")).unwrap();
    for (name, _) in verbcast_core::protocol::choice::Algorithm::NAMES {
        let named = |text: &str| text.split([' ', ',', '`']).any(|word| word == name);
        assert!(named(takes), "the parameter `algorithm` does not name {name}");
        assert!(named(&protocols.replace('\n', " ")), "docs/src/protocols.md does not name {name}");
    }
}

/// So are those of what is preloaded, whose crate needs an MPI library.
#[test]
fn the_settings_of_what_is_preloaded_are_its_own() {
    let code = fs::read_to_string(root().join("src/preload/settings.rs")).unwrap();
    let (code, _) = code.split_once("mod tests").unwrap();
    let page = page("docs/src/settings.md");
    let text = |code: &str, field: &str| {
        let (_, rest) = code.split_once(&format!("{field}: \"")).unwrap();
        rest.split('"').next().unwrap().to_owned()
    };
    let mut count = 0;
    for entry in code.split("Variable {").filter(|entry| entry.contains("name: \"")) {
        let name = format!("`{}`", text(entry, "name"));
        let rows = page.rows();
        let row = rows.iter().find(|row| row[0] == name).unwrap_or_else(|| panic!("{name}"));
        assert_eq!(row[1], text(entry, "takes"), "{name}");
        assert_eq!(row[2], format!("`{}`", text(entry, "default")), "{name}");
        count += 1;
    }
    assert!(count > 0, "the catalogue is there");
}

/// No variable is read without being described, and none is described that nobody reads.
#[test]
fn every_variable_has_its_line() {
    let settings = page("docs/src/settings.md");
    let told: BTreeSet<String> = settings
        .rows()
        .iter()
        .flat_map(|row| code(row[0]))
        .filter(|name| name.starts_with("VERBCAST_"))
        .map(str::to_owned)
        .collect();
    let mut read = BTreeSet::new();
    for path in files("src", ".rs") {
        let text = fs::read_to_string(path).unwrap();
        let (code, _) = text.split_once("#[cfg(test)]").unwrap_or((&text, ""));
        let literals = code.split('"').skip(1).step_by(2);
        let is_variable = |text: &&str| {
            let name = text.strip_prefix("VERBCAST_").unwrap_or_default();
            !name.is_empty() && name.chars().all(|c| c.is_ascii_uppercase() || c == '_')
        };
        read.extend(literals.filter(is_variable).map(str::to_owned));
    }
    // The launcher tells its own children, and nobody else sets it.
    read.remove("VERBCAST_LAUNCHED");
    for name in &read {
        assert!(told.contains(name), "{name} is not in the settings");
    }
    let scripts: Vec<String> = ["ci", "tests", "src"]
        .iter()
        .flat_map(|folder| files(folder, ""))
        .filter_map(|path| fs::read_to_string(path).ok())
        .collect();
    let parameters = verbcast_core::protocol::options::Options::PARAMETERS;
    let of_parameters: Vec<String> = parameters
        .iter()
        .map(|one| format!("VERBCAST_{}", one.name.replace('-', "_").to_uppercase()))
        .collect();
    for name in &told {
        let is_read =
            of_parameters.contains(name) || scripts.iter().any(|text| text.contains(name));
        assert!(is_read, "nobody reads {name}");
    }
}
