//! `w=`, `s=` and `e=` of ibsim's netlists: the widths, speeds and extended speeds that a port has enabled, as PortInfo
//! has them.

use crate::topology::Quality;

/// Lanes by the bit that enables them.
const LANES: [(u8, u8); 5] = [(1, 1), (2, 4), (4, 8), (8, 12), (16, 2)];
/// Mbit/s of a lane by the bit of SDR, DDR and QDR.
const SPEEDS: [(u8, u32); 3] = [(1, 2_500), (2, 5_000), (4, 10_000)];
/// The same of FDR, EDR, HDR and NDR.
const EXTENDED: [(u8, u32); 4] = [(1, 14_000), (2, 25_000), (4, 50_000), (8, 100_000)];

/// What a port has enabled; nothing where it is not said.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Enabled {
    width: Option<u8>,
    speed: Option<u8>,
    extended: Option<u8>,
}

impl Enabled {
    /// Reads the options of a port's line, up to a comment.
    pub fn read(text: &str) -> Result<Enabled, String> {
        let mut enabled = Enabled::default();
        let text = text.split('#').next().unwrap_or(text);
        for (name, value) in text.split_whitespace().filter_map(|word| word.split_once('=')) {
            enabled.set(name, value)?;
        }
        Ok(enabled)
    }

    /// Sets what `w`, `s` or `e` names; also by the names of lines for all nodes that follow.
    pub fn set(&mut self, name: &str, value: &str) -> Result<(), String> {
        let (field, bits) = match name {
            "w" | "width" => (&mut self.width, 1..=31),
            "s" | "speed" => (&mut self.speed, 0..=7),
            "e" | "extspeed" => (&mut self.extended, 0..=15),
            _ => return Ok(()),
        };
        let read = super::number_of(value).and_then(|value| u8::try_from(value).ok());
        let (first, last) = (*bits.start(), *bits.end());
        let read = read.filter(|value| bits.contains(value));
        let number = read.ok_or(format!("{name}={value}: expected {first} to {last}"))?;
        // ibsim takes a speed of 0 for QDR.
        *field = Some(if matches!(name, "s" | "speed") && number == 0 { 4 } else { number });
        Ok(())
    }

    /// What the port has, or where its line does not say it, what was said for all.
    pub fn or(self, all: Enabled) -> Enabled {
        Enabled {
            width: self.width.or(all.width),
            speed: self.speed.or(all.speed),
            extended: self.extended.or(all.extended),
        }
    }

    /// The best that both ends of a link have; what neither says is that of `quality`.
    pub fn link(self, other: Enabled, quality: Quality) -> Result<Quality, String> {
        let lanes = match both(self.width, other.width) {
            None => quality.lanes,
            Some(bits) => best(&LANES, bits).ok_or("its ends have no width in common")?,
        };
        let is_said = |end: &Enabled| end.speed.is_some() || end.extended.is_some();
        if !is_said(&self) && !is_said(&other) {
            return Ok(Quality { lanes, ..quality });
        }
        // A port that only says its speed has no extended one; one that only says the extended one has all others.
        let ends = [self, other].map(|end| match is_said(&end) {
            true => (end.speed.unwrap_or(7), end.extended.unwrap_or(0)),
            false => (7, 15),
        });
        let [(a, extended_a), (b, extended_b)] = ends;
        let lane_mbps = best(&EXTENDED, extended_a & extended_b).or(best(&SPEEDS, a & b));
        let lane_mbps = lane_mbps.ok_or("its ends have no speed in common")?;
        Ok(Quality { lanes, lane_mbps, ..quality })
    }
}

fn both(a: Option<u8>, b: Option<u8>) -> Option<u8> {
    match (a, b) {
        (Some(a), Some(b)) => Some(a & b),
        (a, b) => a.or(b),
    }
}

/// The largest value whose bit is set.
fn best<T: Copy + Ord>(values: &[(u8, T)], bits: u8) -> Option<T> {
    values.iter().filter(|(bit, _)| bits & bit != 0).map(|(_, value)| *value).max()
}
