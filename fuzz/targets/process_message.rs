//! Handshakes, inquiries and relocations, which any process can send.
#![no_main]

use libfuzzer_sys::fuzz_target;
use verbcast_core::wire::ProcessMessage;

fuzz_target!(|bytes: &[u8]| {
    match ProcessMessage::parse(bytes) {
        Ok(ProcessMessage::Handshake(message)) => assert_eq!(message.emit(), bytes),
        Ok(ProcessMessage::Inquiry(inquiry)) => assert_eq!(inquiry.emit(), bytes),
        Ok(ProcessMessage::Relocation(news)) => assert_eq!(news.emit(), bytes),
        Err(error) => assert!(!error.to_string().is_empty()),
    }
});
