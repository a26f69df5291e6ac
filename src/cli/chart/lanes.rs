//! What several did over time: a lane for each, divided into moments, each filled by what took its time.

use super::scale::Scale;
use super::{Anchor, Canvas, number};
use std::fmt::Write;

const WIDTH: f64 = 1100.0;
const LEFT: f64 = 150.0;
const LANE: f64 = 22.0;
const GAP: f64 = 8.0;
/// Height of the band of marks above a lane.
const BAND: f64 = 5.0;
/// Moments into which the time is divided.
const MOMENTS: usize = 900;
const LEGEND: f64 = 26.0;

/// Something that took time, from when to when, with a style.
pub struct Part {
    pub style: usize,
    pub span: [f64; 2],
}

/// What one did.
pub struct Lane {
    pub name: String,
    /// Those of one style do not overlap. Where parts of several styles do, the later style in the legend counts.
    pub parts: Vec<Part>,
    /// When something happened, and how much of it.
    pub marks: Vec<(f64, f64)>,
}

pub struct Lanes {
    pub title: String,
    /// Seconds, from zero.
    pub length: f64,
    /// The styles in the order of what counts, with their names.
    pub legend: Vec<(usize, &'static str)>,
    /// What the marks are.
    pub marks: &'static str,
    pub lanes: Vec<Lane>,
}

impl Lanes {
    pub fn svg(&self) -> String {
        let what = format!("{} lanes over {} s", self.lanes.len(), number(self.length));
        let height = LEGEND + self.lanes.len() as f64 * (LANE + GAP) + 40.0;
        let mut canvas = Canvas::new(WIDTH, height, &self.title, &what);
        let mut x = LEFT;
        for (style, name) in &self.legend {
            let key = format!("M{x:.1} 4h14v12h-14z");
            canvas.path(&format!("bar s{style}"), &key, None);
            canvas.label("name", (x + 19.0, 14.5), Anchor::Start, name);
            x += 40.0 + 7.5 * name.chars().count() as f64;
        }
        canvas.path("bar s9", &format!("M{x:.1} 7h14v{BAND}h-14z"), None);
        canvas.label("name", (x + 19.0, 14.5), Anchor::Start, self.marks);
        let bottom = LEGEND + self.lanes.len() as f64 * (LANE + GAP);
        let width = WIDTH - LEFT - 24.0;
        let values = Scale::from_zero(self.length).labels().into_iter();
        for at in values.filter(|at| *at <= self.length) {
            let place = if self.length > 0.0 { at / self.length } else { 0.0 };
            let x = LEFT + width * place;
            canvas.line("grid", [x, LEGEND, x, bottom]);
            canvas.label("tick", (x, bottom + 16.0), Anchor::Middle, &number(at));
        }
        canvas.label("axis", (LEFT + width / 2.0, bottom + 34.0), Anchor::Middle, "seconds");
        for (at, lane) in self.lanes.iter().enumerate() {
            let top = LEGEND + at as f64 * (LANE + GAP) + BAND;
            canvas.label("tick", (LEFT - 8.0, top + 14.0), Anchor::End, &lane.name);
            self.draw(&mut canvas, lane, [top, width]);
        }
        canvas.finish()
    }

    fn draw(&self, canvas: &mut Canvas, lane: &Lane, [top, width]: [f64; 2]) {
        let bottom = top + LANE - BAND;
        canvas.line("mark", [LEFT, bottom, LEFT + width, bottom]);
        let shares = self.shares(lane);
        let each = width / MOMENTS as f64;
        for (order, (style, name)) in self.legend.iter().enumerate() {
            let mut path = String::new();
            let mut at = 0;
            while at < MOMENTS {
                let below: f64 = shares[..order].iter().map(|share| share[at]).sum();
                let own = shares[order][at];
                let same = |next: &usize| {
                    let others: f64 = shares[..order].iter().map(|share| share[*next]).sum();
                    (shares[order][*next] - own).abs() < 1e-3 && (others - below).abs() < 1e-3
                };
                let run = (at..MOMENTS).take_while(same).count().max(1);
                if own > 0.0 {
                    let x = LEFT + at as f64 * each;
                    let y = bottom - below * (bottom - top);
                    // Writing to a String does not fail.
                    let _ = write!(
                        path,
                        "M{x:.1} {y:.1}h{:.1}v{:.1}h-{0:.1}z",
                        run as f64 * each,
                        -own * (bottom - top)
                    );
                }
                at += run;
            }
            if !path.is_empty() {
                let tip = format!("{}: {name}", lane.name);
                canvas.path(&format!("bar s{style}"), &path, Some(&tip));
            }
        }
        let mut counts = vec![0.0; MOMENTS];
        for (at, much) in &lane.marks {
            counts[self.moment(*at)] += much;
        }
        let mut path = String::new();
        for (at, _) in counts.iter().enumerate().filter(|(_, count)| **count > 0.0) {
            let x = LEFT + at as f64 * each;
            let _ = write!(path, "M{x:.1} {top:.1}h{each:.1}v-{BAND}h-{each:.1}z");
        }
        if !path.is_empty() {
            let all: f64 = counts.iter().sum();
            let tip = format!("{}: {} {}", lane.name, number(all), self.marks);
            canvas.path("bar s9", &path, Some(&tip));
        }
    }

    /// The moment of a time.
    fn moment(&self, at: f64) -> usize {
        let place = if self.length > 0.0 { at / self.length * MOMENTS as f64 } else { 0.0 };
        (place.max(0.0) as usize).min(MOMENTS - 1)
    }

    /// By style of the legend and moment, the share of the moment that it took; together at most one.
    fn shares(&self, lane: &Lane) -> Vec<Vec<f64>> {
        let mut shares = vec![vec![0.0; MOMENTS]; self.legend.len()];
        let each = self.length / MOMENTS as f64;
        if each <= 0.0 {
            return shares;
        }
        for (order, (style, _)) in self.legend.iter().enumerate() {
            for part in lane.parts.iter().filter(|part| part.style == *style) {
                let [began, ended] = part.span;
                let first = self.moment(began);
                let moments = &mut shares[order][first..=self.moment(ended)];
                for (at, share) in (first..).zip(moments) {
                    let (from, to) = (at as f64 * each, (at + 1) as f64 * each);
                    *share += (ended.min(to) - began.max(from)).max(0.0) / each;
                }
            }
        }
        for at in 0..MOMENTS {
            let mut left = 1.0;
            for share in shares.iter_mut().rev() {
                share[at] = share[at].min(left);
                left -= share[at];
            }
        }
        shares
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lanes(parts: Vec<Part>, marks: Vec<(f64, f64)>) -> Lanes {
        let lane = Lane { name: "rank 0".to_owned(), parts, marks };
        let legend = vec![(1, "call"), (3, "wait")];
        Lanes { title: "t".to_owned(), length: 9.0, legend, marks: "lost", lanes: vec![lane] }
    }

    #[test]
    fn what_counts_more_takes_the_place_of_what_it_overlaps() {
        let parts = vec![Part { style: 1, span: [0.0, 4.5] }, Part { style: 3, span: [1.0, 2.0] }];
        let lanes = lanes(parts, Vec::new());
        let shares = lanes.shares(&lanes.lanes[0]);
        let sum = |style: usize| shares[style].iter().sum::<f64>() / 100.0;
        assert!(
            (sum(0) - 3.5).abs() < 0.02 && (sum(1) - 1.0).abs() < 0.02,
            "{} {}",
            sum(0),
            sum(1)
        );
        assert!((0..MOMENTS).all(|at| shares[0][at] + shares[1][at] <= 1.0 + 1e-9));
    }

    #[test]
    fn marks_and_parts_are_drawn_once_for_each_lane() {
        let svg =
            lanes(vec![Part { style: 3, span: [2.0, 3.0] }], vec![(2.5, 4.0), (8.0, 1.0)]).svg();
        assert!(svg.contains("<title>rank 0: wait</title>"), "{svg}");
        assert!(svg.contains("<title>rank 0: 5 lost</title>"), "{svg}");
        assert!(!svg.contains("<title>rank 0: call</title>"), "{svg}");
    }

    #[test]
    fn the_axis_has_round_values() {
        let svg = lanes(Vec::new(), Vec::new()).svg();
        assert!(svg.contains(">8</text>") && !svg.contains(">9</text>"), "{svg}");
    }

    #[test]
    fn nothing_at_all_is_a_picture_too() {
        let empty = Lanes { length: 0.0, ..lanes(Vec::new(), vec![(0.0, 1.0)]) };
        assert!(empty.svg().ends_with("</svg>\n"));
    }
}
