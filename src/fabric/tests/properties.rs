//! What holds for any text and any packet: they are read or refused, and never more.

use super::text::TWO_SWITCHES;
use super::*;
use crate::smp::{self, NodeInfo, PortInfo, Smp, SwitchInfo};
use proptest::prelude::*;
use proptest::sample::Index;

/// Words of which a netlist is made, and some that spoil it.
const WORDS: [&str; 24] = [
    "switchguid=0x5",
    "caguid=0x9(9)",
    "Switch",
    "Ca",
    "Rt",
    "4",
    "255",
    "\"S-5\"",
    "\"H-9\"",
    "\"\"",
    "\"",
    "[1]",
    "[2]",
    "[0]",
    "[1](9)",
    "[1](x)",
    "# \"a name\"",
    "4xEDR",
    "lid 1",
    " ",
    "\n",
    "\n",
    "€",
    "=",
];

fn read(text: &str) -> Option<Topology> {
    read::ibnetdiscover(text, Quality::default()).ok()
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_words_are_read_or_refused(words in prop::collection::vec(prop::sample::select(&WORDS[..]), 0..60)) {
        if let Some(topology) = read(&words.join(" ")) {
            prop_assert!(!topology.nodes().is_empty());
        }
    }

    #[test]
    fn any_text_is_read_or_refused(text in "\\PC{0,80}") {
        prop_assert!(read(&text).is_none());
    }

    #[test]
    fn a_changed_file_is_read_or_refused(
        cut in any::<Index>(),
        lines in prop::collection::vec(any::<(Index, Index)>(), 0..4),
    ) {
        let mut text: Vec<&str> = TWO_SWITCHES.lines().collect();
        for (from, to) in lines {
            let line = text[from.index(text.len())];
            text.insert(to.index(text.len()), line);
        }
        let text = text.join("\n");
        // Between any two characters.
        let mut end = cut.index(text.len());
        while !text.is_char_boundary(end) {
            end -= 1;
        }
        if let Some(topology) = read(&text[..end]) {
            // Nothing is read that was not there.
            let whole = read(TWO_SWITCHES).unwrap();
            prop_assert!(topology.nodes().len() <= whole.nodes().len());
        }
    }

    #[test]
    fn any_mesh_is_read_as_it_was_written(columns in 2..6_u16, rows in 2..6_u16) {
        let (_, topology) = mesh_of(columns, rows);
        let again = read(&netlist(&topology)).unwrap();
        prop_assert_eq!(again.nodes(), topology.nodes());
        prop_assert_eq!(again.endpoints(), topology.endpoints());
    }

    #[test]
    fn any_packet_of_a_subnet_manager_is_read(bytes in prop::collection::vec(any::<u8>(), smp::LEN)) {
        let bytes: [u8; smp::LEN] = bytes.try_into().unwrap();
        let packet = Smp::from_bytes(bytes);
        prop_assert_eq!(packet.bytes(), &bytes);
        prop_assert!(!(packet.is_busy() && packet.refusal().is_none()));
        let data = packet.data();
        prop_assert!(smp::description(data).len() <= 3 * data.len());
        let (_, _, _) = (NodeInfo::from(data), PortInfo::from(data), SwitchInfo::from(data));
        prop_assert_eq!(packet.with_data(data), packet);
    }
}
