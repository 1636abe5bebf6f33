//! Looking at a segment without changing it.

use super::{Segment, header::Header};
use crate::{
    erased::{CELLS_PER_MASK, ElementType},
    owner_map,
};
use bitvec::{order::Lsb0, vec::BitVec};
use std::fmt;

/// Stands behind the cells of small segments, as long as nobody writes past their end.
const CANARY: u64 = 0x5e67_0e47_ca4a_12fe;
/// Segments with more bytes of cells have no canary: it would touch a page that the cells may never
/// need.
const LARGEST_WITH_CANARY: usize = 2048;

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

/// What is broken in a segment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Damage {
    /// The header is overwritten, or this is no segment any more.
    Header,
    /// Header and block contradict each other.
    Layout,
    /// Somebody wrote past the end of the cells.
    Overrun,
}

impl fmt::Display for Damage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Damage::Header => "the header in front of the array's data is overwritten",
            Damage::Layout => "header and block of the array's memory contradict each other",
            Damage::Overrun => "something wrote past the end of the array's data",
        })
    }
}

impl std::error::Error for Damage {}

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

    /// How many live objects there are, for somebody who does not hold the lock. Where loops run
    /// without the GIL that is what the bits say.
    ///
    /// # Safety
    /// Nobody frees or resizes the segment meanwhile. The GIL is held, or the type is thread-safe.
    pub unsafe fn count_live(self) -> u64 {
        let Some(element) = self.element().filter(|_| !self.untouched()) else { return 0 };
        if element.is_thread_safe() {
            return self.bitmap_for(element).count(0, self.cell_count()) as u64;
        }
        let mut live = 0;
        for start in (0..self.cell_count()).step_by(CELLS_PER_MASK) {
            let count = CELLS_PER_MASK.min(self.cell_count() - start);
            // SAFETY: the caller's promise; whoever writes the cells holds the GIL.
            live += u64::from(unsafe { self.live_mask(element, start, count) }.count_ones());
        }
        live
    }

    /// Checks header, layout, and the canary behind small segments; returns how many bits differ
    /// from the cells (always 0 where the bits are the truth).
    ///
    /// # Errors
    /// Something is overwritten.
    ///
    /// # Safety
    /// `segment-cells` for reading all cells. The header itself may be damaged.
    pub unsafe fn check_integrity(self) -> Result<usize, Damage> {
        let header = self.header();
        if !header.is_genuine() {
            return Err(Damage::Header);
        }
        let block = owner_map::block_of(self.0.as_ptr().cast()).ok_or(Damage::Layout)?;
        let fits = header.cells_offset >= size_of::<Header>()
            && header.cells_offset.is_multiple_of(self.align())
            && header.cells_offset.checked_add(header.bytes).is_some_and(|end| end <= block.size);
        if block.start != self.0.cast() || block.size != header.block_size || !fits {
            return Err(Damage::Layout);
        }
        if let Some(canary) = self.canary() {
            // SAFETY: inside the block, behind the cells.
            if unsafe { canary.read_unaligned() } != CANARY {
                return Err(Damage::Overrun);
            }
        }
        // SAFETY: the same contract.
        let snapshot = unsafe { self.snapshot() };
        Ok((snapshot.live ^ snapshot.bits).count_ones())
    }

    /// Puts the canary behind the cells, where there is room for one.
    #[inline]
    pub(super) fn set_canary(self) {
        if let Some(canary) = self.canary() {
            // SAFETY: inside the block, behind the cells.
            unsafe { canary.write_unaligned(CANARY) };
        }
    }

    #[inline]
    fn canary(self) -> Option<*mut u64> {
        let header = self.header();
        let end = header.cells_offset + header.bytes.max(1);
        if header.bytes > LARGEST_WITH_CANARY || end + size_of::<u64>() > header.block_size {
            return None;
        }
        // SAFETY: the block has `block_size` bytes.
        Some(unsafe { self.0.cast::<u8>().add(end) }.cast().as_ptr())
    }
}
