//! What ranks exchange when a communicator is made.
#![no_main]

use libfuzzer_sys::fuzz_target;
use verbcast_core::wire::{
    Ballot, Exposure, Introduction, PreloadBallot, ProofBallot, Proposal, Terms, Whereabouts,
};

fuzz_target!(|bytes: &[u8]| {
    if let Ok(introduction) = Introduction::parse(bytes) {
        assert_eq!(introduction.emit(), bytes);
    }
    if let Ok(ballot) = ProofBallot::parse(bytes) {
        assert_eq!(ballot.emit(), bytes);
    }
    if let Ok(ballot) = PreloadBallot::parse(bytes) {
        assert_eq!(ballot.emit(), bytes);
    }
    if let Ok(terms) = Terms::parse(bytes) {
        assert_eq!(terms.emit(), bytes);
    }
    if let Ok(whereabouts) = Whereabouts::parse(bytes) {
        assert_eq!(whereabouts.emit(), bytes);
    }
    if let Ok(exposure) = Exposure::parse(bytes) {
        assert_eq!(exposure.emit(), bytes);
    }
    if let Ok(proposal) = Proposal::parse(bytes) {
        assert_eq!(proposal.emit(), bytes);
    }
    match Ballot::parse(bytes) {
        Ok(Ballot::Blob(blob)) => assert_eq!(Ballot::emit(Ok(&blob)), bytes),
        Ok(Ballot::Refusal(why)) => assert!(Ballot::parse(&Ballot::emit(Err(&why))).is_ok()),
        Err(_) => {}
    }
});
