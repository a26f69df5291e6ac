//! Where the bytes of an MPI buffer are.

use super::constructor::Constructor;
use super::gpu::{self, Runtime};
use super::{Error, MpiError, long_element};
use mpi::ffi::{self, MPI_Aint, MPI_Comm, MPI_Count, MPI_Datatype};
use std::ffi::{c_int, c_void};
use verbcast_core::rank::Rank;

/// Bytes that one call packs or unpacks at most: MPI counts them with an `int`. An element that is longer goes
/// [another way](long_element).
const MAX_PACKED: usize = 1 << 30;
/// Types within types that are looked through for gaps.
const MAX_NESTED: u32 = 8;

/// Where the bytes of `count` elements of an MPI datatype are.
///
/// Ranks may describe a message by other counts and types, as long as the sequence of basic types, the
/// signature, is the same (MPI 4.0, section 6.4). So what goes over the wire are the basic elements in
/// the order of the signature and without gaps, which is what packing makes of a buffer among like
/// machines; a buffer that is like that in memory is sent as it is.
#[derive(Clone, Copy, Debug)]
pub struct Layout {
    datatype: MPI_Datatype,
    count: usize,
    /// Bytes of an element's basic elements.
    size: usize,
    /// Bytes from one element to the next.
    extent: isize,
    /// Bytes that one call packs or unpacks at most.
    max_packed: usize,
    is_contiguous: bool,
}

impl Layout {
    /// The layout of `count` elements.
    ///
    /// # Errors
    /// If MPI refuses the type.
    ///
    /// # Safety
    /// MPI is initialised, and the type is committed.
    pub unsafe fn new(datatype: MPI_Datatype, count: usize) -> Result<Self, MpiError> {
        // SAFETY: promised by the caller.
        unsafe {
            let size = size_of(datatype)?;
            let (_, extent) = extent_of(datatype)?;
            #[allow(
                clippy::unnecessary_cast,
                reason = "the libraries name this integer differently"
            )]
            let extent = extent as isize;
            let is_contiguous = is_contiguous(datatype, MAX_NESTED)?;
            Ok(Layout { datatype, count, size, extent, max_packed: MAX_PACKED, is_contiguous })
        }
    }

    /// Bytes of the message; none if they are more than memory can hold.
    pub fn message_len(&self) -> Option<usize> {
        self.size.checked_mul(self.count).filter(|len| isize::try_from(*len).is_ok())
    }

    /// Whether the buffer is the message, byte by byte.
    pub fn is_contiguous(&self) -> bool {
        self.is_contiguous
    }

    /// Broadcasts the buffer of `root` by MPI.
    ///
    /// # Errors
    /// If MPI fails and does not end the program instead, or the count is more than it can take.
    ///
    /// # Safety
    /// The buffer is writable as this layout says, and nobody else touches it.
    pub unsafe fn broadcast_by_mpi(
        &self,
        root: Rank,
        buffer: *mut c_void,
        comm: MPI_Comm,
    ) -> Result<(), Error> {
        let count = c_int::try_from(self.count).map_err(|_| Error::TooLong)?;
        // SAFETY: promised by the caller.
        let code = unsafe { ffi::PMPI_Bcast(buffer, count, self.datatype, root.0 as c_int, comm) };
        Ok(MpiError::check("MPI_Bcast", code)?)
    }

    /// Whether the buffer is memory of a GPU, so that it has to be [packed](Self::pack), even without gaps.
    pub fn is_on_gpu(&self, buffer: *const c_void) -> bool {
        self.runtime_of(buffer).is_some()
    }

    fn runtime_of(&self, buffer: *const c_void) -> Option<&'static dyn Runtime> {
        if !gpu::may_have_runtime() || self.size * self.count == 0 {
            return None;
        }
        // Of a type with absolute addresses, the buffer is a null pointer.
        let (start, _) = if self.is_contiguous { (0, 0) } else { self.span().ok()? };
        gpu::runtime_of(buffer.wrapping_byte_offset(start))
    }

    /// Where the first byte of the elements is, from the buffer's address, and how many there are to the last one,
    /// gaps included.
    fn span(&self) -> Result<(isize, usize), MpiError> {
        let (mut lower, mut extent) = (0, 0);
        // SAFETY: the type is valid, as promised to `new`.
        let code =
            unsafe { ffi::PMPI_Type_get_true_extent(self.datatype, &mut lower, &mut extent) };
        MpiError::check("MPI_Type_get_true_extent", code)?;
        #[allow(clippy::unnecessary_cast, reason = "the libraries name this integer differently")]
        let (lower, extent) = (lower as isize, extent as usize);
        let between = self.extent * (self.count as isize - 1);
        Ok((lower + between.min(0), between.unsigned_abs() + extent))
    }

    /// Packs a buffer into `message`, which has [`message_len`](Self::message_len) bytes.
    ///
    /// # Errors
    /// If MPI fails, or packs something else than the basic elements; or if the runtime of a GPU refuses to copy.
    ///
    /// # Safety
    /// The buffer at `from` is readable as this layout says; `comm` is a communicator.
    pub unsafe fn pack(
        &self,
        from: *const c_void,
        message: &mut [u8],
        comm: MPI_Comm,
    ) -> Result<(), MpiError> {
        // SAFETY: promised by the caller; what is staged is as long as the elements with their gaps.
        unsafe {
            match self.runtime_of(from) {
                None => self.pack_host(from, message, comm),
                Some(runtime) if self.is_contiguous => {
                    gpu::copy(runtime, message.as_mut_ptr().cast(), from, message.len())
                }
                Some(runtime) => {
                    let (start, staged) = self.stage(runtime, from)?;
                    self.pack_host(staged.as_ptr().wrapping_offset(-start).cast(), message, comm)
                }
            }
        }
    }

    /// The elements, gaps included, in host memory, and where they begin from the buffer's address.
    ///
    /// # Safety
    /// `from` is the address of as many elements as are described, in memory of the runtime's.
    unsafe fn stage(
        &self,
        runtime: &dyn Runtime,
        from: *const c_void,
    ) -> Result<(isize, Vec<u8>), MpiError> {
        let (start, len) = self.span()?;
        let mut staged = vec![0; len];
        let from = from.wrapping_byte_offset(start);
        // SAFETY: promised by the caller.
        unsafe { gpu::copy(runtime, staged.as_mut_ptr().cast(), from, len) }?;
        Ok((start, staged))
    }

    /// # Safety
    /// `from` is the address of as many elements as are described, in host memory; `comm` is a communicator, and the
    /// calling thread may call MPI.
    unsafe fn pack_host(
        &self,
        from: *const c_void,
        message: &mut [u8],
        comm: MPI_Comm,
    ) -> Result<(), MpiError> {
        for (start, count, bytes) in self.parts(message.len()) {
            let part = &mut message[bytes];
            let mut position = 0;
            // SAFETY: the part of the buffer is readable, as promised by the caller; MPI writes no
            // more than the length it is given.
            let code = unsafe {
                let Elements { address, count, datatype, .. } =
                    &Elements::new(from.wrapping_byte_offset(start), count, self.datatype)?;
                if part.len() > self.max_packed {
                    long_element::take(*address, *datatype, part, comm)?;
                    continue;
                }
                let (to, len) = (part.as_mut_ptr().cast(), part.len() as c_int);
                ffi::PMPI_Pack(*address, *count, *datatype, to, len, &mut position, comm)
            };
            complete("MPI_Pack", code, position, part.len())?;
        }
        Ok(())
    }

    /// Unpacks `message`, which has [`message_len`](Self::message_len) bytes, into a buffer.
    ///
    /// # Errors
    /// If MPI fails, or takes something else than the basic elements; or if the runtime of a GPU refuses to copy.
    ///
    /// # Safety
    /// The buffer at `to` is writable as this layout says; `comm` is a communicator.
    pub unsafe fn unpack(
        &self,
        message: &[u8],
        to: *mut c_void,
        comm: MPI_Comm,
    ) -> Result<(), MpiError> {
        // SAFETY: as above.
        unsafe {
            match self.runtime_of(to) {
                None => self.unpack_host(message, to, comm),
                Some(runtime) if self.is_contiguous => {
                    gpu::copy(runtime, to, message.as_ptr().cast(), message.len())
                }
                // The gaps are copied forth and back.
                Some(runtime) => {
                    let (start, mut staged) = self.stage(runtime, to)?;
                    let base = staged.as_mut_ptr().wrapping_offset(-start).cast();
                    self.unpack_host(message, base, comm)?;
                    let to = to.wrapping_byte_offset(start);
                    gpu::copy(runtime, to, staged.as_ptr().cast(), staged.len())
                }
            }
        }
    }

    /// # Safety
    /// `to` is the address of as many elements as are described, in host memory that may be written; `comm` is a
    /// communicator, and the calling thread may call MPI.
    unsafe fn unpack_host(
        &self,
        message: &[u8],
        to: *mut c_void,
        comm: MPI_Comm,
    ) -> Result<(), MpiError> {
        for (start, count, bytes) in self.parts(message.len()) {
            let part = &message[bytes];
            let mut position = 0;
            // SAFETY: the part of the buffer is writable, as promised by the caller; MPI reads no
            // more than the length it is given.
            let code = unsafe {
                let to = to.wrapping_byte_offset(start).cast_const();
                let Elements { address, count, datatype, .. } =
                    &Elements::new(to, count, self.datatype)?;
                let to = address.cast_mut();
                if part.len() > self.max_packed {
                    long_element::put(part, to, *datatype, comm)?;
                    continue;
                }
                let (from, len) = (part.as_ptr().cast(), part.len() as c_int);
                ffi::PMPI_Unpack(from, len, &mut position, to, *count, *datatype, comm)
            };
            complete("MPI_Unpack", code, position, part.len())?;
        }
        Ok(())
    }

    /// The parts that are packed at a time: where they begin in the buffer, their elements, and their
    /// bytes in the message.
    fn parts(&self, len: usize) -> impl Iterator<Item = (isize, c_int, std::ops::Range<usize>)> {
        debug_assert_eq!(Some(len), self.message_len());
        let Layout { size, extent, count, max_packed, .. } = *self;
        let at_a_time = (max_packed / size.max(1)).clamp(1, max_packed);
        (0..count).step_by(at_a_time).map(move |first| {
            let elements = at_a_time.min(count - first);
            let start = first as isize * extent;
            (start, elements as c_int, first * size..(first + elements) * size)
        })
    }
}

/// Elements to pack or unpack. MPICH takes no null address for them, not even `MPI_BOTTOM` with a type of
/// absolute addresses; then they are told from another address, by a type that leads back.
struct Elements {
    address: *const c_void,
    count: c_int,
    datatype: MPI_Datatype,
    is_own: bool,
}

/// An address that nothing is read from or written to.
const AWAY: usize = 4096;

impl Elements {
    /// # Safety
    /// MPI is initialised, and the type is one.
    unsafe fn new(
        address: *const c_void,
        count: c_int,
        datatype: MPI_Datatype,
    ) -> Result<Self, MpiError> {
        if !address.is_null() {
            return Ok(Elements { address, count, datatype, is_own: false });
        }
        let back = -(AWAY as MPI_Aint);
        // SAFETY: the type is valid, as promised by the caller; the new one is freed once.
        unsafe {
            let mut own = ffi::RSMPI_DATATYPE_NULL;
            let code = ffi::PMPI_Type_create_hindexed(1, &count, &back, datatype, &mut own);
            MpiError::check("MPI_Type_create_hindexed", code)?;
            let elements =
                Elements { address: AWAY as *const c_void, count: 1, datatype: own, is_own: true };
            let code = ffi::PMPI_Type_commit(&mut own);
            MpiError::check("MPI_Type_commit", code)?;
            Ok(elements)
        }
    }
}

impl Drop for Elements {
    fn drop(&mut self) {
        if self.is_own {
            // SAFETY: it is freed once.
            unsafe { ffi::PMPI_Type_free(&mut self.datatype) };
        }
    }
}

/// The outcome of packing or unpacking `len` bytes.
fn complete(call: &'static str, code: c_int, position: c_int, len: usize) -> Result<(), MpiError> {
    MpiError::check(call, code)?;
    match position as usize == len {
        true => Ok(()),
        false => Err(MpiError { call, code: ffi::MPI_ERR_TRUNCATE as c_int }),
    }
}

/// # Safety
/// MPI is initialised, and the type is one.
unsafe fn size_of(datatype: MPI_Datatype) -> Result<usize, MpiError> {
    let mut size: MPI_Count = 0;
    // SAFETY: promised by the caller.
    let code = unsafe { ffi::PMPI_Type_size_x(datatype, &mut size) };
    MpiError::check("MPI_Type_size_x", code)?;
    let code = ffi::MPI_ERR_TYPE as c_int;
    usize::try_from(size).map_err(|_| MpiError { call: "MPI_Type_size_x", code })
}

/// The lower bound and extent.
///
/// # Safety
/// MPI is initialised, and the type is one.
unsafe fn extent_of(datatype: MPI_Datatype) -> Result<(MPI_Aint, MPI_Aint), MpiError> {
    let (mut lower, mut extent) = (0, 0);
    // SAFETY: promised by the caller.
    let code = unsafe { ffi::PMPI_Type_get_extent(datatype, &mut lower, &mut extent) };
    MpiError::check("MPI_Type_get_extent", code)?;
    Ok((lower, extent))
}

/// Whether elements of the type follow one another without gaps and in the order of the signature. Types
/// of basic elements that are also repetitions of such types are known to; others may, and are packed.
///
/// # Safety
/// MPI is initialised, and the type is one.
unsafe fn is_contiguous(datatype: MPI_Datatype, nested: u32) -> Result<bool, MpiError> {
    // SAFETY: promised by the caller.
    unsafe {
        let (lower, extent) = extent_of(datatype)?;
        let size = size_of(datatype)?;
        if lower != 0 || usize::try_from(extent).ok() != Some(size) {
            return Ok(false);
        }
        let made = Constructor::of(datatype)?;
        // Of a basic type, or of nothing. Pairs of a value and an index have their gaps at the end.
        if size == 0 || made.is_predefined() {
            return Ok(true);
        }
        if nested == 0 || !made.is_repetition()? {
            return Ok(false);
        }
        let mut inner = made.repeated(datatype)?;
        let outcome = is_contiguous(inner, nested - 1);
        if !Constructor::of(inner)?.is_predefined() {
            ffi::PMPI_Type_free(&mut inner);
        }
        outcome
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::mpi;
    use super::*;
    use std::thread;

    /// Blocks of bytes with gaps between them.
    fn blocks(count: c_int, len: c_int, stride: c_int) -> MPI_Datatype {
        // SAFETY: MPI runs; the type stays until the process ends.
        unsafe {
            let mut made = ffi::RSMPI_DATATYPE_NULL;
            assert_eq!(
                ffi::PMPI_Type_vector(count, len, stride, ffi::RSMPI_UINT8_T, &mut made),
                ffi::MPI_SUCCESS as c_int
            );
            ffi::PMPI_Type_commit(&mut made);
            made
        }
    }

    /// Packs one buffer and unpacks the message into another; the message.
    fn pass(layout: &Layout, from: &[u8], to: &mut [u8]) -> Vec<u8> {
        let mut message = vec![0; layout.message_len().unwrap()];
        // SAFETY: MPI runs, and the buffers are long enough for the elements.
        unsafe {
            layout.pack(from.as_ptr().cast(), &mut message, ffi::RSMPI_COMM_SELF).unwrap();
            layout.unpack(&message, to.as_mut_ptr().cast(), ffi::RSMPI_COMM_SELF).unwrap();
        }
        message
    }

    #[test]
    fn elements_are_packed_alike_in_whatever_parts() {
        let _turn = mpi();
        let from: Vec<u8> = (0..500).map(|at| at as u8).collect();
        // Three blocks of 20 bytes in 68, and another element from there on.
        // SAFETY: MPI runs, and the type is committed.
        let layout = unsafe { Layout::new(blocks(3, 20, 24), 4) }.unwrap();
        let is_gap = |at: usize| at >= 4 * 68 || at % 68 % 24 >= 20;
        let expected: Vec<u8> = (0..500).filter(|at| !is_gap(*at)).map(|at| from[at]).collect();
        for max_packed in [1, 59, 60, 120, 500] {
            let layout = Layout { max_packed, ..layout };
            let mut to = vec![0xee; 500];
            assert_eq!(pass(&layout, &from, &mut to), expected, "{max_packed}");
            let right = |at: usize| to[at] == if is_gap(at) { 0xee } else { from[at] };
            assert!((0..500).all(right), "{max_packed}");
        }
    }

    #[test]
    fn types_by_fortrans_digits_are_basic_ones_and_stay() {
        let _turn = mpi();
        // SAFETY: MPI runs; the types stay until the process ends.
        unsafe {
            let (mut own, mut row) = (ffi::RSMPI_DATATYPE_NULL, ffi::RSMPI_DATATYPE_NULL);
            ffi::PMPI_Type_create_f90_real(15, 307, &mut own);
            ffi::PMPI_Type_contiguous(3, own, &mut row);
            ffi::PMPI_Type_commit(&mut row);
            for _ in 0..2 {
                for (datatype, size) in [(own, 8), (row, 24)] {
                    let layout = Layout::new(datatype, 2).unwrap();
                    assert_eq!(layout.message_len(), Some(2 * size));
                    assert!(layout.is_contiguous());
                }
            }
        }
    }

    #[test]
    fn elements_of_several_threads_are_not_mixed_up() {
        let _turn = mpi();
        // Three blocks of 2,000 bytes: each element goes as one that is too long to be packed.
        let pass_many = |mark: u8| {
            // SAFETY: MPI runs, and the type is committed.
            let layout = unsafe { Layout::new(blocks(3, 2000, 2400), 1) }.unwrap();
            let layout = Layout { max_packed: 1, ..layout };
            for _ in 0..2000 {
                let mut to = vec![0; 6800];
                let message = pass(&layout, &[mark; 6800], &mut to);
                assert!(message.iter().all(|byte| *byte == mark), "packed by thread {mark}");
                assert!(to[..2000].iter().all(|byte| *byte == mark), "unpacked by thread {mark}");
            }
        };
        thread::scope(|scope| {
            for mark in [1, 2] {
                scope.spawn(move || pass_many(mark));
            }
        });
    }

    #[test]
    #[ignore = "takes 5 GiB of memory"]
    fn an_element_may_be_longer_than_an_int_counts() {
        let _turn = mpi();
        const BLOCK: usize = (1 << 30) + 8;
        const STRIDE: usize = BLOCK + 8;
        let (first, last) = ([1, 2], [3, 4]);
        // What is not written takes no memory.
        let mut from = vec![0; 2 * STRIDE];
        for (block, at) in [0, STRIDE].into_iter().enumerate() {
            (from[at], from[at + BLOCK - 1], from[at + BLOCK]) = (first[block], last[block], 9);
        }
        let datatype = blocks(2, BLOCK as c_int, STRIDE as c_int);
        // SAFETY: MPI runs, and the type is committed.
        let layout = unsafe { Layout::new(datatype, 1) }.unwrap();
        let mut to = vec![0; 2 * STRIDE];
        let message = pass(&layout, &from, &mut to);
        assert_eq!(message.len(), 2 * BLOCK);
        for (block, at) in [0, BLOCK].into_iter().enumerate() {
            assert_eq!([message[at], message[at + BLOCK - 1]], [first[block], last[block]]);
        }
        for (block, at) in [0, STRIDE].into_iter().enumerate() {
            let marks = [to[at], to[at + BLOCK - 1], to[at + BLOCK]];
            assert_eq!(marks, [first[block], last[block], 0]);
        }
    }
}
