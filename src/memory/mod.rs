//! Raw memory blocks, and the one question every layer above asks: which block is this address in?
//!
//! A block is bytes and nothing else: no header, no type. [`allocate`] and [`release`] may be called
//! from any thread, [`block_of`] takes any address at all.
//!
//! # Which races are the caller's
//! [`block_of`] never reads memory that is not ours, whatever other threads do. Its answer is exact
//! for an address whose block stays live throughout the call and for an address that is in no block
//! throughout the call. For a block that another thread allocates or releases during the call either
//! answer may come; a caller that needs more must keep the block alive around the call.

//!
//! # How it works
//! ```text
//! block         what a block is
//! mapped        chooses between small and large, copies where blocks move between them
//! fork          locks around fork
//! small         blocks of up to 32 KiB: slots of spans ... thread_cache, pools, pool, span, size_class
//! large         blocks of whole 64 KiB slabs     ... large_block, released
//! directory     which record an address belongs to    ... page_map
//! metadata      memory for records
//! lock          spinning lock
//! emergency_heap the Rust heap of the extension module, and what is set aside for `MemoryError`
//! os            mmap and friends, or a portable fallback
//! ```
//! `plain` replaces all of it under loom and Miri, and under AddressSanitizer, which then watches each
//! block (`--cfg plain_memory`).

use crate::faults;
use std::{alloc::Layout, ptr::NonNull};

mod block;
#[cfg(not(any(loom, miri, plain_memory)))]
mod directory;
#[cfg(any(feature = "runtime", all(test, not(loom))))]
pub(crate) mod emergency_heap;
#[cfg(not(any(loom, miri)))]
mod fork;
#[cfg(not(any(loom, miri, plain_memory)))]
mod large;
#[cfg(not(any(loom, miri, plain_memory)))]
mod large_block;
pub(crate) mod lock;
#[cfg(not(any(loom, miri, plain_memory)))]
mod mapped;
#[cfg(not(any(loom, miri)))]
mod metadata;
#[cfg(not(any(loom, miri)))]
#[cfg_attr(plain_memory, expect(dead_code, unused_imports, reason = "`plain` maps nothing"))]
mod os;
pub(crate) mod page_map;
#[cfg(any(loom, miri, plain_memory))]
mod plain;
#[cfg(plain_memory)]
mod plain_blocks;
#[cfg(any(not(any(loom, miri, plain_memory)), test))]
#[cfg_attr(loom, expect(dead_code, reason = "loom's tests use the protocols alone"))]
mod pool;
#[cfg(not(any(loom, miri, plain_memory)))]
mod pools;
#[cfg(not(any(loom, miri, plain_memory)))]
mod released;
#[cfg(any(not(any(loom, miri, plain_memory)), test))]
#[cfg_attr(loom, expect(dead_code, reason = "loom's tests use the protocols alone"))]
mod size_class;
#[cfg(not(any(loom, miri, plain_memory)))]
mod small;
#[cfg(any(not(any(loom, miri, plain_memory)), test))]
#[cfg_attr(loom, expect(dead_code, reason = "loom's tests use the protocols alone"))]
mod span;
#[cfg(any(not(any(loom, miri, plain_memory)), test))]
#[cfg_attr(loom, expect(dead_code, reason = "loom's tests use the protocols alone"))]
mod thread_cache;

#[cfg(not(any(loom, miri, plain_memory)))]
use mapped as backend;
#[cfg(any(loom, miri, plain_memory))]
use plain as backend;

pub use block::{AllocError, Block, BlockInfo, MAX_ALIGN, MIN_ALIGN, Resized};

/// A block of at least `size` bytes (at least 1), aligned to `align` (a power of two, at most
/// [`MAX_ALIGN`]). The contents are arbitrary unless [`Block::zeroed`] says otherwise.
///
/// # Errors
/// When the system has no memory, the size overflows, or the alignment is not one of those above.
pub fn allocate(size: usize, align: usize) -> Result<Block, AllocError> {
    if is_unusual(size, align) {
        return allocate_checked(size, align, false);
    }
    backend::allocate(size.max(1), align)
}

/// As [`allocate`], but all bytes are zero. A block that was used before is cleared; one that comes
/// from the system (always so from 32 MiB on) costs no pass over its bytes.
///
/// # Errors
/// As [`allocate`].
pub fn allocate_zeroed(size: usize, align: usize) -> Result<Block, AllocError> {
    if is_unusual(size, align) {
        return allocate_checked(size, align, true);
    }
    backend::allocate_zeroed(size.max(1), align)
}

/// Gives a block back. Touches none of its bytes.
///
/// # Safety
/// * `start` is the first byte of a live block of this module.
/// * No code uses the block afterwards.
pub unsafe fn release(start: NonNull<u8>) {
    // SAFETY: the same contract.
    unsafe { backend::release(start, false) }
}

/// As [`release`], for a caller who knows that all [`Block::size`] bytes are zero.
///
/// # Safety
/// As [`release`]; and every usable byte of the block is zero.
pub unsafe fn release_zeroed(start: NonNull<u8>) {
    // SAFETY: the same contract.
    unsafe { backend::release(start, true) }
}

/// Makes the block at least `new_size` bytes without moving it; `None`, and nothing changed, where
/// that cannot be done.
///
/// # Safety
/// `start` is the first byte of a live block that the caller owns.
#[must_use]
pub unsafe fn try_grow_in_place(start: NonNull<u8>, new_size: usize) -> Option<Resized> {
    // SAFETY: the same contract.
    unsafe { backend::try_grow_in_place(start, new_size) }
}

/// Makes the block at least `new_size` bytes, grown or shrunk, perhaps elsewhere. The first
/// `min(old, new)` usable bytes keep their values (large blocks move their pages, not their bytes).
/// On success the old block is gone unless `start` is unchanged.
///
/// # Errors
/// As [`allocate`]; the old block is then as it was.
///
/// # Safety
/// * `start` is the first byte of a live block that the caller owns.
/// * `align` is at most what the block was allocated with, or any alignment [`allocate`] accepts if
///   the caller can do with the block moving.
/// * No other code uses the block during the call.
pub unsafe fn remap(
    start: NonNull<u8>,
    new_size: usize,
    align: usize,
) -> Result<Resized, AllocError> {
    checked(new_size, align)?;
    // SAFETY: the same contract.
    unsafe { backend::remap(start, new_size.max(1), align) }
}

/// The live block that contains the byte at `pointer`, which may be any address: interior, wild, or
/// null. Lock-free and O(1).
#[inline]
#[must_use]
pub fn block_of(pointer: *const u8) -> Option<BlockInfo> {
    backend::block_of(pointer)
}

/// Calls `visit` with each live block, in the order of addresses. Blocks that other threads allocate
/// or release meanwhile may be among them or not.
pub fn for_each_block(visit: &mut dyn FnMut(BlockInfo)) {
    backend::for_each_block(visit);
}

/// Zero bytes for records that are never freed.
pub(crate) fn for_ever(layout: Layout) -> Option<NonNull<u8>> {
    backend::for_ever(layout)
}

/// Gives back to the system what is kept of released large blocks (at most 64 MiB).
pub fn trim() {
    backend::trim();
}

/// What no allocation can satisfy, so that no later arithmetic overflows.
#[inline]
fn is_impossible(size: usize, align: usize) -> bool {
    !align.is_power_of_two() || align > MAX_ALIGN || size > isize::MAX as usize / 2
}

/// Whether a request may have to be refused before it is tried.
#[inline]
fn is_unusual(size: usize, align: usize) -> bool {
    is_impossible(size, align) || faults::allocations_are_watched()
}

/// The rest of an unusual allocation; apart, so that the usual one keeps nothing for it.
#[cold]
#[inline(never)]
fn allocate_checked(size: usize, align: usize, zeroed: bool) -> Result<Block, AllocError> {
    checked(size, align)?;
    let size = size.max(1);
    if zeroed { backend::allocate_zeroed(size, align) } else { backend::allocate(size, align) }
}

/// Refuses what is impossible, and what is planned to fail.
fn checked(size: usize, align: usize) -> Result<(), AllocError> {
    if is_impossible(size, align) || faults::is_due() {
        return Err(AllocError { size, align });
    }
    Ok(())
}

#[cfg(all(test, not(loom)))]
mod tests;
