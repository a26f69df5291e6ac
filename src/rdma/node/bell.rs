//! What a process that sleeps is woken by when a node mate has published something for it.
//!
//! A socket that has a name in no file system: it can be waited for beside the completion channel, costs a process one descriptor
//! however many mates it has, and is gone with the process. A message to it says nothing but that there is something to
//! look at.
//!
//! Every user of the host can read the name of such a socket and send to it, descriptors too, and whoever receives a descriptor has
//! to close it, which may take as long as the sender likes. So the kernel drops what does not begin with the number of the
//! bell, in the sender's call; that number is in the memory of the node alone, and the name is a hash of it.

use rustix::net::{AddressFamily, SocketAddrUnix, SocketFlags, SocketType, bind, socket_with};
use sha2::{Digest, Sha256};
use std::io::{self, ErrorKind};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd};
use std::os::linux::net::SocketAddrExt;
use std::os::unix::net::{SocketAddr, UnixDatagram};

/// Messages that are taken at once. What mates send meanwhile is left for the next time, so that they keep nobody busy.
const TAKEN_AT_ONCE: usize = 64;

/// A process's own bell, by which it also rings those of others.
#[derive(Debug)]
pub struct Bell {
    socket: UnixDatagram,
    number: u64,
}

impl Bell {
    /// One that nobody else has.
    pub fn new() -> io::Result<Self> {
        // 0 stands for none.
        let number = getrandom::u64().map_err(io::Error::other)? | 1;
        let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
        let socket = socket_with(AddressFamily::UNIX, SocketType::DGRAM, flags, None)?;
        // Before it has a name, so that nothing comes earlier.
        admit(&socket, number)?;
        bind(&socket, &SocketAddrUnix::new_abstract_name(name(number).as_bytes())?)?;
        Ok(Bell { socket: socket.into(), number })
    }

    /// What others ring it by.
    pub fn number(&self) -> u64 {
        self.number
    }

    /// Wakes another process. One whose bell rings already need not be told again.
    pub fn ring(&self, number: u64) -> io::Result<()> {
        let address = SocketAddr::from_abstract_name(name(number))?;
        match self.socket.send_to_addr(&number.to_be_bytes(), &address) {
            Err(error) if error.kind() != ErrorKind::WouldBlock => Err(error),
            _ => Ok(()),
        }
    }

    /// It rings no longer, unless more is there than is taken at once.
    pub fn still(&self) {
        (0..TAKEN_AT_ONCE).take_while(|_| self.socket.recv(&mut [0]).is_ok()).for_each(drop);
    }
}

impl AsFd for Bell {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }
}

/// The name of the bell of this number, which does not tell the number.
fn name(number: u64) -> String {
    let mut hash = Sha256::new();
    hash.update(b"verbcast bell");
    hash.update(number.to_be_bytes());
    let hash: [u8; 32] = hash.finalize().into();
    let name = u64::from_be_bytes(std::array::from_fn(|at| hash[at]));
    format!("verbcast-{name:016x}")
}

/// From now on the kernel queues nothing at a socket but messages that begin with this number.
fn admit(socket: impl AsFd, number: u64) -> io::Result<()> {
    let word = libc::BPF_LD | libc::BPF_W | libc::BPF_ABS;
    let equals = libc::BPF_JMP | libc::BPF_JEQ | libc::BPF_K;
    // What to do, with which number, and how many of the next ones to leave out if that is not equal.
    let mut filter = [
        (word, 0, 0),
        (equals, (number >> 32) as u32, 3),
        (word, 4, 0),
        (equals, number as u32, 1),
        (libc::BPF_RET, u64::BITS / 8, 0),
        (libc::BPF_RET, 0, 0),
    ]
    .map(|(code, k, jf)| libc::sock_filter { code: code as u16, jt: 0, jf, k });
    let program = libc::sock_fprog { len: filter.len() as u16, filter: filter.as_mut_ptr() };
    // SAFETY: the option takes a program, which is there with as many instructions as it says until the call has copied it.
    let result = unsafe {
        libc::setsockopt(
            socket.as_fd().as_raw_fd(),
            libc::SOL_SOCKET,
            libc::SO_ATTACH_FILTER,
            (&raw const program).cast(),
            size_of_val(&program) as libc::socklen_t,
        )
    };
    match result {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rustix::net::{SendAncillaryBuffer, SendAncillaryMessage, SendFlags, sendmsg_addr};
    use std::io::{IoSlice, Read};
    use std::mem::MaybeUninit;
    use std::os::unix::net::UnixStream;
    use std::time::Duration;
    use verbcast_verbs::Descriptors;

    fn watch(bell: &Bell) -> impl Fn() -> bool + use<> {
        let all = Descriptors::new().unwrap();
        all.add(bell).unwrap();
        move || all.wait(Duration::ZERO).unwrap()
    }

    #[test]
    fn it_rings_until_it_is_stilled() {
        let (one, other) = (Bell::new().unwrap(), Bell::new().unwrap());
        let all = Descriptors::new().unwrap();
        all.add(&one).unwrap();
        assert!(!all.wait(Duration::ZERO).unwrap());
        // More often than its queue has room for.
        (0..1000).for_each(|_| other.ring(one.number()).unwrap());
        assert!(all.wait(Duration::from_secs(60)).unwrap());
        // Some kernels queue more than are taken at once.
        (0..1000_usize.div_ceil(TAKEN_AT_ONCE)).for_each(|_| one.still());
        assert!(!all.wait(Duration::ZERO).unwrap());
    }

    #[test]
    fn who_is_rung_without_end_goes_on() {
        let (one, other) = (Bell::new().unwrap(), Bell::new().unwrap());
        let rings = watch(&one);
        // A socket takes from its peer as much as that may send.
        one.socket.connect_addr(&other.socket.local_addr().unwrap()).unwrap();
        (0..=TAKEN_AT_ONCE).for_each(|_| other.ring(one.number()).unwrap());
        one.still();
        assert!(rings(), "one is left");
        one.still();
        assert!(!rings());
    }

    #[test]
    fn that_of_a_process_that_is_gone_is_an_error() {
        let (one, gone) = (Bell::new().unwrap(), Bell::new().unwrap().number());
        assert_eq!(one.ring(gone).unwrap_err().kind(), ErrorKind::ConnectionRefused);
    }

    /// A stranger reads the name in /proc/net/unix.
    #[test]
    fn nothing_of_a_stranger_comes_to_a_bell() {
        let bell = Bell::new().unwrap();
        let rings = watch(&bell);
        let name = name(bell.number());
        assert!(!name.contains(&format!("{:x}", bell.number())));
        let address = SocketAddrUnix::new_abstract_name(name.as_bytes()).unwrap();
        let stranger = UnixDatagram::unbound().unwrap();
        let right = bell.number().to_be_bytes();
        let wrong = [1, u64::from(u32::MAX), 1 << 32, 1 << 63].map(|bits| bell.number() ^ bits);
        let wrong = wrong.map(u64::to_be_bytes);
        let texts = wrong.iter().map(|text| &text[..]);
        for text in texts.chain([&[][..], &[1], &right[..7], &[&[0], &right[..]].concat()]) {
            let (passed, mut kept) = UnixStream::pair().unwrap();
            kept.set_nonblocking(true).unwrap();
            let descriptors = [passed.as_fd()];
            let mut space = [MaybeUninit::uninit(); 64];
            let mut beside = SendAncillaryBuffer::new(&mut space);
            assert!(beside.push(SendAncillaryMessage::ScmRights(&descriptors)));
            let text = IoSlice::new(text);
            sendmsg_addr(&stranger, &address, &[text], &mut beside, SendFlags::empty()).unwrap();
            drop(passed);
            assert!(!rings(), "{text:?}");
            // Nobody has the other end any more: the bell has no descriptor to close.
            assert_eq!(kept.read(&mut [0]).unwrap(), 0, "{text:?}");
        }
        Bell::new().unwrap().ring(bell.number()).unwrap();
        assert!(rings());
    }
}
