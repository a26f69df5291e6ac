//! The walls inside crates: which modules of `verbcast-core` and of `verbcast` name which others, and which crates have
//! unsafe code. Those between crates are the compiler's.

use std::fs;
use std::path::{Path, PathBuf};

/// A crate, each of its modules, and the modules that this one may name.
type Layers = (&'static str, &'static [(&'static str, &'static [&'static str])]);

const LAYERS: &[Layers] = &[
    (
        "src/core",
        &[
            ("time", &[]),
            ("rank", &[]),
            ("wire", &["rank"]),
            ("model", &[]),
            ("protocol", &["rank", "time", "wire", "model"]),
            ("transport", &["rank", "time", "wire", "protocol"]),
            ("driver", &["rank", "time", "wire", "protocol", "transport"]),
        ],
    ),
    (
        "src",
        &[
            ("bootstrap", &[]),
            ("rdma", &["bootstrap"]),
            ("broadcast", &["bootstrap", "rdma"]),
            ("mpi", &["bootstrap", "broadcast"]),
            ("trace", &[]),
        ],
    ),
];

/// Crates that forbid unsafe code.
const SAFE: &[&str] =
    &["src/core/lib.rs", "src/fabric/lib.rs", "src/sim/lib.rs", "src/cli/main.rs"];

/// The only modules of `verbcast` with unsafe code.
const UNSAFE: &[&str] = &["rdma", "mpi"];

fn read(path: &str) -> String {
    fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join(path)).unwrap()
}

fn sources(under: &Path) -> Vec<PathBuf> {
    if under.is_file() {
        return vec![under.to_owned()];
    }
    let mut found = Vec::new();
    for entry in fs::read_dir(under).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() || path.extension().is_some_and(|ending| ending == "rs") {
            found.extend(sources(&path));
        }
    }
    found
}

/// The file or the folder of a module.
fn place(crate_folder: &str, module: &str) -> PathBuf {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join(crate_folder).join(module);
    if folder.is_dir() { folder } else { folder.with_extension("rs") }
}

/// The modules of the crate that a line of code names.
fn named(line: &str) -> impl Iterator<Item = String> {
    line.match_indices("crate::").map(|(at, found)| {
        let rest = line[at + found.len()..].chars();
        rest.take_while(|c| c.is_alphanumeric() || *c == '_').collect()
    })
}

#[test]
fn every_module_names_only_the_layers_below_it() {
    for (crate_folder, modules) in LAYERS {
        let mut checked = 0;
        for (module, allowed) in *modules {
            for path in sources(&place(crate_folder, module)) {
                let text = fs::read_to_string(&path).unwrap();
                let code = text.lines().filter(|line| !line.trim_start().starts_with("//"));
                for (line, named) in code.flat_map(|line| named(line).map(move |name| (line, name)))
                {
                    let fine = named == *module || allowed.contains(&named.as_str());
                    assert!(fine, "{}: {module} must not name {named}: {line}", path.display());
                    checked += 1;
                }
            }
        }
        assert!(checked > 10, "only {checked} names were found in {crate_folder}");
    }
}

#[test]
fn every_module_has_a_layer() {
    for (crate_folder, modules) in LAYERS {
        let text = read(&format!("{crate_folder}/lib.rs"));
        let declared = text.lines().filter_map(|line| line.strip_prefix("pub mod "));
        let declared: Vec<&str> = declared.map(|line| line.trim_end_matches(';')).collect();
        assert_eq!(declared.len(), modules.len(), "{crate_folder}: {declared:?}");
        for module in declared {
            assert!(modules.iter().any(|(known, _)| *known == module), "{module} has no layer");
        }
    }
}

#[test]
fn unsafe_code_stays_where_it_belongs() {
    for path in SAFE {
        assert!(read(path).lines().any(|line| line == "#![forbid(unsafe_code)]"), "{path}");
    }
    let text = read("src/lib.rs");
    for (module, _) in LAYERS[1].1 {
        let declaration = format!("pub mod {module};");
        let before = text.split(&declaration).next().unwrap();
        assert_ne!(before, text, "{module} is not declared");
        let mut attributes = before.lines().rev().take_while(|line| !line.starts_with("pub mod"));
        let forbids = attributes.any(|line| line == "#[forbid(unsafe_code)]");
        assert_eq!(forbids, !UNSAFE.contains(module), "{module}");
    }
}
