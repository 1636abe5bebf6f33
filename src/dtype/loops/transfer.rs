//! Copies and moves of cells from one run to another, with locks and ledger.
//!
//! Where cells that take another object may have element proxies, those come first: see
//! [`crate::dtype::cells`].

use crate::{
    dtype::loops::{
        access::{self, BLOCK, Run},
        align,
    },
    erased::{
        Cells, CellsMut, CountDelta, ElementType, Exclusive, Failure, Location, Staging, rules,
    },
    owner_map,
    segment::{Ledger, Segment},
};

/// Copies cell by cell, in order, as [`rules::copy`] does.
///
/// # Errors
/// The cells before the failure are copied, the others as they were. Or a destructor of a replaced
/// object failed; then all are copied.
///
/// # Safety
/// Both runs are cells of `element` under rule 1, aligned or not, of the same length.
#[inline]
pub unsafe fn copy_cells(element: &'static ElementType, to: Run, from: Run) -> Result<(), Failure> {
    if !element.is_thread_safe() {
        // SAFETY: the same contract.
        return unsafe { copy_beside(element, to, from) };
    }
    access::with_segments(element, [to, from], |[segment, _], right| {
        blocks(to, from, |to, from| {
            // SAFETY: the caller's promise; the memory of both is locked.
            unsafe {
                let adopted = segment.is_none() && is_adopted(element, to);
                if adopted {
                    refuse_to_vacate(element, from)?;
                }
                access::with_ledger(element, segment, to, right, || {
                    if align::is_aligned(element, to) && align::is_aligned(element, from) {
                        let target = CellsMut::new(to.data, to.stride, to.count, right);
                        let source = Cells::new(from.data, from.stride, from.count);
                        rules::copy(element, target, source)?;
                    } else {
                        copy_unaligned(element, to, from, right)?;
                    }
                    if adopted { fill_vacant(element, to, right) } else { Ok(()) }
                })
            }
        })
    })
}

/// [`copy_cells`] where copies and destructors may run Python code: the copies are made beside the
/// array, and change places with what is there.
///
/// # Safety
/// As for [`copy_cells`].
unsafe fn copy_beside(element: &'static ElementType, to: Run, from: Run) -> Result<(), Failure> {
    if !element.is_copyable() && to.count > 0 && (to.data, to.stride) != (from.data, from.stride) {
        return Err(element.not_copyable());
    }
    let mut staging = Staging::new(element, to.count)?;
    pieces(to, from, staging.capacity(), |to, from| {
        if to.data == from.data && to.stride == from.stride {
            return Ok(());
        }
        access::replacing([Some((element, to)), Some((element, from))], &mut staging, {
            |[segment, _], right, staging| {
                // SAFETY: the caller's promise; the memory of both is locked.
                unsafe {
                    let adopted = segment.is_none() && is_adopted(element, to);
                    if adopted {
                        refuse_to_vacate(element, from)?;
                    }
                    // Where the runs overlap, a cell may be read after it was written.
                    if to.shares_bytes(element.size(), &from, element.size()) {
                        for index in 0..to.count {
                            let from = from.part(index, 1);
                            copy_to(element, staging.cells(index, 1), from)
                                .map_err(|failure| failure.after(index))?;
                            let to = (to.part(index, 1), segment);
                            put_staged(element, to, right, staging, index);
                        }
                        return Ok(());
                    }
                    let mut copied = copy_to(element, staging.cells(0, to.count), from);
                    if adopted && copied.is_ok() {
                        copied = rules::materialise(element, staging.cells(0, to.count));
                    }
                    let done = copied.as_ref().map_or_else(|failure| failure.done, |()| to.count);
                    let done = to.part(0, done.min(to.count));
                    put_staged(element, (done, segment), right, staging, 0);
                    copied
                }
            }
        })
    })
}

/// Copies cells, aligned or not, to vacant, aligned ones.
///
/// # Errors
/// `done` cells are copied, the others vacant.
///
/// # Safety
/// As for [`rules::copy`], but for the alignment of `from`.
unsafe fn copy_to(
    element: &'static ElementType,
    mut to: CellsMut<'_>,
    from: Run,
) -> Result<(), Failure> {
    if align::is_aligned(element, from) {
        // SAFETY: the caller's promise.
        return unsafe { rules::copy(element, to, Cells::new(from.data, from.stride, from.count)) };
    }
    let size = element.size() as isize;
    for index in 0..from.count {
        let target = to.part(index, 1);
        // SAFETY: the caller's promise, cell by cell.
        unsafe {
            align::with_aligned_source(element, from.part(index, 1).data, |source| {
                rules::copy(element, target, Cells::new(source, size, 1))
            })
        }
        .map_err(|failure| failure.after(index))?;
    }
    Ok(())
}

/// Lets staged cells, from `first` on, change places with those of a run, aligned or not, and keeps
/// the books.
///
/// # Safety
/// The run is cells of `element` under rule 1, exclusively this thread's for the reason given, of at
/// most [`BLOCK`], and `segment` theirs; as many cells are staged.
#[inline]
pub unsafe fn put_staged(
    element: &'static ElementType,
    (to, segment): (Run, Option<Segment>),
    right: Exclusive<'_>,
    staging: &mut Staging<'static>,
    first: usize,
) {
    let vacancy = element.vacancy();
    let made = vacancy.count_live(staging.cells(first, to.count).as_cells()) as u64;
    // SAFETY: the caller's promise. A run of stride 0 is one cell: each object takes the place of
    // the one before.
    unsafe {
        let cells = access::cells_of(to, right);
        let ledger = Ledger::open(element, segment, &cells);
        staging.exchange(first, CellsMut::new(to.data, to.stride, to.count, right));
        let mut delta = ledger.settle(cells.as_cells());
        // An owner's objects are in no figures. Else, what replaced an object was made as well, and
        // what it replaced is about to end.
        if segment.is_some() || !owner_map::is_adopted(to.data) {
            let replaced = made - delta.constructed.min(made);
            delta.constructed += replaced;
            delta.destroyed += replaced;
            if segment.is_none() {
                delta.foreign += replaced;
            }
        }
        if delta != CountDelta::default() {
            element.record(delta, Location::Cells(cells.as_cells()));
        }
    }
}

/// Whether the cells belong to a client's owner, which expects an object in each of them at all
/// times.
#[inline]
pub fn is_adopted(element: &ElementType, run: Run) -> bool {
    !element.zero_is_default() && owner_map::is_adopted(run.data)
}

/// Fails where a copy of these cells would leave a cell of an owner without an object.
///
/// # Safety
/// The run is cells of `element` under rule 1, readable.
pub unsafe fn refuse_to_vacate(element: &ElementType, from: Run) -> Result<(), Failure> {
    // SAFETY: the caller's promise.
    let cells = unsafe { Cells::new(from.data, from.stride, from.count) };
    if !element.has_default() && element.vacancy().count_live(cells) < cells.len() {
        return Err(element.no_default());
    }
    Ok(())
}

/// Builds defaults where a copy left cells of an owner vacant.
///
/// # Safety
/// The run is cells of `element` under rule 1, exclusively this thread's.
pub unsafe fn fill_vacant(
    element: &'static ElementType,
    to: Run,
    right: Exclusive<'_>,
) -> Result<(), Failure> {
    // SAFETY: the caller's promise.
    unsafe { align::aligned(element, to, right, |cells| rules::materialise(element, cells)) }
}

/// Moves one block and keeps the books: a move constructs and destroys nothing but the old
/// objects of the destination. Those go to `staging`, where there is one.
///
/// # Safety
/// As for [`copy_cells`], and the source may be written; the runs are of at most [`BLOCK`] cells, and the segments theirs. They are
/// exclusively this thread's for the reason given.
pub unsafe fn move_block(
    element: &'static ElementType,
    (to, segment): (Run, Option<Segment>),
    (from, source_segment): (Run, Option<Segment>),
    right: Exclusive<'_>,
    staging: Option<&mut Staging<'static>>,
) -> Result<(), Failure> {
    if to.data == from.data && to.stride == from.stride {
        return Ok(());
    }
    let vacancy = element.vacancy();
    // SAFETY: the caller's promise.
    unsafe {
        let target = access::cells_of(to, right);
        let source = access::cells_of(from, right);
        let moved = vacancy.count_live(source.as_cells()) as u64;
        let target_ledger = Ledger::open(element, segment, &target);
        let source_ledger = Ledger::open(element, source_segment, &source);
        let outcome = match staging {
            Some(staging) => {
                move_over(element, to, from, right, staging);
                Ok(())
            }
            None if align::is_aligned(element, to) && align::is_aligned(element, from) => {
                rules::relocate(
                    element,
                    CellsMut::new(to.data, to.stride, to.count, right),
                    CellsMut::new(from.data, from.stride, from.count, right),
                )
            }
            None => move_unaligned(element, to, from, right),
        };
        // An object that moves to an owner leaves the figures.
        let destroyed = if target_ledger.is_adopted(target.as_cells()) {
            moved
        } else {
            target_ledger.live_before(target.as_cells())
        };
        let target_delta = target_ledger.settle(target.as_cells());
        let source_delta = source_ledger.settle(source.as_cells());
        let delta = CountDelta {
            destroyed,
            relocated: moved,
            reconciled: target_delta.reconciled + source_delta.reconciled,
            ..CountDelta::default()
        };
        element.record(delta, Location::Moved { to: target.as_cells(), from: source.as_cells() });
        outcome
    }
}

/// Moves cells over others, one after the other; what was there is staged.
///
/// # Safety
/// As for [`move_block`]; there is room for as many cells in `staging`.
unsafe fn move_over(
    element: &'static ElementType,
    to: Run,
    from: Run,
    right: Exclusive<'_>,
    staging: &mut Staging<'static>,
) {
    let size = element.size();
    for index in 0..to.count {
        let (target, source) = (to.part(index, 1).data, from.part(index, 1).data);
        if target == source {
            continue;
        }
        // SAFETY: single cells that differ, the caller's.
        unsafe {
            staging.take(index, CellsMut::new(target, size as isize, 1, right));
            target.copy_from(source, size);
            source.write_bytes(0, size);
        }
    }
}

/// Moves cells of which some are unaligned: the old objects end in aligned memory, the bytes of
/// the new ones move as they are.
///
/// # Safety
/// As for [`move_block`].
unsafe fn move_unaligned(
    element: &'static ElementType,
    to: Run,
    from: Run,
    right: Exclusive<'_>,
) -> Result<(), Failure> {
    let mut outcome = Ok(());
    for index in 0..to.count {
        let (target, source) = (to.part(index, 1), from.part(index, 1));
        if target.data == source.data {
            continue;
        }
        // SAFETY: single cells that differ, the caller's.
        unsafe {
            let cleared =
                align::aligned(element, target, right, |cells| rules::clear(element, cells));
            outcome = outcome.and(cleared);
            target.data.copy_from(source.data, element.size());
            source.data.write_bytes(0, element.size());
        }
    }
    outcome
}

/// Cuts two runs into blocks.
pub fn blocks(
    to: Run,
    from: Run,
    body: impl FnMut(Run, Run) -> Result<(), Failure>,
) -> Result<(), Failure> {
    pieces(to, from, BLOCK, body)
}

/// Cuts two runs into pieces of at most `most` cells.
pub fn pieces(
    to: Run,
    from: Run,
    most: usize,
    mut body: impl FnMut(Run, Run) -> Result<(), Failure>,
) -> Result<(), Failure> {
    let mut start = 0;
    while start < to.count {
        let count = (to.count - start).min(most);
        body(to.part(start, count), from.part(start, count))
            .map_err(|failure| failure.after(start))?;
        start += count;
    }
    Ok(())
}

/// Copies cells of which some are unaligned: each visits aligned memory for the copy. Cells in
/// NumPy arrays are trivially relocatable, so moving their bytes there and back is a move.
unsafe fn copy_unaligned(
    element: &'static ElementType,
    to: Run,
    from: Run,
    right: Exclusive<'_>,
) -> Result<(), Failure> {
    for index in 0..to.count {
        let at = |run: Run| run.part(index, 1).data;
        if at(to) == at(from) {
            continue;
        }
        // SAFETY: the caller's promise, cell by cell.
        unsafe {
            align::with_aligned_source(element, at(from), |source| {
                align::with_aligned_cell(element, at(to), right, |target| {
                    rules::copy(element, target, Cells::new(source, element.size() as isize, 1))
                })
            })
        }
        .map_err(|failure| failure.after(index))?;
    }
    Ok(())
}
