//! The clear and fill-zero loops.
//!
//! NumPy calls clear for every array that goes, for shrunk tails and for its buffers: perhaps
//! twice, perhaps over cells that were never filled, perhaps with a NULL base. Fill-zero prepares
//! cells that may hold garbage, so it never looks at them.

use crate::{
    audit::Operation,
    dtype::{
        cells::clear_cells,
        handle::{DType, errors, trampoline},
        loops::{
            access::{self, Run},
            audited, flags,
        },
        scalars::proxy,
        slots::arming,
    },
    erased::{CellsMut, ElementType, Exclusive, Failure},
    handler::{
        allocation_hint::{self, Content},
        realloc_error,
    },
    numpy_abi::{NpyAuxData, PyArray_Descr, callbacks::TraverseLoop},
    segment::{Lost, Segment, may_have_proxies},
};
use std::ffi::{c_char, c_int, c_void};

/// Picks the clear loop.
pub unsafe extern "C" fn get_clear_loop(
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
            audited::audit_traverse::<Clear>(out_loop);
        }
        0
    })
}

/// Picks the fill-zero loop, and arms: NumPy asks for it right before it allocates a new array.
///
/// In a structured dtype the stride is the structure's, not the element's, and the field (a
/// subarray's, too, whose stride is the element's) is asked for as if it were not aligned: the
/// segment is to be one of structures.
pub unsafe extern "C" fn get_fill_zero_loop(
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
            arming::arm(if side_by_side { Content::Cells(element) } else { Content::Structures });
            *out_loop = Some(fill_zero);
            *out_auxdata = std::ptr::null_mut();
            *flags = traverse_flags(element);
        }
        0
    })
}

fn traverse_flags(element: &ElementType) -> c_int {
    flags::loop_flags(element)
}

struct Clear;

impl audited::AuditedTraverse for Clear {
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
        // Taken before any lock, for element proxies of cells of the run.
        let _gil = proxy::gil_for(element);
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
/// The run is cells of `element`, which no other thread uses.
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
