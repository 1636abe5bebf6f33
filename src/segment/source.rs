//! Where a segment's block comes from: `memory`, or an upstream allocator.
//!
//! ```text
//! | slack | record | header | bitmap | pad | cells ... |
//! ^ what upstream gave       ^ block, as in any other segment
//! ```
//!
//! An upstream allocator promises no alignment, so the block lies somewhere in what it gave; the
//! record in front of the block says where that begins and whose it is. The owner map knows upstream
//! blocks by their range.

use crate::{
    faults,
    memory::{self, AllocError, Block, BlockInfo, Resized},
    owner_map,
};
use std::{ffi::c_void, ptr::NonNull};

/// The functions of another allocator, as a NEP 49 handler has them.
///
/// Growth is allocate-move-drop here, so there is no `realloc`.
#[derive(Clone, Copy, Debug)]
pub struct Upstream {
    /// Passed to each function.
    pub context: *mut c_void,
    /// Memory, or NULL.
    pub malloc: unsafe extern "C" fn(context: *mut c_void, size: usize) -> *mut c_void,
    /// Zeroed memory, or NULL.
    pub calloc:
        unsafe extern "C" fn(context: *mut c_void, count: usize, size: usize) -> *mut c_void,
    /// Takes memory back, with the size that was asked for.
    pub free: unsafe extern "C" fn(context: *mut c_void, pointer: *mut c_void, size: usize),
}

/// What a segment's block is made of. Two of the same source are equal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Source(Option<NonNull<Upstream>>);

/// What stands in front of an upstream block.
#[derive(Clone, Copy)]
struct UpstreamRecord {
    upstream: NonNull<Upstream>,
    given: NonNull<u8>,
    size: usize,
    /// Of the other fields and the block's address: the upstream's own neighbours may write here.
    check: usize,
}

impl Source {
    /// Blocks of `memory`.
    pub const MEMORY: Source = Source(None);

    /// Blocks in memory of `upstream`.
    ///
    /// # Safety
    /// * `upstream` stays where it is, unchanged, until the last segment made of it is freed.
    /// * Its functions keep what malloc, calloc and free promise, and may be called on every thread
    ///   on which such segments are allocated, resized and freed.
    pub unsafe fn of_upstream(upstream: NonNull<Upstream>) -> Source {
        Source(Some(upstream))
    }

    /// Whether it is another allocator.
    #[inline]
    pub fn is_upstream(self) -> bool {
        self.0.is_some()
    }

    /// What a block is made of.
    ///
    /// # Safety
    /// The block is live and came from [`Self::allocate`] of a source that says the same about
    /// [`Self::is_upstream`].
    pub(super) unsafe fn of_block(start: NonNull<u8>, upstream: bool) -> Source {
        // SAFETY: an upstream block has a record in front of it.
        Source(upstream.then(|| unsafe { UpstreamRecord::of(start) }.upstream))
    }

    /// Whether the record in front of an upstream block is what was written there.
    ///
    /// # Safety
    /// `start` is the start of a live upstream block.
    pub(super) unsafe fn has_record(start: NonNull<u8>) -> bool {
        // SAFETY: there is room for a record; an overwritten one is only read as words.
        let words = unsafe {
            start.cast::<[usize; size_of::<UpstreamRecord>() / size_of::<usize>()]>().sub(1).read()
        };
        if words.contains(&0) {
            // Pointers that are NULL are no record, and no `UpstreamRecord` either.
            return false;
        }
        // SAFETY: as above; no word is zero.
        let record = unsafe { UpstreamRecord::of(start) };
        record.check == UpstreamRecord::digest(record.upstream, record.given, record.size, start)
    }

    /// A block of at least `size` bytes, aligned to `align`.
    ///
    /// # Errors
    /// There is no memory, or the upstream allocator gave memory that is a block of ours.
    pub(super) fn allocate(
        self,
        size: usize,
        align: usize,
        zeroed: bool,
    ) -> Result<Block, AllocError> {
        match self.0 {
            None if zeroed => memory::allocate_zeroed(size, align),
            None => memory::allocate(size, align),
            // SAFETY: `of_upstream`.
            Some(upstream) => unsafe { UpstreamRecord::take(upstream, size, align, zeroed) },
        }
    }

    /// Makes a block at least `new_size` bytes, perhaps elsewhere; what fits of its bytes is kept.
    ///
    /// # Errors
    /// There is no memory; the block is as it was.
    ///
    /// # Safety
    /// The block is live, of this source, and the caller's alone; `align` is what it was allocated
    /// with.
    pub(super) unsafe fn resize(
        self,
        block: BlockInfo,
        new_size: usize,
        align: usize,
    ) -> Result<Resized, AllocError> {
        if self.is_upstream() {
            let new = self.allocate(new_size, align, false)?;
            let kept = block.size.min(new.size);
            // SAFETY: two blocks, the old one the caller's and given up now.
            unsafe {
                new.start.copy_from_nonoverlapping(block.start, kept);
                self.release(block.start);
            }
            return Ok(Resized { start: new.start, size: new.size, zeroed_from: new.size });
        }
        // SAFETY: the caller's promise.
        unsafe {
            if new_size > block.size
                && let Some(grown) = memory::try_grow_in_place(block.start, new_size)
            {
                return Ok(grown);
            }
            memory::remap(block.start, new_size, align)
        }
    }

    /// Gives a block back.
    ///
    /// # Safety
    /// The block is live and of this source, and no code uses it afterwards.
    pub(super) unsafe fn release(self, start: NonNull<u8>) {
        // SAFETY: the caller's promise.
        unsafe {
            if self.is_upstream() {
                UpstreamRecord::of(start).give_back(start);
            } else {
                memory::release(start);
            }
        }
    }
}

impl UpstreamRecord {
    /// The record of a block.
    ///
    /// # Safety
    /// `start` is the start of a live upstream block.
    unsafe fn of(start: NonNull<u8>) -> UpstreamRecord {
        // SAFETY: `take` wrote it there.
        unsafe { start.cast::<UpstreamRecord>().sub(1).read() }
    }

    fn digest(
        upstream: NonNull<Upstream>,
        given: NonNull<u8>,
        size: usize,
        start: NonNull<u8>,
    ) -> usize {
        let mut sum = 0x1ea5_e000_u64;
        for word in [upstream.as_ptr().addr(), given.as_ptr().addr(), size, start.as_ptr().addr()] {
            sum = (sum ^ word as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(29);
        }
        sum as usize
    }

    /// Asks `upstream` for a block.
    ///
    /// # Safety
    /// [`Source::of_upstream`].
    unsafe fn take(
        upstream: NonNull<Upstream>,
        size: usize,
        align: usize,
        zeroed: bool,
    ) -> Result<Block, AllocError> {
        let error = AllocError { size, align };
        if faults::is_due() {
            return Err(error);
        }
        let align = align.max(memory::MIN_ALIGN);
        let front = size_of::<UpstreamRecord>();
        let asked = size.checked_add(front + align - 1).ok_or(error)?;
        if asked > isize::MAX as usize / 2 {
            return Err(error);
        }
        // SAFETY: `of_upstream`: the allocator is there, and its functions keep their promises.
        let given = unsafe {
            let Upstream { context, malloc, calloc, .. } = upstream.read();
            if zeroed { calloc(context, asked, 1) } else { malloc(context, asked) }
        };
        let given = NonNull::new(given.cast::<u8>()).ok_or(error)?;
        let past = (given.as_ptr().addr() + front) % align;
        let skip = front + if past == 0 { 0 } else { align - past };
        // SAFETY: `skip` is at most `front + align - 1`, so record and block are inside; the block's
        // alignment is the record's too.
        let (start, record) = unsafe {
            let start = given.add(skip);
            let check = UpstreamRecord::digest(upstream, given, asked, start);
            let record = UpstreamRecord { upstream, given, size: asked, check };
            start.cast::<UpstreamRecord>().sub(1).write(record);
            (start, record)
        };
        if owner_map::add_upstream(BlockInfo { start, size }).is_err() {
            // SAFETY: just given, and no other code knows it.
            unsafe { record.hand_over() };
            return Err(error);
        }
        Ok(Block { start, size, zeroed })
    }

    /// Gives the memory of the block back at `start`.
    ///
    /// # Safety
    /// It is the block's own record, and no code uses the block afterwards.
    unsafe fn give_back(self, start: NonNull<u8>) {
        owner_map::remove_upstream(start);
        // SAFETY: the caller's promise.
        unsafe { self.hand_over() };
    }

    /// # Safety
    /// No code uses what the upstream allocator gave.
    unsafe fn hand_over(self) {
        // SAFETY: `of_upstream`; given by this upstream, with this size.
        unsafe {
            let Upstream { context, free, .. } = self.upstream.read();
            free(context, self.given.as_ptr().cast(), self.size);
        }
    }
}

const _: () = assert!(align_of::<UpstreamRecord>() <= memory::MIN_ALIGN);
