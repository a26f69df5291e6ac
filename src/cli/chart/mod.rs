//! Charts as SVG, to be read without colours and without scripts.

mod bars;
mod lanes;
mod lines;
mod paint;
mod scale;

pub use bars::{Bars, Panel};
pub use lanes::{Lane, Lanes, Part};
pub use lines::{Across, Curve, Lines};

use paint::attributes;

use std::fmt::Write;

/// Algorithms in the order of their styles; others are drawn as the last.
pub const STYLES: [&str; 13] = [
    "raw",
    "two-stage",
    "two-stage-on-demand",
    "window",
    "co-root",
    "aggregate",
    "basic",
    "auto",
    "binomial",
    "chain",
    "scatter-allgather",
    "mpi",
    "",
];

/// The style of an algorithm, or of the n-th of anything.
pub fn style(algorithm: &str) -> usize {
    STYLES.iter().position(|known| *known == algorithm).unwrap_or(STYLES.len() - 1)
}

/// What charts look like, for the page or drawing that they are in: the colours of light and dark, and
/// that of each style.
pub fn css() -> String {
    let light: Vec<String> =
        (0..).zip(paint::COLOURS).map(|(style, colour)| format!("--s{style}: {colour};")).collect();
    // Before the colours of dark pages.
    let mut text = format!(":root {{ {} }}\n", light.join(" ")) + include_str!("chart.css");
    for style in 0..STYLES.len() {
        // Writing to a String does not fail.
        let _ = writeln!(
            text,
            ".curve.s{style}, .stop.s{style} {{ stroke: var(--s{style}); }} \
             .marker.s{style}, .bar.s{style} {{ fill: var(--s{style}); }}"
        );
    }
    text
}

/// Characters of a heading's line, and pixels between two lines.
const HEADING: usize = 84;
const HEADING_LEADING: f64 = 20.0;

/// A chart as a file of its own, under its title, on white. It has no style sheet, as many readers of SVG know none.
pub fn document(svg: &str, title: &str) -> String {
    let (head, rest) = svg.split_once('\n').unwrap_or((svg, ""));
    let size = head.split('"').nth(1).unwrap_or_default();
    let mut size = size.split(' ').skip(2).map(|number| number.parse().unwrap_or(0.0));
    let (width, height): (f64, f64) = (size.next().unwrap_or(0.0), size.next().unwrap_or(0.0));
    let lines = wrapped(title, HEADING);
    let above = lines.len() as f64 * HEADING_LEADING + 10.0;
    let whole = height + above;
    let frame = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{width}\" height=\"{whole}\" \
         viewBox=\"0 -{above} {width} {whole}\""
    );
    let head = head.replacen(&format!("<svg viewBox=\"0 0 {width} {height}\""), &frame, 1);
    let mut text = format!("{head}\n<title>{}</title>\n", escape(title));
    // Writing to a String does not fail.
    let _ = writeln!(
        text,
        "<rect x=\"0\" y=\"-{above}\" width=\"{width}\" height=\"{whole}\" fill=\"{}\"/>",
        paint::PAPER
    );
    for (number, line) in (1..).zip(lines) {
        let y = f64::from(number) * HEADING_LEADING - above;
        let _ = writeln!(
            text,
            "<text x=\"{}\" y=\"{y}\" text-anchor=\"middle\" font-size=\"15\" font-weight=\"bold\" \
             fill=\"{}\">{}</text>",
            width / 2.0,
            paint::INK,
            escape(&line)
        );
    }
    text + "<!-- The chart -->\n" + rest
}

/// A text in lines of at most so many characters, unless a word is longer.
fn wrapped(text: &str, most: usize) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for word in text.split_whitespace() {
        match lines.last_mut() {
            Some(line) if line.chars().count() + 1 + word.chars().count() <= most => {
                line.push(' ');
                line.push_str(word);
            }
            _ => lines.push(word.to_owned()),
        }
    }
    lines
}

/// Text that is safe in HTML and SVG.
pub fn escape(text: &str) -> String {
    let mut safe = String::with_capacity(text.len());
    for character in text.chars() {
        match character {
            '&' => safe.push_str("&amp;"),
            '<' => safe.push_str("&lt;"),
            '>' => safe.push_str("&gt;"),
            '"' => safe.push_str("&quot;"),
            '\'' => safe.push_str("&#39;"),
            other => safe.push(other),
        }
    }
    safe
}

/// A number with as many digits as it needs to be read.
pub fn number(value: f64) -> String {
    let text = match value.abs() {
        0.0 => "0".to_owned(),
        small @ ..0.1 => {
            let zeros = (-small.log10().floor()).min(300.0) as usize;
            format!("{value:.0$}", zeros + 1)
        }
        ..10.0 => format!("{value:.2}"),
        ..100.0 => format!("{value:.1}"),
        ..10_000.0 => format!("{value:.0}"),
        ..1e6 => format!("{:.0}k", value / 1e3),
        ..1e9 => format!("{:.1}M", value / 1e6),
        _ => format!("{:.1}G", value / 1e9),
    };
    match text.contains('.') && !text.ends_with(['k', 'M', 'G']) {
        true => text.trim_end_matches('0').trim_end_matches('.').to_owned(),
        false => text.replace(".0M", "M").replace(".0G", "G"),
    }
}

/// Bytes as OSU's benchmarks' users write them.
pub fn size(bytes: f64) -> String {
    let bytes = bytes as u64;
    match bytes {
        1_048_576.. if bytes.is_multiple_of(1 << 20) => format!("{}M", bytes >> 20),
        1024.. if bytes.is_multiple_of(1 << 10) => format!("{}K", bytes >> 10),
        _ => bytes.to_string(),
    }
}

/// Where a text is anchored.
#[derive(Clone, Copy)]
enum Anchor {
    Start,
    Middle,
    End,
}

/// An SVG in the making.
struct Canvas {
    text: String,
}

impl Canvas {
    /// `what` tells those who cannot see it what it shows.
    fn new(width: f64, height: f64, title: &str, what: &str) -> Canvas {
        let (title, what) = (escape(title), escape(what));
        Canvas {
            text: format!(
                "<svg viewBox=\"0 0 {width} {height}\" font-family=\"sans-serif\" font-size=\"13\" role=\"img\" \
                 aria-label=\"{title}. {what}\">\n"
            ),
        }
    }

    fn line(&mut self, class: &str, [x1, y1, x2, y2]: [f64; 4]) {
        // Writing to a String does not fail.
        let _ = writeln!(
            self.text,
            "<line class=\"{class}\" {} x1=\"{x1:.1}\" y1=\"{y1:.1}\" x2=\"{x2:.1}\" y2=\"{y2:.1}\"/>",
            attributes(class)
        );
    }

    fn label(&mut self, class: &str, (x, y): (f64, f64), anchor: Anchor, text: &str) {
        let anchor = match anchor {
            Anchor::Start => "start",
            Anchor::Middle => "middle",
            Anchor::End => "end",
        };
        let _ = writeln!(
            self.text,
            "<text class=\"{class}\" {} x=\"{x:.1}\" y=\"{y:.1}\" text-anchor=\"{anchor}\">{}</text>",
            attributes(class),
            escape(text)
        );
    }

    /// A label that is read from below.
    fn upright(&mut self, (x, y): (f64, f64), text: &str) {
        let _ = writeln!(
            self.text,
            "<text class=\"axis\" {} transform=\"translate({x:.1} {y:.1}) rotate(-90)\" \
             text-anchor=\"middle\">{}</text>",
            attributes("axis"),
            escape(text)
        );
    }

    fn path(&mut self, class: &str, path: &str, tip: Option<&str>) {
        let tip = tip.map_or(String::new(), |tip| format!("<title>{}</title>", escape(tip)));
        let paint = attributes(class);
        let _ = writeln!(self.text, "<path class=\"{class}\" {paint} d=\"{path}\">{tip}</path>");
    }

    fn finish(mut self) -> String {
        self.text.push_str("</svg>\n");
        self.text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_algorithm_has_a_style() {
        for (name, _) in verbcast_core::protocol::choice::Algorithm::NAMES {
            assert!(STYLES.contains(&name), "{name}");
        }
    }

    #[test]
    fn text_cannot_leave_its_place() {
        assert_eq!(escape("<b a=\"1\">&'"), "&lt;b a=&quot;1&quot;&gt;&amp;&#39;");
    }

    #[test]
    fn numbers_have_the_digits_that_matter() {
        let numbers = [0.0, 0.0001, 0.0123, 0.05, 2.5, 14.0, 99.46, 1234.4, 45_678.0, 3e6, 2.54e9];
        let texts =
            ["0", "0.0001", "0.012", "0.05", "2.5", "14", "99.5", "1234", "46k", "3M", "2.5G"];
        assert_eq!(numbers.map(number), texts);
        assert_eq!([1.0, 1000.0, 2048.0, 1_048_576.0].map(size), ["1", "1000", "2K", "1M"]);
    }

    /// Readers without style sheets draw black on black otherwise.
    #[test]
    fn a_document_has_its_colours_and_title_in_itself() {
        let curve = Curve {
            name: "a".to_owned(),
            style: 1,
            points: vec![(1.0, 2.0), (2.0, 3.0)],
            stops: vec![4.0],
        };
        let title = format!("A {} title", "very ".repeat(20));
        let lines = Lines {
            title: title.clone(),
            axis: Across::Size,
            height: "time".to_owned(),
            is_linear: false,
            curves: vec![curve],
        };
        let drawing = document(&lines.svg(), &title);
        assert!(!drawing.contains("var(") && !drawing.contains("<style"), "{drawing}");
        let painted = |element: &str| {
            let all = drawing.matches(&format!("<{element} class=")).count();
            let plain = drawing.lines().filter(|line| {
                let is_one = line.starts_with(&format!("<{element} class="));
                is_one && (line.contains(" fill=\"") || line.contains(" stroke=\""))
            });
            assert_eq!(plain.count(), all, "{element}: {drawing}");
            all
        };
        assert!(painted("line") > 3 && painted("path") > 3 && painted("text") > 3);
        // In two lines above the chart.
        assert_eq!(drawing.matches("font-weight=\"bold\"").count(), 2);
        assert!(
            drawing.contains(">A very very") && drawing.contains("very title</text>"),
            "{drawing}"
        );
        assert!(drawing.contains("height=\"450\" viewBox=\"0 -50 704 450\""), "{drawing}");
    }

    #[test]
    fn styles_are_fixed() {
        assert_eq!((style("raw"), style("mpi"), style("another")), (0, 11, 12));
    }
}
