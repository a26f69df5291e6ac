//! Runs on the same system with the same faults and MPI library, put together.

use crate::results::{Configuration, Point, Results, System};

/// What was measured in one place.
pub struct Setup<'a> {
    pub system: &'a System,
    /// Of each run.
    pub configurations: Vec<&'a Configuration>,
    pub points: Vec<Point>,
    /// Algorithms that could not be used, with why.
    pub left_out: Vec<&'a str>,
}

impl<'a> Setup<'a> {
    /// Whether a run was in this place.
    fn holds(&self, run: &Results) -> bool {
        let System { kernel, processor, mtu, mpi, .. } = self.system;
        let other = &run.system;
        let faults = self.configurations.first().and_then(|one| one.faults);
        (kernel, processor, mtu) == (&other.kernel, &other.processor, &other.mtu)
            && *mpi == other.mpi
            && devices(self.system) == devices(other)
            && faults == run.configuration.faults
    }

    fn add(&mut self, run: &'a Results) {
        self.configurations.push(&run.configuration);
        self.left_out.extend(run.left_out.iter().map(String::as_str));
        for point in &run.points {
            let is_same =
                |known: &Point| known.is_beside(point) && known.algorithm == point.algorithm;
            match self.points.iter_mut().find(|known| is_same(known)) {
                Some(known) if known.iterations > point.iterations => {}
                Some(known) => known.clone_from(point),
                None => self.points.push(point.clone()),
            }
        }
    }

    /// Where it was measured, in a line.
    pub fn title(&self) -> String {
        let ranks = self.points.iter().map(|point| point.ranks).max().unwrap_or(0);
        let devices = devices(self.system);
        let faults = self.configurations.first().and_then(|one| one.faults.as_ref());
        let faults = faults.map_or(String::new(), |faults| {
            let percent = |share: f64| 100.0 * share;
            format!(
                ", with {} % of the packets lost, {} % doubled and {} % reordered on purpose",
                percent(faults.loss),
                percent(faults.duplicate),
                percent(faults.reorder)
            )
        });
        let mpi = self.system.mpi.as_ref().map_or(String::new(), |mpi| format!(", beside {mpi}"));
        format!("{ranks} ranks on {}{mpi}{faults}", devices.join(", "))
    }
}

/// The devices' names, each once.
pub fn devices(system: &System) -> Vec<&str> {
    let mut names: Vec<&str> = system.devices.iter().map(|device| device.device.as_str()).collect();
    names.sort_unstable();
    names.dedup();
    names
}

/// All runs by place, in their order.
pub fn setups(results: &[Results]) -> Vec<Setup<'_>> {
    let mut setups: Vec<Setup<'_>> = Vec::new();
    for run in results {
        let at = setups.iter().position(|setup| setup.holds(run)).unwrap_or(setups.len());
        if at == setups.len() {
            let system = &run.system;
            let (configurations, points, left_out) = (Vec::new(), Vec::new(), Vec::new());
            setups.push(Setup { system, configurations, points, left_out });
        }
        setups[at].add(run);
    }
    setups
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::results::{Device, FORMAT, Test};
    use verbcast_core::transport::Faults;

    fn run(device: &str, loss: Option<f64>, micros: u64) -> Results {
        let device =
            Device { host: "h".to_owned(), device: device.to_owned(), port: 1, gid_index: 1 };
        let system = System { devices: vec![device.clone(), device], ..System::default() };
        let faults = loss.map(|loss| Faults { loss, seed: 1, ..Faults::default() });
        let configuration = Configuration { faults, ..Configuration::default() };
        let mut point = Point { algorithm: "raw".to_owned(), ranks: 2, ..Point::new(Test::Osu) };
        point.histogram.record(micros * 1000);
        let (points, left_out) = (vec![point], Vec::new());
        Results { format: FORMAT.to_owned(), system, configuration, points, left_out }
    }

    #[test]
    fn runs_in_one_place_are_put_together_and_the_later_counts() {
        let runs =
            [run("a", None, 5), run("b", None, 6), run("a", None, 7), run("a", Some(0.05), 8)];
        let setups = setups(&runs);
        let shape: Vec<_> = setups
            .iter()
            .map(|setup| (setup.title(), setup.configurations.len(), setup.points.len()))
            .collect();
        let lossy =
            "2 ranks on a, with 5 % of the packets lost, 0 % doubled and 0 % reordered on purpose";
        assert_eq!(
            shape,
            [
                ("2 ranks on a".to_owned(), 2, 1),
                ("2 ranks on b".to_owned(), 1, 1),
                (lossy.to_owned(), 1, 1)
            ]
        );
        assert_eq!(setups[0].points[0], runs[2].points[0]);
    }

    #[test]
    fn what_was_measured_with_more_broadcasts_counts() {
        let mut runs = [run("a", None, 5), run("a", None, 6), run("a", None, 7)];
        runs[1].points[0].iterations = 60;
        runs[2].points[0].iterations = 50;
        assert_eq!(setups(&runs)[0].points, runs[1].points);
    }

    #[test]
    fn each_mpi_library_has_its_own_place() {
        let beside = |mpi: Option<&str>, micros| {
            let mut run = run("a", None, micros);
            run.system.mpi = mpi.map(str::to_owned);
            run
        };
        let runs = [
            beside(Some("One 1.0"), 5),
            beside(Some("Other 2"), 6),
            beside(None, 7),
            beside(Some("One 1.0"), 8),
        ];
        let titles: Vec<_> = setups(&runs).iter().map(Setup::title).collect();
        let expected =
            ["2 ranks on a, beside One 1.0", "2 ranks on a, beside Other 2", "2 ranks on a"];
        assert_eq!(titles, expected);
    }
}
