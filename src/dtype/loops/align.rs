//! Cells at addresses that may not suit their type: NumPy's records are packed, and its casts and
//! copies pass such cells on. An unaligned cell visits aligned memory.

use crate::{
    dtype::loops::access::Run,
    erased::{CellsMut, ElementType, Exclusive, Failure, SpareCell},
};

/// Whether all cells of a run are aligned.
#[inline]
pub fn is_aligned(element: &ElementType, run: Run) -> bool {
    (run.data as usize | run.stride.unsigned_abs()) & (element.align() - 1) == 0
}

/// Runs `work` on a cell that is only read, at an aligned address: its own, or that of a copy of its
/// bytes.
///
/// # Safety
/// `cell` is a cell of `element` under rule 1 that is not written meanwhile.
#[inline]
pub unsafe fn with_aligned_source<R>(
    element: &'static ElementType,
    cell: *const u8,
    work: impl FnOnce(*const u8) -> Result<R, Failure>,
) -> Result<R, Failure> {
    if cell.addr() & (element.align() - 1) == 0 {
        return work(cell);
    }
    let mut spare = SpareCell::new(element)?;
    let place = spare.cells().address(0);
    // SAFETY: both are `size` bytes. The object is still in its cell, where no thread writes; what is
    // in the spare cell is looked at and forgotten.
    unsafe {
        place.copy_from_nonoverlapping(cell, element.size());
        work(place)
    }
}

/// Runs `work` on a cell at an aligned address: its own, or a place that its bytes visit meanwhile.
///
/// # Safety
/// `cell` is a cell of `element` under rule 1, exclusively this thread's for the reason given.
#[inline]
pub unsafe fn with_aligned_cell<R>(
    element: &'static ElementType,
    cell: *mut u8,
    right: Exclusive<'_>,
    work: impl FnOnce(CellsMut<'_>) -> Result<R, Failure>,
) -> Result<R, Failure> {
    if cell.addr() & (element.align() - 1) == 0 {
        // SAFETY: the caller's promise.
        return work(unsafe { CellsMut::new(cell, element.size() as isize, 1, right) });
    }
    let mut spare = SpareCell::new(element)?;
    let mut place = spare.cells();
    // SAFETY: both are `size` bytes; the object moves there and, whatever happens, back. No other
    // thread reads or writes the cell meanwhile.
    unsafe {
        place.address(0).copy_from_nonoverlapping(cell, element.size());
        let result = work(place.reborrow());
        cell.copy_from_nonoverlapping(place.address(0), element.size());
        place.zero(element.size());
        result
    }
}

/// Runs `work` on the cells of a run, all at once where they are aligned, else one by one.
///
/// # Safety
/// The run is cells of `element` under rule 1, exclusively this thread's for the reason given.
pub unsafe fn aligned(
    element: &'static ElementType,
    run: Run,
    right: Exclusive<'_>,
    mut work: impl FnMut(CellsMut<'_>) -> Result<(), Failure>,
) -> Result<(), Failure> {
    if is_aligned(element, run) {
        // SAFETY: the caller's promise.
        return work(unsafe { CellsMut::new(run.data, run.stride, run.count, right) });
    }
    let mut outcome = Ok(());
    for index in 0..run.count {
        let cell = run.part(index, 1).data;
        // SAFETY: the caller's promise, cell by cell.
        let result = unsafe { with_aligned_cell(element, cell, right, &mut work) };
        outcome = outcome.and(result.map_err(|failure| failure.after(index)));
    }
    outcome
}
