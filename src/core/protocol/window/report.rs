//! What a rank reports of itself: an acknowledgement and a credit in 64 bits.

use super::seq::Seq;

/// What a rank has told of itself, or is known to have.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Report {
    /// It has every fragment before this one (the acknowledgement of Liu 2004, section 4.1, for all
    /// roots at once).
    pub have: Seq,
    /// It and all whose reports it gathers have every fragment before this one, so that their receive
    /// buffers are posted again (the credit of Liu 2004, section 5.4).
    pub credit: Seq,
}

impl Report {
    /// Where every rank stands at first.
    pub fn initial(first: Seq) -> Self {
        Report { have: first, credit: first }
    }

    /// On the wire: `have`, then by how much `credit` lags behind it, then a one, so that zero can
    /// say nothing.
    pub fn emit(self) -> u64 {
        let lag = self.have.after(self.credit).max(0) as u32;
        u64::from(self.have.0) << 32 | u64::from(lag) << 1 | 1
    }

    /// Reads a report; `None` where it says nothing.
    pub fn parse(value: u64) -> Option<Self> {
        let have = Seq((value >> 32) as u32);
        let lag = (value as u32) >> 1;
        (value & 1 == 1).then(|| Report { have, credit: Seq(have.0.wrapping_sub(lag)) })
    }

    /// By how much another report is behind this one.
    pub fn lead(self, other: Report) -> i32 {
        self.have.after(other.have).max(self.credit.after(other.credit))
    }

    /// Takes over what a later report adds; whether it adds anything.
    pub fn advance(&mut self, later: Report) -> bool {
        let before = *self;
        if later.have.after(self.have) > 0 {
            self.have = later.have;
        }
        if later.credit.after(self.credit) > 0 {
            self.credit = later.credit;
        }
        *self != before
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_report_survives_the_wire_across_the_wrap() {
        for (have, credit) in [(0, 0), (5, 5), (3, u32::MAX - 1), (u32::MAX, u32::MAX - 100)] {
            let report = Report { have: Seq(have), credit: Seq(credit) };
            assert_eq!(Report::parse(report.emit()), Some(report));
        }
        assert_eq!(Report::parse(0), None);
    }

    #[test]
    fn a_report_never_goes_back() {
        let mut known = Report::initial(Seq(u32::MAX));
        assert!(known.advance(Report { have: Seq(1), credit: Seq(u32::MAX) }));
        assert!(!known.advance(Report::initial(Seq(u32::MAX - 3))));
        assert_eq!(known, Report { have: Seq(1), credit: Seq(u32::MAX) });
    }
}
