//! Which column of the matrix an adapter belongs to.

use super::{ASSUMPTIONS, Evidence, Kind};
use verbcast_verbs::{LinkLayer, devices};

/// What drivers tell as the vendor: rdma_rxe a number of its own, hfi1 its OUI, the others the vendor's number on PCI or
/// its OUI.
const RXE: u32 = 0xff_ffff;
const MELLANOX: u32 = 0x02c9;
const OMNI_PATH: u32 = 0x1175;
const INTEL: u32 = 0x8086;

impl Kind {
    /// The kind of an adapter of this vendor, with this link.
    pub fn of(vendor: u32, link_layer: LinkLayer) -> Option<Kind> {
        match (vendor, link_layer) {
            (RXE, _) => Some(Kind::Rxe),
            (MELLANOX, LinkLayer::InfiniBand) => Some(Kind::ConnectxIb),
            (MELLANOX, _) => Some(Kind::ConnectxRoce),
            (OMNI_PATH, _) => Some(Kind::Hfi1),
            (INTEL, LinkLayer::Ethernet) => Some(Kind::Irdma),
            _ => None,
        }
    }

    /// The kind of a device of this host, with this link.
    pub fn of_device(name: &str, link_layer: LinkLayer) -> Option<Kind> {
        let all = devices().ok()?;
        let device = all.iter().find(|device| device.name() == name)?;
        let vendor = device.open().and_then(|context| context.limits()).ok()?.vendor_id;
        Kind::of(vendor, link_layer)
    }

    /// Whether anything was measured on such an adapter, or a site has reported.
    pub fn is_verified(self) -> bool {
        ASSUMPTIONS.iter().any(|assumption| {
            let evidence = assumption.cells[&self].evidence;
            matches!(evidence, Evidence::Measured | Evidence::Reported)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_adapter_is_known_by_its_vendor_and_link() {
        assert_eq!(Kind::of(MELLANOX, LinkLayer::InfiniBand), Some(Kind::ConnectxIb));
        assert_eq!(Kind::of(MELLANOX, LinkLayer::Ethernet), Some(Kind::ConnectxRoce));
        assert_eq!(Kind::of(0x1234, LinkLayer::InfiniBand), None);
        assert!(Kind::of(RXE, LinkLayer::Ethernet).unwrap().is_verified());
    }
}
