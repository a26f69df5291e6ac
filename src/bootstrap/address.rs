//! Where rank 0 waits for the others.

use std::fmt;
use std::net::IpAddr;
use std::path::PathBuf;
use std::str::FromStr;

/// A rendezvous address: `HOST:PORT` (a name, an IPv4 address, or an IPv6 address in brackets),
/// optionally after `tcp:` or `tcp://`; or `unix:PATH` for processes on one host.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Address {
    /// A TCP port.
    Tcp {
        /// Host name or address, without brackets.
        host: String,
        /// Port, not 0.
        port: u16,
    },
    /// A Unix domain socket.
    Unix(PathBuf),
}

/// A text that is not an [`Address`]; each kind of error has the text.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum AddressError {
    /// Nothing stands behind `unix:`.
    #[error("no path in '{0}': {EXPECTED}")]
    NoPath(String),
    /// There is no port.
    #[error("no port in '{0}': {EXPECTED}")]
    NoPort(String),
    /// The port is not a number, or not one of a port.
    #[error("no port from 1 to 65535 in '{0}': {EXPECTED}")]
    BadPort(String),
    /// There is no host, or one with spaces or slashes.
    #[error("no usable host in '{0}': {EXPECTED}")]
    NoHost(String),
    /// An IPv6 address ends without its bracket.
    #[error("no closing bracket in '{0}': {EXPECTED}")]
    NoBracket(String),
    /// An IPv6 address stands without brackets.
    #[error("an IPv6 address without brackets in '{0}': {EXPECTED}")]
    BareIpv6(String),
}

const EXPECTED: &str = "expected HOST:PORT, [IPv6]:PORT or unix:PATH";

impl FromStr for Address {
    type Err = AddressError;

    fn from_str(text: &str) -> Result<Self, AddressError> {
        let wrong = |kind: fn(String) -> AddressError| kind(text.to_owned());
        if let Some(path) = text.strip_prefix("unix:") {
            return match path {
                "" => Err(wrong(AddressError::NoPath)),
                path => Ok(Address::Unix(path.into())),
            };
        }
        let rest = text.strip_prefix("tcp:").unwrap_or(text);
        let rest = rest.strip_prefix("//").unwrap_or(rest);
        let (host, port) = rest.rsplit_once(':').ok_or_else(|| wrong(AddressError::NoPort))?;
        let host = match host.strip_prefix('[') {
            Some(inner) => inner.strip_suffix(']').ok_or_else(|| wrong(AddressError::NoBracket))?,
            None if host.contains(':') => return Err(wrong(AddressError::BareIpv6)),
            None => host,
        };
        if host.is_empty() || host.chars().any(|c| c.is_whitespace() || c == '/') {
            return Err(wrong(AddressError::NoHost));
        }
        match port.parse() {
            Ok(0) | Err(_) => Err(wrong(AddressError::BadPort)),
            Ok(port) => Ok(Address::Tcp { host: host.to_owned(), port }),
        }
    }
}

impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Address::Tcp { host, port } if host.parse().is_ok_and(|ip: IpAddr| ip.is_ipv6()) => {
                write!(f, "[{host}]:{port}")
            }
            Address::Tcp { host, port } => write!(f, "{host}:{port}"),
            Address::Unix(path) => write!(f, "unix:{}", path.display()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_form_is_read_and_written() {
        for (text, shown) in [
            ("node1:4000", "node1:4000"),
            ("tcp://10.0.0.1:80", "10.0.0.1:80"),
            ("tcp:[::1]:9", "[::1]:9"),
            ("unix:/tmp/a b", "unix:/tmp/a b"),
        ] {
            assert_eq!(text.parse::<Address>().unwrap().to_string(), shown);
        }
    }

    #[test]
    fn a_wrong_one_is_named() {
        for text in ["", "node1", "node1:", "node1:0", "node1:65536", ":1", "::1:5", "[::1:5"] {
            let error = text.parse::<Address>().unwrap_err().to_string();
            assert!(error.contains(&format!("'{text}'")), "{error}");
        }
        assert!("unix:".parse::<Address>().is_err());
    }
}
