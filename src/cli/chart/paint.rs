//! What each part of a chart looks like, as plain attributes, which every reader of SVG knows. In a page, the style sheet
//! goes before them.

/// The colours of the styles on white.
pub const COLOURS: [&str; 13] = [
    "#5b636d", "#0b63b5", "#117a8b", "#b3400b", "#7a6000", "#a0187c", "#6246b8", "#1b1f24",
    "#0a7d4f", "#c4161c", "#7a5230", "#000000", "#39424e",
];
pub const PAPER: &str = "#ffffff";
pub const INK: &str = "#1b1f24";
const QUIET: &str = "#57606a";
const RULE: &str = "#d0d7de";

/// The attributes of a part, by its class: a word, and for what belongs to a curve its style, as in `curve s3`.
pub fn attributes(class: &str) -> String {
    let (part, style) = class.split_once(" s").unwrap_or((class, ""));
    let style: usize = style.parse().unwrap_or(COLOURS.len() - 1);
    let colour = COLOURS[style.min(COLOURS.len() - 1)];
    match part {
        "grid" => format!("stroke=\"{RULE}\" stroke-width=\"1\""),
        "mark" => format!("stroke=\"{QUIET}\" stroke-width=\"1\""),
        "tick" => format!("fill=\"{QUIET}\" font-size=\"12\""),
        "axis" => format!("fill=\"{QUIET}\""),
        "curve" => {
            let dashes = match style {
                0 => " stroke-dasharray=\"2 4\"",
                8..=10 => " stroke-dasharray=\"8 4\"",
                _ => "",
            };
            format!(
                "fill=\"none\" stroke=\"{colour}\" stroke-width=\"2\" stroke-linejoin=\"round\"{dashes}"
            )
        }
        "stop" => format!("fill=\"none\" stroke=\"{colour}\" stroke-width=\"2.5\""),
        "marker" => format!("fill=\"{colour}\" stroke=\"{PAPER}\" stroke-width=\"1\""),
        "bar" => format!("fill=\"{colour}\""),
        _ => format!("fill=\"{INK}\""),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_belongs_to_a_curve_has_its_colour() {
        assert!(attributes("curve s3").contains("stroke=\"#b3400b\""));
        assert!(attributes("marker s12").contains("fill=\"#39424e\""));
        assert!(attributes("curve s0").contains("dasharray"));
        assert_eq!(attributes("name"), "fill=\"#1b1f24\"");
    }
}
