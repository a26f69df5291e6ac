//! A drawing that a browser shows.

use super::place::{Layout, places};
use crate::topology::{Kind, Topology};
use std::fmt::Write;

/// With more nodes than these, names are shown only where the pointer is.
const MAX_NAMES: usize = 300;
/// Height of the title above the drawing, and at most the width of one of its characters.
const TITLE: f64 = 26.0;
const CHARACTER: f64 = 7.5;

/// The topology as an SVG, under a title. The links in `marked`, by their index, are drawn strongly, the others
/// lightly.
pub fn svg(topology: &Topology, layout: Layout, marked: &[u32], title: &str) -> String {
    let places = places(topology, layout);
    let width = places.width.max(title.chars().count() as f64 * CHARACTER);
    let left = (places.width - width) / 2.0;
    let height = places.height + TITLE;
    let mut is_marked = vec![false; topology.links().len()];
    marked.iter().for_each(|link| is_marked[*link as usize] = true);
    let mut text = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{width:.0}\" height=\"{height:.0}\" \
         viewBox=\"{left:.0} -{TITLE} {width:.0} {height:.0}\" font-family=\"sans-serif\" font-size=\"10\">\n\
         <title>{title}</title>\n\
         <rect x=\"{left:.0}\" y=\"-{TITLE}\" width=\"{width:.0}\" height=\"{height:.0}\" fill=\"white\"/>\n\
         <text x=\"{:.0}\" y=\"-6\" text-anchor=\"middle\" font-size=\"13\" fill=\"#1c2833\">{title}</text>\n",
        places.width / 2.0,
        title = escape(title),
    );
    // Writing to a String does not fail.
    for strong in [false, true] {
        let (color, stroke) = if strong { ("#c0392b", 2.5) } else { ("#9aa5b1", 1.0) };
        let _ = writeln!(text, "<g stroke=\"{color}\" stroke-width=\"{stroke}\">");
        for (link, _) in topology.links().iter().zip(&is_marked).filter(|(_, is)| **is == strong) {
            let [a, b] = link.ends.map(|end| places.at[end.node as usize]);
            let _ = writeln!(
                text,
                "<line x1=\"{:.1}\" y1=\"{:.1}\" x2=\"{:.1}\" y2=\"{:.1}\"/>",
                a.0, a.1, b.0, b.1
            );
        }
        text.push_str("</g>\n");
    }
    let names = topology.nodes().len() <= MAX_NAMES;
    text.push_str("<g text-anchor=\"middle\" stroke=\"#34495e\">\n");
    for (node, (x, y)) in topology.nodes().iter().zip(&places.at) {
        let name = escape(&node.name);
        let shape = match node.kind {
            Kind::Host => format!("<circle cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"7\" fill=\"#f5f0dc\">"),
            Kind::Switch => format!(
                "<rect x=\"{:.1}\" y=\"{:.1}\" width=\"40\" height=\"18\" rx=\"3\" fill=\"#dbe7f5\">",
                x - 20.0,
                y - 9.0
            ),
        };
        let end = if node.kind == Kind::Host { "</circle>" } else { "</rect>" };
        let _ = writeln!(text, "{shape}<title>{name}</title>{end}");
        if names {
            let below = if node.kind == Kind::Host { y + 19.0 } else { y + 3.5 };
            let _ = writeln!(
                text,
                "<text x=\"{x:.1}\" y=\"{below:.1}\" stroke=\"none\" fill=\"#1c2833\">{name}</text>"
            );
        }
    }
    text.push_str("</g>\n</svg>\n");
    text
}

fn escape(name: &str) -> String {
    name.chars().fold(String::with_capacity(name.len()), |mut text, c| {
        match c {
            '&' => text.push_str("&amp;"),
            '<' => text.push_str("&lt;"),
            '>' => text.push_str("&gt;"),
            '"' => text.push_str("&quot;"),
            c if c.is_control() => text.push('?'),
            c => text.push(c),
        }
        text
    })
}
