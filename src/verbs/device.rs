//! The devices of this host.

use super::context::protocol_of;
use super::natural;
use super::{Context, Error, Protocol, Result};
use std::ffi::CStr;
use std::ptr::NonNull;
use std::sync::Arc;
use verbcast_sys as sys;

/// The list that libibverbs made; devices stay valid while it lives.
#[derive(Debug)]
struct List {
    first: NonNull<*mut sys::ibv_device>,
}

// SAFETY: the list is only read after its creation, and freed once.
unsafe impl Send for List {}
// SAFETY: as above.
unsafe impl Sync for List {}

impl Drop for List {
    fn drop(&mut self) {
        // SAFETY: `first` came from `ibv_get_device_list` and is freed only here.
        unsafe { sys::ibv_free_device_list(self.first.as_ptr()) }
    }
}

/// A device that can be opened.
#[derive(Debug)]
pub struct Device {
    ptr: NonNull<sys::ibv_device>,
    _list: Arc<List>,
}

// SAFETY: libibverbs' functions on a device are thread-safe, and the list keeps it valid.
unsafe impl Send for Device {}

/// All RDMA devices of this host, sorted by name, in which numbers count as such: `mlx5_2` stands before
/// `mlx5_10`. None is not an error.
///
/// # Errors
/// If the kernel's list cannot be read.
pub fn devices() -> Result<Vec<Device>> {
    let mut count = 0;
    // SAFETY: `count` is writable.
    let first = unsafe { sys::ibv_get_device_list(&mut count) };
    let Some(first) = NonNull::new(first) else {
        let error = Error::last("ibv_get_device_list", "this host");
        // Without the kernel's modules there are simply no devices.
        return if error.errno() == libc::ENOSYS { Ok(Vec::new()) } else { Err(error) };
    };
    let list = Arc::new(List { first });
    let mut devices = Vec::new();
    for index in 0..count as usize {
        // SAFETY: the list has `count` entries.
        let entry = unsafe { *list.first.as_ptr().add(index) };
        devices.extend(NonNull::new(entry).map(|ptr| Device { ptr, _list: Arc::clone(&list) }));
    }
    devices.sort_by(|a, b| natural::compare(&a.name(), &b.name()));
    Ok(devices)
}

impl Device {
    /// The kernel's name for it, such as `mlx5_0` or `rxe0`.
    pub fn name(&self) -> String {
        // SAFETY: the device is in a live list; its name is a C string inside it.
        let name = unsafe { CStr::from_ptr(sys::ibv_get_device_name(self.ptr.as_ptr())) };
        name.to_string_lossy().into_owned()
    }

    /// Its node GUID.
    pub fn guid(&self) -> u64 {
        // SAFETY: the device is in a live list.
        u64::from_be(unsafe { sys::ibv_get_device_guid(self.ptr.as_ptr()) })
    }

    /// What it speaks.
    pub fn protocol(&self) -> Protocol {
        // SAFETY: the device is in a live list.
        unsafe { protocol_of(self.ptr.as_ptr()) }
    }

    /// Opens the device.
    ///
    /// # Errors
    /// If the provider refuses, as it does without access to `/dev/infiniband/uverbs*`.
    pub fn open(&self) -> Result<Context> {
        // SAFETY: the device is in a live list.
        let ptr = unsafe { sys::ibv_open_device(self.ptr.as_ptr()) };
        match NonNull::new(ptr) {
            Some(ptr) => Ok(Context::owned(ptr, self.name())),
            None => Err(Error::last("ibv_open_device", self.name())
                .with_hint("is /dev/infiniband/uverbs* readable and writable for this user?")),
        }
    }
}
