//! `verbcast figures`: what it writes, and what comes out.

use crate::support::{Folder, Subcommand};
use serde_json::Value;

const FIGURES: Subcommand = Subcommand("figures");

/// The heights of a curve whose name begins so.
fn heights(figure: &Value, name: &str) -> Vec<f64> {
    let mut curves = figure["curves"].as_array().unwrap().iter();
    let curve = curves.find(|curve| curve["name"].as_str().unwrap().starts_with(name)).unwrap();
    let points = curve["points"].as_array().unwrap();
    points.iter().map(|point| point[1].as_f64().unwrap()).collect()
}

#[test]
fn all_figures_of_the_broadcast_papers_are_written() {
    let folder = Folder::new();
    let all = FIGURES.json(&format!("--quick -o {}", folder.path("").display()));
    let names = ["liu-10", "liu-11", "liu-12", "hoefler-4", "hoefler-5", "hoefler-6", "hoefler-7"];
    for name in names {
        let svg = std::fs::read_to_string(folder.path(&format!("{name}.svg"))).unwrap();
        assert!(svg.contains("<svg"), "{name}");
        let text = std::fs::read_to_string(folder.path(&format!("{name}.json"))).unwrap();
        assert_eq!(serde_json::from_str::<Value>(&text).unwrap(), all[name], "{name}");
        assert!(!all[name]["remarks"].as_array().unwrap().is_empty(), "{name}");
    }
    // By multicast the time to the last rank does not depend on their number; by the tree it does.
    let last = &all["hoefler-7"];
    let (multicast, tree) = (heights(last, "two-stage"), heights(last, "binomial"));
    assert!(multicast[2] < 1.1 * multicast[1], "{multicast:?}");
    assert!(tree[2] > 2.0 * tree[0], "{tree:?}");
    // Among 64 ranks the model wants some co-roots, and more of them than one.
    let of_model = heights(&all["liu-12"], "window, model");
    let best = of_model.iter().copied().fold(0.0, f64::max);
    assert!(best > of_model[0] && best > of_model[of_model.len() - 1], "{of_model:?}");
}

#[test]
fn figures_are_chosen_and_others_refused() {
    let folder = Folder::new();
    let text =
        FIGURES.printed(&format!("--quick --figure liu-12 -o {}", folder.path("").display()));
    assert!(text.starts_with("liu-12: Liu 2004, figure 12"), "{text}");
    assert!(text.contains("\n1 figure in") && !folder.path("liu-10.svg").exists(), "{text}");
    let other = format!("--figure liu-9 -o {}", folder.path("").display());
    FIGURES.refused(&other, 2, "--figure liu-9: there are liu-10, liu-11");
}
