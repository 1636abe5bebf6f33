//! The rules of life for cells in any state.
//!
//! NumPy hands out runs of cells of which some are live and some vacant (all zero). Each function
//! here splits such a run into stretches of one state and calls the element type's batch
//! operations on them. Only for types with a zero promise.

use super::{CELLS_PER_MASK, Cells, CellsMut, ElementType, Failure, SpareCell};

/// Copies every cell, in order: a live source is assigned to a live destination or constructed
/// in a vacant one; a vacant source makes the destination vacant.
///
/// # Errors
/// `done` cells are copied, the others as they were. A type without copies fails at once, whatever
/// the cells hold: a vacant source would end the object in the destination.
///
/// # Safety
/// Both runs are cells of `element` under rule 1 and equally long; where they overlap, copying in
/// order never overwrites a source cell before it is read.
pub unsafe fn copy(
    element: &ElementType,
    mut to: CellsMut<'_>,
    from: Cells<'_>,
) -> Result<(), Failure> {
    debug_assert!(element.has_zero_promise());
    if to.address(0) == from.address(0) && to.stride() == from.stride() {
        return Ok(());
    }
    if !element.is_copyable() && !to.is_empty() {
        return Err(element.not_copyable());
    }
    if element.zero_is_default() {
        // SAFETY: zero bytes count as live.
        return unsafe { element.assign(to, from) };
    }
    // With stride 0 every copy changes the state of the one destination.
    let step = if to.stride() == 0 { 1 } else { CELLS_PER_MASK };
    let mut start = 0;
    while start < to.len() {
        let count = (to.len() - start).min(step);
        let source = from.part(start, count);
        let mut target = to.part(start, count);
        let live = element.vacancy().live_mask(source);
        let occupied = element.vacancy().live_mask(target.as_cells());
        for (first, length, state) in stretches(live, occupied, count) {
            let target = target.part(first, length);
            let source = source.part(first, length);
            // SAFETY: the masks say which operation the stretch's state allows.
            let result = unsafe {
                match state {
                    (true, false) => element.copy_construct(target, source),
                    (true, true) => element.assign(target, source),
                    (false, true) => destroy_and_zero(element, target),
                    (false, false) => Ok(()),
                }
            };
            result.map_err(|failure| failure.after(start + first))?;
        }
        start += count;
    }
    Ok(())
}

/// Moves every cell, in order: the destination's old object is destroyed, the source is vacant
/// afterwards.
///
/// # Errors
/// A destructor failed; everything has moved all the same.
///
/// # Safety
/// As for [`copy`], and the source cells may be written; `element` is trivially relocatable.
pub unsafe fn relocate(
    element: &ElementType,
    mut to: CellsMut<'_>,
    mut from: CellsMut<'_>,
) -> Result<(), Failure> {
    debug_assert!(element.has_zero_promise() && element.is_trivially_relocatable());
    if to.address(0) == from.address(0) && to.stride() == from.stride() {
        return Ok(());
    }
    let size = element.size();
    let mut outcome = Ok(());
    let aside = element.destroy_needs_gil();
    if aside || overlap(&to, &from, size) || to.stride() == 0 || from.stride() == 0 {
        for index in 0..to.len() {
            let target = to.part(index, 1);
            let source = from.part(index, 1);
            if target.address(0) != source.address(0) {
                // SAFETY: single cells that differ.
                outcome = outcome.and(unsafe { relocate_one(element, target, source, aside) });
            }
        }
        return outcome;
    }
    // SAFETY: cells under rule 1.
    outcome = unsafe { clear(element, to.reborrow()) };
    // As bytes also where the type has a `relocate`: that could fail, and what was not moved be lost.
    // SAFETY: `to` is vacant now; a vacant source moves as zero bytes.
    unsafe { element.move_bytes(to, from.reborrow()) };
    from.zero(size);
    outcome
}

/// Moves one cell; `aside`: the old object ends when the new one is in its place.
///
/// # Safety
/// As for [`relocate`], with two cells that differ.
unsafe fn relocate_one(
    element: &ElementType,
    mut to: CellsMut<'_>,
    mut from: CellsMut<'_>,
    aside: bool,
) -> Result<(), Failure> {
    let size = element.size();
    let mut old = if aside { SpareCell::new(element).ok() } else { None };
    let mut outcome = Ok(());
    match &mut old {
        // SAFETY: whole cells; `to` counts as vacant once its object is in the spare cell.
        Some(old) => unsafe { old.cells().address(0).copy_from(to.address(0), size) },
        // SAFETY: the caller's promise.
        None => outcome = unsafe { clear(element, to.reborrow()) },
    }
    // SAFETY: single cells that differ; a vacant source moves as zero bytes.
    unsafe { to.address(0).copy_from(from.address(0), size) };
    from.zero(size);
    if let Some(mut old) = old {
        // SAFETY: a cell under rule 1, ours alone.
        outcome = unsafe { end_aside(element, old.cells()) };
    }
    outcome
}

/// Ends what is in a cell of our own, if it is live.
///
/// # Safety
/// One cell under rule 1 that no other code knows.
unsafe fn end_aside(element: &ElementType, cell: CellsMut<'_>) -> Result<(), Failure> {
    // SAFETY: the caller's promise.
    if element.zero_is_default() || unsafe { element.vacancy().is_live(cell.address(0)) } {
        // SAFETY: the cell is live, or zero bytes count as live.
        return unsafe { element.destroy(cell) };
    }
    Ok(())
}

/// Makes every cell vacant: destroys what is live, once. Idempotent.
///
/// # Errors
/// A destructor failed; every cell is vacant all the same.
///
/// # Safety
/// Cells of `element` under rule 1.
pub unsafe fn clear(element: &ElementType, mut cells: CellsMut<'_>) -> Result<(), Failure> {
    debug_assert!(element.has_zero_promise());
    if cells.stride() == 0 && cells.len() > 1 {
        // SAFETY: one and the same cell, however often.
        return unsafe { clear(element, cells.part(0, 1)) };
    }
    if element.zero_is_default() {
        // SAFETY: zero bytes count as live.
        return unsafe { destroy_and_zero(element, cells) };
    }
    // SAFETY: the stretches are live.
    each_live(element, cells, |live| unsafe { destroy_and_zero(element, live) })
}

/// Ends every live object, once. What the bytes of the cells are afterwards says nothing: the caller
/// zeroes them.
///
/// # Errors
/// A destructor failed; every object is gone all the same.
///
/// # Safety
/// Cells of `element` under rule 1, which no code looks at before they are zeroed.
pub unsafe fn end(element: &ElementType, cells: CellsMut<'_>) -> Result<(), Failure> {
    debug_assert!(element.has_zero_promise());
    if element.zero_is_default() {
        // SAFETY: zero bytes count as live.
        return unsafe { element.destroy(cells) };
    }
    // SAFETY: the stretches are live.
    each_live(element, cells, |live| unsafe { element.destroy(live) })
}

/// Calls `work` with each stretch of live cells, also after it failed. The first failure is returned.
fn each_live(
    element: &ElementType,
    mut cells: CellsMut<'_>,
    mut work: impl FnMut(CellsMut<'_>) -> Result<(), Failure>,
) -> Result<(), Failure> {
    let mut outcome = Ok(());
    let mut start = 0;
    while start < cells.len() {
        let count = (cells.len() - start).min(CELLS_PER_MASK);
        let mut part = cells.part(start, count);
        let live = element.vacancy().live_mask(part.as_cells());
        for (first, length, (live, _)) in stretches(live, 0, count) {
            if live {
                let result = work(part.part(first, length));
                outcome = outcome.and(result.map_err(|failure| failure.after(start + first)));
            }
        }
        start += count;
    }
    outcome
}

/// Fills vacant cells with default objects, so that every cell is a live object.
///
/// # Errors
/// `done` cells are live; a type without a default fails at its first vacant cell.
///
/// # Safety
/// Cells of `element` under rule 1.
pub unsafe fn materialise(element: &ElementType, mut cells: CellsMut<'_>) -> Result<(), Failure> {
    debug_assert!(element.has_zero_promise());
    if element.zero_is_default() {
        return Ok(());
    }
    if cells.stride() == 0 && cells.len() > 1 {
        // SAFETY: one and the same cell, however often.
        return unsafe { materialise(element, cells.part(0, 1)) };
    }
    let mut start = 0;
    while start < cells.len() {
        let count = (cells.len() - start).min(CELLS_PER_MASK);
        let mut part = cells.part(start, count);
        let live = element.vacancy().live_mask(part.as_cells());
        for (first, length, (live, _)) in stretches(live, 0, count) {
            if !live {
                // SAFETY: the mask says so.
                unsafe { element.construct(part.part(first, length)) }
                    .map_err(|failure| failure.after(start + first))?;
            }
        }
        start += count;
    }
    Ok(())
}

/// Where a destructor may run Python code, which may look at the very cell, the object leaves it
/// first: no code finds one that is half gone.
///
/// # Safety
/// Every cell is live (or zero bytes count as live).
unsafe fn destroy_and_zero(element: &ElementType, mut cells: CellsMut<'_>) -> Result<(), Failure> {
    if element.destroy_needs_gil()
        && element.is_trivially_relocatable()
        && let Ok(mut spare) = SpareCell::new(element)
    {
        let mut outcome = Ok(());
        for index in 0..cells.len() {
            let mut cell = cells.part(index, 1);
            // SAFETY: whole cells; the object is in the spare cell alone once its cell is zero.
            let result = unsafe {
                spare.cells().address(0).copy_from(cell.address(0), element.size());
                cell.zero(element.size());
                end_aside(element, spare.cells())
            };
            outcome = outcome.and(result.map_err(|failure| failure.after(index)));
        }
        return outcome;
    }
    // SAFETY: the caller's promise.
    let outcome = unsafe { element.destroy(cells.reborrow()) };
    cells.zero(element.size());
    outcome
}

/// Whether two runs share a byte.
fn overlap(left: &CellsMut<'_>, right: &CellsMut<'_>, size: usize) -> bool {
    let extent = |cells: &CellsMut<'_>| {
        let ends = [cells.address(0) as usize, cells.address(cells.len().max(1) - 1) as usize];
        (ends[0].min(ends[1]), ends[0].max(ends[1]) + size)
    };
    let (left, right) = (extent(left), extent(right));
    left.0 < right.1 && right.0 < left.1
}

/// Splits `count` cells into stretches in which both masks are constant: first cell, length and
/// the two states.
pub(crate) fn stretches(
    left: u64,
    right: u64,
    count: usize,
) -> impl Iterator<Item = (usize, usize, (bool, bool))> {
    let mut start = 0;
    std::iter::from_fn(move || {
        if start == count {
            return None;
        }
        let states = ((left >> start) & 1 == 1, (right >> start) & 1 == 1);
        // A mask shifted to `start` and inverted where its first bit is 1 has as many trailing
        // zeros as the state lasts.
        let length = |mask: u64, state: bool| {
            let rest = mask >> start;
            (if state { !rest } else { rest }).trailing_zeros() as usize
        };
        let first = start;
        let longest = length(left, states.0).min(length(right, states.1));
        start = (start + longest).min(count);
        Some((first, start - first, states))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stretches_cover_each_cell_once_with_its_states() {
        for (left, right, count) in [
            (0u64, 0u64, 64usize),
            (u64::MAX, u64::MAX, 64),
            (u64::MAX, 0, 1),
            (0xF0F0_1234_8000_0001, 0x00FF_4321_8000_0003, 64),
            (0b1011, 0b0110, 4),
        ] {
            let mut next = 0;
            for (first, length, states) in stretches(left, right, count) {
                assert_eq!(first, next);
                assert!(length > 0);
                for index in first..first + length {
                    assert_eq!(states, ((left >> index) & 1 == 1, (right >> index) & 1 == 1));
                }
                next = first + length;
            }
            assert_eq!(next, count);
        }
    }
}
