//! Raw memory blocks, and the one question every layer above asks: which block is this address in?
//!
//! A block is bytes and nothing else: no header, no type. [`allocate`] and [`release`] may be called
//! from any thread, [`block_of`] takes any address at all.
//!
//! # Which races are the caller's
//! [`block_of`] never reads memory that is not ours, whatever other threads do. Its answer is exact
//! for an address whose block stays live throughout the call and for an address that is in no block
//! throughout the call. For a block that another thread allocates or releases during the call either
//! answer may come; whoever needs more must keep the block alive around the call.

use std::{fmt, ptr::NonNull};

mod plain;

use plain as backend;

/// The largest alignment that [`allocate`] accepts, in bytes.
pub const MAX_ALIGN: usize = 4096;

/// Every block starts at a multiple of this many bytes, whatever alignment was asked for.
pub const MIN_ALIGN: usize = 64;

/// A block that now belongs to the caller.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Block {
    /// First byte.
    pub start: NonNull<u8>,
    /// Usable bytes, at least what was asked for.
    pub size: usize,
    /// All `size` bytes are known to be zero.
    pub zeroed: bool,
}

/// A block after [`try_grow_in_place`] or [`remap`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Resized {
    /// First byte.
    pub start: NonNull<u8>,
    /// Usable bytes, at least what was asked for.
    pub size: usize,
    /// The bytes `zeroed_from..size` are known to be zero; equals `size` where nothing is known.
    pub zeroed_from: usize,
}

/// A live block, as [`block_of`] sees it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BlockInfo {
    /// First byte.
    pub start: NonNull<u8>,
    /// Usable bytes.
    pub size: usize,
}

/// Memory could not be had.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AllocError {
    /// Bytes asked for.
    pub size: usize,
    /// Alignment asked for.
    pub align: usize,
}

impl fmt::Display for AllocError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "could not allocate {} bytes aligned to {}", self.size, self.align)
    }
}

impl std::error::Error for AllocError {}

/// A block of at least `size` bytes (at least 1), aligned to `align` (a power of two, at most
/// [`MAX_ALIGN`]). The contents are arbitrary unless [`Block::zeroed`] says otherwise.
///
/// # Errors
/// When the system has no memory, the size overflows, or the alignment is not one of those above.
pub fn allocate(size: usize, align: usize) -> Result<Block, AllocError> {
    checked(size, align)?;
    backend::allocate(size.max(1), align)
}

/// As [`allocate`], but all bytes are zero. Large blocks come from the system that way and cost no
/// pass over their bytes: the better choice where few of them will be written soon.
///
/// # Errors
/// As [`allocate`].
pub fn allocate_zeroed(size: usize, align: usize) -> Result<Block, AllocError> {
    checked(size, align)?;
    backend::allocate_zeroed(size.max(1), align)
}

/// Gives a block back. Touches none of its bytes.
///
/// # Safety
/// * `start` is the first byte of a live block of this module.
/// * Nobody uses the block afterwards.
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
/// * Nobody else uses the block during the call.
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

/// Refuses what no allocation can satisfy, so that no later arithmetic overflows.
fn checked(size: usize, align: usize) -> Result<(), AllocError> {
    if !align.is_power_of_two() || align > MAX_ALIGN || size > isize::MAX as usize / 2 {
        return Err(AllocError { size, align });
    }
    Ok(())
}

#[cfg(all(test, not(loom)))]
mod tests;
