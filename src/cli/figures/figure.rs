//! A figure and its numbers.

use crate::chart::{Across, Curve, Lines, style};
use serde::Serialize;

/// A figure.
#[derive(Debug, Serialize)]
pub struct Figure {
    pub title: String,
    #[serde(skip)]
    pub axis: Across,
    pub height: &'static str,
    pub curves: Vec<Numbers>,
    /// What the paper says of it, and what comes out here.
    pub remarks: Vec<String>,
}

/// A curve.
#[derive(Debug, Serialize)]
pub struct Numbers {
    pub name: String,
    #[serde(skip)]
    style: usize,
    pub points: Vec<(f64, f64)>,
}

impl Numbers {
    /// Of an algorithm; `how` says where the numbers come from.
    pub fn of(algorithm: &str, how: &str, points: Vec<(f64, f64)>) -> Numbers {
        // Dashed, where nothing was run.
        let style = if how == "model" { 8 + style(algorithm) % 2 } else { style(algorithm) };
        Numbers { name: format!("{algorithm}, {how}"), style, points }
    }

    /// The same in another colour.
    pub fn in_style(self, style: usize) -> Numbers {
        Numbers { style, ..self }
    }

    /// The height at a place.
    pub fn at(&self, x: f64) -> Option<f64> {
        self.points.iter().find(|(at, _)| *at == x).map(|(_, height)| *height)
    }

    /// The place of the greatest height.
    pub fn best(&self) -> Option<(f64, f64)> {
        self.points.iter().copied().max_by(|a, b| a.1.total_cmp(&b.1))
    }
}

impl Figure {
    pub fn lines(&self) -> Lines {
        let curve = |numbers: &Numbers| Curve {
            name: numbers.name.clone(),
            style: numbers.style,
            points: numbers.points.clone(),
            stops: Vec::new(),
        };
        Lines {
            title: self.title.clone(),
            axis: self.axis,
            height: self.height.to_owned(),
            is_linear: false,
            curves: self.curves.iter().map(curve).collect(),
        }
    }
}
