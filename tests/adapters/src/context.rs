//! Opened devices: the operations that headers call without a symbol are replaced in them.

use crate::adapter::{Adapter, adapter};
use crate::node::Device;
use crate::{port, real};
use libc::c_int;
use std::collections::HashMap;
use std::ffi::CStr;
use std::mem::offset_of;
use std::sync::{Mutex, MutexGuard, PoisonError};
use verbcast_sys::{ibv_context, ibv_device, ibv_port_attr, verbs_context, verbs_get_ctx};

/// The provider's `query_port`.
pub type QueryPort = unsafe extern "C" fn(*mut ibv_context, u8, *mut ibv_port_attr, usize) -> c_int;

/// What an opened device had before.
#[derive(Clone, Copy, Default)]
pub struct Original {
    pub query_port: Option<QueryPort>,
}

static OPEN: Mutex<Option<HashMap<usize, Original>>> = Mutex::new(None);

fn open() -> MutexGuard<'static, Option<HashMap<usize, Original>>> {
    OPEN.lock().unwrap_or_else(PoisonError::into_inner)
}

/// What a device that the program has opened had before; none if it was not opened here.
pub fn original(context: *mut ibv_context) -> Option<Original> {
    open().as_ref()?.get(&context.addr()).copied()
}

/// The device of a context.
///
/// # Safety
/// `context` is live.
pub unsafe fn device_of(adapter: &Adapter, context: *mut ibv_context) -> Option<&Device> {
    // SAFETY: a live context names its device, whose name is a C string.
    let name = unsafe { CStr::from_ptr(real::ibv_get_device_name((*context).device)) };
    adapter.node.named(&name.to_string_lossy())
}

#[unsafe(no_mangle)]
unsafe extern "C" fn ibv_open_device(device: *mut ibv_device) -> *mut ibv_context {
    // SAFETY: the caller's promise.
    let context = unsafe { real::ibv_open_device(device) };
    if adapter().is_none() || context.is_null() {
        return context;
    }
    let mut original = Original::default();
    // SAFETY: the context was opened above, and nobody else knows it yet.
    unsafe {
        let extended = verbs_get_ctx(context);
        let reach = size_of::<verbs_context>() - offset_of!(verbs_context, query_port);
        if !extended.is_null() && (*extended).sz >= reach {
            original.query_port = (*extended).query_port.replace(port::query_port);
        }
    }
    open().get_or_insert_default().insert(context.addr(), original);
    context
}

#[unsafe(no_mangle)]
unsafe extern "C" fn ibv_close_device(context: *mut ibv_context) -> c_int {
    if adapter().is_some() {
        open().get_or_insert_default().remove(&context.addr());
    }
    // SAFETY: the caller's promise.
    unsafe { real::ibv_close_device(context) }
}
