//! Where a segment's block comes from: `memory`, or another allocator that hosts it.
//!
//! ```text
//! | slack | lease | header | bitmap | pad | cells ... |
//! ^ what the host gave    ^ block, as in any other segment
//! ```
//!
//! A host promises no alignment, so the block lies somewhere in what it gave; the lease in front of
//! the block says where that begins and whose it is. The owner map knows hosted blocks by their
//! range.

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
pub struct Host {
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
pub struct Source(Option<NonNull<Host>>);

/// What stands in front of a hosted block.
#[derive(Clone, Copy)]
struct Lease {
    host: NonNull<Host>,
    given: NonNull<u8>,
    size: usize,
    /// Of the other fields and the block's address: the host's own neighbours may write here.
    check: usize,
}

impl Source {
    /// Blocks of `memory`.
    pub const MEMORY: Source = Source(None);

    /// Blocks that `host` hosts.
    ///
    /// # Safety
    /// * `host` stays where it is, unchanged, until the last segment made of it is freed.
    /// * Its functions keep what malloc, calloc and free promise, and may be called on every thread
    ///   on which such segments are allocated, resized and freed.
    pub unsafe fn hosted_by(host: NonNull<Host>) -> Source {
        Source(Some(host))
    }

    /// Whether it is another allocator.
    #[inline]
    pub fn is_hosted(self) -> bool {
        self.0.is_some()
    }

    /// What a block is made of.
    ///
    /// # Safety
    /// The block is live and came from [`Self::allocate`] of a source that says the same about
    /// [`Self::is_hosted`].
    pub(super) unsafe fn of_block(start: NonNull<u8>, hosted: bool) -> Source {
        // SAFETY: a hosted block has a lease in front of it.
        Source(hosted.then(|| unsafe { Lease::of(start) }.host))
    }

    /// Whether the lease in front of a hosted block is what was written there.
    ///
    /// # Safety
    /// `start` is the start of a live hosted block.
    pub(super) unsafe fn is_leased(start: NonNull<u8>) -> bool {
        // SAFETY: there is room for a lease; an overwritten one is only read as words.
        let words = unsafe {
            start.cast::<[usize; size_of::<Lease>() / size_of::<usize>()]>().sub(1).read()
        };
        if words.contains(&0) {
            // Pointers that are NULL are no lease, and no `Lease` either.
            return false;
        }
        // SAFETY: as above; no word is zero.
        let lease = unsafe { Lease::of(start) };
        lease.check == Lease::digest(lease.host, lease.given, lease.size, start)
    }

    /// A block of at least `size` bytes, aligned to `align`.
    ///
    /// # Errors
    /// There is no memory, or the host gave memory that is a block of ours.
    pub(super) fn allocate(
        self,
        size: usize,
        align: usize,
        zeroed: bool,
    ) -> Result<Block, AllocError> {
        match self.0 {
            None if zeroed => memory::allocate_zeroed(size, align),
            None => memory::allocate(size, align),
            // SAFETY: `hosted_by`.
            Some(host) => unsafe { Lease::take(host, size, align, zeroed) },
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
        if self.is_hosted() {
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
    /// The block is live and of this source, and nobody uses it afterwards.
    pub(super) unsafe fn release(self, start: NonNull<u8>) {
        // SAFETY: the caller's promise.
        unsafe {
            if self.is_hosted() {
                Lease::of(start).give_back(start);
            } else {
                memory::release(start);
            }
        }
    }
}

impl Lease {
    /// The lease of a block.
    ///
    /// # Safety
    /// `start` is the start of a live hosted block.
    unsafe fn of(start: NonNull<u8>) -> Lease {
        // SAFETY: `take` wrote it there.
        unsafe { start.cast::<Lease>().sub(1).read() }
    }

    fn digest(host: NonNull<Host>, given: NonNull<u8>, size: usize, start: NonNull<u8>) -> usize {
        let mut sum = 0x1ea5_e000_u64;
        for word in [host.as_ptr().addr(), given.as_ptr().addr(), size, start.as_ptr().addr()] {
            sum = (sum ^ word as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(29);
        }
        sum as usize
    }

    /// Asks `host` for a block.
    ///
    /// # Safety
    /// [`Source::hosted_by`].
    unsafe fn take(
        host: NonNull<Host>,
        size: usize,
        align: usize,
        zeroed: bool,
    ) -> Result<Block, AllocError> {
        let error = AllocError { size, align };
        if faults::is_due() {
            return Err(error);
        }
        let align = align.max(memory::MIN_ALIGN);
        let front = size_of::<Lease>();
        let asked = size.checked_add(front + align - 1).ok_or(error)?;
        if asked > isize::MAX as usize / 2 {
            return Err(error);
        }
        // SAFETY: `hosted_by`: the host is there, and its functions keep their promises.
        let given = unsafe {
            let Host { context, malloc, calloc, .. } = host.read();
            if zeroed { calloc(context, asked, 1) } else { malloc(context, asked) }
        };
        let given = NonNull::new(given.cast::<u8>()).ok_or(error)?;
        let past = (given.as_ptr().addr() + front) % align;
        let skip = front + if past == 0 { 0 } else { align - past };
        // SAFETY: `skip` is at most `front + align - 1`, so lease and block are inside; the block's
        // alignment is the lease's too.
        let (start, lease) = unsafe {
            let start = given.add(skip);
            let check = Lease::digest(host, given, asked, start);
            let lease = Lease { host, given, size: asked, check };
            start.cast::<Lease>().sub(1).write(lease);
            (start, lease)
        };
        if owner_map::host(BlockInfo { start, size }).is_err() {
            // SAFETY: just given, and nobody else knows it.
            unsafe { lease.hand_over() };
            return Err(error);
        }
        Ok(Block { start, size, zeroed })
    }

    /// Ends the lease of the block at `start`.
    ///
    /// # Safety
    /// It is the block's own lease, and nobody uses the block afterwards.
    unsafe fn give_back(self, start: NonNull<u8>) {
        owner_map::unhost(start);
        // SAFETY: the caller's promise.
        unsafe { self.hand_over() };
    }

    /// # Safety
    /// Nobody uses what the host gave.
    unsafe fn hand_over(self) {
        // SAFETY: `hosted_by`; given by this host, with this size.
        unsafe {
            let Host { context, free, .. } = self.host.read();
            free(context, self.given.as_ptr().cast(), self.size);
        }
    }
}

const _: () = assert!(align_of::<Lease>() <= memory::MIN_ALIGN);
