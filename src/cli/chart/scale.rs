//! From values to places, and which values are written at an axis.

/// How an axis is divided.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Scale {
    Linear {
        least: f64,
        most: f64,
    },
    /// Powers of two.
    Doubling {
        least: f64,
        most: f64,
    },
    /// Powers of ten.
    Decades {
        least: f64,
        most: f64,
    },
}

/// Values beyond this ratio are told apart by a logarithmic axis only.
const WIDE: f64 = 50.0;
/// Labels at an axis at most.
const MAX_LABELS: usize = 11;

impl Scale {
    /// For heights: from zero, or in decades where that would hide the small ones.
    pub fn for_heights(values: impl Iterator<Item = f64>) -> Scale {
        let positive: Vec<f64> = values.filter(|value| has_decade(*value)).collect();
        let most = positive.iter().copied().fold(0.0, f64::max);
        let least = positive.iter().copied().fold(most, f64::min);
        if most > WIDE * least && least > 0.0 {
            Scale::Decades {
                least: decade(least.log10().floor()),
                most: decade(most.log10().ceil()),
            }
        } else {
            Scale::from_zero(most)
        }
    }

    /// From zero to a round value that is not below `most`.
    pub fn from_zero(most: f64) -> Scale {
        let step = step(most);
        Scale::Linear { least: 0.0, most: (most / step).ceil().max(1.0) * step }
    }

    /// Whether a value has a place.
    pub fn has(self, value: f64) -> bool {
        match self {
            Scale::Linear { .. } => value.is_finite(),
            Scale::Doubling { .. } | Scale::Decades { .. } => has_decade(value),
        }
    }

    /// Where a value is, from 0 to 1.
    pub fn place(self, value: f64) -> f64 {
        let (least, most, value) = match self {
            Scale::Linear { least, most } => (least, most, value),
            Scale::Doubling { least, most } => (least.log2(), most.log2(), value.log2()),
            Scale::Decades { least, most } => (least.log10(), most.log10(), value.log10()),
        };
        let place = if most > least { (value - least) / (most - least) } else { 0.5 };
        place.clamp(0.0, 1.0)
    }

    /// The values that are written.
    pub fn labels(self) -> Vec<f64> {
        match self {
            Scale::Linear { least, most } => {
                let step = step(most - least);
                let count = ((most - least) / step).round() as u32;
                (0..=count).map(|at| least + f64::from(at) * step).collect()
            }
            Scale::Doubling { least, most } => {
                let all: Vec<f64> = std::iter::successors(Some(least), |value| Some(value * 2.0))
                    .take_while(|value| *value <= most)
                    .collect();
                let every = all.len().div_ceil(MAX_LABELS).max(1);
                all.into_iter().step_by(every).collect()
            }
            Scale::Decades { least, most } => {
                let power = |value: f64| value.log10().round() as i32;
                let (first, last) = (power(least), power(most));
                let every = ((last - first) as usize + 1).div_ceil(MAX_LABELS);
                (first..=last).step_by(every).map(|power| decade(power.into())).collect()
            }
        }
    }
}

/// Whether a value is between two powers of ten that are numbers, too.
fn has_decade(value: f64) -> bool {
    (decade(-300.0)..=decade(300.0)).contains(&value)
}

fn decade(power: f64) -> f64 {
    10_f64.powf(power)
}

/// A round step that divides a span into four to seven.
fn step(span: f64) -> f64 {
    if span <= 0.0 {
        return 1.0;
    }
    let rough = span / 7.0;
    let power = 10_f64.powf(rough.log10().floor());
    let factor = [1.0, 2.0, 5.0].into_iter().find(|factor| factor * power >= rough * 0.999);
    factor.unwrap_or(10.0) * power
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn heights_begin_at_zero_unless_they_are_far_apart() {
        let near = Scale::for_heights([12.0, 93.0].into_iter());
        assert_eq!(near, Scale::Linear { least: 0.0, most: 100.0 });
        assert_eq!(near.labels(), [0.0, 20.0, 40.0, 60.0, 80.0, 100.0]);
        let far = Scale::for_heights([3.0, 5000.0].into_iter());
        let Scale::Decades { least, most } = far else { panic!("{far:?}") };
        assert!((least - 1.0).abs() < 1e-9 && (most - 10_000.0).abs() < 1e-6);
        assert_eq!(far.labels().len(), 5);
        assert!(!far.has(0.0) && near.has(0.0));
        let none = Scale::for_heights([].into_iter());
        assert_eq!(none, Scale::Linear { least: 0.0, most: 1.0 });
    }

    #[test]
    fn heights_that_have_no_decade_are_left_out() {
        let heights = [1e-323, 3.0, 5000.0, 1e305, f64::INFINITY, f64::NAN];
        let scale = Scale::for_heights(heights.into_iter());
        assert_eq!(scale, Scale::for_heights([3.0, 5000.0].into_iter()));
        assert_eq!(
            heights.map(|height| scale.has(height)),
            [false, true, true, false, false, false]
        );
        let linear = Scale::for_heights([f64::INFINITY].into_iter());
        assert!(!linear.has(f64::INFINITY) && !linear.has(f64::NAN), "{linear:?}");
    }

    #[test]
    fn an_axis_has_few_labels_however_long_it_is() {
        let labels = Scale::for_heights([2e-300, 5e299].into_iter()).labels();
        assert!(labels.len() <= MAX_LABELS, "{labels:?}");
        assert!(labels.is_sorted() && labels.iter().all(|label| label.is_normal()), "{labels:?}");
    }

    #[test]
    fn sizes_are_doubled() {
        let scale = Scale::Doubling { least: 1.0, most: 1024.0 };
        assert!((scale.place(32.0) - 0.5).abs() < 1e-9);
        assert_eq!(scale.labels().len(), 11);
        let wide = Scale::Doubling { least: 1.0, most: f64::from(1 << 20) };
        assert_eq!(wide.labels()[..3], [1.0, 4.0, 16.0]);
        assert!((Scale::Doubling { least: 8.0, most: 8.0 }.place(8.0) - 0.5).abs() < 1e-9);
    }
}
