//! Which paths a source file names, from the root of its crate.

use std::path::Path;

/// The path of the module that a file of a crate is.
pub fn module_path(file: &Path) -> Vec<String> {
    let mut path: Vec<String> =
        file.with_extension("").iter().map(|part| part.to_str().unwrap().to_owned()).collect();
    path.pop_if(|last| ["mod", "lib"].contains(&last.as_str()));
    path
}

/// All paths in the code of a module that begin with `crate` or `super`.
pub fn names(module: &[String], text: &str) -> Vec<Vec<String>> {
    let mut found = Vec::new();
    let mut inline: Option<String> = None;
    let mut code = String::new();
    let module_of = |inline: &Option<String>| [module, inline.as_slice()].concat();
    for line in text.lines().filter(|line| !line.trim_start().starts_with("//")) {
        let opens = line.strip_suffix(" {").and_then(|line| line.strip_prefix("mod "));
        if opens.is_some() || (inline.is_some() && line == "}") {
            names_in(&module_of(&inline), &code, &mut found);
            code.clear();
            inline = opens.map(str::to_owned);
        }
        code.push_str(line);
        code.push('\n');
    }
    names_in(&module_of(&inline), &code, &mut found);
    found
}

fn names_in(module: &[String], code: &str, found: &mut Vec<Vec<String>>) {
    for root in ["crate::", "super::"] {
        for (at, _) in code.match_indices(root) {
            // Neither the end of a longer word nor the middle of a path.
            let before = code[..at].chars().next_back();
            if before.is_some_and(|c| c.is_alphanumeric() || "_:$".contains(c)) {
                continue;
            }
            let mut rest = &code[at..];
            let mut path = if root == "crate::" { Vec::new() } else { module.to_vec() };
            rest = rest.strip_prefix("crate::").unwrap_or(rest);
            while let Some(further) = rest.strip_prefix("super::") {
                path.pop().expect("the crate's root has no parent");
                rest = further;
            }
            expand(path, rest, found);
        }
    }
}

/// Adds the paths that a tree of names behind `path` stands for; what follows the tree.
fn expand<'a>(mut path: Vec<String>, code: &'a str, found: &mut Vec<Vec<String>>) -> &'a str {
    if let Some(mut rest) = code.strip_prefix('{') {
        while !rest.trim_start().starts_with('}') {
            rest = expand(path.clone(), rest.trim_start(), found);
            // The tree's end is its last name's, comma or not.
            let end = rest.find([',', '}']).expect("the braces close");
            rest = rest[end..].trim_start_matches(',');
        }
        return &rest.trim_start()[1..];
    }
    let is_part = |c: char| c.is_alphanumeric() || c == '_';
    let end = code.find(|c| !is_part(c)).unwrap_or(code.len());
    let (name, rest) = code.split_at(end);
    if !name.is_empty() && name != "self" {
        path.push(name.to_owned());
    }
    match rest.strip_prefix("::") {
        Some(rest) => expand(path, rest, found),
        None => {
            found.push(path);
            rest
        }
    }
}

#[test]
fn names_are_found_and_resolved() {
    let module = ["rdma", "ud", "port"].map(str::to_owned);
    let text = "
use super::prediction::{Prediction, Stream};
use super::super::rc::pool;
use crate::{rdma::group::{self, Group}, bootstrap::*};
// use super::super::setup::hidden;
pub(in crate::rdma) fn of(it: &super::Own) -> $crate::Other {}
mod tests {
    use super::*;
    use super::super::{leaving::Leaving};
}
use super::last;
";
    let found = names(&module, text).iter().map(|path| path.join("::")).collect::<Vec<_>>();
    let mut expected = [
        "rdma::ud::prediction::Prediction",
        "rdma::ud::prediction::Stream",
        "rdma::rc::pool",
        "rdma::group",
        "rdma::group::Group",
        "bootstrap",
        "rdma",
        "rdma::ud::Own",
        "rdma::ud::port",
        "rdma::ud::leaving::Leaving",
        "rdma::ud::last",
    ];
    expected.sort_unstable();
    let mut found: Vec<&str> = found.iter().map(String::as_str).collect();
    found.sort_unstable();
    assert_eq!(found, expected);
}
