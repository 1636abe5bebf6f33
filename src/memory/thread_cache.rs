//! Free small blocks that a thread keeps, so that most allocations and releases take no lock.
//!
//! A block goes to the cache of the thread that releases it. A bin that runs full hands its older
//! half to the pool, one that runs empty takes half a bin from there, and a thread that ends gives
//! everything back.

use super::pool::FreeSlot;

/// Room of a bin.
const ROOM: usize = 64;

/// Free blocks of one class, the last one released on top.
pub(crate) struct Bin {
    len: usize,
    slots: [FreeSlot; ROOM],
}

impl Bin {
    pub(crate) const EMPTY: Self = Self { len: 0, slots: [FreeSlot::NONE; ROOM] };

    #[inline]
    pub(crate) fn len(&self) -> usize {
        self.len
    }

    #[inline]
    pub(crate) fn pop(&mut self) -> Option<FreeSlot> {
        let slot = *self.slots[..self.len].last()?;
        self.len -= 1;
        Some(slot)
    }

    /// Keeps `slot`. The bin must not be full.
    #[inline]
    pub(crate) fn push(&mut self, slot: FreeSlot) {
        self.slots[self.len] = slot;
        self.len += 1;
    }

    /// Gives away the `count` oldest blocks, or all there are.
    pub(crate) fn drain(&mut self, count: usize, mut give: impl FnMut(FreeSlot)) {
        let count = count.min(self.len);
        self.slots[..count].iter().for_each(|&slot| give(slot));
        self.slots.copy_within(count..self.len, 0);
        self.len -= count;
    }
}

const _: () = assert!(super::size_class::cached_blocks(0) <= ROOM);
