//! Datagrams of the subnet administrator's class (IBA 1.4, section 15.2.1.1).

use super::member_record::{MemberRecord, RECORD_LEN};
use verbcast_fabric::smp::LEN;

/// The class of subnet administration, and its version.
pub(super) const CLASS: u8 = 0x03;
pub(super) const CLASS_VERSION: u8 = 2;
/// `MCMemberRecord`.
const ATTRIBUTE: u16 = 0x0038;
const METHOD_AT: usize = 3;
const STATUS_AT: usize = 4;
const TRANSACTION_AT: usize = 8;
const ATTRIBUTE_AT: usize = 16;
const MASK_AT: usize = 48;
const RECORD_AT: usize = 56;
/// Bit of methods that are answers.
const ANSWER: u8 = 0x80;

/// What is to be done with a record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub(super) enum Method {
    /// Join, and make the group if it is not there.
    Set = 0x02,
    /// Leave.
    Delete = 0x15,
}

/// A datagram.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct SaPacket([u8; LEN]);

impl SaPacket {
    /// A request with these components of a record.
    pub fn request(method: Method, transaction: u32, mask: u64, record: &MemberRecord) -> Self {
        let mut bytes = [0; LEN];
        bytes[..4].copy_from_slice(&[1, CLASS, CLASS_VERSION, method as u8]);
        let low = TRANSACTION_AT + 4;
        bytes[low..low + 4].copy_from_slice(&transaction.to_be_bytes());
        bytes[ATTRIBUTE_AT..ATTRIBUTE_AT + 2].copy_from_slice(&ATTRIBUTE.to_be_bytes());
        bytes[MASK_AT..MASK_AT + 8].copy_from_slice(&mask.to_be_bytes());
        bytes[RECORD_AT..RECORD_AT + RECORD_LEN].copy_from_slice(&record.bytes());
        SaPacket(bytes)
    }

    /// Received bytes.
    pub fn from_bytes(bytes: [u8; LEN]) -> Self {
        SaPacket(bytes)
    }

    pub fn bytes(&self) -> &[u8; LEN] {
        &self.0
    }

    /// Whether it answers the request with this number. The kernel has the upper half of numbers for itself.
    pub fn answers(&self, transaction: u32) -> bool {
        let low = TRANSACTION_AT + 4;
        let number: [u8; 4] = std::array::from_fn(|byte| self.0[low + byte]);
        self.0[METHOD_AT] & ANSWER != 0 && u32::from_be_bytes(number) == transaction
    }

    /// Its status; 0 if all went well.
    pub fn status(&self) -> u16 {
        u16::from_be_bytes([self.0[STATUS_AT], self.0[STATUS_AT + 1]])
    }

    pub fn record(&self) -> MemberRecord {
        MemberRecord::read(&std::array::from_fn(|byte| self.0[RECORD_AT + byte]))
    }
}

/// There is no such group, and too few components to make it.
pub(super) const INSUFFICIENT_COMPONENTS: u16 = 0x0600;

/// What a status means (sections 13.4.7 and 15.4.1.2).
pub(super) fn meaning(status: u16) -> &'static str {
    match status {
        _ if status & 1 != 0 => "it is busy",
        0x0100 => "it has no resources left, as MLIDs",
        0x0200 => {
            "the request is invalid: has the port the group's MTU and rate, and is it in the partition?"
        }
        0x0300 => "it knows no such record",
        0x0500 => "a GID is invalid",
        INSUFFICIENT_COMPONENTS => "there is no such group, and too little was said to make it",
        0x0700 => "it denies the request",
        _ => "it refuses the request",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_is_known_by_its_number() {
        let record = MemberRecord { mgid: [0xff; 16], ..MemberRecord::default() };
        let request = SaPacket::request(Method::Set, 77, 3, &record);
        assert!(!request.answers(77), "it is the request itself");
        let mut bytes = *request.bytes();
        bytes[METHOD_AT] |= ANSWER;
        bytes[TRANSACTION_AT] = 0xab;
        bytes[STATUS_AT] = 6;
        let answer = SaPacket::from_bytes(bytes);
        assert!(answer.answers(77) && !answer.answers(78));
        assert_eq!((answer.status(), answer.record()), (INSUFFICIENT_COMPONENTS, record));
    }
}
