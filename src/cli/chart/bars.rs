//! One bar for each rank, in a panel for each algorithm.

use super::scale::Scale;
use super::{Anchor, Canvas, number};

const WIDTH: f64 = 680.0;
const COLUMNS: usize = 3;
const PANEL: f64 = 125.0;
const LEFT: f64 = 64.0;
const GAP: f64 = 48.0;
/// Parts of a panel's height above and below the bars.
const ABOVE: f64 = 24.0;
const BELOW: f64 = 22.0;

/// An algorithm's ranks.
pub struct Panel {
    pub name: String,
    pub style: usize,
    /// By rank; `None` where there is no figure.
    pub heights: Vec<Option<f64>>,
}

pub struct Bars {
    pub title: String,
    /// What the height is, with its unit.
    pub height: String,
    pub panels: Vec<Panel>,
}

impl Bars {
    pub fn svg(&self) -> String {
        let names: Vec<_> = self.panels.iter().map(|panel| panel.name.as_str()).collect();
        let what = format!("{} of each rank: {}", self.height, names.join(", "));
        let rows = self.panels.len().div_ceil(COLUMNS) as f64;
        let mut canvas = Canvas::new(WIDTH, rows * PANEL + 26.0, &self.title, &what);
        let all = self.panels.iter().flat_map(|panel| panel.heights.iter().flatten().copied());
        // Bars stand on zero.
        let most = all.fold(0.0, f64::max);
        let up = Scale::from_zero(most);
        let gaps = (COLUMNS - 1) as f64 * GAP;
        let width = (WIDTH - LEFT - gaps) / COLUMNS as f64;
        for (at, panel) in self.panels.iter().enumerate() {
            let left = LEFT + (at % COLUMNS) as f64 * (width + GAP);
            let top = (at / COLUMNS) as f64 * PANEL;
            draw(&mut canvas, panel, up, [left, top + ABOVE, width, PANEL - ABOVE - BELOW]);
        }
        canvas.label("axis", (WIDTH / 2.0, rows * PANEL + 16.0), Anchor::Middle, "rank");
        canvas.upright((14.0, rows * PANEL / 2.0), &self.height);
        canvas.finish()
    }
}

fn draw(canvas: &mut Canvas, panel: &Panel, up: Scale, [left, top, width, height]: [f64; 4]) {
    let bottom = top + height;
    let y = |value: f64| bottom - up.place(value) * height;
    canvas.label("name", (left, top - 7.0), Anchor::Start, &panel.name);
    for value in up.labels().into_iter().step_by(2) {
        canvas.line("grid", [left, y(value), left + width, y(value)]);
        canvas.label("tick", (left - 6.0, y(value) + 4.0), Anchor::End, &number(value));
    }
    let count = panel.heights.len().max(1);
    let each = width / count as f64;
    let every = count.div_ceil(12);
    for (rank, value) in panel.heights.iter().enumerate() {
        let x = left + rank as f64 * each;
        if let Some(value) = value {
            let (from, to) = (x + each * 0.12, x + each * 0.88);
            let bar = format!("M{from:.1} {bottom:.1}V{:.1}H{to:.1}V{bottom:.1}Z", y(*value));
            let tip = format!("{}, rank {rank}: {}", panel.name, number(*value));
            canvas.path(&format!("bar s{}", panel.style), &bar, Some(&tip));
        }
        if rank.is_multiple_of(every) {
            canvas.label(
                "tick",
                (x + each / 2.0, bottom + 15.0),
                Anchor::Middle,
                &rank.to_string(),
            );
        }
    }
    canvas.line("mark", [left, bottom, left + width, bottom]);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_rank_with_a_figure_has_a_bar() {
        let panel =
            Panel { name: "chain".to_owned(), style: 9, heights: vec![Some(1.0), None, Some(2.0)] };
        let bars =
            Bars { title: "t".to_owned(), height: "latency (µs)".to_owned(), panels: vec![panel] };
        let svg = bars.svg();
        assert_eq!(svg.matches("class=\"bar s9\"").count(), 2, "{svg}");
        assert!(svg.contains("<title>chain, rank 2: 2</title>"), "{svg}");
    }
}
