//! What is imitated: a profile's keys and their values.

use crate::happening::{Happening, NAMES, When, has_pkeys_changed};
use std::collections::BTreeMap;
use std::fmt::Display;
use std::str::FromStr;
use std::time::Duration;

/// Every key with the value that imitates nothing.
const KEYS: &str = include_str!("../profiles/rxe.txt");

const PROFILES: [(&str, &str); 5] = [
    ("rxe", ""),
    ("mlx5-ib", include_str!("../profiles/mlx5-ib.txt")),
    ("mlx5-roce", include_str!("../profiles/mlx5-roce.txt")),
    ("hfi1", include_str!("../profiles/hfi1.txt")),
    ("irdma", include_str!("../profiles/irdma.txt")),
];

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ipoib {
    Up,
    Down,
    None,
}

/// What [`KEYS`] explains, key by key.
#[derive(Debug)]
pub struct Profile {
    pub is_infiniband: bool,
    pub lid: u16,
    pub sm_lid: u16,
    pkeys: Vec<u16>,
    /// After an event that says so.
    pkeys_then: Option<Vec<u16>>,
    pub sl: u8,
    pub ipoib: Ipoib,
    pub ipoib_pkey: u16,
    pub join_by_gid: bool,
    pub max_mcast_grp: Option<u32>,
    pub max_mcast_qp_attach: Option<u32>,
    pub max_qp_wr: Option<u32>,
    pub max_cqe: Option<u32>,
    pub max_srq_wr: Option<u32>,
    pub max_qp_rd_atom: Option<u32>,
    pub max_inline: Option<u32>,
    pub grants_less_inline: bool,
    pub retries_for_ever: bool,
    pub max_srq: Option<u32>,
    pub administrator_answers: bool,
    mtus: Vec<u32>,
    pub width: Option<u32>,
    pub speed: Option<u32>,
    pub join_delay: Duration,
    pub join_refusals: u32,
    pub join_error: i32,
    pub own_copies: OwnCopies,
    pub path_mtu: Option<u32>,
    pub deaf_for: Duration,
    pub too_long: TooLong,
    pub loses_attachments: bool,
    pub restarts: bool,
    pub unresolved: u32,
    pub spoils_ipv4_front: bool,
    pub happenings: Vec<(Happening, When)>,
}

/// Which queue pairs of the sender's device get a multicast.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OwnCopies {
    All,
    Others,
    /// None of them.
    Away,
}

/// What becomes of a datagram that is longer than its receive.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TooLong {
    Lost,
    Error,
}

impl Profile {
    /// The MTU of a device's port, if it is not SoftRoCE's.
    pub fn mtu(&self, device: usize) -> Option<u32> {
        self.mtus.get(device % self.mtus.len().max(1)).copied()
    }

    /// The port's table of P_Keys, as it is now.
    pub fn pkeys(&self) -> &[u16] {
        match &self.pkeys_then {
            Some(then) if has_pkeys_changed() => then,
            _ => &self.pkeys,
        }
    }

    /// Whether datagrams that come are looked at.
    pub fn meddles_with_datagrams(&self) -> bool {
        self.is_infiniband
            || self.spoils_ipv4_front
            || self.own_copies != OwnCopies::All
            || self.path_mtu.is_some()
            || !self.mtus.is_empty()
            || !self.deaf_for.is_zero()
            || self.too_long == TooLong::Error
            || !self.happenings.is_empty()
    }

    /// Reads `PROFILE[,key=value…]`.
    pub fn parse(text: &str) -> Result<Profile, String> {
        let mut words = text.split(',');
        let name = words.next().unwrap_or_default();
        let names = || PROFILES.map(|(name, _)| name).join(", ");
        let (_, table) = PROFILES
            .iter()
            .find(|(known, _)| *known == name)
            .ok_or_else(|| format!("there is no adapter {name:?}; there are: {}", names()))?;
        let mut values = Values::default();
        for (key, value) in lines(KEYS) {
            values.0.insert(key, value);
        }
        for (key, value) in lines(table) {
            values.set(key, value)?;
        }
        for word in words {
            let (key, value) =
                word.split_once('=').ok_or_else(|| format!("{word:?} is not key=value"))?;
            values.set(key, value)?;
        }
        values.profile()
    }
}

/// The keys and values of a table, without its comments.
fn lines(table: &str) -> impl Iterator<Item = (&str, &str)> {
    let rows = table.lines().map(|line| line.split('#').next().unwrap_or_default());
    rows.filter_map(|row| row.trim().split_once(' ')).map(|(key, value)| (key, value.trim()))
}

#[derive(Default)]
struct Values<'a>(BTreeMap<&'a str, &'a str>);

impl<'a> Values<'a> {
    fn set(&mut self, key: &'a str, value: &'a str) -> Result<(), String> {
        let known = self.0.get_mut(key);
        let known = known.ok_or_else(|| {
            format!("an adapter has no {key:?}; its keys are in tests/adapters/profiles/rxe.txt")
        })?;
        *known = value;
        Ok(())
    }

    fn text(&self, key: &str) -> Result<&'a str, String> {
        self.0.get(key).copied().ok_or_else(|| format!("{key} has no value"))
    }

    fn one_of<T: Copy>(&self, key: &str, words: &[(&str, T)]) -> Result<T, String> {
        let text = self.text(key)?;
        let found = words.iter().find(|(word, _)| *word == text);
        found.map(|(_, value)| *value).ok_or_else(|| {
            let words: Vec<_> = words.iter().map(|(word, _)| *word).collect();
            format!("{key}={text} is not one of: {}", words.join(", "))
        })
    }

    fn number<T: FromStr<Err: Display>>(&self, key: &str) -> Result<T, String> {
        let text = self.text(key)?;
        text.parse().map_err(|error| format!("{key}={text}: {error}"))
    }

    /// A number, or none for SoftRoCE's own.
    fn limit(&self, key: &str) -> Result<Option<u32>, String> {
        if self.text(key)? == "-" { Ok(None) } else { self.number(key).map(Some) }
    }

    fn pkeys(&self, key: &str) -> Result<Vec<u16>, String> {
        let parse = |text: &str| {
            let digits = text.strip_prefix("0x").unwrap_or(text);
            u16::from_str_radix(digits, 16).map_err(|error| format!("{key}={text}: {error}"))
        };
        self.text(key)?.split('/').map(parse).collect()
    }

    fn milliseconds(&self, key: &str) -> Result<Duration, String> {
        self.number(key).map(Duration::from_millis)
    }

    /// Numbers with / between; none for SoftRoCE's own.
    fn numbers(&self, key: &str) -> Result<Vec<u32>, String> {
        let parse = |text: &str| text.parse().map_err(|error| format!("{key}={text}: {error}"));
        match self.text(key)? {
            "-" => Ok(Vec::new()),
            text => text.split('/').map(parse).collect(),
        }
    }

    fn happenings(&self, key: &str) -> Result<Vec<(Happening, When)>, String> {
        let parse = |text: &str| {
            let wrong = || format!("{key}={text}: NAME@SECONDS or NAME@NUMBERd is wanted");
            let (name, when) = text.split_once('@').ok_or_else(wrong)?;
            let known = NAMES.iter().find(|(known, _)| *known == name).ok_or_else(wrong)?;
            let when = match when.strip_suffix('d') {
                Some(count) => When::Datagrams(count.parse().map_err(|_| wrong())?),
                None => {
                    let seconds = when.parse().map_err(|_| wrong())?;
                    When::After(Duration::try_from_secs_f64(seconds).map_err(|_| wrong())?)
                }
            };
            Ok((known.1, when))
        };
        match self.text(key)? {
            "-" => Ok(Vec::new()),
            text => text.split('/').map(parse).collect(),
        }
    }

    fn profile(&self) -> Result<Profile, String> {
        let no_yes = [("no", false), ("yes", true)];
        Ok(Profile {
            is_infiniband: self
                .one_of("link_layer", &[("ethernet", false), ("infiniband", true)])?,
            lid: self.number("lid")?,
            sm_lid: self.number("sm_lid")?,
            pkeys: self.pkeys("pkeys")?,
            pkeys_then: match self.text("pkeys_then")? {
                "-" => None,
                _ => Some(self.pkeys("pkeys_then")?),
            },
            sl: self.number("sl")?,
            ipoib: self.one_of(
                "ipoib",
                &[("up", Ipoib::Up), ("down", Ipoib::Down), ("none", Ipoib::None)],
            )?,
            ipoib_pkey: self.pkeys("ipoib_pkey")?[0],
            join_by_gid: self.one_of("join_by_gid", &no_yes)?,
            max_mcast_grp: self.limit("max_mcast_grp")?,
            max_mcast_qp_attach: self.limit("max_mcast_qp_attach")?,
            max_qp_wr: self.limit("max_qp_wr")?,
            max_cqe: self.limit("max_cqe")?,
            max_srq_wr: self.limit("max_srq_wr")?,
            max_qp_rd_atom: self.limit("max_qp_rd_atom")?,
            max_inline: self.limit("max_inline")?,
            grants_less_inline: self
                .one_of("inline_excess", &[("refuse", false), ("grant", true)])?,
            retries_for_ever: self.one_of("retry_7", &[("forever", true), ("seven", false)])?,
            max_srq: self.limit("max_srq")?,
            administrator_answers: self.one_of("sa", &[("refused", false), ("answers", true)])?,
            mtus: self.numbers("mtu")?,
            width: self.limit("width")?,
            speed: self.limit("speed")?,
            join_delay: self.milliseconds("join_delay")?,
            join_refusals: self.number("join_refusals")?,
            join_error: self.one_of(
                "join_error",
                &[
                    ("EINVAL", libc::EINVAL),
                    ("ETIMEDOUT", libc::ETIMEDOUT),
                    ("ENETRESET", libc::ENETRESET),
                ],
            )?,
            own_copies: self.one_of(
                "own_copies",
                &[
                    ("all", OwnCopies::All),
                    ("others", OwnCopies::Others),
                    ("away", OwnCopies::Away),
                ],
            )?,
            path_mtu: self.limit("path_mtu")?,
            deaf_for: self.milliseconds("deaf_for")?,
            too_long: self
                .one_of("too_long", &[("lost", TooLong::Lost), ("error", TooLong::Error)])?,
            loses_attachments: self.one_of("reset_detaches", &no_yes)?,
            restarts: self.one_of("restart", &no_yes)?,
            unresolved: self.number("unresolved")?,
            spoils_ipv4_front: self.one_of("ipv4_front", &[("zero", false), ("garbage", true)])?,
            happenings: self.happenings("events")?,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_profile_can_be_read() {
        for (name, _) in PROFILES {
            Profile::parse(name).unwrap();
        }
    }

    #[test]
    fn keys_on_the_line_override_those_of_the_profile() {
        let profile = Profile::parse("mlx5-ib,pkeys=0x8001/0x7fff,max_inline=0").unwrap();
        assert_eq!(profile.pkeys(), [0x8001, 0x7fff]);
        assert_eq!((profile.max_inline, profile.max_mcast_qp_attach), (Some(0), Some(240)));
    }

    #[test]
    fn events_have_a_time_or_a_number_of_datagrams() {
        let profile = Profile::parse("rxe,events=sm_change@0.5/qp_fatal@20d").unwrap();
        let [(_, first), (second, after)] = profile.happenings[..] else { panic!("two") };
        assert_eq!(first, When::After(Duration::from_millis(500)));
        assert_eq!((second, after), (Happening::QpFatal, When::Datagrams(20)));
    }

    #[test]
    fn what_is_wrong_is_named() {
        for (text, part) in [
            ("mlx9", "there are: rxe, mlx5-ib"),
            ("rxe,lids=3", "\"lids\""),
            ("rxe,ipoib=lost", "up, down, none"),
            ("rxe,lid=many", "lid=many"),
            ("rxe,down", "not key=value"),
            ("rxe,events=port_err", "NAME@SECONDS"),
            ("rxe,events=port_err@-1", "NAME@SECONDS"),
        ] {
            let error = Profile::parse(text).unwrap_err();
            assert!(error.contains(part), "{error}");
        }
    }
}
