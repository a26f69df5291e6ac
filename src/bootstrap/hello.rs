//! How a rank introduces itself to rank 0.
//!
//! ```text
//! magic (8) | version | rank | size | token length | token      numbers are LE 32
//! ```

use std::fmt;

const MAGIC: [u8; 8] = *b"verbcast";
/// Changes with anything in what ranks tell one another through a rendezvous.
pub(super) const VERSION: u32 = 1;
/// Longest job token, in bytes.
pub(super) const MAX_TOKEN: usize = 256;
/// Longest hello, in bytes.
pub(super) const MAX_HELLO: usize = MAGIC.len() + 16 + MAX_TOKEN;

#[derive(Debug, PartialEq, Eq)]
pub(super) struct Hello {
    pub(super) rank: u32,
    pub(super) size: u32,
    pub(super) token: Vec<u8>,
}

/// Why a hello cannot be read.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum HelloError {
    /// Not one of ours.
    Foreign,
    /// Another version of this program.
    Version(u32),
}

impl fmt::Display for HelloError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            HelloError::Foreign => f.write_str("it is not a verbcast rank"),
            HelloError::Version(theirs) => {
                write!(f, "it speaks version {theirs} of the rendezvous, rank 0 version {VERSION}")
            }
        }
    }
}

impl Hello {
    pub(super) fn encode(&self) -> Vec<u8> {
        let mut bytes = MAGIC.to_vec();
        for number in [VERSION, self.rank, self.size, self.token.len() as u32] {
            bytes.extend_from_slice(&number.to_le_bytes());
        }
        bytes.extend_from_slice(&self.token);
        bytes
    }

    pub(super) fn decode(bytes: &[u8]) -> Result<Hello, HelloError> {
        let rest = bytes.strip_prefix(&MAGIC).ok_or(HelloError::Foreign)?;
        let (version, rest) = number(rest)?;
        if version != VERSION {
            return Err(HelloError::Version(version));
        }
        let (rank, rest) = number(rest)?;
        let (size, rest) = number(rest)?;
        let (len, token) = number(rest)?;
        if token.len() != len as usize {
            return Err(HelloError::Foreign);
        }
        Ok(Hello { rank, size, token: token.to_vec() })
    }
}

fn number(bytes: &[u8]) -> Result<(u32, &[u8]), HelloError> {
    let (head, rest) = bytes.split_first_chunk().ok_or(HelloError::Foreign)?;
    Ok((u32::from_le_bytes(*head), rest))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_hello_comes_back() {
        let hello = Hello { rank: 3, size: 8, token: b"job 7".to_vec() };
        assert_eq!(Hello::decode(&hello.encode()), Ok(hello));
    }

    #[test]
    fn anything_else_is_refused() {
        let mut bytes = Hello { rank: 3, size: 8, token: b"job 7".to_vec() }.encode();
        for len in 0..bytes.len() {
            assert!(Hello::decode(&bytes[..len]).is_err());
        }
        bytes[8] = 9;
        assert_eq!(Hello::decode(&bytes), Err(HelloError::Version(9)));
        assert_eq!(Hello::decode(b"GET / HTTP/1.1\r\n\r\n"), Err(HelloError::Foreign));
    }
}
