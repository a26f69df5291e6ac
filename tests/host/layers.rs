//! The walls inside crates: which modules of `verbcast-core` and of `verbcast` name which others, and which crates have
//! unsafe code. Those between crates are the compiler's.

mod names;

use names::names;
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

/// Modules that stand beside each other, and which others of them each may name.
struct Layers {
    /// The crate's folder.
    source: &'static str,
    /// The module that they are in, and the file that declares them.
    parent: &'static [&'static str],
    declared_in: &'static str,
    modules: &'static [(&'static str, &'static [&'static str])],
}

const LAYERS: &[Layers] = &[
    Layers {
        source: "src/core",
        parent: &[],
        declared_in: "lib.rs",
        modules: &[
            ("time", &[]),
            ("rank", &[]),
            ("order", &["rank"]),
            ("topology", &[]),
            ("wire", &["rank", "topology"]),
            ("cause", &[]),
            ("numbers", &[]),
            ("model", &[]),
            ("node", &["rank", "time", "wire"]),
            ("protocol", &["rank", "time", "wire", "model", "order"]),
            ("transport", &["cause", "numbers", "rank", "time", "wire", "protocol"]),
            ("driver", &["numbers", "rank", "time", "wire", "protocol", "transport"]),
        ],
    },
    Layers {
        source: "src",
        parent: &[],
        declared_in: "lib.rs",
        modules: &[
            ("bootstrap", &[]),
            ("clock", &[]),
            ("rdma", &["bootstrap", "clock"]),
            ("broadcast", &["bootstrap", "clock", "rdma"]),
            ("mpi", &["bootstrap", "broadcast"]),
            ("trace", &["bootstrap"]),
        ],
    },
    Layers {
        source: "src",
        parent: &["rdma"],
        declared_in: "rdma/mod.rs",
        modules: &[
            ("settings", &[]),
            ("ids", &[]),
            ("packet", &[]),
            ("keys", &[]),
            ("outstanding", &[]),
            ("work", &["ids"]),
            ("memory", &["settings"]),
            ("group", &["settings"]),
            ("node", &["group"]),
            ("ud", &["settings", "ids", "packet", "outstanding", "work", "memory", "group"]),
            ("rc", &["settings", "ids", "packet", "outstanding", "work", "memory"]),
            (
                "endpoint",
                &[
                    "settings", "ids", "packet", "keys", "work", "memory", "group", "node", "ud",
                    "rc",
                ],
            ),
            (
                "transport",
                &["settings", "ids", "packet", "memory", "group", "node", "ud", "rc", "endpoint"],
            ),
            (
                "setup",
                &[
                    "settings",
                    "keys",
                    "memory",
                    "group",
                    "node",
                    "ud",
                    "rc",
                    "endpoint",
                    "transport",
                ],
            ),
        ],
    },
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

impl Layers {
    /// The file or the folder of a module.
    fn place(&self, module: &str) -> PathBuf {
        let parent = self.parent.iter().fold(self.folder(), |folder, part| folder.join(part));
        let folder = parent.join(module);
        if folder.is_dir() { folder } else { folder.with_extension("rs") }
    }

    fn folder(&self) -> PathBuf {
        Path::new(env!("CARGO_MANIFEST_DIR")).join(self.source)
    }

    /// The one of the modules that a path, from the crate's root, leads to or through.
    fn module_of<'a>(&self, path: &'a [String]) -> Option<&'a str> {
        let (parent, rest) = path.split_at_checked(self.parent.len())?;
        if parent == self.parent { rest.first().map(String::as_str) } else { None }
    }
}

#[test]
fn every_module_names_only_the_layers_below_it() {
    for layers in LAYERS {
        let mut checked = 0;
        for (module, allowed) in layers.modules {
            for file in sources(&layers.place(module)) {
                let own = names::module_path(file.strip_prefix(layers.folder()).unwrap());
                for path in names(&own, &fs::read_to_string(&file).unwrap()) {
                    let Some(named) = layers.module_of(&path) else { continue };
                    let fine = named == *module || allowed.contains(&named);
                    let path = path.join("::");
                    assert!(fine, "{}: {module} must not name {path}", file.display());
                    checked += 1;
                }
            }
        }
        assert!(checked > 10, "only {checked} names were found in {}", layers.declared_in);
    }
}

#[test]
fn every_layer_is_above_those_that_it_may_name() {
    for Layers { modules, .. } in LAYERS {
        for (at, (module, allowed)) in modules.iter().enumerate() {
            for named in *allowed {
                let is_below = modules[..at].iter().any(|(below, _)| below == named);
                assert!(is_below, "{named} is not below {module}");
            }
        }
    }
}

/// The files of a folder, and which others of them each names.
fn names_within(layers: &Layers, module: &str) -> BTreeMap<String, BTreeSet<String>> {
    let depth = layers.parent.len() + 1;
    let mut edges = BTreeMap::<_, BTreeSet<_>>::new();
    for file in sources(&layers.place(module)) {
        let own = names::module_path(file.strip_prefix(layers.folder()).unwrap());
        // The folder's own file names what it is made of.
        let Some(part) = own.get(depth) else { continue };
        let named = edges.entry(part.clone()).or_default();
        for path in names(&own, &fs::read_to_string(&file).unwrap()) {
            let other =
                path.get(depth).filter(|other| path[..depth] == own[..depth] && *other != part);
            named.extend(other.cloned());
        }
    }
    let parts: BTreeSet<_> = edges.keys().cloned().collect();
    edges.values_mut().for_each(|named| named.retain(|other| parts.contains(other)));
    edges
}

#[test]
fn the_files_of_a_part_of_rdma_name_one_another_in_one_direction() {
    let rdma = LAYERS.iter().find(|layers| layers.parent == ["rdma"]).unwrap();
    let mut checked = 0;
    for (module, _) in rdma.modules {
        let mut edges = names_within(rdma, module);
        checked += edges.values().map(BTreeSet::len).sum::<usize>();
        while let Some(lowest) =
            edges.iter().find(|(_, named)| named.is_empty()).map(|(part, _)| part.clone())
        {
            edges.remove(&lowest);
            for named in edges.values_mut() {
                named.remove(&lowest);
            }
        }
        assert!(edges.is_empty(), "{module} has a circle: {edges:?}");
    }
    assert!(checked > 10, "only {checked} names were found");
}

#[test]
fn every_module_has_a_layer() {
    for layers in LAYERS {
        let text = read(&format!("{}/{}", layers.source, layers.declared_in));
        // What is private in a crate's root is for its own tests.
        let declaration = if layers.parent.is_empty() { "pub mod " } else { "mod " };
        let declared =
            text.lines().filter_map(|line| line.strip_prefix(declaration)?.strip_suffix(';'));
        let mut declared: Vec<&str> = declared.collect();
        let mut known: Vec<&str> = layers.modules.iter().map(|(module, _)| *module).collect();
        declared.sort_unstable();
        known.sort_unstable();
        assert_eq!(declared, known, "{}", layers.declared_in);
    }
}

#[test]
fn unsafe_code_stays_where_it_belongs() {
    for path in SAFE {
        assert!(read(path).lines().any(|line| line == "#![forbid(unsafe_code)]"), "{path}");
    }
    let text = read("src/lib.rs");
    for (module, _) in LAYERS[1].modules {
        let declaration = format!("pub mod {module};");
        let before = text.split(&declaration).next().unwrap();
        assert_ne!(before, text, "{module} is not declared");
        let mut attributes = before.lines().rev().take_while(|line| !line.starts_with("pub mod"));
        let forbids = attributes.any(|line| line == "#[forbid(unsafe_code)]");
        assert_eq!(forbids, !UNSAFE.contains(module), "{module}");
    }
}
