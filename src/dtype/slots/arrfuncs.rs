//! The slots of `PyArray_ArrFuncs` that NumPy still calls: compare, argmax, argmin, nonzero, fill,
//! dotfunc, copyswap.
//!
//! NumPy holds the GIL in all of them (the descriptor has `NPY_NEEDS_PYAPI`). Their results have no
//! room for an error: an exception stays set, and what NumPy makes of it depends on the caller:
//!
//! | slot | callers that look for the exception | callers that do not |
//! |---|---|---|
//! | compare | partition, lexsort, sorts of structured arrays | searchsorted |
//! | argmax, argmin | | argmax, argmin |
//! | nonzero | count_nonzero, nonzero, bool(array) | |
//! | fill | arange | |
//! | dotfunc | dot, inner, vdot | |
//! | copyswap, copyswapn | `a.flat = x` from 2.5.2 on | np.place |
//!
//! What those that do not look return beside the exception, `numpy_patches::results` gives up. Once an
//! exception is set, none of the functions calls the client again.
//!
//! `partition` and sorts of structured arrays permute cells raw, and compare copies of their bytes
//! in buffers. Cells are trivially relocatable and rule 1 goes by their bytes, so that is a
//! permutation of objects like any other; the init bitmap is mended when the next loop sees it
//! (`reconciled`). Loops of other threads that run meanwhile on the same cells of such an array are
//! outside the promise, for NumPy takes no lock of ours there. `sort` and `argsort` never come
//! here: see [`super::sort`].

use crate::{
    audit::Operation,
    dtype::{
        handle::{DType, errors, trampoline},
        loops::{
            access::{self, Run},
            align, audited, compare, transfer,
        },
        slots::{
            arithmetic::{self, Temporary, binary_loop},
            dot,
        },
    },
    erased::ElementType,
    numpy_abi::{NumpyApi, NumpyVersion, PyArrayObject, slots::arrfuncs as slot},
};
use pyo3::ffi;
use std::{
    cmp::Ordering,
    ffi::{c_char, c_int, c_void},
};

/// The slots of one type. `nonzero` and the copies are always there, for NumPy would call NULL.
pub fn slots(numpy: &NumpyApi, element: &ElementType) -> Vec<ffi::PyType_Slot> {
    let mut slots = vec![
        slot::copyswapn(copyswapn),
        slot::copyswap(copyswap),
        slot::nonzero(nonzero),
        slot::fill(fill),
    ];
    let is_ordered = element.vtable().compare.is_some();
    // Below 2.5 sorts of structures call the slots of their fields without a look.
    if is_ordered || numpy.version() < NumpyVersion::new(2, 5, 0) {
        slots.push(slot::compare(compare));
    }
    if is_ordered {
        slots.push(slot::argmax(argmax));
        slots.push(slot::argmin(argmin));
    }
    if let Some(dot) = dot::reserve(element) {
        slots.push(slot::dotfunc(dot));
    }
    slots
}

/// The DType of an array, or of the stand-in for one that NumPy makes to pass a dtype; `None` for
/// NULL.
///
/// # Safety
/// `array` is NULL or an array whose dtype is ours; GIL held.
unsafe fn dtype_of(array: *mut c_void) -> Option<&'static DType> {
    // SAFETY: the caller's promise.
    unsafe {
        let array = array.cast::<PyArrayObject>();
        (!array.is_null()).then(|| DType::of_descr((*array).descr))
    }
}

unsafe extern "C" fn compare(
    left: *const c_void,
    right: *const c_void,
    array: *mut c_void,
) -> c_int {
    trampoline::slot("compare", || {
        // SAFETY: NumPy passes an array of our dtype; GIL held.
        let Some(dtype) = (unsafe { dtype_of(array) }).filter(|_| !errors::is_raised()) else {
            return 0;
        };
        let element = dtype.element();
        let size = element.size() as isize;
        let (left, right) = (Run::read(left.cast(), size, 1), Run::read(right.cast(), size, 1));
        let mut result = Ordering::Equal;
        let outcome = access::with_segments(element, [left, right], |_, _| {
            // SAFETY: two cells of the dtype, aligned or not, locked.
            result = unsafe {
                align::with_aligned_source(element, left.data, |left| {
                    align::with_aligned_source(element, right.data, |right| {
                        compare::compare(element, left, right)
                    })
                })
            }?;
            Ok(())
        });
        if let Err(failure) = outcome {
            errors::raise(&failure);
        }
        result as c_int
    })
}

unsafe extern "C" fn argmax(
    data: *mut c_void,
    count: isize,
    index: *mut isize,
    array: *mut c_void,
) -> c_int {
    trampoline::slot("argmax", || {
        // SAFETY: as for `arg_extreme`.
        unsafe { arg_extreme(data, count, index, array, Ordering::Greater) }
    })
}

unsafe extern "C" fn argmin(
    data: *mut c_void,
    count: isize,
    index: *mut isize,
    array: *mut c_void,
) -> c_int {
    trampoline::slot("argmin", || {
        // SAFETY: as for `arg_extreme`.
        unsafe { arg_extreme(data, count, index, array, Ordering::Less) }
    })
}

/// The first cell that no other is `better` than. Values without an order (NaN) count as the
/// largest.
///
/// # Safety
/// NumPy passes `count` contiguous, aligned cells of an array of our dtype and a place for the
/// index; GIL held.
unsafe fn arg_extreme(
    data: *mut c_void,
    count: isize,
    index: *mut isize,
    array: *mut c_void,
    better: Ordering,
) -> c_int {
    // SAFETY: the caller's promise.
    unsafe {
        *index = 0;
        let Some(dtype) = dtype_of(array).filter(|_| !errors::is_raised()) else { return -1 };
        let element = dtype.element();
        let run = Run::read(data.cast(), element.size() as isize, count.max(0) as usize);
        let outcome = access::with_segments(element, [run], |_, _| {
            let mut best = 0;
            for position in 1..run.count {
                let (cell, record) = (run.part(position, 1).data, run.part(best, 1).data);
                if compare::compare(element, cell, record)? == better {
                    best = position;
                }
            }
            // One element alone is compared with itself, so that a vacant one without a default
            // fails here too.
            if run.count == 1 {
                compare::compare(element, run.data, run.data)?;
            }
            *index = best as isize;
            Ok(())
        });
        match outcome {
            Ok(()) => 0,
            Err(failure) => {
                errors::raise(&failure);
                -1
            }
        }
    }
}

unsafe extern "C" fn nonzero(data: *mut c_void, array: *mut c_void) -> u8 {
    trampoline::slot("nonzero", || {
        // SAFETY: NumPy passes an array of our dtype; GIL held.
        let Some(dtype) = (unsafe { dtype_of(array) }).filter(|_| !errors::is_raised()) else {
            return 0;
        };
        let element = dtype.element();
        let run = Run::read(data.cast(), element.size() as isize, 1);
        let mut result = false;
        let outcome = access::with_segments(element, [run], |_, _| {
            // SAFETY: one cell of the dtype, aligned or not, locked.
            result = unsafe {
                align::with_aligned_source(element, run.data, |cell| compare::truth(element, cell))
            }?;
            Ok(())
        });
        if let Err(failure) = outcome {
            errors::raise(&failure);
        }
        u8::from(result)
    })
}

unsafe extern "C" fn copyswapn(
    destination: *mut c_void,
    destination_stride: isize,
    source: *mut c_void,
    source_stride: isize,
    count: isize,
    _swap: c_int,
    array: *mut c_void,
) {
    trampoline::slot("copyswapn", || {
        // Objects have no byte order: swapping in place is nothing to do.
        // SAFETY: NumPy passes an array of our dtype (or NULL); GIL held.
        let Some(dtype) =
            (unsafe { dtype_of(array) }).filter(|_| !source.is_null() && !errors::is_raised())
        else {
            return;
        };
        let count = count.max(0) as usize;
        let to = Run::write(destination.cast(), destination_stride, count);
        let from = Run::read(source.cast(), source_stride, count);
        let _at_work = audited::at_work(Operation::new("copyswap"));
        // SAFETY: NumPy's convention: two runs of cells of the dtype.
        if let Err(failure) = unsafe { transfer::copy_cells(dtype.element(), to, from) } {
            errors::raise(&failure);
        }
    })
}

unsafe extern "C" fn copyswap(
    destination: *mut c_void,
    source: *mut c_void,
    swap: c_int,
    array: *mut c_void,
) {
    trampoline::slot("copyswap", || {
        // SAFETY: as for `copyswapn`, with one cell each.
        unsafe { copyswapn(destination, 0, source, 0, 1, swap, array) }
    })
}

/// Continues the sequence that the first two cells begin, by adding their difference.
unsafe extern "C" fn fill(data: *mut c_void, count: isize, array: *mut c_void) -> c_int {
    trampoline::slot("fill", || {
        let _at_work = audited::at_work(Operation::new("fill"));
        // SAFETY: NumPy passes `count` contiguous, aligned cells of an array of our dtype; GIL held.
        unsafe {
            let Some(dtype) = dtype_of(array).filter(|_| !errors::is_raised()) else { return -1 };
            if count <= 2 {
                return 0;
            }
            let element = dtype.element();
            let loops = (binary_loop(dtype, "subtract"), binary_loop(dtype, "add"));
            let (Some(subtract), Some(add)) = loops else {
                errors::raise(&errors::missing(element, "addition and subtraction"));
                return -1;
            };
            let mut step = match Temporary::new(element) {
                Ok(step) => step,
                Err(failure) => {
                    errors::raise(&failure);
                    return -1;
                }
            };
            let size = element.size() as isize;
            let cell = |index| data.cast::<u8>().wrapping_offset(size * index).cast::<c_char>();
            let first = [cell(1), cell(0), step.address().cast()];
            if arithmetic::call(subtract, &first, &[1], &[0, 0, 0]) < 0 {
                return -1;
            }
            // As accumulate does it: each output is the input after it.
            let rest = [cell(1), step.address().cast(), cell(2)];
            arithmetic::call(add, &rest, &[count - 2], &[size, 0, size])
        }
    })
}
