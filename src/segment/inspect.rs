//! Looking at a segment without changing it.

use super::Segment;
use crate::{
    erased::{CELLS_PER_MASK, ElementType},
    lock::{Request, try_acquire_all},
};
use bitvec::{order::Lsb0, vec::BitVec};

/// The state of a segment's cells at one moment.
#[derive(Clone, Debug)]
pub struct Snapshot {
    /// The type of the cells, once it is settled.
    pub element: Option<&'static ElementType>,
    /// Bytes of cells.
    pub bytes: usize,
    /// Alignment of the first cell.
    pub align: usize,
    /// Whether nothing was ever built.
    pub untouched: bool,
    /// One bit a cell, 1 where there is a live object (empty before the type is settled).
    pub live: BitVec<u64, Lsb0>,
    /// The init bitmap.
    pub bits: BitVec<u64, Lsb0>,
}

impl Segment {
    /// A copy of the segment's state.
    ///
    /// # Safety
    /// `segment-cells` for reading all cells.
    pub unsafe fn snapshot(self) -> Snapshot {
        let mut live = BitVec::new();
        let mut bits = BitVec::new();
        if let Some(element) = self.element() {
            bits = self.bitmap_for(element).snapshot();
            for start in (0..self.cell_count()).step_by(CELLS_PER_MASK) {
                let count = CELLS_PER_MASK.min(self.cell_count() - start);
                // SAFETY: the same contract.
                let mask = unsafe { self.live_mask(element, start, count) };
                live.extend((0..count).map(|index| (mask >> index) & 1 == 1));
            }
        }
        Snapshot {
            element: self.element(),
            bytes: self.byte_len(),
            align: self.align(),
            untouched: self.untouched(),
            live,
            bits,
        }
    }

    /// How many live objects there are, for a thread that does not hold the lock. While others work on
    /// the cells that is what the bits say.
    ///
    /// # Safety
    /// No code frees or resizes the segment meanwhile.
    pub unsafe fn count_live(self) -> u64 {
        let Some(element) = self.element().filter(|_| !self.untouched()) else { return 0 };
        let mut cells = [Request::new(self.lock(), 0..self.byte_len().max(1), false)];
        let Ok(_guard) = try_acquire_all(&mut cells) else {
            return self.bitmap_for(element).count(0, self.cell_count()) as u64;
        };
        let mut live = 0;
        for start in (0..self.cell_count()).step_by(CELLS_PER_MASK) {
            let count = CELLS_PER_MASK.min(self.cell_count() - start);
            // SAFETY: the caller's promise; the cells are locked for reading.
            live += u64::from(unsafe { self.live_mask(element, start, count) }.count_ones());
        }
        live
    }
}
