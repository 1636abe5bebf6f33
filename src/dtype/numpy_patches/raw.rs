//! Where NumPy copies or moves the bytes of cells and calls the client between: sorts of structures,
//! `lexsort`, `searchsorted`, `argmax`. A comparison that runs Python code could end an object whose
//! bytes NumPy holds.
//!
//! Such functions read only, and run with the memory of their arrays locked for reading
//! (`while_read`). A sort in place finds the order first, and moves the bytes afterwards at once
//! (`reorder`).

use super::{
    super::{
        DType,
        handle::{errors, trampoline},
        loops::access::{self, LockRange},
    },
    calls::{all_arguments, returned},
    holding::holds_ours,
    sorts,
    swap::{self, Original},
};
use crate::{
    lock::{Request, acquire_all},
    numpy_abi::{self, Array, PyArrayObject},
    segment::Segment,
};
use pyo3::{
    exceptions::{PyIndexError, PyTypeError, PyValueError},
    ffi,
    prelude::*,
    types::{PyDict, PyTuple},
};
use std::{ops::Range, ptr};

/// The bytes that an array with elements reaches, from the lowest to the highest, where its memory
/// has a lock.
struct Reach<'a> {
    place: LockRange<'a>,
    bytes: Range<usize>,
}

impl<'a> Reach<'a> {
    /// `None` for arrays without elements, without items, and in foreign memory.
    ///
    /// # Safety
    /// The array lives for `'a`, and `segment` is a place for its segment; GIL held.
    unsafe fn of(array: Array<'_>, segment: &'a mut Option<Segment>) -> Option<Reach<'a>> {
        // SAFETY: the caller's promise.
        unsafe {
            if array.size() == 0 || !holds_ours(array.descr()) {
                return None;
            }
            *segment = access::segment_of(array.data());
            let place = access::lock_range_of(segment.as_ref(), array.data())?;
            let (low, high) = extent(array);
            let first = array.data().addr().wrapping_add_signed(low) - place.base;
            Some(Reach { place, bytes: first..first + (high - low) as usize + array.elsize() })
        }
    }
}

/// Bytes from the first item of an array that has some to the lowest and to the highest one.
fn extent(array: Array<'_>) -> (isize, isize) {
    let (shape, strides) = (array.shape(), array.strides());
    let ends = || shape.iter().zip(&strides).map(|(length, stride)| (length - 1) * stride);
    (ends().filter(|end| *end < 0).sum(), ends().filter(|end| *end > 0).sum())
}

/// Runs `work` with the memory of `arrays` locked for reading. What is no array with elements of ours
/// is passed over.
///
/// # Errors
/// `BorrowError`; what `work` fails with.
fn locked_for_reading<R>(
    py: Python<'_>,
    arrays: &[Bound<'_, PyAny>],
    work: impl FnOnce() -> PyResult<R>,
) -> PyResult<R> {
    let numpy = numpy_abi::import(py)?;
    let mut segments = vec![None; arrays.len()];
    let mut requests: Vec<_> = arrays
        .iter()
        .zip(&mut segments)
        .filter_map(|(object, segment)| {
            let array = Array::of(numpy, object)?;
            // SAFETY: `arrays` keeps the array; GIL held.
            let reach = unsafe { Reach::of(array, segment) }?;
            Some(Request::new(reach.place.lock, reach.bytes, false))
        })
        .collect();
    let guard = acquire_all(&mut requests).map_err(|error| {
        errors::raise(&access::refused(error));
        PyErr::fetch(py)
    })?;
    let result = work();
    drop(guard);
    result
}

/// `function(*arguments, **keywords)` with the memory of `arrays` locked for reading: other threads
/// that want to write it wait, and what the function itself calls gets a `BorrowError`.
#[pyfunction]
#[pyo3(name = "_while_read", signature = (arrays, function, /, *arguments, **keywords))]
pub fn while_read<'py>(
    arrays: Vec<Bound<'py, PyAny>>,
    function: &Bound<'py, PyAny>,
    arguments: &Bound<'py, PyTuple>,
    keywords: Option<&Bound<'py, PyDict>>,
) -> PyResult<Bound<'py, PyAny>> {
    locked_for_reading(function.py(), &arrays, || function.call(arguments, keywords))
}

static COMPARE: [Original<ffi::PyCFunctionFastWithKeywords>; 3] = [const { Original::new() }; 3];

pub(super) fn install(py: Python<'_>) -> PyResult<bool> {
    let class = swap::class(py, "ndarray")?;
    // SAFETY: methods for objects of the class.
    let placed = unsafe {
        swap::methods(
            &class,
            [
                ("argmax", &COMPARE[0], compare::<0>),
                ("argmin", &COMPARE[1], compare::<1>),
                ("searchsorted", &COMPARE[2], compare::<2>),
            ],
        )?
    };
    Ok(placed && sorts::install_lexsort(py)?)
}

/// Structures with elements are compared by copies of their bytes: the memory is locked meanwhile. A
/// result that comes with the exception of a comparison is given up.
unsafe extern "C" fn compare<const INDEX: usize>(
    array: *mut ffi::PyObject,
    arguments: *const *mut ffi::PyObject,
    count: ffi::Py_ssize_t,
    names: *mut ffi::PyObject,
) -> *mut ffi::PyObject {
    trampoline::slot("compare", || {
        // SAFETY: Python's convention for `METH_FASTCALL | METH_KEYWORDS`, which the original keeps as
        // well, on an array; GIL held.
        unsafe {
            let original = COMPARE[INDEX].get();
            let descr = (*array.cast::<PyArrayObject>()).descr;
            if !holds_ours(descr) || DType::try_of_descr(descr).is_some() {
                return errors::unless_raised(original(array, arguments, count, names));
            }
            let py = Python::assume_attached();
            let arrays: Vec<_> = std::iter::once(&array)
                .chain(all_arguments(arguments, count, names))
                .map(|object| Bound::from_borrowed_ptr(py, *object))
                .collect();
            let call = || {
                let result = errors::unless_raised(original(array, arguments, count, names));
                Bound::from_owned_ptr_or_err(py, result)
            };
            returned(py, locked_for_reading(py, &arrays, call))
        }
    })
}

/// Moves the items of `array` along `axis` to where `order`, as `argsort` gives it, has their
/// indices: bytes move, no object is made or ended.
#[pyfunction]
#[pyo3(name = "_reorder")]
pub fn reorder(array: &Bound<'_, PyAny>, order: &Bound<'_, PyAny>, axis: usize) -> PyResult<()> {
    let py = array.py();
    let numpy = numpy_abi::import(py)?;
    let (Some(target), Some(indices)) = (Array::of(numpy, array), Array::of(numpy, order)) else {
        return Err(PyTypeError::new_err("expected two arrays"));
    };
    let shape = target.shape();
    // SAFETY: descriptors of living arrays.
    let is_index =
        unsafe { (*indices.descr()).kind as u8 == b'i' && indices.elsize() == size_of::<isize>() };
    if !is_index || indices.shape() != shape || axis >= shape.len() {
        return Err(PyTypeError::new_err("expected an array of indices of the same shape"));
    }
    if !target.is_writeable() {
        return Err(PyValueError::new_err("sort array is read-only"));
    }
    let (strides, order_strides, size) = (target.strides(), indices.strides(), target.elsize());
    let length = shape[axis] as usize;
    if target.size() == 0 || length < 2 {
        return Ok(());
    }
    let mut segment = None;
    // SAFETY: a living array; GIL held.
    let reach = unsafe { Reach::of(target, &mut segment) };
    let mut request = reach.map(|reach| Request::new(reach.place.lock, reach.bytes, true));
    let guard = acquire_all(request.as_mut_slice()).map_err(|error| {
        errors::raise(&access::refused(error));
        PyErr::fetch(py)
    })?;
    let mut sorted = vec![0u8; length * size];
    let mut seen = vec![false; length];
    for lane in 0..target.size() / length {
        let (mut rest, mut from, mut by) = (lane, target.data(), indices.data());
        for other in (0..shape.len()).rev().filter(|other| *other != axis) {
            let index = (rest % shape[other] as usize) as isize;
            rest /= shape[other] as usize;
            from = from.wrapping_offset(index * strides[other]);
            by = by.wrapping_offset(index * order_strides[other]);
        }
        seen.fill(false);
        let item = |index: usize| from.wrapping_offset(index as isize * strides[axis]);
        for (place, chunk) in sorted.chunks_exact_mut(size).enumerate() {
            let index = by.wrapping_offset(place as isize * order_strides[axis]);
            // SAFETY: an index of the living array, aligned or not.
            let index = unsafe { index.cast::<isize>().read_unaligned() };
            let index = usize::try_from(index).ok().filter(|index| *index < length);
            let Some(index) = index.filter(|index| !std::mem::replace(&mut seen[*index], true))
            else {
                return Err(PyIndexError::new_err("the indices are no permutation"));
            };
            // SAFETY: an item of the array, and room for it.
            unsafe { ptr::copy_nonoverlapping(item(index), chunk.as_mut_ptr(), size) };
        }
        for (place, chunk) in sorted.chunks_exact(size).enumerate() {
            // SAFETY: each item of the lane moved out once, and moves in once.
            unsafe { ptr::copy_nonoverlapping(chunk.as_ptr(), item(place), size) };
        }
    }
    drop(guard);
    Ok(())
}
