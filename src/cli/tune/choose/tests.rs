use super::*;
use crate::results::Test;
use verbcast_core::protocol::choice::Algorithm::{self, Binomial, Chain, TwoStage, Window};

/// Ranks, bytes, and the medians of [`ALL`].
type Row = (u32, u64, [f64; 3]);
const ALL: [Algorithm; 3] = [Binomial, TwoStage, Window];

fn of(rows: &[Row]) -> Measured {
    let mut measured = Measured::new();
    for (ranks, size, medians) in rows {
        let medians = ALL.into_iter().map(Candidate::Protocol).zip(*medians).collect();
        measured.entry(*ranks).or_default().insert(*size, medians);
    }
    measured
}

/// The table's lines, made with a margin of 5 %.
fn lines(rows: &[Row]) -> Vec<String> {
    let table = table(&choose(&of(rows), 0.05)).unwrap();
    table.to_string().lines().skip(1).map(str::to_owned).collect()
}

#[test]
fn the_least_median_is_taken_and_neighbours_share_a_line() {
    let rows = [
        (4, 8, [30.0, 20.0, 10.0]),
        (4, 16, [30.0, 20.0, 11.0]),
        (4, 1024, [30.0, 20.0, 40.0]),
        (4, 4096, [30.0, 20.0, 41.0]),
    ];
    assert_eq!(lines(&rows), ["ranks any  bytes <= 16  window", "ranks any  bytes any  two-stage"]);
}

#[test]
fn noise_within_the_margin_changes_nothing() {
    let rows = [
        (4, 8, [30.0, 10.0, 10.1]),
        (4, 16, [30.0, 10.3, 10.0]),
        (4, 32, [30.0, 10.0, 10.1]),
        (4, 64, [30.0, 10.5, 10.0]),
    ];
    assert_eq!(lines(&rows), ["ranks any  bytes any  two-stage"]);
    let without = table(&choose(&of(&rows), 0.0)).unwrap();
    assert_eq!(without.to_string().lines().skip(1).count(), 4);
}

#[test]
fn what_is_better_by_more_than_the_margin_is_taken() {
    let at = |window: f64| lines(&[(4, 8, [9.0, 1.0, 2.0]), (4, 16, [90.0, 100.0, window])]);
    assert_eq!(lines(&[(4, 8, [9.0, 1.0, 2.0]), (4, 16, [96.0, 100.0, 97.0])]).len(), 1);
    assert_eq!(at(89.0), ["ranks any  bytes <= 8  two-stage", "ranks any  bytes any  window"]);
    assert_eq!(at(91.0), ["ranks any  bytes <= 8  two-stage", "ranks any  bytes any  binomial"]);
}

#[test]
fn more_ranks_get_lines_of_their_own_only_where_they_need_them() {
    let rows = [
        (2, 8, [10.0, 20.0, 20.0]),
        (2, 64, [10.0, 20.0, 20.0]),
        (4, 8, [30.0, 20.0, 10.0]),
        (4, 64, [30.0, 10.0, 20.0]),
        // Less than 5 % better than what four ranks take.
        (8, 8, [30.0, 9.7, 10.0]),
        (8, 64, [30.0, 10.0, 9.9]),
    ];
    let expected = [
        "ranks <= 2  bytes any  binomial",
        "ranks any  bytes <= 8  window",
        "ranks any  bytes any  two-stage",
    ];
    assert_eq!(lines(&rows), expected);
    let mut more = rows.to_vec();
    more.push((16, 8, [1.0, 2.0, 3.0]));
    more.push((16, 64, [3.0, 2.0, 1.0]));
    let expected = [
        "ranks <= 2  bytes any  binomial",
        "ranks <= 8  bytes <= 8  window",
        "ranks <= 8  bytes any  two-stage",
        "ranks any  bytes <= 8  binomial",
        "ranks any  bytes any  window",
    ];
    assert_eq!(lines(&more), expected);
}

#[test]
fn what_was_not_measured_is_not_taken() {
    let mut measured = of(&[(2, 8, [10.0, 20.0, 20.0]), (4, 8, [10.0, 20.0, 20.0])]);
    measured.get_mut(&4).unwrap().get_mut(&8).unwrap().remove(0);
    let table = table(&choose(&measured, 0.5)).unwrap();
    assert_eq!((table.choose(8, 2), table.choose(8, 3)), (Binomial, TwoStage));
    assert!(super::table(&choose(&Measured::new(), 0.05)).is_err());
}

#[test]
fn medians_come_from_the_points_that_have_one() {
    let point = |algorithm: &str, nanos: Option<u64>| {
        let algorithm = algorithm.to_owned();
        let mut point = Point { algorithm, ranks: 4, size: 64, ..Point::new(Test::Osu) };
        nanos.into_iter().for_each(|nanos| point.histogram.record(nanos));
        point
    };
    let points = [point("chain", Some(2000)), point("window", None), point("raw", Some(1000))];
    let measured = measured(&points);
    let medians = &measured[&4][&64];
    let chain = Candidate::Protocol(Chain);
    assert_eq!((medians.len(), best(medians).map(|(one, _)| one)), (1, Some(chain)));
    assert!((medians[0].1 - 2.0).abs() < 0.01, "{medians:?}");
    assert!(super::measured(&[point("mpi", Some(1000))]).is_empty(), "not every program has it");
}

/// The table's lines where the MPI library took so long in each place.
fn lines_with_mpi(rows: &[(Row, f64)]) -> Vec<String> {
    let mut all = of(&rows.iter().map(|(row, _)| *row).collect::<Vec<_>>());
    for ((ranks, size, _), mpi) in rows {
        all.get_mut(ranks).unwrap().get_mut(size).unwrap().push((Candidate::Mpi, *mpi));
    }
    let table = table(&choose(&all, 0.05)).unwrap();
    for ((ranks, size, medians), mpi) in rows {
        let least = medians.iter().copied().fold(f64::INFINITY, f64::min);
        assert_eq!(table.leaves_to_mpi(*size, *ranks), *mpi < least, "{size} among {ranks}");
    }
    table.to_string().lines().skip(1).map(str::to_owned).collect()
}

#[test]
fn what_mpi_does_best_is_left_to_it_and_has_a_line_for_others() {
    let window = |size| (8, size, [30.0, 20.0, 10.0]);
    let stages = |size| (8, size, [30.0, 10.0, 20.0]);
    let rows = [(window(8), 5.0), (window(64), 6.0), (window(512), 40.0), (stages(4096), 7.0)];
    let expected = [
        "ranks any  bytes <= 64  mpi",
        "ranks any  bytes <= 512  window",
        "ranks any  bytes any  mpi",
        "ranks any  bytes any  two-stage",
    ];
    assert_eq!(lines_with_mpi(&rows), expected);
    let amid = [(window(8), 40.0), (window(64), 6.0), (stages(512), 6.0), (stages(4096), 40.0)];
    let expected = [
        "ranks any  bytes <= 8  window",
        "ranks any  bytes <= 64  mpi",
        "ranks any  bytes <= 64  window",
        "ranks any  bytes <= 512  mpi",
        "ranks any  bytes any  two-stage",
    ];
    assert_eq!(lines_with_mpi(&amid), expected);
    let never = [(window(8), 40.0), (window(64), 40.0)];
    assert_eq!(lines_with_mpi(&never), ["ranks any  bytes any  window"]);
}

#[test]
fn more_ranks_get_lines_of_their_own_where_only_mpi_differs() {
    let rows = [((4, 8, [30.0, 20.0, 10.0]), 40.0), ((8, 8, [30.0, 20.0, 10.0]), 5.0)];
    let expected = [
        "ranks <= 4  bytes any  window",
        "ranks any  bytes any  mpi",
        "ranks any  bytes any  window",
    ];
    assert_eq!(lines_with_mpi(&rows), expected);
}
