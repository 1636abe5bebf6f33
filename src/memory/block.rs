//! What a block is, to those who ask for one.

use std::{fmt, ptr::NonNull};

/// The largest alignment that [`super::allocate`] accepts, in bytes.
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

/// A block after [`super::try_grow_in_place`] or [`super::remap`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Resized {
    /// First byte.
    pub start: NonNull<u8>,
    /// Usable bytes, at least what was asked for.
    pub size: usize,
    /// The bytes `zeroed_from..size` are known to be zero; equals `size` where nothing is known.
    pub zeroed_from: usize,
}

/// A live block, as [`super::block_of`] sees it.
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
