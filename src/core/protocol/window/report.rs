//! What a rank reports of itself: an acknowledgement, a credit and its losses in 64 bits.

use super::seq::Seq;

const LAG_BITS: u32 = 23;
/// The longest lag that a report can say.
pub(super) const MAX_LAG: u32 = (1 << LAG_BITS) - 1;

/// What a rank has told of itself, or is known to have.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Report {
    /// It has every fragment before this one (the acknowledgement of Liu 2004, section 4.1, for all
    /// roots at once).
    pub have: Seq,
    /// It and all whose reports it gathers have every fragment before this one, so that their receive
    /// buffers are posted again (the credit of Liu 2004, section 5.4).
    pub credit: Seq,
    /// Fragments that it did not get by multicast, modulo 256.
    pub lost: u8,
}

impl Report {
    /// Where every rank stands at first.
    pub fn initial(first: Seq) -> Self {
        Report { have: first, credit: first, lost: 0 }
    }

    /// On the wire: the low 32 bits of `have`, then in 23 bits by how much `credit` lags behind it, or as much as they
    /// can say, then in 8 bits `lost`, then a one, so that zero can say nothing.
    pub fn emit(self) -> u64 {
        let lag = self.have.after(self.credit).clamp(0, MAX_LAG.into());
        u64::from(self.have.low()) << 32 | (lag as u64) << 9 | u64::from(self.lost) << 1 | 1
    }

    /// Reads a report of a rank that is `near` a position; `None` where it says nothing.
    pub fn parse(value: u64, near: Seq) -> Option<Self> {
        let have = Seq::nearest((value >> 32) as u32, near);
        let lag = u64::from(value as u32 >> 9);
        let (credit, lost) = (Seq(have.0.wrapping_sub(lag)), (value >> 1) as u8);
        (value & 1 == 1).then_some(Report { have, credit, lost })
    }

    /// By how much another report is behind this one.
    pub fn lead(self, other: Report) -> i64 {
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
        let is_news = *self != before;
        if is_news {
            self.lost = later.lost;
        }
        is_news
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_report_survives_the_wire_wherever_the_low_bits_wrap() {
        let wrap = u64::from(u32::MAX);
        for (have, credit) in
            [(0, 0), (5, 5), (wrap + 4, wrap - 1), (wrap, wrap - 100), (1 << 40, 1 << 40)]
        {
            let report = Report { have: Seq(have), credit: Seq(credit), lost: 200 };
            for near in [report.credit, report.have.plus(64)] {
                assert_eq!(Report::parse(report.emit(), near), Some(report));
            }
        }
        assert_eq!(Report::parse(0, Seq(0)), None);
    }

    #[test]
    fn a_credit_that_lags_beyond_what_can_be_said_is_said_to_lag_less() {
        let report = Report { have: Seq(1 << 40), credit: Seq(9), lost: 3 };
        let said = Report::parse(report.emit(), report.have).unwrap();
        assert_eq!((said.have, said.have.after(said.credit)), (report.have, MAX_LAG.into()));
    }

    #[test]
    fn a_report_never_goes_back() {
        let mut known = Report::initial(Seq(7));
        assert!(known.advance(Report { have: Seq(9), credit: Seq(7), lost: 2 }));
        assert!(!known.advance(Report::initial(Seq(4))));
        assert_eq!(known, Report { have: Seq(9), credit: Seq(7), lost: 2 });
    }

    #[test]
    fn a_report_after_a_long_silence_is_news() {
        for apart in [1 << 31, 1 << 32, 1 << 40] {
            let mut known = Report::initial(Seq(7));
            let later = Report::initial(Seq(7 + apart));
            assert!(known.advance(later) && known == later, "{apart}");
        }
    }
}
