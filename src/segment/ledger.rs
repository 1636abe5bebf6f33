//! What one loop call did to one output run: counted, and entered in the init bitmap.
//!
//! A loop works by the cells' own bytes. The ledger looks at them before and after and records the
//! difference, so that no loop has to tell what it did, however it ends.

use super::{InitBitmap, Segment};
use crate::{
    erased::{CELLS_PER_MASK, Cells, CellsMut, CountDelta, ElementType, Location},
    owner_map,
};
use std::mem::MaybeUninit;

/// Most cells of one ledger: few enough that they stay in the fastest cache between the two looks,
/// and that a ledger can be passed around; enough to make its own cost per cell nothing.
pub const RUN: usize = 16 * CELLS_PER_MASK;

/// An open ledger of one run of cells of a type with a zero promise.
pub struct Ledger<'e> {
    element: &'e ElementType,
    /// Where the bits are; `None` for foreign cells.
    record: Option<Record>,
    /// The segment around cells without a record: it is for something else, or they lie across its
    /// cells, as fields of a structured array do.
    around: Option<Segment>,
    reconciled: u64,
    /// Which cells were live: a mask for each 64, initialised for as many as the run has.
    before: [MaybeUninit<u64>; RUN / CELLS_PER_MASK],
}

/// Which bits stand for the cells of a run.
#[derive(Clone, Copy)]
struct Record {
    segment: Segment,
    /// Nothing had ever been built in the segment.
    untouched: bool,
    /// Cell of the segment that the run begins with.
    first: usize,
    /// Cells of the segment from one cell of the run to the next.
    step: isize,
    /// Cells of the segment.
    count: usize,
}

impl Record {
    /// `None` where the run's cells are not cells of the segment: it is for another type, or they
    /// lie across its cells (a field of a structured type).
    #[inline]
    fn find(element: &ElementType, segment: Segment, cells: &CellsMut<'_>) -> Option<Record> {
        if !segment.is_for(element) || cells.is_empty() {
            return None;
        }
        let size = element.size();
        let offset = cells.address(0).addr().wrapping_sub(segment.cells().as_ptr().addr());
        let first = super::divide(offset, size);
        let step = if cells.stride() == size as isize {
            1
        } else if cells.len() == 1 {
            0
        } else {
            let step = cells.stride() / size as isize;
            if step * size as isize != cells.stride() {
                return None;
            }
            step
        };
        let count = super::divide(segment.byte_len(), size);
        let last = first.wrapping_add_signed(step * (cells.len() as isize - 1));
        let inside = first * size == offset && first < count && last < count;
        let untouched = segment.untouched();
        inside.then_some(Record { segment, untouched, first, step, count })
    }

    #[inline]
    fn bitmap(&self) -> InitBitmap<'_> {
        self.segment.bitmap_of(self.count)
    }

    /// The bits of cells `start .. start + count` of the run.
    #[inline]
    fn get(self, bitmap: InitBitmap<'_>, start: usize, count: usize) -> u64 {
        if self.step == 1 {
            return bitmap.get(self.first + start, count);
        }
        (0..count).fold(0, |mask, index| mask | (bitmap.get(self.cell(start + index), 1) << index))
    }

    /// Gives the bits of `changed` cells among 64 from `start` the values in `mask`.
    #[inline(always)]
    fn put(self, bitmap: InitBitmap<'_>, start: usize, count: usize, mut changed: u64, mask: u64) {
        if self.step == 1 {
            return bitmap.put(self.first + start, count, mask);
        }
        while changed != 0 {
            let index = changed.trailing_zeros() as usize;
            bitmap.put(self.cell(start + index), 1, mask >> index);
            changed &= changed - 1;
        }
    }

    #[inline]
    fn cell(self, index: usize) -> usize {
        self.first.wrapping_add_signed(self.step * index as isize)
    }
}

/// How many of the first `count` bits are set; the others are clear. Not every processor has an
/// instruction for it, and of one cell the bit is the number.
#[inline(always)]
fn ones(mask: u64, count: usize) -> u64 {
    if count == 1 { mask } else { u64::from(mask.count_ones()) }
}

/// Calls `visit` with the start and the length of each 64 cells of a run. Cells of stride 0 are one
/// cell.
#[inline]
fn for_masks(count: usize, stride: isize, mut visit: impl FnMut(usize, usize)) {
    let count = if stride == 0 { count.min(1) } else { count };
    let mut start = 0;
    while start < count {
        visit(start, CELLS_PER_MASK.min(count - start));
        start += CELLS_PER_MASK;
    }
}

impl<'e> Ledger<'e> {
    /// Opens it: notes which cells are live, and mends their bits where something moved
    /// bytes without us. `segment` is what [`Segment::find`] says about the run's first cell.
    ///
    /// # Panics
    /// The run is longer than [`RUN`].
    #[inline(always)]
    pub fn open(
        element: &'e ElementType,
        segment: Option<Segment>,
        cells: &CellsMut<'_>,
    ) -> Ledger<'e> {
        let mut ledger = Ledger::new(element, segment, cells);
        ledger.note_live(cells);
        ledger
    }

    /// Runs `work`, which changes the cells, between [`Self::open`] and [`Self::close`]. Its figures
    /// stay where they are made: to move them would cost more than all of a call for one cell.
    ///
    /// # Panics
    /// The run is longer than [`RUN`].
    #[inline(always)]
    pub fn during<R>(
        element: &'e ElementType,
        segment: Option<Segment>,
        cells: &CellsMut<'_>,
        work: impl FnOnce() -> R,
    ) -> R {
        let mut ledger = Ledger::new(element, segment, cells);
        ledger.note_live(cells);
        let result = work();
        ledger.close(cells.as_cells());
        result
    }

    /// The ledger for a run; [`Self::note_live`] comes next, before it is used.
    #[inline(always)]
    fn new(element: &'e ElementType, segment: Option<Segment>, cells: &CellsMut<'_>) -> Ledger<'e> {
        debug_assert!(element.has_zero_promise());
        assert!(cells.len() <= RUN, "a ledger holds {RUN} cells at most");
        let record = segment.and_then(|segment| Record::find(element, segment, cells));
        let before = [const { MaybeUninit::uninit() }; RUN / CELLS_PER_MASK];
        let around = if record.is_none() { segment } else { None };
        Ledger { element, record, around, reconciled: 0, before }
    }

    /// Notes which of the cells that the ledger is for are live, and mends their bits.
    #[inline(always)]
    fn note_live(&mut self, cells: &CellsMut<'_>) {
        // All that is long is out of line: a call for one cell pays for one cell.
        if cells.len() == 1 {
            let untouched = self.record.is_some_and(|record| record.untouched);
            // SAFETY: `cells-writable`: one whole cell.
            let live = !untouched && unsafe { self.element.vacancy().is_live(cells.address(0)) };
            self.note_before(0, 1, u64::from(live));
        } else {
            self.look_at_all(cells.as_cells());
        }
    }

    #[inline(never)]
    fn look_at_all(&mut self, cells: Cells<'_>) {
        let untouched = self.record.is_some_and(|record| record.untouched);
        let vacancy = self.element.vacancy();
        for_masks(cells.len(), cells.stride(), |start, count| {
            // In a segment in which nothing was built all cells are vacant.
            let live = if untouched { 0 } else { vacancy.live_mask(cells.part(start, count)) };
            self.note_before(start, count, live);
        });
    }

    /// Notes which of at most 64 cells were live, and mends their bits.
    #[inline(always)]
    fn note_before(&mut self, start: usize, count: usize, live: u64) {
        self.before[start / CELLS_PER_MASK].write(live);
        if let Some(record) = self.record
            && !record.untouched
        {
            let wrong = record.get(record.bitmap(), start, count) ^ live;
            if wrong != 0 {
                self.mend(record, (start, count), wrong, live);
            }
        }
    }

    /// Gives the bits of cells that were moved without us the values in `live`.
    #[cold]
    fn mend(&mut self, record: Record, (start, count): (usize, usize), wrong: u64, live: u64) {
        self.reconciled += u64::from(wrong.count_ones());
        record.segment.header().note_drift(wrong & live, wrong & !live);
        record.put(record.bitmap(), start, count, wrong, live);
    }

    /// Closes the ledger over the same cells: enters what changed in bitmap and counters, and
    /// returns it.
    #[inline(always)]
    pub fn close(self, cells: Cells<'_>) -> CountDelta {
        let delta = self.difference(cells);
        if delta != CountDelta::default() {
            self.element.record(delta, Location::Cells(cells));
        }
        delta
    }

    /// Closes the ledger over the same cells: enters what changed in the bitmap and returns it, but
    /// leaves the counters to a caller who knows better what it was (a move, say).
    #[inline(always)]
    pub fn settle(self, cells: Cells<'_>) -> CountDelta {
        self.difference(cells)
    }

    #[inline(always)]
    fn difference(&self, cells: Cells<'_>) -> CountDelta {
        let mut delta = CountDelta { reconciled: self.reconciled, ..CountDelta::default() };
        if cells.len() == 1 {
            // SAFETY: `cells-readable`: one whole cell.
            let live = unsafe { self.element.vacancy().is_live(cells.address(0)) };
            self.enter(0, 1, u64::from(live), &mut delta);
        } else {
            self.enter_all(cells, &mut delta);
        }
        if self.record.is_none() {
            if delta.constructed + delta.destroyed > 0 && self.is_adopted(cells) {
                return CountDelta { reconciled: self.reconciled, ..CountDelta::default() };
            }
            delta.foreign = delta.constructed;
            if let Some(segment) = self.around
                && delta.constructed > 0
                && segment.is_for(self.element)
            {
                // No thread may take the segment for one in which there is nothing to clear.
                segment.note_built();
            }
        }
        delta
    }

    #[inline(never)]
    fn enter_all(&self, cells: Cells<'_>, delta: &mut CountDelta) {
        let vacancy = self.element.vacancy();
        for_masks(cells.len(), cells.stride(), |start, count| {
            self.enter(start, count, vacancy.live_mask(cells.part(start, count)), delta);
        });
    }

    /// Enters what became of at most 64 cells.
    #[inline(always)]
    fn enter(&self, start: usize, count: usize, live: u64, delta: &mut CountDelta) {
        // SAFETY: `open` wrote a mask for each 64 cells of the same run.
        let before = unsafe { self.before[start / CELLS_PER_MASK].assume_init() };
        let changed = live ^ before;
        if changed == 0 {
            return;
        }
        delta.constructed += ones(changed & live, count);
        delta.destroyed += ones(changed & before, count);
        if let Some(record) = self.record {
            record.segment.note_built();
            record.put(record.bitmap(), start, count, changed, live);
        }
    }

    /// Whether the cells are an owner's, whose objects are in no figures: he alone destroys them.
    /// Only cells whose zero bytes are an object can seem to appear and disappear there.
    pub fn is_adopted(&self, cells: Cells<'_>) -> bool {
        self.record.is_none()
            && self.around.is_none()
            && self.element.zero_is_default()
            && !cells.is_empty()
            && owner_map::adopted_at(cells.address(0)).is_some()
    }

    /// How many cells were live when the ledger was opened.
    pub fn live_before(&self, cells: Cells<'_>) -> u64 {
        let mut live = 0;
        for_masks(cells.len(), cells.stride(), |start, _| {
            // SAFETY: `open` wrote a mask for each 64 cells of the same run.
            let before = unsafe { self.before[start / CELLS_PER_MASK].assume_init() };
            live += u64::from(before.count_ones());
        });
        live
    }
}
