//! The end of the objects in cells, and the element proxies of cells that go.

use crate::{
    dtype::{
        cells::later,
        loops::{
            access::{self, BLOCK, Run},
            align,
        },
        scalars::proxy,
    },
    erased::{Cells, CellsMut, ElementType, Exclusive, Failure, Staging, rules},
    segment::Segment,
};

/// Makes the cells of a run vacant. The element proxies of some of them are detached.
///
/// # Errors
/// A destructor failed (all cells are vacant all the same), or the lock could not be had.
///
/// # Safety
/// The run is cells of `element` under rule 1, aligned or not. The GIL is held where cells of the
/// type may have proxies.
pub unsafe fn clear_cells(element: &'static ElementType, run: Run) -> Result<(), Failure> {
    // One cell, however often.
    let run = if run.stride == 0 { run.part(0, run.count.min(1)) } else { run };
    if !element.is_thread_safe()
        && let Ok(mut staging) = Staging::new(element, run.count)
    {
        let mut outcome = Ok(());
        let mut start = 0;
        while start < run.count {
            let part = run.part(start, (run.count - start).min(staging.capacity()));
            let is_kept = later::is_resizing();
            let take = |[segment]: [Option<Segment>; 1],
                        right: Exclusive<'_>,
                        staging: &mut Staging<'static>| {
                // SAFETY: the caller's promise; the memory is locked.
                unsafe {
                    let outcome = vacate(element, segment, part, right, |cells, first| {
                        staging.take(first, cells);
                        Ok(())
                    });
                    if start + part.count == run.count {
                        note_vacated(element, segment, run, part.count == run.count);
                    }
                    outcome
                }
            };
            let operands = [Some((element, part))];
            let result = if is_kept && let Ok(empty) = Staging::new(element, run.count) {
                let result = access::with_operands(operands, |segments, right| {
                    take(segments, right, &mut staging)
                });
                later::keep(std::mem::replace(&mut staging, empty));
                result
            } else {
                access::replacing(operands, &mut staging, take)
            };
            outcome = outcome.and(result);
            start += part.count;
        }
        return outcome;
    }
    // Where there is no memory to stage objects in they end in their places.
    access::with_segments(element, [run], |[segment], right| {
        let mut outcome = Ok(());
        let mut start = 0;
        while start < run.count {
            let part = run.part(start, (run.count - start).min(BLOCK));
            // SAFETY: the caller's promise; the memory is locked.
            let result = unsafe {
                vacate(element, segment, part, right, |cells, _| rules::clear(element, cells))
            };
            outcome = outcome.and(result);
            start += part.count;
        }
        note_vacated(element, segment, run, true);
        outcome
    })
}

/// Notes that nothing is left in a segment that a run is all of. `at_once`: all cells were made
/// vacant under the lock that is held; else destructors that ran meanwhile may have filled some.
fn note_vacated(element: &ElementType, segment: Option<Segment>, run: Run, at_once: bool) {
    let Some(segment) = segment.filter(|segment| segment.is_for(element)) else { return };
    if run.stride != element.size() as isize {
        return;
    }
    // SAFETY: the cells of the run, locked; the ledgers cleared the bits of those that are vacant.
    unsafe {
        let cells = Cells::new(run.data, run.stride, run.count);
        if at_once || element.vacancy().count_live(cells) == 0 {
            segment.note_vacated(run.data, run.count * element.size());
        }
    }
}

/// Makes the cells of a block vacant by `empty`, which gets them with the index of the first, and
/// keeps the books.
///
/// # Safety
/// As for [`clear_cells`]; the cells are exclusively this thread's for the reason given, and
/// `segment` theirs.
unsafe fn vacate(
    element: &'static ElementType,
    segment: Option<Segment>,
    run: Run,
    right: Exclusive<'_>,
    mut empty: impl FnMut(CellsMut<'_>, usize) -> Result<(), Failure>,
) -> Result<(), Failure> {
    // SAFETY: the caller's promise.
    unsafe {
        proxy::detach_run(element, run)?;
        access::with_ledger(element, segment, run, right, || {
            let mut first = 0;
            align::aligned(element, run, right, |cells| {
                let count = cells.len();
                let emptied = empty(cells, first);
                first += count;
                emptied
            })
        })
    }
}
