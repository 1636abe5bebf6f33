//! The clear and fill-zero loops.
//!
//! NumPy calls clear for every array that goes, for shrunk tails and for its buffers: perhaps
//! twice, perhaps over cells that were never filled, perhaps with a NULL base. Fill-zero prepares
//! cells that may hold garbage, so it never looks at them.

use super::{
    DType,
    access::{self, BLOCK, Run},
    class, errors, later, loan, trampoline, watched, within,
};
use crate::{
    audit::Operation,
    erased::{Cells, CellsMut, ElementType, Exclusive, Failure, Staging, rules},
    handler::{
        allocation_hint::{self, Content},
        realloc_error,
    },
    numpy_abi::{NpyAuxData, PyArray_Descr, callbacks::TraverseLoop},
    segment::{Lost, Segment, may_have_proxies},
};
use std::ffi::{c_char, c_int, c_void};

/// Picks the clear loop.
pub(super) unsafe extern "C" fn get_clear_loop(
    _traverse_context: *mut c_void,
    descr: *const PyArray_Descr,
    _aligned: c_int,
    _fixed_stride: isize,
    out_loop: *mut Option<TraverseLoop>,
    out_auxdata: *mut *mut NpyAuxData,
    flags: *mut c_int,
) -> c_int {
    trampoline::slot("get_clear_loop", || {
        // SAFETY: NumPy passes a descriptor of ours and valid places for the results.
        unsafe {
            *out_loop = Some(clear);
            *out_auxdata = std::ptr::null_mut();
            *flags = traverse_flags(DType::of_descr(descr).element());
            watched::watch_traverse::<Clear>(out_loop);
        }
        0
    })
}

/// Picks the fill-zero loop, and arms: NumPy asks for it right before it allocates a new array.
///
/// In a structured dtype the stride is the structure's, not the element's, and the field (a
/// subarray's, too, whose stride is the element's) is asked for as if it were not aligned: the
/// segment is to be one of structures.
pub(super) unsafe extern "C" fn get_fill_zero_loop(
    _traverse_context: *mut c_void,
    descr: *const PyArray_Descr,
    aligned: c_int,
    fixed_stride: isize,
    out_loop: *mut Option<TraverseLoop>,
    out_auxdata: *mut *mut NpyAuxData,
    flags: *mut c_int,
) -> c_int {
    trampoline::slot("get_fill_zero_loop", || {
        // SAFETY: NumPy passes a descriptor of ours and valid places for the results.
        unsafe {
            let element = DType::of_descr(descr).element();
            let side_by_side = aligned != 0 && fixed_stride == element.size() as isize;
            class::arm(if side_by_side { Content::Cells(element) } else { Content::Structures });
            *out_loop = Some(fill_zero);
            *out_auxdata = std::ptr::null_mut();
            *flags = traverse_flags(element);
        }
        0
    })
}

fn traverse_flags(element: &ElementType) -> c_int {
    class::loop_flags(element)
}

struct Clear;

impl watched::WatchedTraverse for Clear {
    const LOOP: TraverseLoop = clear;
    const OPERATION: Operation = Operation::new("clear");
}

unsafe extern "C" fn clear(
    _traverse_context: *mut c_void,
    descr: *const PyArray_Descr,
    data: *mut c_char,
    size: isize,
    stride: isize,
    _auxdata: *mut NpyAuxData,
) -> c_int {
    trampoline::slot("clear", || {
        if data.is_null() || size <= 0 {
            return 0;
        }
        // SAFETY: a descriptor of ours.
        let element = unsafe { DType::of_descr(descr) }.element();
        let data: *mut u8 = data.cast();
        // Taken before any lock, for scalars that show cells of the run.
        let _gil = loan::gil_for(element);
        let run = Run::write(data, stride, size as usize);
        // SAFETY: NumPy owns the cells that it wants cleared.
        match unsafe { look(element, run) } {
            Ok(false) => {}
            Ok(true) => return 0,
            Err(failure) => {
                // In a `resize` it is the exception.
                if let Err(failure) = realloc_error::leave(failure) {
                    errors::write_unraisable(&failure, errors::MEMORY);
                }
                return 0;
            }
        }
        // SAFETY: NumPy gives `size` cells of the dtype that are its to clear.
        let outcome = unsafe { clear_cells(element, run) };
        if let Err(failure) = outcome {
            // The cells are vacant all the same, and NumPy would only print the exception.
            errors::write_unraisable(&failure, errors::DESTRUCTOR);
        }
        0
    })
}

/// Whether there is nothing to clear in a run, and nothing that may be cleared: objects in corrupted
/// memory are left alone.
///
/// # Errors
/// The memory of the cells was found corrupted just now.
///
/// # Safety
/// The run is cells of `element`, and nobody else uses them.
#[inline]
unsafe fn look(element: &'static ElementType, run: Run) -> Result<bool, Failure> {
    // SAFETY: the caller's promise.
    let Some(segment) = (unsafe { access::segment_of(run.data) }) else {
        // SAFETY: as above.
        return match unsafe { Segment::lost(run.data) } {
            Lost::Foreign => Ok(false),
            Lost::Quarantined => Ok(true),
            Lost::Corrupted(corruption) => Err((*corruption).into()),
        };
    };
    // A segment for something else (an untyped one of handler mode, say) knows nothing of our cells.
    if !segment.is_for(element) && segment.is_trusted() {
        return Ok(false);
    }
    let empty = segment.untouched() && !may_have_proxies(element);
    if empty && !segment.is_checked() {
        return Ok(true);
    }
    let all = run.data == segment.cells().as_ptr()
        && run.stride == element.size() as isize
        && run.count * element.size() >= segment.byte_len();
    // SAFETY: the caller's promise.
    unsafe { segment.check_before_clearing(element, all) }?;
    Ok(empty)
}

/// Makes the cells of a run vacant. Scalars that show some of them take those over.
///
/// # Errors
/// A destructor failed (all cells are vacant all the same), or the lock could not be had.
///
/// # Safety
/// The run is cells of `element` under rule 1, aligned or not. The GIL is held where cells of the
/// type may be lent.
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
        loan::take_back_run(element, run)?;
        access::with_ledger(element, segment, run, right, || {
            let mut first = 0;
            within::aligned(element, run, right, |cells| {
                let count = cells.len();
                let emptied = empty(cells, first);
                first += count;
                emptied
            })
        })
    }
}

unsafe extern "C" fn fill_zero(
    _traverse_context: *mut c_void,
    descr: *const PyArray_Descr,
    data: *mut c_char,
    size: isize,
    stride: isize,
    _auxdata: *mut NpyAuxData,
) -> c_int {
    trampoline::slot("fill_zero", || {
        // A creation whose allocation came to nothing (no bytes) ends its arming here.
        allocation_hint::take();
        if data.is_null() || size <= 0 {
            return 0;
        }
        // SAFETY: a descriptor of ours.
        let element = unsafe { DType::of_descr(descr) }.element();
        let data: *mut u8 = data.cast();
        // A grown tail is zero too, but NumPy asks for arrays of which nothing is known.
        let fresh = |segment: Segment| {
            segment.is_for(element) && segment.untouched() && segment.allocated_zeroed()
        };
        // SAFETY: NumPy owns the cells that it wants filled.
        if unsafe { access::segment_of(data) }.is_some_and(fresh) {
            return 0;
        }
        // SAFETY: NumPy gives `size` cells of the dtype to fill, whatever they hold: those of an array
        // that is being made, or the tail of one that grew.
        unsafe { CellsMut::new(data, stride, size as usize, Exclusive::own()) }
            .zero(element.size());
        0
    })
}
