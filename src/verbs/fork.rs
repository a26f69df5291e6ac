//! What happens to registered memory when the process forks.
//!
//! A fork shares the pages of parent and child until one of them writes. On kernels before Linux 5.12, a write by the
//! parent then gives the parent a new page, while the device goes on with the old one. Later kernels copy registered
//! pages for the child at once. For the others, pages can be kept from children altogether (`madvise(MADV_DONTFORK)`):
//! libibverbs does it for all registrations after `ibv_fork_init`, which is the program's to call.

use std::ffi::{c_int, c_void};
use std::ptr::NonNull;
use std::sync::OnceLock;

/// Seconds after which a child ends by itself, whatever became of its parent.
const CHILD_LIFE: u32 = 60;

/// How memory of this process stays with its device when the process forks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ForkSafety {
    /// The kernel copies registered pages for the child.
    Copied,
    /// libibverbs keeps registered pages from children, since the program has called `ibv_fork_init`.
    KeptByLibrary,
    /// Nobody does anything.
    None,
}

/// How it is in this process. Asked once, before the first registration, after which `ibv_fork_init` is refused.
pub fn fork_safety() -> ForkSafety {
    static SAFETY: OnceLock<ForkSafety> = OnceLock::new();
    *SAFETY.get_or_init(|| {
        let safety = status().map_or_else(safety_of_kernel, safety_of);
        if safety == ForkSafety::None {
            tracing::info!(
                "this kernel does not copy registered memory when a process forks, and the program has not called \
                 ibv_fork_init: own memory is kept from children, and the program's is copied rather than registered"
            );
        }
        safety
    })
}

/// What libibverbs answers, where it has the call: rdma-core has it since version 35.
fn status() -> Option<c_int> {
    // SAFETY: the name is a C string.
    let address = unsafe { libc::dlsym(libc::RTLD_DEFAULT, c"ibv_is_fork_initialized".as_ptr()) };
    let found = NonNull::new(address)?;
    // SAFETY: `enum ibv_fork_status ibv_is_fork_initialized(void)` (ibv_is_fork_initialized(3)).
    let call = unsafe { std::mem::transmute::<NonNull<c_void>, extern "C" fn() -> c_int>(found) };
    Some(call())
}

/// By `enum ibv_fork_status`.
fn safety_of(answer: c_int) -> ForkSafety {
    match answer {
        1 => ForkSafety::KeptByLibrary,
        2 => ForkSafety::Copied,
        _ => ForkSafety::None,
    }
}

fn safety_of_kernel() -> ForkSafety {
    let name = rustix::system::uname();
    match copies_on_fork(&name.release().to_string_lossy()) {
        true => ForkSafety::Copied,
        false => ForkSafety::None,
    }
}

/// Whether a kernel of this release copies registered pages: since 5.12 (commit 4eae4efa2c29).
fn copies_on_fork(release: &str) -> bool {
    let mut numbers = release.split(|c: char| !c.is_ascii_digit()).map(str::parse::<u32>);
    match (numbers.next(), numbers.next()) {
        (Some(Ok(major)), Some(Ok(minor))) => (major, minor) >= (5, 12),
        _ => false,
    }
}

/// Does something while a child of this process lives, which shares its pages and only waits for its end.
///
/// # Errors
/// If the system makes no child.
pub fn while_forked<T>(what: impl FnOnce() -> T) -> std::io::Result<T> {
    // SAFETY: the child calls what is safe in a copy of a process with threads (signal-safety(7)), and prctl, a system call.
    let child = match unsafe { libc::fork() } {
        -1 => return Err(std::io::Error::last_os_error()),
        // SAFETY: as above.
        0 => unsafe {
            // Should the parent be killed, nobody else ends it.
            libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL);
            libc::alarm(CHILD_LIFE);
            libc::pause();
            libc::_exit(0)
        },
        child => child,
    };
    let done = what();
    // SAFETY: the child is this process's own, and was not waited for.
    unsafe {
        libc::kill(child, libc::SIGKILL);
        libc::waitpid(child, std::ptr::null_mut(), 0);
    }
    Ok(done)
}

/// Keeps whole pages from children, or gives them back before they are freed: whoever gets them next may fork.
///
/// # Safety
/// The memory is allocated, in whole pages, and no child uses it.
pub(super) unsafe fn keep_from_children(memory: NonNull<u8>, len: usize, is_kept: bool) {
    let advice = if is_kept { libc::MADV_DONTFORK } else { libc::MADV_DOFORK };
    // SAFETY: promised by the caller.
    if unsafe { libc::madvise(memory.as_ptr().cast(), len, advice) } != 0 {
        let error = std::io::Error::last_os_error();
        tracing::warn!(
            "memory may be lost to the device when this process forks: madvise: {error}"
        );
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_librarys_answer_decides_and_else_the_kernels_release() {
        assert_eq!(
            [0, 1, 2].map(safety_of),
            [ForkSafety::None, ForkSafety::KeptByLibrary, ForkSafety::Copied]
        );
        for (release, copies) in [
            ("6.12.117+deb12-amd64", true),
            ("5.12.0", true),
            ("5.11.22-generic", false),
            ("4.18.0-553.el8_10.x86_64", false),
            ("unknown", false),
        ] {
            assert_eq!(copies_on_fork(release), copies, "{release}");
        }
    }

    #[test]
    fn a_child_lives_as_long_as_something_is_done() {
        let children = || std::fs::read_to_string("/proc/thread-self/children").unwrap();
        let before = children();
        let meanwhile = while_forked(children).unwrap();
        assert!(meanwhile.len() > before.len(), "{before:?}, {meanwhile:?}");
        assert_eq!(children(), before);
    }

    /// The kernel marks such memory with `dc` in its list of mappings.
    #[test]
    fn memory_is_kept_from_children_and_given_back() {
        let len = crate::page_size();
        let layout = std::alloc::Layout::from_size_align(len, len).unwrap();
        // SAFETY: the memory is whole pages, is freed once with its layout, and no child uses it.
        unsafe {
            let memory = NonNull::new(std::alloc::alloc_zeroed(layout)).unwrap();
            memory.as_ptr().write(1);
            keep_from_children(memory, len, true);
            assert!(is_kept(memory.as_ptr() as usize));
            keep_from_children(memory, len, false);
            assert!(!is_kept(memory.as_ptr() as usize));
            std::alloc::dealloc(memory.as_ptr(), layout);
        }
    }

    fn is_kept(address: usize) -> bool {
        let text = std::fs::read_to_string("/proc/self/smaps").unwrap();
        let mut is_inside = false;
        for line in text.lines() {
            let range = line.split(' ').next().and_then(|range| range.split_once('-'));
            let number = |text| usize::from_str_radix(text, 16).ok();
            if let Some((Some(from), Some(to))) = range.map(|(from, to)| (number(from), number(to)))
            {
                is_inside = (from..to).contains(&address);
            } else if let Some(flags) = line.strip_prefix("VmFlags:").filter(|_| is_inside) {
                return flags.split_whitespace().any(|flag| flag == "dc");
            }
        }
        panic!("{address:#x} is not mapped");
    }
}
