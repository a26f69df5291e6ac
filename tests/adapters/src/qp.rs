//! Queue pairs and address handles: their limits, P_Keys, and where they lead.

use crate::adapter::{Adapter, adapter, errno};
use crate::context::{device_of, with_own_descriptor};
use crate::limits::exceeds;
use crate::route::{real_way, refused};
use crate::{connections, datagrams, groups, real};
use libc::c_int;
use std::collections::BTreeSet;
use std::ptr::null_mut;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use verbcast_sys::{
    IBV_QP_AV, IBV_QP_PKEY_INDEX, IBV_QP_RETRY_CNT, IBV_QP_STATE, IBV_QPS_ERR, IBV_QPS_INIT,
    IBV_QPS_RESET, IBV_QPT_RC, IBV_QPT_UD, ibv_ah, ibv_ah_attr, ibv_context, ibv_pd, ibv_qp,
    ibv_qp_attr, ibv_qp_init_attr,
};

/// SoftRoCE takes 7 for ever. Six attempts are as good as seven.
const MAX_RETRIES: u8 = 6;

/// Queue pairs that were reset, and cannot be used any more.
static SPENT: Mutex<BTreeSet<usize>> = Mutex::new(BTreeSet::new());

/// QPs that were connected so far.
static CONNECTED: AtomicU32 = AtomicU32::new(0);

/// Whether the kernel does not find where a QP is to be connected to, of so many first ones.
fn is_unresolved(first: u32) -> bool {
    let number = CONNECTED.fetch_add(1, Ordering::Relaxed);
    number < first && number % 2 == 1
}

fn spent() -> MutexGuard<'static, BTreeSet<usize>> {
    SPENT.lock().unwrap_or_else(PoisonError::into_inner)
}

#[unsafe(no_mangle)]
unsafe extern "C" fn ibv_create_qp(pd: *mut ibv_pd, init: *mut ibv_qp_init_attr) -> *mut ibv_qp {
    let Some(adapter) = adapter() else {
        // SAFETY: the caller's promise.
        return unsafe { real::ibv_create_qp(pd, init) };
    };
    let profile = &adapter.profile;
    // SAFETY: the caller's promise.
    let cap = unsafe { &mut (*init).cap };
    let too_deep = exceeds(cap.max_send_wr.max(cap.max_recv_wr), profile.max_qp_wr);
    let too_much = exceeds(cap.max_inline_data, profile.max_inline);
    if too_deep || (too_much && !profile.grants_less_inline) {
        errno(libc::EINVAL);
        return null_mut();
    }
    if let (true, Some(most)) = (too_much, profile.max_inline) {
        cap.max_inline_data = most;
    }
    // SAFETY: the caller's promise.
    let qp = unsafe { with_own_descriptor((*pd).context, || real::ibv_create_qp(pd, init)) };
    // SAFETY: the caller's promise.
    let (kind, depth) = unsafe { ((*init).qp_type, (*init).cap.max_recv_wr) };
    if kind == IBV_QPT_RC && !qp.is_null() {
        connections::adopt(qp);
    }
    if kind == IBV_QPT_UD && !qp.is_null() && profile.meddles_with_datagrams() {
        // SAFETY: the QP was made above.
        unsafe { datagrams::adopt(pd, qp, depth) };
    }
    if let (false, Some(most)) = (qp.is_null(), profile.max_inline) {
        // SAFETY: the caller's promise.
        unsafe { (*init).cap.max_inline_data = (*init).cap.max_inline_data.min(most) };
    }
    qp
}

#[unsafe(no_mangle)]
unsafe extern "C" fn ibv_modify_qp(qp: *mut ibv_qp, attr: *mut ibv_qp_attr, mask: c_int) -> c_int {
    let Some(adapter) = adapter() else {
        // SAFETY: the caller's promise.
        return unsafe { real::ibv_modify_qp(qp, attr, mask) };
    };
    // SAFETY: the caller's promise.
    let mut real = unsafe { *attr };
    let sets = |bit: u32| mask.cast_unsigned() & bit != 0;
    let profile = &adapter.profile;
    if sets(IBV_QP_PKEY_INDEX) {
        if usize::from(real.pkey_index) >= profile.pkeys().len() {
            return refused("ibv_modify_qp", "the P_Key table has no such index");
        }
        groups::set_partition(qp, profile.pkeys()[usize::from(real.pkey_index)]);
        real.pkey_index = 0;
    }
    if sets(IBV_QP_RETRY_CNT) && !profile.retries_for_ever {
        real.retry_cnt = real.retry_cnt.min(MAX_RETRIES);
    }
    if sets(IBV_QP_AV) && is_unresolved(profile.unresolved) {
        return libc::ETIMEDOUT;
    }
    if sets(IBV_QP_AV) && profile.is_infiniband {
        // SAFETY: the QP is live.
        match unsafe { way(adapter, (*qp).context, &real.ah_attr) } {
            Ok(way) => real.ah_attr = way,
            Err(why) => return refused("ibv_modify_qp", &why),
        }
    }
    let is_to = |state| sets(IBV_QP_STATE) && real.qp_state == state;
    if is_to(IBV_QPS_INIT) && spent().contains(&qp.addr()) {
        return refused(
            "ibv_modify_qp",
            "the adapter does not let a QP that was reset be used again",
        );
    }
    let (is_reset, is_failed) = (is_to(IBV_QPS_RESET), is_to(IBV_QPS_ERR));
    // SAFETY: the caller's promise.
    let answer = unsafe { real::ibv_modify_qp(qp, &raw mut real, mask) };
    if answer == 0 && is_failed {
        datagrams::note_failed(qp);
    }
    if answer == 0 && is_reset {
        datagrams::reset(qp);
        if !profile.restarts {
            spent().insert(qp.addr());
        }
        if profile.loses_attachments {
            groups::detach_all(qp);
        }
    }
    answer
}

#[unsafe(no_mangle)]
unsafe extern "C" fn ibv_destroy_qp(qp: *mut ibv_qp) -> c_int {
    // SAFETY: the caller's promise.
    let answer = connections::end(qp, || unsafe { real::ibv_destroy_qp(qp) });
    if adapter().is_some() && answer == 0 {
        groups::forget(qp);
        spent().remove(&qp.addr());
        datagrams::forget(qp);
    }
    answer
}

/// A queue pair ends up in the error state, where it flushes its requests.
pub fn fail(qp: *mut ibv_qp) {
    // SAFETY: the QP is live; attributes are numbers, for which zero is valid.
    unsafe {
        let mut attr: ibv_qp_attr = std::mem::zeroed();
        attr.qp_state = IBV_QPS_ERR;
        real::ibv_modify_qp(qp, &raw mut attr, IBV_QP_STATE.cast_signed());
    }
    datagrams::note_failed(qp);
}

/// The real way to where these attributes lead.
unsafe fn way(
    adapter: &Adapter,
    context: *mut ibv_context,
    attr: &ibv_ah_attr,
) -> Result<ibv_ah_attr, String> {
    // SAFETY: the caller says that the context is live.
    let own = unsafe { device_of(adapter, context) };
    real_way(adapter, own.ok_or("the device is not one of this node")?, attr)
}

#[unsafe(no_mangle)]
unsafe extern "C" fn ibv_create_ah(pd: *mut ibv_pd, attr: *mut ibv_ah_attr) -> *mut ibv_ah {
    let Some(adapter) = adapter().filter(|adapter| adapter.profile.is_infiniband) else {
        // SAFETY: the caller's promise.
        return unsafe { real::ibv_create_ah(pd, attr) };
    };
    // SAFETY: the caller's promise.
    match unsafe { way(adapter, (*pd).context, &*attr) } {
        // SAFETY: the domain is live, and the attributes are valid.
        Ok(mut way) => unsafe { real::ibv_create_ah(pd, &raw mut way) },
        Err(why) => {
            refused("ibv_create_ah", &why);
            null_mut()
        }
    }
}
