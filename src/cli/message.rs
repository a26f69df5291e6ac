//! What the ranks of a command tell one another and their launcher: JSON that says first what it is.

use crate::results::{Device, check_format};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

/// Something that is told.
pub trait Message: Serialize + DeserializeOwned {
    /// What it is, and its version.
    const FORMAT: &'static str;
}

impl Message for Device {
    const FORMAT: &'static str = "verbcast bench device 1";
}

#[derive(Serialize, Deserialize)]
struct Envelope<T> {
    format: String,
    value: T,
}

/// The bytes of a message.
pub fn encode<T: Message>(value: &T) -> Result<Vec<u8>, String> {
    let envelope = Envelope { format: T::FORMAT.to_owned(), value };
    serde_json::to_vec(&envelope).map_err(|error| error.to_string())
}

/// Reads a message. Its format is looked at before anything else, so that another version is named.
pub fn decode<T: Message>(bytes: &[u8]) -> Result<T, String> {
    check_format(bytes, T::FORMAT)?;
    let envelope: Envelope<T> = serde_json::from_slice(bytes).map_err(|error| error.to_string())?;
    Ok(envelope.value)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[derive(Debug, PartialEq, Serialize, Deserialize)]
    struct Greeting {
        name: String,
        count: u64,
    }

    impl Message for Greeting {
        const FORMAT: &'static str = "verbcast greeting 1";
    }

    proptest! {
        #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

        #[test]
        fn a_message_is_read_as_it_was_written(name: String, count: u64) {
            let greeting = Greeting { name, count };
            let bytes = encode(&greeting).unwrap();
            for len in 0..bytes.len() {
                prop_assert!(decode::<Greeting>(&bytes[..len]).is_err());
            }
            prop_assert_eq!(decode(&bytes), Ok(greeting));
        }

        #[test]
        fn noise_is_refused(bytes in prop::collection::vec(any::<u8>(), 0..100)) {
            prop_assert!(decode::<Greeting>(&bytes).is_err());
        }
    }

    #[test]
    fn another_version_is_named() {
        let bytes = br#"{"format": "verbcast greeting 2", "value": {"text": "hello"}}"#;
        let error = decode::<Greeting>(bytes).unwrap_err();
        assert_eq!(error, "has the format \"verbcast greeting 2\", not \"verbcast greeting 1\"");
    }
}
