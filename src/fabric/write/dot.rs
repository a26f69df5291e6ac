//! Graphviz.

use super::place::{Layout, places, rows};
use crate::topology::{Kind, Topology};
use std::fmt::Write;

/// The topology in Graphviz' language: rows for `dot`, fixed positions of a grid for `neato`. The
/// links in `marked`, by their index, are drawn strongly. The title stands above.
pub fn dot(topology: &Topology, layout: Layout, marked: &[u32], title: &str) -> String {
    let mut text = "graph fabric {\n  rankdir=TB;\n  node [fontname=\"sans-serif\"];\n".to_owned();
    // Writing to a String does not fail.
    let _ = writeln!(text, "  labelloc=t;\n  label={};", quoted(title));
    if layout != Layout::Layers {
        text.push_str("  layout=neato;\n");
    }
    let places = places(topology, layout);
    for (node, (x, y)) in topology.nodes().iter().zip(&places.at) {
        let shape = if node.kind == Kind::Host { "ellipse" } else { "box" };
        let position = match layout {
            Layout::Layers => String::new(),
            Layout::Grid(_) | Layout::Circle => {
                format!(", pos=\"{:.2},{:.2}!\"", x / 72.0, (places.height - y) / 72.0)
            }
        };
        let _ = writeln!(text, "  {} [shape={shape}{position}];", quoted(&node.name));
    }
    if layout == Layout::Layers {
        for row in rows(topology) {
            let names = row.iter().map(|node| quoted(&topology.node(*node).name) + "; ");
            let _ = writeln!(text, "  {{ rank=same; {}}}", names.collect::<String>());
        }
    }
    let mut is_marked = vec![false; topology.links().len()];
    marked.iter().for_each(|link| is_marked[*link as usize] = true);
    let heights = topology.heights();
    let height = |node: u32| match topology.is_switch(node) {
        true => heights[topology.switch_index(node)],
        false => 0,
    };
    for (link, is_marked) in topology.links().iter().zip(is_marked) {
        // Graphviz puts the first one above.
        let [mut upper, mut lower] = link.ends;
        if height(upper.node) < height(lower.node) {
            std::mem::swap(&mut upper, &mut lower);
        }
        let strong = if is_marked { ", color=red, penwidth=3" } else { "" };
        let [from, to] = [upper, lower].map(|end| quoted(&topology.node(end.node).name));
        let ports = format!("taillabel={}, headlabel={}", upper.port, lower.port);
        let _ = writeln!(text, "  {from} -- {to} [{ports}{strong}];");
    }
    text.push_str("}\n");
    text
}

fn quoted(name: &str) -> String {
    format!("\"{}\"", name.replace('\\', "\\\\").replace('"', "\\\""))
}
