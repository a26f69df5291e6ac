//! Dependencies point one way: checks which modules of the library name which others.

use std::fs;
use std::path::{Path, PathBuf};

/// Each module, and the modules it may name.
const EDGES: &[(&str, &[&str])] = &[
    ("time", &[]),
    ("rank", &[]),
    ("wire", &["rank"]),
    ("model", &[]),
    ("fabric", &[]),
    ("protocol", &["rank", "time", "wire", "model"]),
    ("transport", &["rank", "time", "wire", "protocol"]),
    ("driver", &["rank", "time", "wire", "protocol", "transport"]),
    ("sim", &["rank", "time", "wire", "model", "fabric", "protocol", "transport", "driver"]),
    ("bootstrap", &["rank"]),
    ("umad", &["fabric"]),
    ("verbs", &[]),
    ("rdma", &["rank", "time", "wire", "protocol", "transport", "bootstrap", "verbs"]),
    (
        "broadcast",
        &["rank", "time", "wire", "protocol", "transport", "driver", "bootstrap", "rdma", "verbs"],
    ),
    ("mpi", &["rank", "driver", "bootstrap", "broadcast"]),
];

/// The only modules with unsafe code.
const UNSAFE: &[&str] = &["umad", "verbs", "rdma", "mpi"];

fn sources(under: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in fs::read_dir(under).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            found.extend(sources(&path));
        } else if path.extension().is_some_and(|ending| ending == "rs") {
            found.push(path);
        }
    }
    found
}

fn library() -> Vec<(String, PathBuf, String)> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let files = sources(&root).into_iter().filter(|path| !path.starts_with(root.join("bin")));
    files
        .map(|path| {
            let relative = path.strip_prefix(&root).unwrap();
            let module = relative.iter().next().unwrap().to_str().unwrap();
            let module = module.trim_end_matches(".rs").to_owned();
            let text = fs::read_to_string(&path).unwrap();
            (module, path, text)
        })
        .collect()
}

#[test]
fn every_module_names_only_the_layers_below_it() {
    let mut checked = 0;
    for (module, path, text) in library() {
        if module == "lib" {
            continue;
        }
        let edges = EDGES.iter().find(|(known, _)| *known == module);
        let (_, allowed) = edges.unwrap_or_else(|| panic!("module {module} has no layer"));
        let code = text.lines().filter(|line| !line.trim_start().starts_with("//"));
        for line in code {
            for (_, rest) in line.match_indices("crate::").map(|(at, _)| line.split_at(at + 7)) {
                let named: String =
                    rest.chars().take_while(|c| c.is_alphanumeric() || *c == '_').collect();
                let fine = named == module || allowed.contains(&named.as_str());
                assert!(fine, "{}: {module} must not name {named}: {line}", path.display());
                checked += 1;
            }
        }
    }
    assert!(checked > 50, "only {checked} names were found");
}

#[test]
fn unsafe_code_stays_where_it_belongs() {
    let text =
        fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("src/lib.rs")).unwrap();
    for (module, _) in EDGES {
        let declaration = format!("pub mod {module};");
        let before = text.split(&declaration).next().unwrap();
        assert_ne!(before, text, "{module} is not declared");
        let attribute = before.lines().rev().take_while(|line| !line.starts_with("pub mod"));
        let forbids = attribute.into_iter().any(|line| line == "#[forbid(unsafe_code)]");
        assert_eq!(forbids, !UNSAFE.contains(module), "{module}");
    }
}
