//! The record of a large block.

use super::block::BlockInfo;
use crate::sync::{AtomicU64, AtomicUsize, Ordering, atomic::fence};
use std::{cell::UnsafeCell, ops::Range, ptr::NonNull};

/// The record of a large block. Records are reused but never freed, so a reader that found one in
/// the page map may read it at any time; `version` tells it whether what it read belongs together.
#[repr(align(64))]
pub(super) struct Large {
    /// Odd while the block is live; each allocation and each release adds one.
    version: AtomicU64,
    start: AtomicUsize,
    pub(super) size: AtomicUsize,
    /// The next spare record; reached only under the lock of [`super::released::LARGE`].
    pub(super) next: UnsafeCell<Option<&'static Large>>,
}

impl std::fmt::Debug for Large {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Large").field("start", &self.start).field("size", &self.size).finish()
    }
}

// SAFETY: `next` is reached only under the lock; the rest is atomic.
unsafe impl Sync for Large {}

impl Large {
    /// A record without a block.
    pub(super) fn new() -> Large {
        Large {
            version: AtomicU64::new(0),
            start: AtomicUsize::new(0),
            size: AtomicUsize::new(0),
            next: UnsafeCell::new(None),
        }
    }

    /// The block, if it is live and contains `address`.
    #[inline]
    pub(super) fn block_at(&self, address: usize) -> Option<BlockInfo> {
        loop {
            let version = self.version.load(Ordering::Acquire);
            if version & 1 == 0 {
                return None;
            }
            let start = self.start.load(Ordering::Relaxed);
            let size = self.size.load(Ordering::Relaxed);
            fence(Ordering::Acquire);
            if self.version.load(Ordering::Relaxed) == version {
                let inside = address.wrapping_sub(start) < size;
                let start = NonNull::new(std::ptr::with_exposed_provenance_mut(start))?;
                return inside.then_some(BlockInfo { start, size });
            }
        }
    }

    pub(super) fn range(&self) -> Range<usize> {
        let start = self.start.load(Ordering::Relaxed);
        start..start + self.size.load(Ordering::Relaxed)
    }

    /// Bytes of a live block.
    pub(super) fn size(&self) -> usize {
        self.size.load(Ordering::Relaxed)
    }

    pub(super) fn pointer(&self) -> Option<NonNull<u8>> {
        NonNull::new(std::ptr::with_exposed_provenance_mut(self.range().start))
    }

    /// From here on the block is a miss, and its fields may be written.
    pub(super) fn retire(&self) {
        self.version.fetch_add(1, Ordering::Relaxed);
        // No later write to the fields is seen by a reader that still sees the old version.
        fence(Ordering::Release);
    }

    /// From here on the block is a hit.
    pub(super) fn revive(&self) {
        self.version.fetch_add(1, Ordering::Release);
    }

    pub(super) fn place(&self, start: NonNull<u8>, size: usize) {
        self.start.store(start.as_ptr().expose_provenance(), Ordering::Relaxed);
        self.size.store(size, Ordering::Relaxed);
    }
}
