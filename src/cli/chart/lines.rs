//! Curves over sizes, ranks or delays.

use super::scale::Scale;
use super::{Anchor, Canvas, STYLES, number, size};
use crate::results::Axis;

const WIDTH: f64 = 704.0;
const HEIGHT: f64 = 400.0;
const LEFT: f64 = 64.0;
const RIGHT: f64 = 500.0;
const TOP: f64 = 14.0;
const BOTTOM: f64 = 346.0;
/// What a cross means.
const STOPPED: &str = "came to a standstill";
/// Between two lines of the legend.
const LEADING: f64 = 21.0;

/// What curves go over.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Across {
    Size,
    Ranks,
    Skew,
    /// Members of a group.
    Members,
    /// Groups with a root or co-root of their own.
    Groups,
    /// The number of a rank.
    Rank,
}

impl From<Axis> for Across {
    fn from(axis: Axis) -> Across {
        match axis {
            Axis::Size => Across::Size,
            Axis::Ranks => Across::Ranks,
            Axis::Skew => Across::Skew,
        }
    }
}

/// One line.
pub struct Curve {
    pub name: String,
    pub style: usize,
    pub points: Vec<(f64, f64)>,
    /// Where there would be points, had what is measured come to an end.
    pub stops: Vec<f64>,
}

pub struct Lines {
    pub title: String,
    pub axis: Across,
    /// What the height is, with its unit.
    pub height: String,
    /// Whether the height stays linear, however small some are.
    pub is_linear: bool,
    pub curves: Vec<Curve>,
}

impl Lines {
    fn across(&self) -> &'static str {
        match self.axis {
            Across::Size => "message size (bytes)",
            Across::Ranks => "ranks",
            Across::Skew => "mean delay of the receivers (µs)",
            Across::Members => "members of a group (% of all hosts)",
            Across::Groups => "groups with a root or co-root of their own",
            Across::Rank => "rank",
        }
    }

    fn at(&self, value: f64) -> String {
        match self.axis {
            Across::Size => size(value),
            _ => number(value),
        }
    }

    fn scales(&self) -> (Scale, Scale) {
        let points = || self.curves.iter().flat_map(|curve| &curve.points);
        let stops = self.curves.iter().flat_map(|curve| &curve.stops);
        let places = || points().map(|point| point.0).chain(stops.clone().copied());
        let least = places().fold(f64::INFINITY, f64::min);
        let most = places().fold(0.0, f64::max);
        let across = match self.axis {
            Across::Skew | Across::Members | Across::Rank => Scale::from_zero(most),
            Across::Size | Across::Ranks | Across::Groups => {
                Scale::Doubling { least: least.min(most).max(1.0), most }
            }
        };
        let heights = points().map(|point| point.1);
        let up = match self.is_linear {
            true => {
                Scale::from_zero(heights.filter(|height| height.is_finite()).fold(0.0, f64::max))
            }
            false => Scale::for_heights(heights),
        };
        (across, up)
    }

    pub fn svg(&self) -> String {
        let names: Vec<_> = self.curves.iter().map(|curve| curve.name.as_str()).collect();
        let what = format!(
            "{} over {}: {}. All numbers are there as text, too",
            self.height,
            self.across(),
            names.join(", ")
        );
        let mut canvas = Canvas::new(WIDTH, HEIGHT, &self.title, &what);
        let (across, up) = self.scales();
        let x = |value: f64| LEFT + across.place(value) * (RIGHT - LEFT);
        let y = |value: f64| BOTTOM - up.place(value) * (BOTTOM - TOP);
        for value in up.labels() {
            canvas.line("grid", [LEFT, y(value), RIGHT, y(value)]);
            canvas.label("tick", (LEFT - 7.0, y(value) + 4.0), Anchor::End, &number(value));
        }
        for value in across.labels() {
            canvas.line("mark", [x(value), BOTTOM, x(value), BOTTOM + 5.0]);
            canvas.label("tick", (x(value), BOTTOM + 20.0), Anchor::Middle, &self.at(value));
        }
        canvas.line("mark", [LEFT, BOTTOM, RIGHT, BOTTOM]);
        canvas.label("axis", ((LEFT + RIGHT) / 2.0, HEIGHT - 12.0), Anchor::Middle, self.across());
        canvas.upright((16.0, (TOP + BOTTOM) / 2.0), &self.height);
        for (row, curve) in self.curves.iter().enumerate() {
            // Below one another at the upper edge, as they would never have ended.
            let height = TOP + 6.0 + row as f64 * 11.0;
            for at in &curve.stops {
                let tip = format!("{}, {}: {STOPPED}", curve.name, self.at(*at));
                stop(&mut canvas, curve.style, (x(*at), height), Some(&tip));
            }
            let points = || curve.points.iter().filter(|(_, height)| up.has(*height));
            let path: Vec<_> =
                points().map(|(at, height)| format!("{:.1} {:.1}", x(*at), y(*height))).collect();
            if path.is_empty() {
                continue;
            }
            canvas.path(&format!("curve s{}", curve.style), &format!("M{}", path.join("L")), None);
            for (at, height) in points() {
                let tip = format!("{}, {}: {}", curve.name, self.at(*at), number(*height));
                marker(&mut canvas, curve.style, (x(*at), y(*height)), Some(&tip));
            }
        }
        for (at, curve) in self.curves.iter().enumerate() {
            let height = TOP + 8.0 + at as f64 * LEADING;
            let class = format!("curve s{}", curve.style);
            canvas.line(&class, [RIGHT + 18.0, height, RIGHT + 46.0, height]);
            marker(&mut canvas, curve.style, (RIGHT + 32.0, height), None);
            canvas.label("name", (RIGHT + 53.0, height + 4.5), Anchor::Start, &curve.name);
        }
        if self.curves.iter().any(|curve| !curve.stops.is_empty()) {
            let height = TOP + 8.0 + self.curves.len() as f64 * LEADING;
            stop(&mut canvas, STYLES.len() - 1, (RIGHT + 32.0, height), None);
            canvas.label("name", (RIGHT + 53.0, height + 4.5), Anchor::Start, STOPPED);
        }
        canvas.finish()
    }
}

/// A cross where a curve has no point.
fn stop(canvas: &mut Canvas, style: usize, (x, y): (f64, f64), tip: Option<&str>) {
    const R: f64 = 4.0;
    let (left, right, top, bottom) = (x - R, x + R, y - R, y + R);
    let cross = format!(
        "M{left:.1} {top:.1}L{right:.1} {bottom:.1}M{left:.1} {bottom:.1}L{right:.1} {top:.1}"
    );
    canvas.path(&format!("stop s{style}"), &cross, tip);
}

/// A sign of the style's own shape, so that curves are told apart without colours.
fn marker(canvas: &mut Canvas, style: usize, (x, y): (f64, f64), tip: Option<&str>) {
    const R: f64 = 4.2;
    let around = |corners: &[(f64, f64)]| {
        let points: Vec<_> = corners
            .iter()
            .map(|(right, down)| format!("{:.1} {:.1}", x + right * R, y + down * R))
            .collect();
        format!("M{}Z", points.join("L"))
    };
    let shape = match style % 6 {
        0 => around(&[(-1.0, -1.0), (1.0, -1.0), (1.0, 1.0), (-1.0, 1.0)]),
        1 => around(&[(0.0, -1.4), (1.4, 0.0), (0.0, 1.4), (-1.4, 0.0)]),
        2 => around(&[(0.0, -1.3), (1.3, 1.0), (-1.3, 1.0)]),
        3 => format!(
            "M{:.1} {y:.1}a{R} {R} 0 1 0 {} 0a{R} {R} 0 1 0 -{} 0Z",
            x - R,
            2.0 * R,
            2.0 * R
        ),
        4 => around(&[(0.0, 1.3), (1.3, -1.0), (-1.3, -1.0)]),
        _ => around(&[(-1.4, -0.5), (1.4, -0.5), (1.4, 0.5), (-1.4, 0.5)]),
    };
    canvas.path(&format!("marker s{style}"), &shape, tip);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_curve_goes_through_its_points() {
        let curve = Curve {
            name: "a<b".to_owned(),
            style: 3,
            points: vec![(8.0, 50.0), (32.0, 100.0)],
            stops: vec![16.0],
        };
        let lines = Lines {
            title: "Latency".to_owned(),
            axis: Across::Size,
            height: "latency (µs)".to_owned(),
            is_linear: false,
            curves: vec![curve],
        };
        let svg = lines.svg();
        let path = format!("d=\"M{LEFT:.1} {:.1}L{RIGHT:.1} {TOP:.1}\"", (TOP + BOTTOM) / 2.0);
        assert!(svg.contains(&path), "{svg}");
        assert!(svg.contains("<title>a&lt;b, 16: came to a standstill</title>"), "{svg}");
        // In the chart and in the legend.
        assert_eq!(svg.matches("class=\"stop").count(), 2, "{svg}");
        assert!(svg.contains("<title>a&lt;b, 32: 100</title>") && !svg.contains("a<b"), "{svg}");
        assert!(
            svg.contains("aria-label=\"Latency. latency (µs) over message size (bytes): a&lt;b.")
        );
    }
}
