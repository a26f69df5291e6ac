//! Level Zero, the interface of Intel's GPUs (`ze_api.h`).

use super::Runtime;
use super::loaded::Library;
use std::ffi::{c_int, c_void};
use std::ptr;
use std::sync::Mutex;

type Result = c_int;
type Handle = *mut c_void;
type Init = unsafe extern "C" fn(u32) -> Result;
type DriverGet = unsafe extern "C" fn(*mut u32, *mut Handle) -> Result;
type ContextCreate = unsafe extern "C" fn(Handle, *const Descriptor, *mut Handle) -> Result;
type GetProperties =
    unsafe extern "C" fn(Handle, *const c_void, *mut Properties, *mut Handle) -> Result;
type ListCreate =
    unsafe extern "C" fn(Handle, Handle, *const QueueDescriptor, *mut Handle) -> Result;
type ListDestroy = unsafe extern "C" fn(Handle) -> Result;
type AppendCopy = unsafe extern "C" fn(
    Handle,
    *mut c_void,
    *const c_void,
    usize,
    Handle,
    u32,
    *mut Handle,
) -> Result;

const SUCCESS: Result = 0;
/// `ZE_MEMORY_TYPE_DEVICE`; the next is memory that the host shares. Before come unknown and the host's.
const DEVICE: c_int = 2;

/// `ze_context_desc_t`.
#[repr(C)]
struct Descriptor {
    kind: c_int,
    next: *const c_void,
    flags: u32,
}

/// `ze_command_queue_desc_t`.
#[repr(C)]
struct QueueDescriptor {
    kind: c_int,
    next: *const c_void,
    ordinal: u32,
    index: u32,
    flags: u32,
    mode: c_int,
    priority: c_int,
}

/// `ze_memory_allocation_properties_t`.
#[repr(C)]
struct Properties {
    kind: c_int,
    next: *mut c_void,
    memory: c_int,
    id: u64,
    page_size: u64,
}

/// `ZE_STRUCTURE_TYPE_CONTEXT_DESC`, `…_COMMAND_QUEUE_DESC` and `…_MEMORY_ALLOCATION_PROPERTIES`.
const CONTEXT_DESC: c_int = 0xd;
const QUEUE_DESC: c_int = 0xe;
const PROPERTIES: c_int = 0x17;
/// `ZE_COMMAND_QUEUE_MODE_SYNCHRONOUS`: a call returns when its command is done.
const SYNCHRONOUS: c_int = 1;

#[derive(Debug)]
struct LevelZero {
    properties: GetProperties,
    create: ListCreate,
    destroy: ListDestroy,
    append: AppendCopy,
    /// A context of its own: the driver knows the memory of all contexts.
    context: usize,
    /// Lists are made for one copy each, one after the other.
    copying: Mutex<()>,
}

/// The loader, if the program has loaded it, with its first driver.
pub fn find() -> Option<&'static dyn Runtime> {
    let library = Library::find(&[c"libze_loader.so.1", c"libze_loader.so"])?;
    // SAFETY: the types are those of ze_api.h; what is told of is live.
    let found = unsafe {
        library.get::<Init>(c"zeInit").filter(|init| init(0) == SUCCESS)?;
        let (mut count, mut driver, mut context) = (1, ptr::null_mut(), ptr::null_mut());
        let get: DriverGet = library.get(c"zeDriverGet")?;
        if get(&mut count, &mut driver) != SUCCESS || count == 0 {
            return None;
        }
        let descriptor = Descriptor { kind: CONTEXT_DESC, next: ptr::null(), flags: 0 };
        let make: ContextCreate = library.get(c"zeContextCreate")?;
        if make(driver, &descriptor, &mut context) != SUCCESS {
            return None;
        }
        LevelZero {
            properties: library.get(c"zeMemGetAllocProperties")?,
            create: library.get(c"zeCommandListCreateImmediate")?,
            destroy: library.get(c"zeCommandListDestroy")?,
            append: library.get(c"zeCommandListAppendMemoryCopy")?,
            context: context as usize,
            copying: Mutex::new(()),
        }
    };
    Some(Box::leak(Box::new(found)))
}

impl LevelZero {
    /// The device of memory that is not the host's alone.
    fn device_of(&self, address: *const c_void) -> Option<Handle> {
        let mut properties =
            Properties { kind: PROPERTIES, next: ptr::null_mut(), memory: 0, id: 0, page_size: 0 };
        let mut device = ptr::null_mut();
        let context = self.context as Handle;
        // SAFETY: the context is live and the rest writable; the driver takes any address.
        let answer = unsafe { (self.properties)(context, address, &mut properties, &mut device) };
        (answer == SUCCESS && properties.memory >= DEVICE && !device.is_null()).then_some(device)
    }
}

impl Runtime for LevelZero {
    fn owns(&self, address: *const c_void) -> bool {
        self.device_of(address).is_some()
    }

    unsafe fn copy(&self, to: *mut c_void, from: *const c_void, len: usize) -> bool {
        let Some(device) = self.device_of(from).or_else(|| self.device_of(to)) else {
            return false;
        };
        let descriptor = QueueDescriptor {
            kind: QUEUE_DESC,
            next: ptr::null(),
            ordinal: 0,
            index: 0,
            flags: 0,
            mode: SYNCHRONOUS,
            priority: 0,
        };
        let _copying = self.copying.lock();
        let mut list = ptr::null_mut();
        // SAFETY: the context and the device are live, the memory is as the caller promises, and the list is
        // destroyed once, when its only command is done.
        unsafe {
            if (self.create)(self.context as Handle, device, &descriptor, &mut list) != SUCCESS {
                return false;
            }
            let answer = (self.append)(list, to, from, len, ptr::null_mut(), 0, ptr::null_mut());
            (self.destroy)(list);
            answer == SUCCESS
        }
    }

    fn name(&self) -> &'static str {
        "zeCommandListAppendMemoryCopy"
    }
}
