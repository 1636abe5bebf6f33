//! Operations on cells of one segment by index, in any state.
//!
//! Bits and counters are exact after each of them, however it ends. For types with a zero promise
//! the rules of life do the work and a [`Ledger`] records it; for the others the bits say which
//! operation a cell's state allows.

use super::{Ledger, RUN, Segment};
use crate::{
    abi,
    erased::{CELLS_PER_MASK, Cells, CellsMut, CountDelta, ElementType, Failure, Location, rules},
};
use std::ops::Range;

/// Where two ranges of cells lie to each other, and so in which pieces they can be worked on.
struct Pieces {
    count: usize,
    /// Cells at a time.
    step: usize,
    backward: bool,
}

impl Pieces {
    /// For cells of `from` going to `to`, both `count` long, `step` cells at a time where they do
    /// not overlap, else one by one and never over a source that is still needed.
    fn new(from: (Segment, usize), to: (Segment, usize), count: usize, step: usize) -> Self {
        let overlap = from.0 == to.0 && from.1.abs_diff(to.1) < count;
        Pieces { count, step: if overlap { 1 } else { step }, backward: overlap && to.1 > from.1 }
    }

    /// Start and length of each piece.
    fn iter(&self) -> impl Iterator<Item = (usize, usize)> + use<> {
        let &Pieces { count, step, backward } = self;
        (0..count.div_ceil(step)).map(move |index| {
            let start = if backward { count - 1 - index } else { index * step };
            (start, step.min(count - start))
        })
    }
}

impl Segment {
    /// The type of cells `range`.
    fn typed(self, range: &Range<usize>) -> Result<&'static ElementType, Failure> {
        let Some(element) = self.element() else {
            return Err(Failure::new(
                abi::ERROR_TYPE,
                "this memory has no element type yet; bind one first",
            ));
        };
        let count = self.cell_count();
        if range.start > range.end || range.end > count {
            return Err(Failure::new(
                abi::ERROR_INDEX,
                format!("cells {}..{} of {count}", range.start, range.end),
            ));
        }
        Ok(element)
    }

    /// The type of both `range` here and as many cells from `offset` on in `to`.
    fn typed_pair(
        self,
        range: &Range<usize>,
        to: Segment,
        offset: usize,
    ) -> Result<&'static ElementType, Failure> {
        let element = self.typed(range)?;
        let other = to.typed(&(offset..offset.saturating_add(range.len())))?;
        if !std::ptr::eq(element, other) {
            return Err(Failure::new(
                abi::ERROR_TYPE,
                format!("cells of {} and of {}", element.name(), other.name()),
            ));
        }
        Ok(element)
    }

    /// Builds default objects in vacant cells.
    ///
    /// # Errors
    /// `done` cells are live, the others as they were. A live cell, a type without a default, or a
    /// range outside the cells fail at once.
    ///
    /// # Safety
    /// `segment-cells` for writing the range.
    pub unsafe fn construct_default(self, range: Range<usize>) -> Result<(), Failure> {
        let element = self.typed(&range)?;
        let mut first_live = None;
        // SAFETY: the same contract; the range was checked.
        unsafe {
            self.for_live(element, range.clone(), |live| {
                first_live.get_or_insert(live.start);
            });
        }
        if let Some(index) = first_live {
            return Err(Failure::new(
                abi::ERROR_VALUE,
                format!("cell {index} holds an object of {} already", element.name()),
            ));
        }
        if !element.zero_is_default() {
            // SAFETY: the same contract; all cells are vacant.
            return unsafe { self.build(element, range) };
        }
        if element.vtable().construct.is_none() {
            return Ok(());
        }
        // SAFETY: the same contract; zero cells of such a type may be built over.
        unsafe { self.recorded(element, range, |cells| element.construct(cells)) }
    }

    /// Fills the vacant cells among `range` with default objects.
    ///
    /// # Errors
    /// `done` cells are live, the vacant ones after them still vacant.
    ///
    /// # Safety
    /// `segment-cells` for writing the range.
    pub unsafe fn materialise(self, range: Range<usize>) -> Result<(), Failure> {
        let element = self.typed(&range)?;
        if element.zero_is_default() {
            return Ok(());
        }
        if self.untouched() {
            // SAFETY: the same contract; all cells are vacant.
            return unsafe { self.build(element, range) };
        }
        for start in range.clone().step_by(CELLS_PER_MASK) {
            let count = CELLS_PER_MASK.min(range.end - start);
            // SAFETY: the same contract.
            let live = unsafe { self.live_mask(element, start, count) };
            let reconciled = self.follow(element, start, count, live).into();
            if reconciled != 0 {
                // SAFETY: the same contract.
                let cells = unsafe { self.run(element, start..start + count) };
                element.record(
                    CountDelta { reconciled, ..CountDelta::default() },
                    Location::Cells(cells),
                );
            }
            for (first, length, (live, _)) in rules::stretches(live, 0, count) {
                let first = start + first;
                if !live {
                    // SAFETY: the same contract; these cells are vacant.
                    unsafe { self.build(element, first..first + length) }
                        .map_err(|failure| failure.after(first - range.start))?;
                }
            }
        }
        Ok(())
    }

    /// Builds default objects in vacant cells and records them.
    ///
    /// # Errors
    /// `done` cells are live, the others vacant.
    ///
    /// # Safety
    /// `segment-cells` for writing the range, which lies in the cells; all of them are vacant, and
    /// zero bytes are not a live default.
    unsafe fn build(
        self,
        element: &'static ElementType,
        range: Range<usize>,
    ) -> Result<(), Failure> {
        // SAFETY: the same contract.
        let built = unsafe { element.construct(self.run_mut(element, range.clone())) };
        let done = completed(&built, range.len());
        if done > 0 {
            self.note_built();
            self.fill_bits(element, range.start..range.start + done, true);
            // SAFETY: the same contract.
            let cells = unsafe { self.run(element, range.start..range.start + done) };
            let delta = CountDelta { constructed: done as u64, ..CountDelta::default() };
            element.record(delta, Location::Cells(cells));
        }
        built
    }

    /// Destroys the live objects among `range`; all its cells are vacant afterwards.
    ///
    /// # Errors
    /// A destructor failed; every object is gone all the same. Or the range lies outside the cells.
    ///
    /// # Safety
    /// `segment-cells` for writing the range.
    pub unsafe fn destroy(self, range: Range<usize>) -> Result<(), Failure> {
        self.typed(&range)?;
        // SAFETY: the same contract.
        unsafe { self.destroy_live(range, true) }
    }

    /// Copies cells `range` to as many cells from `offset` on in `to`, which may be this segment:
    /// a live source is assigned to a live destination or constructed in a vacant one, a vacant
    /// source makes the destination vacant.
    ///
    /// # Errors
    /// `done` cells are copied, the others as they were. Where the ranges overlap and the cells move
    /// up, copying begins at the end.
    ///
    /// # Safety
    /// `segment-cells` for reading the range and for writing the destination.
    pub unsafe fn copy(
        self,
        range: Range<usize>,
        to: Segment,
        offset: usize,
    ) -> Result<(), Failure> {
        let element = self.typed_pair(&range, to, offset)?;
        if self == to && range.start == offset {
            return Ok(());
        }
        let step = if element.has_zero_promise() { RUN } else { CELLS_PER_MASK };
        let pieces = Pieces::new((self, range.start), (to, offset), range.len(), step);
        for (done, (start, count)) in pieces.iter().enumerate() {
            let (first, target) = (range.start + start, offset + start);
            // SAFETY: the same contract; the ranges were checked and `Pieces` orders them.
            unsafe {
                if element.has_zero_promise() {
                    to.recorded(element, target..target + count, |cells| {
                        rules::copy(element, cells, self.run(element, first..first + count))
                    })
                } else {
                    self.copy_by_bits(element, first..first + count, to, target)
                }
            }
            .map_err(|failure| failure.after(done * pieces.step))?;
        }
        Ok(())
    }

    /// Copies an object from anywhere into one cell: assigned where there is an object, else built.
    ///
    /// # Errors
    /// The cell is as it was. An index outside the cells fails at once.
    ///
    /// # Safety
    /// `segment-cells` for writing the cell; `object` is a live object of the type, in no cell that
    /// is written meanwhile.
    pub unsafe fn put(self, index: usize, object: *const u8) -> Result<(), Failure> {
        let range = index..index.saturating_add(1);
        let element = self.typed(&range)?;
        // SAFETY: the caller's promise: one object to read.
        let source = unsafe { Cells::new(object, element.size() as isize, 1) };
        if element.has_zero_promise() {
            // SAFETY: the same contract; one cell each.
            return unsafe {
                self.recorded(element, range, |cells| rules::copy(element, cells, source))
            };
        }
        let bitmap = self.bitmap_for(element);
        // SAFETY: the same contract; the bit says which operation the cell's state allows.
        unsafe {
            if bitmap.get(index, 1) != 0 {
                return element.assign(self.run_mut(element, range), source);
            }
            element.copy_construct(self.run_mut(element, range), source)?;
        }
        self.note_built();
        bitmap.fill(index, 1, true);
        // SAFETY: the same contract.
        let cells = unsafe { self.run(element, index..index + 1) };
        element
            .record(CountDelta { constructed: 1, ..CountDelta::default() }, Location::Cells(cells));
        Ok(())
    }

    /// [`Self::copy`] of at most 64 cells of a type without zero promise.
    ///
    /// # Safety
    /// As for [`Self::copy`]; the ranges lie in the cells, and copying in order overwrites no
    /// source that is still needed.
    unsafe fn copy_by_bits(
        self,
        element: &'static ElementType,
        range: Range<usize>,
        to: Segment,
        offset: usize,
    ) -> Result<(), Failure> {
        let live = self.bitmap_for(element).get(range.start, range.len());
        let bitmap = to.bitmap_for(element);
        let occupied = bitmap.get(offset, range.len());
        let mut delta = CountDelta::default();
        let mut outcome = Ok(());
        for (first, length, state) in rules::stretches(live, occupied, range.len()) {
            let target = offset + first;
            // SAFETY: ranges inside the cells; the bits say which operation a stretch's state
            // allows.
            let result = unsafe {
                let source = range.start + first;
                let source = self.run(element, source..source + length);
                let cells = to.run_mut(element, target..target + length);
                match state {
                    (true, false) => element.copy_construct(cells, source),
                    (true, true) => element.assign(cells, source),
                    (false, true) => element.destroy(cells),
                    (false, false) => Ok(()),
                }
            };
            match state {
                (true, false) => {
                    let done = completed(&result, length);
                    delta.constructed += done as u64;
                    if done > 0 {
                        to.note_built();
                    }
                    bitmap.fill(target, done, true);
                }
                (false, true) => {
                    delta.destroyed += length as u64;
                    bitmap.fill(target, length, false);
                }
                _ => {}
            }
            if let Err(failure) = result {
                outcome = Err(failure.after(first));
                break;
            }
        }
        // SAFETY: the same contract.
        let cells = unsafe { to.run(element, offset..offset + range.len()) };
        element.record(delta, Location::Cells(cells));
        outcome
    }

    /// Moves cells `range` to as many cells from `offset` on in `to`, which may be this segment:
    /// what lived in a destination is destroyed, the sources are vacant afterwards.
    ///
    /// # Errors
    /// An object would not move or a destructor failed. `done` cells have moved, the sources after
    /// them are as they were; their destinations are vacant or as they were.
    ///
    /// # Safety
    /// `segment-cells` for writing both ranges.
    pub unsafe fn relocate(
        self,
        range: Range<usize>,
        to: Segment,
        offset: usize,
    ) -> Result<(), Failure> {
        let element = self.typed_pair(&range, to, offset)?;
        if self == to && range.start == offset {
            return Ok(());
        }
        let pieces = Pieces::new((self, range.start), (to, offset), range.len(), CELLS_PER_MASK);
        let mut destructor = Ok(());
        for (done, (start, count)) in pieces.iter().enumerate() {
            let (first, target) = (range.start + start, offset + start);
            // SAFETY: the same contract; the ranges were checked, and these pieces do not overlap.
            let (moved, destroyed) = unsafe {
                let live = self.live_mask(element, first, count);
                let destroyed = to.destroy_live(target..target + count, true);
                (self.move_cells(element, first..first + count, live, to, target), destroyed)
            };
            destructor = destructor.and(destroyed);
            moved.map_err(|failure| failure.after(done * pieces.step))?;
        }
        // The failure counts within the destination.
        destructor.map_err(|failure| failure.at(range.len()))
    }

    /// Moves the `live` ones of at most 64 cells to vacant cells.
    ///
    /// # Safety
    /// As for [`Self::relocate`]; the ranges do not overlap, and `live` is right.
    unsafe fn move_cells(
        self,
        element: &'static ElementType,
        range: Range<usize>,
        live: u64,
        to: Segment,
        offset: usize,
    ) -> Result<(), Failure> {
        for (first, length, (live, _)) in rules::stretches(live, 0, range.len()) {
            if live {
                let source = range.start + first;
                // SAFETY: a stretch of live sources, vacant destinations.
                unsafe { self.move_stretch(element, source..source + length, to, offset + first) }
                    .map_err(|failure| failure.after(first))?;
            }
        }
        Ok(())
    }

    /// Moves live objects to vacant cells and keeps bits, bytes and counters right, also when it
    /// stops on the way.
    ///
    /// # Errors
    /// `done` objects have moved.
    ///
    /// # Safety
    /// `segment-cells` for writing both ranges, which lie in the cells and do not overlap; all
    /// sources are live, all destinations vacant.
    pub(super) unsafe fn move_stretch(
        self,
        element: &'static ElementType,
        range: Range<usize>,
        to: Segment,
        offset: usize,
    ) -> Result<(), Failure> {
        let count = range.len();
        // SAFETY: the same contract.
        let result = unsafe {
            let target = to.run_mut(element, offset..offset + count);
            element.relocate(target, self.run_mut(element, range.clone()))
        };
        let moved = completed(&result, count);
        if moved > 0 {
            to.note_built();
        }
        to.fill_bits(element, offset..offset + moved, true);
        self.fill_bits(element, range.start..range.start + moved, false);
        if element.has_zero_promise() {
            // SAFETY: the sources have moved out; what did not arrive must not look live.
            unsafe {
                self.run_mut(element, range.start..range.start + moved).zero(element.size());
                to.run_mut(element, offset + moved..offset + count).zero(element.size());
            }
        }
        // SAFETY: the same contract.
        let place = unsafe {
            Location::Moved {
                to: to.run(element, offset..offset + moved),
                from: self.run(element, range.start..range.start + moved),
            }
        };
        element.record(CountDelta { relocated: moved as u64, ..CountDelta::default() }, place);
        result
    }

    /// Sets or clears the bits of cells that all became live or vacant just now.
    fn fill_bits(self, element: &ElementType, range: Range<usize>, live: bool) {
        let bitmap = self.bitmap_for(element);
        if element.has_zero_promise() {
            let before = bitmap.count(range.start, range.len());
            // Bits that were so already had not followed their cells.
            if live && before != 0 {
                self.header().add_drift(0, before);
            } else if !live && before != range.len() {
                self.header().add_drift(range.len() - before, 0);
            }
        }
        bitmap.fill(range.start, range.len(), live);
    }

    /// Runs `operation` on cells `range`, at most [`RUN`] at a time, and records what it did.
    ///
    /// # Safety
    /// `segment-cells` for writing the range, which lies in the cells; `element` is the bound type
    /// and has a zero promise.
    unsafe fn recorded(
        self,
        element: &'static ElementType,
        range: Range<usize>,
        mut operation: impl FnMut(CellsMut<'_>) -> Result<(), Failure>,
    ) -> Result<(), Failure> {
        for start in range.clone().step_by(RUN) {
            let part = start..range.end.min(start + RUN);
            // SAFETY: the same contract.
            let mut cells = unsafe { self.run_mut(element, part) };
            let ledger = Ledger::open(element, Some(self), &cells);
            let done = start - range.start;
            let outcome = operation(cells.reborrow());
            ledger.close(cells.as_cells());
            outcome.map_err(|failure| failure.after(done))?;
        }
        Ok(())
    }
}

/// How many of `count` elements an operation completed.
fn completed(result: &Result<(), Failure>, count: usize) -> usize {
    result.as_ref().map_or_else(|failure| failure.done.min(count), |()| count)
}
