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
//! What those that do not look return beside the exception, `guards::results` gives up. Once an
//! exception is set, none of the functions calls the client again.
//!
//! `partition` and sorts of structured arrays permute cells raw, and compare copies of their bytes
//! in buffers. Cells are trivially relocatable and rule 1 goes by their bytes, so that is a
//! permutation of objects like any other; the init bitmap is mended when the next loop sees it
//! (`reconciled`). Loops of other threads that run meanwhile on the same cells of such an array are
//! outside the promise, for NumPy takes no lock of ours there. `sort` and `argsort` never come
//! here: see [`super::sort`].

use super::{
    DType,
    access::{self, Run},
    errors,
    register::{LoopData, OperandType},
    sort, trampoline, ufuncs, watched, within,
};
use crate::{
    abi::ErrorOut,
    audit::Operation,
    erased::{CellsMut, ElementType, Exclusive, Failure, SpareCell, rules},
    numpy_abi::{
        NumpyApi, NumpyVersion, PyArrayObject, callbacks::DotFunc, slots::arrfuncs as slot,
    },
};
use pyo3::ffi;
use std::{
    cmp::Ordering,
    ffi::{c_char, c_int, c_void},
    ptr,
    sync::{
        OnceLock,
        atomic::{AtomicUsize, Ordering::Relaxed},
    },
};

/// The slots of one type. `nonzero` and the copies are always there, for NumPy would call NULL.
pub(super) fn slots(numpy: &NumpyApi, element: &ElementType) -> Vec<ffi::PyType_Slot> {
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

/// Whether an exception waits. GIL held.
fn is_raised() -> bool {
    // SAFETY: GIL held by contract of all slots.
    !unsafe { ffi::PyErr_Occurred() }.is_null()
}

unsafe extern "C" fn compare(
    left: *const c_void,
    right: *const c_void,
    array: *mut c_void,
) -> c_int {
    trampoline::slot("compare", || {
        // SAFETY: NumPy passes an array of our dtype; GIL held.
        let Some(dtype) = (unsafe { dtype_of(array) }).filter(|_| !is_raised()) else { return 0 };
        let element = dtype.element();
        let size = element.size() as isize;
        let (left, right) = (Run::read(left.cast(), size, 1), Run::read(right.cast(), size, 1));
        let mut result = Ordering::Equal;
        let outcome = access::with_segments(element, [left, right], |_, _| {
            // SAFETY: two cells of the dtype, aligned or not, locked.
            result = unsafe {
                within::with_aligned_source(element, left.data, |left| {
                    within::with_aligned_source(element, right.data, |right| {
                        sort::compare(element, left, right)
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
        let Some(dtype) = dtype_of(array).filter(|_| !is_raised()) else { return -1 };
        let element = dtype.element();
        let run = Run::read(data.cast(), element.size() as isize, count.max(0) as usize);
        let outcome = access::with_segments(element, [run], |_, _| {
            let mut best = 0;
            for position in 1..run.count {
                let (cell, record) = (run.part(position, 1).data, run.part(best, 1).data);
                if sort::compare(element, cell, record)? == better {
                    best = position;
                }
            }
            // One element alone is compared with itself, so that a vacant one without a default
            // fails here too.
            if run.count == 1 {
                sort::compare(element, run.data, run.data)?;
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
        let Some(dtype) = (unsafe { dtype_of(array) }).filter(|_| !is_raised()) else { return 0 };
        let element = dtype.element();
        let run = Run::read(data.cast(), element.size() as isize, 1);
        let mut result = false;
        let outcome = access::with_segments(element, [run], |_, _| {
            // SAFETY: one cell of the dtype, aligned or not, locked.
            result = unsafe {
                within::with_aligned_source(element, run.data, |cell| truth(element, cell))
            }?;
            Ok(())
        });
        if let Err(failure) = outcome {
            errors::raise(&failure);
        }
        u8::from(result)
    })
}

/// Whether a value is true.
///
/// # Errors
/// `TypeError` where the type has no truth; what the client fails with.
///
/// # Safety
/// `cell` is an aligned cell of `element` under rule 1 that nobody writes.
pub(super) unsafe fn truth(element: &ElementType, cell: *const u8) -> Result<bool, Failure> {
    let Some(nonzero) = element.vtable().nonzero else {
        return Err(within::missing(element, "truth value"));
    };
    let (mut result, mut report) = (0u8, ErrorOut::new());
    // SAFETY: the vtable's contract and the caller's promise.
    let status = unsafe {
        nonzero(
            element.vtable().context,
            cell,
            element.size() as isize,
            1,
            &mut result,
            1,
            &mut report,
        )
    };
    Failure::check(status, &report).map(|()| result != 0)
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
            (unsafe { dtype_of(array) }).filter(|_| !source.is_null() && !is_raised())
        else {
            return;
        };
        let count = count.max(0) as usize;
        let to = Run::write(destination.cast(), destination_stride, count);
        let from = Run::read(source.cast(), source_stride, count);
        let _at_work = watched::at_work(Operation::new("copyswap"));
        // SAFETY: NumPy's convention: two runs of cells of the dtype.
        if let Err(failure) = unsafe { within::copy_cells(dtype.element(), to, from) } {
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
        let _at_work = watched::at_work(Operation::new("fill"));
        // SAFETY: NumPy passes `count` contiguous, aligned cells of an array of our dtype; GIL held.
        unsafe {
            let Some(dtype) = dtype_of(array).filter(|_| !is_raised()) else { return -1 };
            if count <= 2 {
                return 0;
            }
            let element = dtype.element();
            let loops = (binary_loop(dtype, "subtract"), binary_loop(dtype, "add"));
            let (Some(subtract), Some(add)) = loops else {
                errors::raise(&within::missing(element, "addition and subtraction"));
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
            if call(subtract, &first, &[1], &[0, 0, 0]) < 0 {
                return -1;
            }
            // As accumulate does it: each output is the input after it.
            let rest = [cell(1), step.address().cast(), cell(2)];
            call(add, &rest, &[count - 2], &[size, 0, size])
        }
    })
}

/// The loop of a ufunc with two inputs and one output of the type itself.
fn binary_loop(dtype: &'static DType, ufunc: &str) -> Option<&'static LoopData> {
    let is_own = |operand: &OperandType| matches!(operand, OperandType::Element(other) if ptr::eq(*other, dtype));
    dtype.operations().loops.iter().copied().find(|data| {
        data.name.to_bytes() == ufunc.as_bytes()
            && (data.input_count, data.operands.len()) == (2, 3)
            && data.operands.iter().all(is_own)
    })
}

/// Runs a loop as NumPy would: locks, ledger and errors included.
///
/// # Safety
/// As for [`ufuncs::run`]; GIL held.
unsafe fn call(
    data: &'static LoopData,
    arguments: &[*mut c_char],
    dimensions: &[isize],
    strides: &[isize],
) -> c_int {
    // SAFETY: the caller's promise.
    unsafe { ufuncs::run(data, arguments.as_ptr(), dimensions.as_ptr(), strides.as_ptr()) }
}

/// A cell outside arrays for what loops write. They count what they construct there; it is
/// destroyed, and counted, when it goes.
struct Temporary {
    element: &'static ElementType,
    spare: SpareCell<'static>,
}

impl Temporary {
    fn new(element: &'static ElementType) -> Result<Self, Failure> {
        Ok(Temporary { element, spare: SpareCell::new(element)? })
    }

    fn address(&mut self) -> *mut u8 {
        self.spare.cells().address(0)
    }
}

impl Drop for Temporary {
    fn drop(&mut self) {
        let (element, size) = (self.element, self.element.size() as isize);
        let run = Run::write(self.address(), size, 1);
        // SAFETY: one cell under rule 1, ours alone.
        let outcome = unsafe {
            let right = Exclusive::own();
            access::with_ledger(element, None, run, right, || {
                rules::clear(element, CellsMut::new(run.data, size, 1, right))
            })
        };
        if let Err(failure) = outcome {
            errors::write_unraisable(&failure, errors::DESTRUCTOR);
        }
    }
}

/// `dotfunc` is called without an array, so nothing at run time tells the type: each type gets a
/// function of its own, from a fixed number of them. Types beyond that have no `np.dot`; matmul and
/// vecdot are ufuncs and work for all.
mod dot {
    use super::*;

    /// How many types can have a `dotfunc`.
    const FUNCTIONS: usize = 64;

    static NEXT: AtomicUsize = AtomicUsize::new(0);
    static ELEMENTS: [OnceLock<&'static ElementType>; FUNCTIONS] =
        [const { OnceLock::new() }; FUNCTIONS];

    /// One function for each entry of [`ELEMENTS`].
    macro_rules! functions {
        ($($start:literal)*) => {
            [$(
                numbered::<$start>, numbered::<{ $start + 1 }>, numbered::<{ $start + 2 }>,
                numbered::<{ $start + 3 }>, numbered::<{ $start + 4 }>, numbered::<{ $start + 5 }>,
                numbered::<{ $start + 6 }>, numbered::<{ $start + 7 }>,
            )*]
        };
    }
    static TABLE: [DotFunc; FUNCTIONS] = functions![0 8 16 24 32 40 48 56];

    /// The function for a type that is being registered, while there are any.
    pub(super) fn reserve(element: &ElementType) -> Option<DotFunc> {
        let index = NEXT.fetch_add(1, Relaxed);
        let function = TABLE.get(index)?;
        // Registered types live forever, and this one is registered.
        let element = super::super::register::REGISTRY.find(element.name())?;
        ELEMENTS[index].set(element).ok()?;
        Some(*function)
    }

    unsafe extern "C" fn numbered<const INDEX: usize>(
        left: *mut c_void,
        left_stride: isize,
        right: *mut c_void,
        right_stride: isize,
        out: *mut c_void,
        count: isize,
        _array: *mut c_void,
    ) {
        trampoline::slot("numbered", || {
            let element = ELEMENTS[INDEX].get().copied();
            let dtype = element.and_then(|element| {
                super::super::register::dtype_of(ptr::from_ref(element).cast())
            });
            let Some(dtype) = dtype.filter(|_| !is_raised()) else { return };
            // SAFETY: NumPy passes two runs of `count` cells of the dtype, and one for the result;
            // GIL held.
            let outcome = unsafe {
                dot(
                    dtype,
                    Run::read(left.cast(), left_stride, count.max(0) as usize),
                    Run::read(right.cast(), right_stride, count.max(0) as usize),
                    out.cast(),
                )
            };
            if let Err(failure) = outcome {
                errors::raise(&failure);
            }
        })
    }

    /// The sum of products, through the type's `vecdot`, or its `multiply` and `add`, in order.
    ///
    /// # Errors
    /// `TypeError` where the type has neither; what the loops fail with.
    ///
    /// # Safety
    /// Two equally long runs of cells of the dtype and one more, aligned; GIL held.
    unsafe fn dot(
        dtype: &'static DType,
        left: Run,
        right: Run,
        out: *mut u8,
    ) -> Result<(), Failure> {
        let element = dtype.element();
        let size = element.size() as isize;
        let check = |status: c_int| {
            if status < 0 { Err(super::super::convert::already_raised()) } else { Ok(()) }
        };
        if let Some(vecdot) = binary_loop(dtype, "vecdot") {
            let arguments = [left.data.cast(), right.data.cast(), out.cast()];
            let dimensions = [1, left.count as isize];
            let strides = [0, 0, 0, left.stride, right.stride];
            // SAFETY: the caller's promise; (n),(n)->().
            return check(unsafe { call(vecdot, &arguments, &dimensions, &strides) });
        }
        let loops = (binary_loop(dtype, "multiply"), binary_loop(dtype, "add"));
        let (Some(multiply), Some(add)) = loops else {
            return Err(within::missing(element, "multiplication and addition"));
        };
        let (mut sum, mut product) = (Temporary::new(element)?, Temporary::new(element)?);
        for index in 0..left.count {
            let target = if index == 0 { sum.address() } else { product.address() };
            let factors =
                [left.part(index, 1).data.cast(), right.part(index, 1).data.cast(), target.cast()];
            // SAFETY: the caller's promise; the targets are cells of ours.
            check(unsafe { call(multiply, &factors, &[1], &[0, 0, 0]) })?;
            if index > 0 {
                let (sum, product) = (sum.address().cast(), product.address().cast());
                // SAFETY: as above; NumPy's reductions give an input as the output, too.
                check(unsafe { call(add, &[sum, product, sum], &[1], &[0, 0, 0]) })?;
            }
        }
        // SAFETY: one cell of the dtype and one of ours, which moves there.
        unsafe {
            within::move_cells(
                element,
                Run::write(out, size, 1),
                Run::write(sum.address(), size, 1),
            )
        }
    }

    #[cfg(test)]
    mod tests {
        use super::*;

        #[test]
        fn every_type_has_a_function_of_its_own() {
            for (index, function) in TABLE.iter().enumerate() {
                for other in &TABLE[..index] {
                    assert!(!ptr::fn_addr_eq(*function, *other));
                }
            }
        }
    }
}
