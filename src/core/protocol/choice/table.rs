//! The table over ranks and bytes.

use super::Algorithm;
use std::fmt;
use std::str::FromStr;

/// The words before the version in a table's first line.
const TAG: [&str; 2] = ["verbcast", "table"];
/// Changes with anything in the layout or the meaning of the lines.
const VERSION: &str = "2";
/// The versions that can be read: a line of version 1 names a protocol, and means the same in version 2.
const READABLE: [&str; 2] = ["1", VERSION];
/// What a line names in a protocol's place that leaves broadcasts to the MPI library.
const MPI: &str = "mpi";
/// Rows of a table at most.
const MAX_ROWS: usize = 1024;

/// A table that cannot be read or used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum TableError {
    /// No algorithm is called that.
    #[error("there is no algorithm {name:?}; there are {}", algorithms())]
    UnknownAlgorithm {
        /// What was asked for.
        name: String,
    },
    /// A line is not a row.
    #[error(
        "expected `ranks <= N  bytes <= N  ALGORITHM`, or `any` for `<= N`, or `mpi` for the algorithm"
    )]
    NotARow,
    /// Earlier rows cover everything that this one covers.
    #[error("earlier lines leave nothing to this one")]
    Unreachable,
    /// The table is of another version of the format.
    #[error("the table is of version {theirs:?}, but versions up to {VERSION:?} are read here")]
    Version {
        /// What its first line says.
        theirs: String,
    },
    /// There are more rows than anybody needs.
    #[error("more than {MAX_ROWS} lines")]
    TooLong,
    /// A line cannot be used.
    #[error("line {number}: {source}")]
    Line {
        /// The line, counted from 1.
        number: usize,
        /// What is wrong with it.
        source: Box<TableError>,
    },
    /// Some broadcasts are left out.
    #[error(
        "the last line must name an algorithm for any ranks and any bytes, so that nothing is left out"
    )]
    Incomplete,
}

/// The names of all algorithms.
fn algorithms() -> String {
    Algorithm::NAMES.map(|(name, _)| name).join(", ")
}

/// Up to so many ranks and bytes, this algorithm. No bound: any number. No algorithm: what the MPI library does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Row {
    ranks: Option<u32>,
    bytes: Option<u64>,
    algorithm: Option<Algorithm>,
}

impl Row {
    fn covers(&self, bytes: u64, ranks: u32) -> bool {
        self.ranks.is_none_or(|most| ranks <= most) && self.bytes.is_none_or(|most| bytes <= most)
    }

    /// Whether it leaves nothing to another row. One for the MPI library leaves to an algorithm what has none.
    fn shadows(&self, other: &Row) -> bool {
        let ranks = self.ranks.is_none_or(|most| other.ranks.is_some_and(|its| its <= most));
        let bytes = self.bytes.is_none_or(|most| other.bytes.is_some_and(|its| its <= most));
        ranks && bytes && (self.algorithm.is_some() || other.algorithm.is_none())
    }
}

/// Rows of which the first that covers a broadcast counts.
///
/// As text, a row is a line, and `#` begins a comment. The first line says the version; without it, it is this one:
///
/// ```text
/// verbcast table 2
/// # up to 2 ranks there is nobody to share a multicast
/// ranks <= 2  bytes any     binomial
/// ranks any   bytes <= 64   mpi
/// ranks any   bytes <= 2Ki  window
/// ranks any   bytes any     two-stage
/// ```
///
/// In place of an algorithm a row can name `mpi`, by which it leaves broadcasts to the broadcast of the program's MPI library.
/// Programs without one take the next row that covers them: here `window` for 64 bytes, too.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Table {
    rows: Vec<Row>,
}

impl Default for Table {
    /// Two ranks have no use for a multicast: one send is one send. From three on they have the window, which sends nothing
    /// besides the multicast unless it is asked or something is lost, and in which no rank hears or repairs more than its
    /// children in a tree by place. What that costs beside the two-stage protocol, among many ranks, is in the book's page on
    /// performance.
    /// The bounds are a system's, to be tuned; [`Table`] can be loaded for that.
    fn default() -> Self {
        let any = Row { ranks: None, bytes: None, algorithm: Some(Algorithm::Window) };
        let two = Row { ranks: Some(2), algorithm: Some(Algorithm::Binomial), ..any };
        Table { rows: vec![two, any] }
    }
}

impl Table {
    /// One algorithm for everything.
    pub fn uniform(algorithm: Algorithm) -> Self {
        Table { rows: vec![Row { ranks: None, bytes: None, algorithm: Some(algorithm) }] }
    }

    /// For where there is no multicast: a tree for short messages, a pipeline for long ones, where the
    /// bandwidth counts and not the number of hops.
    pub fn unicast() -> Self {
        let any = Row { ranks: None, bytes: None, algorithm: Some(Algorithm::Chain) };
        let short = Row { bytes: Some(16 << 10), algorithm: Some(Algorithm::Binomial), ..any };
        Table { rows: vec![short, any] }
    }

    /// The algorithm for a broadcast of `bytes` among `ranks` that is not left to the MPI library.
    pub fn choose(&self, bytes: u64, ranks: u32) -> Algorithm {
        let mut rows = self.rows.iter().filter(|row| row.covers(bytes, ranks));
        rows.find_map(|row| row.algorithm).unwrap_or(Algorithm::TwoStage)
    }

    /// Whether a program of MPI's leaves a broadcast of `bytes` among `ranks` to its library.
    pub fn leaves_to_mpi(&self, bytes: u64, ranks: u32) -> bool {
        let row = self.rows.iter().find(|row| row.covers(bytes, ranks));
        row.is_some_and(|row| row.algorithm.is_none())
    }

    /// Whether there is a number of bytes for which [`leaves_to_mpi`](Self::leaves_to_mpi) among `ranks`.
    pub fn leaves_any_to_mpi(&self, ranks: u32) -> bool {
        let mut rows = self.rows.iter().filter(|row| row.ranks.is_none_or(|most| ranks <= most));
        rows.any(|row| row.algorithm.is_none())
    }

    /// Whether every broadcast among `ranks` takes a protocol whose ranks speak to their neighbours on
    /// the ring alone.
    pub fn keeps_to_the_ring(&self, ranks: u32) -> bool {
        let is_ring = |one| matches!(one, Algorithm::TwoStage | Algorithm::TwoStageOnDemand);
        self.algorithms(ranks).all(is_ring)
    }

    /// Whether no broadcast among `ranks` takes a protocol that multicasts.
    pub fn is_unicast(&self, ranks: u32) -> bool {
        self.algorithms(ranks).all(Algorithm::is_unicast)
    }

    /// What broadcasts among `ranks` may take.
    pub(in crate::protocol) fn algorithms(
        &self,
        ranks: u32,
    ) -> impl Iterator<Item = Algorithm> + '_ {
        let rows = self.rows.iter().filter(move |row| row.ranks.is_none_or(|most| ranks <= most));
        let named = rows.filter_map(|row| Some((row.bytes, row.algorithm?)));
        // One for any number of bytes leaves nothing to those after it.
        let mut is_left = true;
        named
            .take_while(move |(bytes, _)| std::mem::replace(&mut is_left, bytes.is_some()))
            .map(|(_, algorithm)| algorithm)
    }

    /// A number by which ranks notice that they have different tables.
    pub fn digest(&self) -> u32 {
        crc32fast::hash(self.to_string().as_bytes())
    }
}

impl fmt::Display for Table {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{} {} {VERSION}", TAG[0], TAG[1])?;
        for Row { ranks, bytes, algorithm } in &self.rows {
            let ranks = ranks.map_or("any".to_owned(), |most| format!("<= {most}"));
            let bytes = bytes.map_or("any".to_owned(), |most| format!("<= {most}"));
            let takes = algorithm.map_or(MPI.to_owned(), |algorithm| algorithm.to_string());
            writeln!(f, "ranks {ranks}  bytes {bytes}  {takes}")?;
        }
        Ok(())
    }
}

impl FromStr for Table {
    type Err = TableError;

    fn from_str(text: &str) -> Result<Self, TableError> {
        let mut rows: Vec<Row> = Vec::new();
        let mut is_first = true;
        for (number, line) in (1..).zip(text.lines()) {
            let line = line.split('#').next().unwrap_or_default();
            let words: Vec<_> = line.split_whitespace().collect();
            if words.is_empty() {
                continue;
            }
            let in_line = |error| TableError::Line { number, source: Box::new(error) };
            if std::mem::take(&mut is_first)
                && let Some(theirs) = version(&words)
            {
                if !READABLE.contains(&theirs) {
                    return Err(in_line(TableError::Version { theirs: theirs.to_owned() }));
                }
                continue;
            }
            if rows.len() == MAX_ROWS {
                return Err(in_line(TableError::TooLong));
            }
            let row = row(&words).map_err(in_line)?;
            if rows.iter().any(|earlier| earlier.shadows(&row)) {
                return Err(in_line(TableError::Unreachable));
            }
            rows.push(row);
        }
        match rows.last() {
            Some(Row { ranks: None, bytes: None, algorithm: Some(_) }) => Ok(Table { rows }),
            _ => Err(TableError::Incomplete),
        }
    }
}

/// The version that a first line says.
fn version<'a>(words: &[&'a str]) -> Option<&'a str> {
    match words.strip_prefix(&TAG)? {
        [version] => Some(version),
        _ => None,
    }
}

fn row(words: &[&str]) -> Result<Row, TableError> {
    let rest = words.strip_prefix(&["ranks"]).ok_or(TableError::NotARow)?;
    let (ranks, rest) = bound(rest).ok_or(TableError::NotARow)?;
    let rest = rest.strip_prefix(&["bytes"]).ok_or(TableError::NotARow)?;
    let (bytes, rest) = bound(rest).ok_or(TableError::NotARow)?;
    let [name] = rest else { return Err(TableError::NotARow) };
    let ranks = ranks.map(|most| u32::try_from(most).unwrap_or(u32::MAX));
    let algorithm = if *name == MPI { None } else { Some(name.parse()?) };
    Ok(Row { ranks, bytes, algorithm })
}

/// `any` or `<= N`, and the words after it.
fn bound<'a, 'b>(words: &'a [&'b str]) -> Option<(Option<u64>, &'a [&'b str])> {
    match words {
        ["any", rest @ ..] => Some((None, rest)),
        ["<=", number, rest @ ..] => Some((Some(size(number)?), rest)),
        _ => None,
    }
}

/// A number with `K`, `Ki`, `M`, `Mi`, `G` or `Gi` behind it, or without.
fn size(text: &str) -> Option<u64> {
    let at = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    let (digits, unit) = text.split_at(at);
    let factor = match unit.trim_end_matches('B') {
        "" => 1,
        "K" => 1000,
        "Ki" => 1 << 10,
        "M" => 1_000_000,
        "Mi" => 1 << 20,
        "G" => 1_000_000_000,
        "Gi" => 1 << 30,
        _ => return None,
    };
    digits.parse::<u64>().ok()?.checked_mul(factor)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const TEXT: &str = "# measured\nranks <= 2  bytes any  binomial\n\nranks any bytes <= 2KiB window\n\
                        ranks any bytes any two-stage # the rest\n";

    #[test]
    fn the_default_is_the_window_from_three_ranks_on() {
        let table = Table::default();
        for bytes in [0, 8192, 1 << 30] {
            assert_eq!(table.choose(bytes, 2), Algorithm::Binomial);
            let all = [3, 32, 33, 65_536].map(|ranks| table.choose(bytes, ranks));
            assert_eq!(all, [Algorithm::Window; 4]);
        }
    }

    #[test]
    fn the_first_row_that_covers_counts() {
        let table: Table = TEXT.parse().unwrap();
        assert_eq!(table.choose(5000, 2), Algorithm::Binomial);
        assert_eq!(table.choose(2048, 3), Algorithm::Window);
        assert_eq!(table.choose(2049, 3), Algorithm::TwoStage);
        assert_eq!(table.choose(u64::MAX, u32::MAX), Algorithm::TwoStage);
    }

    #[test]
    fn only_rows_that_can_apply_say_whether_there_is_multicast() {
        let text =
            "ranks <= 4 bytes any chain\nranks any bytes <= 9 binomial\nranks any bytes any window";
        let table: Table = text.parse().unwrap();
        assert!(table.is_unicast(3) && !table.is_unicast(5));
        assert!(Table::unicast().is_unicast(2) && !Table::default().is_unicast(3));
    }

    #[test]
    fn what_is_left_to_mpi_has_an_algorithm_where_there_is_no_mpi() {
        let text = "ranks <= 4 bytes <= 64 mpi\nranks any bytes <= 4Ki window\n\
                    ranks any bytes any mpi\nranks any bytes any chain";
        let table: Table = text.parse().unwrap();
        let all = [(64, 4), (65, 4), (64, 5), (4097, 5)];
        assert_eq!(
            all.map(|(bytes, ranks)| table.leaves_to_mpi(bytes, ranks)),
            [true, false, false, true]
        );
        assert_eq!(
            all.map(|(bytes, ranks)| table.choose(bytes, ranks)),
            [Algorithm::Window, Algorithm::Window, Algorithm::Window, Algorithm::Chain]
        );
        assert!(!table.is_unicast(4) && table.leaves_any_to_mpi(5));
        let few: Table = "ranks <= 4 bytes any mpi\nranks any bytes any window".parse().unwrap();
        assert!(few.leaves_any_to_mpi(4) && !few.leaves_any_to_mpi(5));
        assert!(!Table::default().leaves_any_to_mpi(8));
    }

    #[test]
    fn a_table_is_written_as_it_is_read() {
        for table in [TEXT.parse().unwrap(), Table::default(), Table::unicast()] {
            assert_eq!(table.to_string().parse::<Table>().unwrap(), table);
        }
        assert_ne!(Table::default().digest(), Table::unicast().digest());
    }

    #[test]
    fn a_table_may_say_its_version_first() {
        for version in READABLE {
            let text = format!("# measured\nverbcast table {version} # now\n{TEXT}");
            assert_eq!(text.parse::<Table>().unwrap(), TEXT.parse().unwrap());
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

        #[test]
        fn any_table_is_read_as_it_was_written(
            bounds in prop::collection::vec((any::<Option<u32>>(), any::<Option<u64>>(), 0..=Algorithm::NAMES.len()), 0..20),
            last in 0..Algorithm::NAMES.len(),
        ) {
            let row = |(ranks, bytes, at): (_, _, usize)| {
                let algorithm = Algorithm::NAMES.get(at).map(|(_, algorithm)| *algorithm);
                Row { ranks, bytes, algorithm }
            };
            let mut rows: Vec<Row> = Vec::new();
            for row in bounds.into_iter().chain([(None, None, last)]).map(row) {
                if !rows.iter().any(|earlier| earlier.shadows(&row)) {
                    rows.push(row);
                }
            }
            let table = Table { rows };
            let text = table.to_string();
            // A row for everything may have stood before the last.
            if table.rows.last().is_some_and(|row| row.algorithm.is_none()) {
                prop_assert_eq!(text.parse::<Table>(), Err(TableError::Incomplete));
                return Ok(());
            }
            prop_assert_eq!(text.parse(), Ok(table));
            let longer = text + "ranks any bytes any chain";
            prop_assert!(longer.parse::<Table>().is_err());
        }

        #[test]
        fn any_text_is_read_or_refused(
            text in "(ranks|bytes|any|<=|verbcast table|1|2|7Ki|chain|window|mpi|#|\n| |.){0,40}",
        ) {
            if let Ok(table) = text.parse::<Table>() {
                prop_assert_eq!(table.to_string().parse(), Ok(table));
            }
        }
    }

    #[test]
    fn a_bad_table_is_refused_with_its_line() {
        let long: String =
            (0..=MAX_ROWS).map(|n| format!("ranks any bytes <= {n} chain\n")).collect();
        let error = long.parse::<Table>().unwrap_err().to_string();
        assert!(error.contains(&format!("more than {MAX_ROWS} lines")), "{error}");
        for (text, named) in [
            ("verbcast table 3", "line 1: the table is of version \"3\", but versions up to \"2\""),
            ("ranks any bytes any chain\nverbcast table 1", "line 2: expected"),
            ("ranks any bytes any quick", "line 1: there is no algorithm \"quick\""),
            ("\nranks < 3 bytes any chain", "line 2: expected"),
            ("ranks any bytes <= 3Q chain", "line 1: expected"),
            ("ranks any bytes any chain\nranks any bytes <= 5 window", "line 2: earlier lines"),
            ("ranks any bytes any chain\nranks any bytes <= 5 mpi", "line 2: earlier lines"),
            ("ranks any bytes any mpi\nranks any bytes <= 5 mpi", "line 2: earlier lines"),
            ("ranks any bytes any mpi", "the last line must name an algorithm"),
            ("ranks <= 7 bytes any chain", "the last line must name an algorithm"),
            ("", "the last line must name an algorithm"),
        ] {
            let error = text.parse::<Table>().unwrap_err().to_string();
            assert!(error.contains(named), "{error}");
        }
    }
}
