//! Large blocks that were released, and are kept for a while.

use super::{large_block::Large, lock::Lock, page_map::SLAB};

/// Bytes of all blocks that are kept.
pub(super) const CACHE_BYTES: usize = 64 << 20;

/// How many are kept.
const CACHE_BLOCKS: usize = 128;

/// Blocks that were released, and records without a block.
pub(super) struct Released {
    /// The oldest first.
    cached: [Option<Cached>; CACHE_BLOCKS],
    pub(super) len: usize,
    pub(super) bytes: usize,
    spare: Option<&'static Large>,
}

#[derive(Clone, Copy)]
pub(super) struct Cached {
    pub(super) block: &'static Large,
    pub(super) size: usize,
    pub(super) zero: bool,
}

pub(super) static LARGE: Lock<Released> =
    Lock::new(Released { cached: [None; CACHE_BLOCKS], len: 0, bytes: 0, spare: None });

impl Released {
    /// The block that wastes least, and at most a quarter of its size.
    pub(super) fn take(&mut self, size: usize) -> Option<Cached> {
        let fits =
            |cached: &Cached| cached.size >= size && cached.size - size <= (size / 4).max(SLAB - 1);
        let entries = self.cached[..self.len].iter().enumerate();
        let (index, _) = entries
            .filter_map(|(index, entry)| entry.filter(fits).map(|cached| (index, cached.size)))
            // Of equal ones the last, whose bytes are most likely to be in a processor's cache.
            .rev()
            .min_by_key(|&(_, size)| size)?;
        self.remove(index)
    }

    pub(super) fn remove(&mut self, index: usize) -> Option<Cached> {
        let cached = self.cached[index].take()?;
        self.cached[index..self.len].rotate_left(1);
        self.len -= 1;
        self.bytes -= cached.size;
        Some(cached)
    }

    pub(super) fn is_full_for(&self, size: usize) -> bool {
        self.len > 0 && (self.len == CACHE_BLOCKS || self.bytes + size > CACHE_BYTES)
    }

    pub(super) fn keep(&mut self, cached: Cached) {
        self.cached[self.len] = Some(cached);
        self.len += 1;
        self.bytes += cached.size;
    }

    pub(super) fn take_record(&mut self) -> Option<&'static Large> {
        let record = self.spare?;
        // SAFETY: the lock is held: `self` is borrowed mutably.
        self.spare = unsafe { *record.next.get() };
        Some(record)
    }

    pub(super) fn keep_record(&mut self, record: &'static Large) {
        // SAFETY: as above; the record has no block, so that no reader reaches it here.
        unsafe { *record.next.get() = self.spare };
        self.spare = Some(record);
    }
}
