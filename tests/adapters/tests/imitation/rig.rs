//! A device, and queue pairs on it, by raw verbs.

use std::ffi::{CStr, c_int};
use std::mem::zeroed;
use std::ptr::null_mut;
use std::time::{Duration, Instant};
use verbcast_sys::*;

/// How long anything may take on an emulated machine.
const PATIENCE: Duration = Duration::from_secs(20);
pub const QKEY: u32 = 0x0123_4567;
/// Bytes for each receive.
const SLOT: usize = 8192;

/// A device with a queue of completions.
pub struct Rig {
    pub context: *mut ibv_context,
    pub pd: *mut ibv_pd,
    cq: *mut ibv_cq,
    mr: *mut ibv_mr,
    memory: Box<[u8]>,
}

/// A queue pair whose sends and receives share the rig's memory.
pub struct Qp<'a> {
    pub rig: &'a Rig,
    pub qp: *mut ibv_qp,
}

#[track_caller]
pub fn ok(answer: c_int) {
    assert_eq!(answer, 0, "{}", std::io::Error::last_os_error());
}

impl Rig {
    /// The first device that the tests may use.
    pub fn new() -> Rig {
        let wanted = crate::needs::devices().unwrap().remove(0);
        let mut count = 0;
        // SAFETY: raw verbs on objects that live as long as this value.
        unsafe {
            let list = ibv_get_device_list(&raw mut count);
            let devices = std::slice::from_raw_parts(list, count as usize);
            let is_it = |device: &&*mut ibv_device| {
                CStr::from_ptr(ibv_get_device_name(**device)).to_bytes() == wanted.as_bytes()
            };
            let context = ibv_open_device(*devices.iter().find(is_it).unwrap());
            let pd = ibv_alloc_pd(context);
            let cq = ibv_create_cq(context, 256, null_mut(), null_mut(), 0);
            let mut memory = vec![0; 32 * SLOT].into_boxed_slice();
            let access = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE;
            let mr = ibv_reg_mr(pd, memory.as_mut_ptr().cast(), memory.len(), access as c_int);
            assert!(!pd.is_null() && !cq.is_null() && !mr.is_null());
            Rig { context, pd, cq, mr, memory }
        }
    }

    pub fn port(&self) -> ibv_port_attr {
        // SAFETY: the context is live.
        unsafe {
            let mut attr: ibv_port_attr = zeroed();
            ok(ibv_query_port(self.context, 1, &raw mut attr));
            attr
        }
    }

    pub fn gid(&self) -> ibv_gid {
        self.gid_at(0)
    }

    pub fn gid_at(&self, index: u32) -> ibv_gid {
        // SAFETY: the context is live.
        unsafe {
            let mut entry: ibv_gid_entry = zeroed();
            ok(ibv_query_gid_ex(self.context, 1, index, &raw mut entry));
            entry.gid
        }
    }

    /// The next event of the device, and the port that it names.
    pub fn event(&self) -> (u32, c_int) {
        // SAFETY: the context is live.
        unsafe {
            let fd = (*self.context).async_fd;
            let mut fd = libc::pollfd { fd, events: libc::POLLIN, revents: 0 };
            assert_eq!(libc::poll(&raw mut fd, 1, PATIENCE.as_millis() as c_int), 1, "no event");
            let mut event: ibv_async_event = zeroed();
            ok(ibv_get_async_event(self.context, &raw mut event));
            let found = (event.event_type, event.element.port_num);
            ibv_ack_async_event(&raw mut event);
            found
        }
    }

    /// A QP as created; null if it is refused.
    pub fn create(&self, kind: u32, depth: u32, inline: u32) -> *mut ibv_qp {
        // SAFETY: the domain and the queue are live.
        unsafe {
            let mut init: ibv_qp_init_attr = zeroed();
            init.qp_type = kind;
            init.send_cq = self.cq;
            init.recv_cq = self.cq;
            init.cap.max_send_wr = depth;
            init.cap.max_recv_wr = depth;
            init.cap.max_send_sge = 1;
            init.cap.max_recv_sge = 1;
            init.cap.max_inline_data = inline;
            ibv_create_qp(self.pd, &raw mut init)
        }
    }

    /// A UD QP that is ready.
    pub fn datagrams(&self) -> Qp<'_> {
        let qp = self.create(IBV_QPT_UD, 16, 0);
        assert!(!qp.is_null());
        let qp = Qp { rig: self, qp };
        qp.ready();
        qp
    }

    /// The first bytes of a slot.
    pub fn front(&self, slot: usize) -> [u8; 40] {
        let start = self.memory.as_ptr().wrapping_add(slot * SLOT);
        // SAFETY: it lies in the memory, to which the device writes at any time.
        unsafe { start.cast::<[u8; 40]>().read_volatile() }
    }

    fn slot(&self, number: usize) -> ibv_sge {
        let addr = self.memory.as_ptr().addr() + number * SLOT;
        // SAFETY: the region is live.
        ibv_sge { addr: addr as u64, length: SLOT as u32, lkey: unsafe { (*self.mr).lkey } }
    }

    pub fn poll(&self) -> Option<ibv_wc> {
        // SAFETY: the queue is live, and there is room for one.
        unsafe {
            let mut wc: ibv_wc = zeroed();
            (ibv_poll_cq(self.cq, 1, &raw mut wc) == 1).then_some(wc)
        }
    }

    /// The next completion.
    #[track_caller]
    pub fn next(&self) -> ibv_wc {
        let begun = Instant::now();
        loop {
            if let Some(wc) = self.poll() {
                return wc;
            }
            assert!(begun.elapsed() < PATIENCE, "no completion");
            std::thread::yield_now();
        }
    }

    /// A handle for datagrams that go there.
    pub fn handle(&self, mut attr: ibv_ah_attr) -> *mut ibv_ah {
        // SAFETY: the domain is live.
        unsafe { ibv_create_ah(self.pd, &raw mut attr) }
    }
}

impl Qp<'_> {
    pub fn number(&self) -> u32 {
        // SAFETY: the QP is live.
        unsafe { (*self.qp).qp_num }
    }

    pub fn modify(&self, mask: u32, set: impl FnOnce(&mut ibv_qp_attr)) -> c_int {
        // SAFETY: the QP is live.
        unsafe {
            let mut attr: ibv_qp_attr = zeroed();
            attr.port_num = 1;
            attr.qkey = QKEY;
            set(&mut attr);
            ibv_modify_qp(self.qp, &raw mut attr, mask as c_int)
        }
    }

    /// Makes a UD QP ready.
    pub fn ready(&self) {
        let init = IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_QKEY;
        ok(self.modify(init, |attr| attr.qp_state = IBV_QPS_INIT));
        ok(self.modify(IBV_QP_STATE, |attr| attr.qp_state = IBV_QPS_RTR));
        ok(self.modify(IBV_QP_STATE | IBV_QP_SQ_PSN, |attr| attr.qp_state = IBV_QPS_RTS));
    }

    /// Connects an RC QP with another by its LID alone.
    pub fn connect(&self, lid: u16, other: u32) {
        let init = IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS;
        ok(self.modify(init, |attr| attr.qp_state = IBV_QPS_INIT));
        let receive = IBV_QP_STATE
            | IBV_QP_AV
            | IBV_QP_PATH_MTU
            | IBV_QP_DEST_QPN
            | IBV_QP_RQ_PSN
            | IBV_QP_MAX_DEST_RD_ATOMIC
            | IBV_QP_MIN_RNR_TIMER;
        ok(self.modify(receive, |attr| {
            attr.qp_state = IBV_QPS_RTR;
            attr.path_mtu = 3;
            attr.dest_qp_num = other;
            attr.min_rnr_timer = 14;
            attr.ah_attr.dlid = lid;
            attr.ah_attr.port_num = 1;
        }));
        let send = IBV_QP_STATE
            | IBV_QP_SQ_PSN
            | IBV_QP_TIMEOUT
            | IBV_QP_RETRY_CNT
            | IBV_QP_RNR_RETRY
            | IBV_QP_MAX_QP_RD_ATOMIC;
        ok(self.modify(send, |attr| {
            attr.qp_state = IBV_QPS_RTS;
            attr.timeout = 12;
            attr.retry_cnt = 7;
            attr.rnr_retry = 7;
        }));
    }

    /// Receives into the slot of that number, which the completion has.
    pub fn receive(&self, slot: usize) {
        self.receive_up_to(slot, SLOT);
    }

    /// The same with room for `len` bytes.
    pub fn receive_up_to(&self, slot: usize, len: usize) {
        // SAFETY: the QP is live, and the memory registered.
        unsafe {
            let mut part = self.rig.slot(slot);
            part.length = len as u32;
            let mut request: ibv_recv_wr = zeroed();
            request.wr_id = slot as u64;
            request.sg_list = &raw mut part;
            request.num_sge = 1;
            let mut bad = null_mut();
            ok(ibv_post_recv(self.qp, &raw mut request, &raw mut bad));
        }
    }

    /// Sends `len` bytes from a slot; to a handle and a QP, if it is of datagrams.
    pub fn send(&self, slot: usize, len: usize, to: Option<(*mut ibv_ah, u32)>) {
        // SAFETY: the QP is live, and the memory registered.
        unsafe {
            let mut part = self.rig.slot(slot);
            part.length = len as u32;
            let mut request: ibv_send_wr = zeroed();
            request.wr_id = slot as u64;
            request.sg_list = &raw mut part;
            request.num_sge = 1;
            request.opcode = IBV_WR_SEND;
            request.send_flags = IBV_SEND_SIGNALED;
            if let Some((handle, number)) = to {
                request.wr.ud.ah = handle;
                request.wr.ud.remote_qpn = number;
                request.wr.ud.remote_qkey = QKEY;
            }
            let mut bad = null_mut();
            ok(ibv_post_send(self.qp, &raw mut request, &raw mut bad));
        }
    }
}

/// An identifier of the connection manager that is bound to an address.
pub struct Id {
    pub channel: *mut rdma_event_channel,
    pub id: *mut rdma_cm_id,
}

impl Id {
    pub fn new() -> Id {
        // SAFETY: the calls have no condition.
        unsafe {
            let channel = rdma_create_event_channel();
            let mut id = null_mut();
            ok(rdma_create_id(channel, &raw mut id, null_mut(), RDMA_PS_UDP));
            Id { channel, id }
        }
    }

    /// Calls with an address; `errno` if it fails.
    fn call(
        &self,
        address: Address,
        function: impl FnOnce(*mut rdma_cm_id, *mut libc::sockaddr) -> c_int,
    ) -> Result<(), i32> {
        let mut address = address;
        let pointer = match &mut address {
            Address::V4(address) => std::ptr::from_mut(address).cast(),
            Address::Ib(address) => std::ptr::from_mut(address).cast(),
        };
        match function(self.id, pointer) {
            0 => Ok(()),
            _ => Err(std::io::Error::last_os_error().raw_os_error().unwrap()),
        }
    }

    pub fn bind(&self, address: Address) -> Result<(), i32> {
        // SAFETY: the id is live and the address valid.
        self.call(address, |id, address| unsafe { rdma_bind_addr(id, address) })
    }

    pub fn join(&self, address: Address) -> Result<(), i32> {
        // SAFETY: the id is live and the address valid.
        self.call(address, |id, address| unsafe { rdma_join_multicast(id, address, null_mut()) })
    }

    pub fn leave(&self, address: Address) -> Result<(), i32> {
        // SAFETY: the id is live and the address valid.
        self.call(address, |id, address| unsafe { rdma_leave_multicast(id, address) })
    }

    /// The next event, its status, and where its group's datagrams go.
    pub fn event(&self) -> (u32, c_int, ibv_ah_attr) {
        // SAFETY: the channel is live; the event is copied before it is acknowledged.
        unsafe {
            let mut fd = libc::pollfd { fd: (*self.channel).fd, events: libc::POLLIN, revents: 0 };
            assert_eq!(libc::poll(&raw mut fd, 1, PATIENCE.as_millis() as c_int), 1, "no event");
            let mut event = null_mut();
            ok(rdma_get_cm_event(self.channel, &raw mut event));
            let found = ((*event).event, (*event).status, (*event).param.ud.ah_attr);
            ok(rdma_ack_cm_event(event));
            found
        }
    }
}

impl Drop for Id {
    fn drop(&mut self) {
        // SAFETY: both are live, and every event was acknowledged.
        unsafe {
            rdma_destroy_id(self.id);
            rdma_destroy_event_channel(self.channel);
        }
    }
}

#[derive(Clone, Copy)]
pub enum Address {
    V4(libc::sockaddr_in),
    Ib(sockaddr_ib),
}

impl Address {
    pub fn v4(octets: [u8; 4]) -> Address {
        // SAFETY: an address is numbers, for which zero is valid.
        let mut address: libc::sockaddr_in = unsafe { zeroed() };
        address.sin_family = libc::AF_INET as u16;
        address.sin_addr.s_addr = u32::from_ne_bytes(octets);
        Address::V4(address)
    }

    pub fn gid(gid: [u8; 16]) -> Address {
        // SAFETY: an address is numbers, for which zero is valid, and a GID sixteen bytes.
        unsafe {
            let mut address: sockaddr_ib = zeroed();
            address.sib_family = AF_IB as u16;
            address.sib_addr = std::mem::transmute::<[u8; 16], ib_addr>(gid);
            Address::Ib(address)
        }
    }
}
