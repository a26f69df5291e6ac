//! What is imitated: a profile's keys and their values.

use std::collections::BTreeMap;
use std::fmt::Display;
use std::str::FromStr;

/// Every key with the value that imitates nothing.
const KEYS: &str = include_str!("../profiles/rxe.txt");

const PROFILES: [(&str, &str); 2] =
    [("rxe", ""), ("mlx5-ib", include_str!("../profiles/mlx5-ib.txt"))];

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
    pub pkeys: Vec<u16>,
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
}

impl Profile {
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

    fn profile(&self) -> Result<Profile, String> {
        let no_yes = [("no", false), ("yes", true)];
        Ok(Profile {
            is_infiniband: self
                .one_of("link_layer", &[("ethernet", false), ("infiniband", true)])?,
            lid: self.number("lid")?,
            sm_lid: self.number("sm_lid")?,
            pkeys: self.pkeys("pkeys")?,
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
        assert_eq!(profile.pkeys, [0x8001, 0x7fff]);
        assert_eq!((profile.max_inline, profile.max_mcast_qp_attach), (Some(0), Some(240)));
    }

    #[test]
    fn what_is_wrong_is_named() {
        for (text, part) in [
            ("mlx9", "there are: rxe, mlx5-ib"),
            ("rxe,lids=3", "\"lids\""),
            ("rxe,ipoib=lost", "up, down, none"),
            ("rxe,lid=many", "lid=many"),
            ("rxe,down", "not key=value"),
        ] {
            let error = Profile::parse(text).unwrap_err();
            assert!(error.contains(part), "{error}");
        }
    }
}
