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

/// A text that is not an [`Address`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AddressError(String);

impl fmt::Display for AddressError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for AddressError {}

impl FromStr for Address {
    type Err = AddressError;

    fn from_str(text: &str) -> Result<Self, AddressError> {
        let wrong = |why: &str| {
            AddressError(format!("{why} in '{text}': expected HOST:PORT, [IPv6]:PORT or unix:PATH"))
        };
        if let Some(path) = text.strip_prefix("unix:") {
            return match path {
                "" => Err(wrong("no path")),
                path => Ok(Address::Unix(path.into())),
            };
        }
        let rest = text.strip_prefix("tcp:").unwrap_or(text);
        let rest = rest.strip_prefix("//").unwrap_or(rest);
        let (host, port) = rest.rsplit_once(':').ok_or_else(|| wrong("no port"))?;
        let host = match host.strip_prefix('[') {
            Some(inner) => inner.strip_suffix(']').ok_or_else(|| wrong("no closing bracket"))?,
            None if host.contains(':') => return Err(wrong("an IPv6 address without brackets")),
            None => host,
        };
        if host.is_empty() || host.chars().any(|c| c.is_whitespace() || c == '/') {
            return Err(wrong("no usable host"));
        }
        match port.parse() {
            Ok(0) | Err(_) => Err(wrong("no port from 1 to 65535")),
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
