//! The order of names that a reader expects: numbers in them count as such.

use std::cmp::Ordering;

/// Compares two names.
pub fn compare(a: &str, b: &str) -> Ordering {
    // Names that differ by leading zeros alone are still told apart.
    parts(a).cmp(parts(b)).then_with(|| a.cmp(b))
}

/// The text and the numbers that a name consists of, from left to right.
fn parts(name: &str) -> impl Iterator<Item = (&str, u64)> {
    let mut rest = name;
    std::iter::from_fn(move || {
        if rest.is_empty() {
            return None;
        }
        let (text, behind) =
            rest.split_at(rest.find(|c: char| c.is_ascii_digit()).unwrap_or(rest.len()));
        let end = behind.find(|c: char| !c.is_ascii_digit()).unwrap_or(behind.len());
        let (digits, after) = behind.split_at(end);
        rest = after;
        Some((text, digits.parse().unwrap_or(u64::MAX)))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_count_as_numbers() {
        let expected =
            ["hfi1_0", "mlx5_0", "mlx5_2", "mlx5_10", "mlx5_10a", "mlx5_bond_0", "rxe01", "rxe1"];
        let mut names = expected;
        names.reverse();
        names.sort_by(|a, b| compare(a, b));
        assert_eq!(names, expected);
    }
}
