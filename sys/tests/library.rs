//! Calls into the real libraries that need no device.

use std::ffi::{CStr, c_char};

use verbcast_sys::*;

fn text(string: *const c_char) -> &'static str {
    assert!(!string.is_null());
    // SAFETY: the libraries' names of constants are static C strings.
    unsafe { CStr::from_ptr(string) }.to_str().expect("ASCII")
}

#[test]
fn the_libraries_name_the_constants() {
    // SAFETY: these calls take any number.
    unsafe {
        assert_eq!(text(ibv_wc_status_str(IBV_WC_SUCCESS)), "success");
        assert_eq!(text(ibv_wc_status_str(IBV_WC_RNR_RETRY_EXC_ERR)), "RNR retry counter exceeded");
        assert_eq!(text(ibv_port_state_str(IBV_PORT_ACTIVE)), "active");
        assert_eq!(text(ibv_node_type_str(IBV_NODE_CA)), "InfiniBand channel adapter");
        assert_eq!(text(ibv_event_type_str(IBV_EVENT_PORT_ERR)), "port error");
        assert_eq!(
            text(rdma_event_str(RDMA_CM_EVENT_MULTICAST_JOIN)),
            "RDMA_CM_EVENT_MULTICAST_JOIN"
        );
    }
}

/// With no devices the list is empty; without the kernel's support, absent.
#[test]
fn the_device_list_can_be_read() {
    let mut count = -1;
    // SAFETY: `count` may be written to.
    let list = unsafe { ibv_get_device_list(&raw mut count) };
    if list.is_null() {
        let error = std::io::Error::last_os_error().raw_os_error();
        assert!(matches!(error, Some(libc::ENOSYS | libc::EPERM)), "{error:?}");
        return;
    }
    for index in 0..usize::try_from(count).expect("a count") {
        // SAFETY: the list has `count` entries, each a device.
        let name = text(unsafe { ibv_get_device_name(*list.add(index)) });
        assert!(!name.is_empty());
    }
    // SAFETY: the list came from `ibv_get_device_list` and is used no more.
    unsafe { ibv_free_device_list(list) };
}
