//! Address space from the system: `mmap` and friends on Linux, the global allocator elsewhere.
//!
//! All sizes are multiples of [`PAGE`]; all mapped bytes start as zero.

#[cfg(target_os = "linux")]
mod linux;
#[cfg(any(test, not(target_os = "linux")))]
mod portable;

#[cfg(target_os = "linux")]
pub(super) use linux::{advise_huge, discard, grow_in_place, map, move_pages, shrink, unmap};
#[cfg(not(target_os = "linux"))]
pub(super) use portable::{advise_huge, discard, grow_in_place, map, move_pages, shrink, unmap};

/// The unit of mapping that we count on, in bytes. Kernels with larger pages (aarch64 has up to
/// 64 KiB) serve just as well: blocks that are mapped are multiples of 64 KiB.
pub(super) const PAGE: usize = 4096;
