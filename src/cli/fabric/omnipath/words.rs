//! Groups, pools and events as they are written on the command line.

use crate::fabric::args::Spec;
use std::net::Ipv6Addr;
use std::str::FromStr;
use verbcast_fabric::omnipath::{MemberKind, Mgid, Pool, Precreated, Terms};

/// The terms of a group for which none are given.
const TERMS: Terms = Terms { pkey: 0xffff, mtu: 2048, rate_mbps: 25_000 };

/// Something that happens to the fabric manager.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Event {
    Join { host: String, mgid: Mgid, kind: MemberKind, terms: Terms },
    Leave { host: String, mgid: Mgid },
    Fabric(Spec),
}

impl FromStr for Event {
    type Err = String;

    fn from_str(text: &str) -> Result<Event, String> {
        let expected = "expected join:HOST,MGID…, leave:HOST,MGID or fabric:SPEC";
        let (what, rest) = text.split_once(':').ok_or(expected)?;
        if what == "fabric" {
            return Ok(Event::Fabric(rest.parse()?));
        }
        let mut words = rest.split(',');
        let (Some(host), Some(mgid)) = (words.next(), words.next()) else {
            return Err(expected.to_owned());
        };
        let (host, mgid) = (host.to_owned(), group(mgid)?);
        match what {
            "leave" if words.next().is_none() => Ok(Event::Leave { host, mgid }),
            "join" => {
                let (mut kind, mut terms) = (MemberKind::Full, TERMS);
                for word in words {
                    match word {
                        "full" => kind = MemberKind::Full,
                        "non-member" => kind = MemberKind::NonMember,
                        "send-only" => kind = MemberKind::SendOnly,
                        word => set_term(&mut terms, word)?,
                    }
                }
                Ok(Event::Join { host, mgid, kind, terms })
            }
            _ => Err(expected.to_owned()),
        }
    }
}

/// Groups that are created beforehand.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GroupSpec(pub Vec<Precreated>);

impl FromStr for GroupSpec {
    type Err = String;

    fn from_str(text: &str) -> Result<GroupSpec, String> {
        let (mut terms, mut mgids) = (TERMS, Vec::new());
        for word in text.split(',').filter(|word| !word.is_empty()) {
            match word.split_once('=') {
                Some(("mgid", mgid)) => mgids.push(group(mgid)?),
                _ => set_term(&mut terms, word)?,
            }
        }
        Ok(GroupSpec(match mgids.is_empty() {
            true => Precreated::ipoib(terms),
            false => mgids.into_iter().map(|mgid| Precreated { mgid, terms }).collect(),
        }))
    }
}

/// A pool of shared multicast LIDs, or that there is none.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PoolSpec(pub Option<Pool>);

impl FromStr for PoolSpec {
    type Err = String;

    fn from_str(text: &str) -> Result<PoolSpec, String> {
        if text == "none" {
            return Ok(PoolSpec(None));
        }
        let (mut mask, mut value, mut max, mut max_per_pkey) = (None, None, None, None);
        for word in text.split(',') {
            match word.split_once('=') {
                Some(("mask", number)) => mask = Some(group(number)?),
                Some(("value", number)) => value = Some(group(number)?),
                Some(("max", number)) => max = Some(count(number)?),
                Some(("per-pkey", number)) => max_per_pkey = Some(count(number)?),
                _ => return Err(format!("{word}: expected mask=, value=, max= or per-pkey=")),
            }
        }
        let (Some(mask), Some(value), Some(max)) = (mask, value, max) else {
            return Err("mask=, value= and max= have to be given".to_owned());
        };
        Ok(PoolSpec(Some(Pool { mask, value, max, max_per_pkey })))
    }
}

fn count(text: &str) -> Result<u32, String> {
    text.parse().map_err(|_| format!("{text} is not a number that fits"))
}

/// An MGID, as a number or as IPv6 addresses are written.
fn group(text: &str) -> Result<Mgid, String> {
    let number = match text.strip_prefix("0x") {
        Some(digits) => u128::from_str_radix(digits, 16).ok(),
        None => text.parse::<Ipv6Addr>().map(u128::from).ok().or_else(|| text.parse().ok()),
    };
    number.ok_or_else(|| format!("{text} is not an MGID: give 0x… or ff12:…"))
}

fn set_term(terms: &mut Terms, word: &str) -> Result<(), String> {
    let expected = format!("{word}: expected pkey=, mtu= (bytes) or rate= (Gbit/s)");
    let (name, value) = word.split_once('=').ok_or_else(|| expected.clone())?;
    let number = match value.strip_prefix("0x") {
        Some(digits) => u16::from_str_radix(digits, 16).ok(),
        None => value.parse().ok(),
    };
    match name {
        "pkey" => terms.pkey = number.ok_or(expected)?,
        "mtu" => terms.mtu = number.ok_or(expected)?,
        "rate" => {
            let rate: Option<f64> = value.parse().ok();
            let rate = rate.filter(|rate| (0.001..1e6).contains(rate)).ok_or(expected)?;
            terms.rate_mbps = (rate * 1000.0).round() as u32;
        }
        _ => return Err(expected),
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn events_groups_and_pools_are_read() {
        let event = "join:N0.0,ff12:401b:ffff::1,send-only,pkey=0x8001,mtu=4096,rate=12.5";
        let terms = Terms { pkey: 0x8001, mtu: 4096, rate_mbps: 12_500 };
        let mgid = 0xff12_401b_ffff_0000_0000_0000_0000_0001;
        let (host, kind) = ("N0.0".to_owned(), MemberKind::SendOnly);
        assert_eq!(event.parse(), Ok(Event::Join { host, mgid, kind, terms }));
        let leave = Event::Leave { host: "3".to_owned(), mgid: 0x10 };
        assert_eq!("leave:3,0x10".parse(), Ok(leave));
        assert_eq!("fabric:mesh:2,3".parse(), Ok(Event::Fabric(Spec::Mesh(2, 3))));
        let pool = Pool { mask: 0xff, value: 1, max: 4, max_per_pkey: Some(2) };
        assert_eq!("mask=0xff,value=1,max=4,per-pkey=2".parse(), Ok(PoolSpec(Some(pool))));
        assert_eq!("none".parse(), Ok(PoolSpec(None)));
        let GroupSpec(groups) = "pkey=0x8001,rate=12.5,mgid=1,mgid=2,mtu=4096".parse().unwrap();
        assert_eq!(groups, [1, 2].map(|mgid| Precreated { mgid, terms }));
        assert_eq!("".parse::<GroupSpec>().unwrap().0.len(), 8);
        for wrong in ["join:a", "join:a,x", "leave:a,1,full", "stay:a,1", "join:a,1,rate=-1", "a"] {
            assert!(wrong.parse::<Event>().is_err(), "{wrong}");
        }
        assert!("mask=1,value=1".parse::<PoolSpec>().is_err());
        assert!("size=1".parse::<GroupSpec>().is_err());
    }
}
