//! `array.__setstate__(state)`, which is how arrays are unpickled, copied deeply, and loaded from files.
//!
//! NumPy gives an array that takes a state memory of the caller's handler, frees what it had under
//! whatever works with it, and reads the elements off a list that Python code may change meanwhile. So
//! where elements of ours come in or go:
//!
//! * only an array without items takes a state, as every array does that is being unpickled. An
//!   iterator, and a function in C that runs Python code in between, goes on with the size and the
//!   address that it read before; where there was no item, it uses neither;
//! * what NumPy reads is a copy of the state (real integers, a list of its own) whose length fits;
//! * a *new* array takes the state, which nothing else knows. Our handler is armed for the one
//!   allocation that follows: nothing runs between, since the new array has nothing to clear;
//! * only when it is complete do the two arrays exchange what they have. A state that cannot be read
//!   leaves the array as it was.

use super::{
    super::{
        DType,
        handle::{errors, trampoline},
        loops::access,
        slots::arming,
    },
    calls::{index, returned},
    holding::holds_ours,
    swap::{self, Original},
};
use crate::{
    erased::Failure,
    handler::allocation_hint::Content,
    numpy_abi::{self, Array, NumpyApi, PyArray_Descr, PyArrayObject, flags::*},
};
use pyo3::{
    exceptions::PyValueError,
    ffi,
    prelude::*,
    types::{PyList, PyTuple},
};
use std::mem;

static SET_STATE: Original<ffi::PyCFunction> = Original::new();

pub(super) fn install(py: Python<'_>) -> PyResult<bool> {
    let class = swap::class(py, "ndarray")?;
    // SAFETY: a method for objects of the class.
    unsafe { swap::method(&class, "__setstate__", &SET_STATE, set_state) }
}

/// `array.__setstate__(state)`.
unsafe extern "C" fn set_state(
    array: *mut ffi::PyObject,
    arguments: *mut ffi::PyObject,
) -> *mut ffi::PyObject {
    trampoline::slot("set_state", || {
        // SAFETY: Python's convention for `METH_VARARGS`, which the original keeps as well, on an
        // array; GIL held.
        unsafe {
            let original = SET_STATE.get();
            if is_of_others(array.cast(), arguments) {
                return errors::unless_raised(original(array, arguments));
            }
            let py = Python::assume_attached();
            match through_new_array(py, array, arguments, original) {
                Ok(None) => errors::unless_raised(original(array, arguments)),
                Ok(Some(none)) => none.into_ptr(),
                Err(error) => returned(py, Err(error)),
            }
        }
    })
}

/// Whether it can be seen at once that no elements come in or go: nearly all states are tuples, and
/// of dtypes of which nothing is.
///
/// # Safety
/// `array` is an array, `arguments` a tuple; GIL held.
#[inline]
unsafe fn is_of_others(array: *mut PyArrayObject, arguments: *mut ffi::PyObject) -> bool {
    // SAFETY: the caller's promise; only what is a tuple, or a descriptor, is read as one.
    unsafe {
        let Some(numpy) = numpy_abi::get() else { return true };
        let plain = |descr: *mut PyArray_Descr| (*descr).flags & NPY_ITEM_REFCOUNT == 0;
        if !plain((*array).descr) || ffi::PyTuple_GET_SIZE(arguments) != 1 {
            return false;
        }
        let state = ffi::PyTuple_GET_ITEM(arguments, 0);
        if ffi::PyTuple_CheckExact(state) == 0 || ffi::PyTuple_GET_SIZE(state) < 4 {
            return false;
        }
        let part = |back| ffi::PyTuple_GET_ITEM(state, ffi::PyTuple_GET_SIZE(state) - back);
        let (shape, descr) = (part(4), part(3));
        ffi::PyObject_TypeCheck(descr, numpy.descr_type()) != 0
            && plain(descr.cast())
            && are_integers(shape)
            && [ffi::PyTuple_GET_ITEM(state, 0), part(2)]
                .into_iter()
                .all(|number| number == shape || ffi::PyLong_Check(number) != 0)
    }
}

/// Whether an object is a tuple of integers of Python's: NumPy runs no Python code for what they are.
///
/// # Safety
/// An object; GIL held.
#[inline]
unsafe fn are_integers(shape: *mut ffi::PyObject) -> bool {
    // SAFETY: the caller's promise.
    unsafe {
        ffi::PyTuple_CheckExact(shape) != 0
            && (0..ffi::PyTuple_GET_SIZE(shape))
                .all(|axis| ffi::PyLong_Check(ffi::PyTuple_GET_ITEM(shape, axis)) != 0)
    }
}

/// `None` where it is no affair of ours.
///
/// # Errors
/// What is wrong with the state; the array has items.
///
/// # Safety
/// As for [`set_state`].
unsafe fn through_new_array<'py>(
    py: Python<'py>,
    array: *mut ffi::PyObject,
    arguments: *mut ffi::PyObject,
    original: ffi::PyCFunction,
) -> PyResult<Option<Bound<'py, PyAny>>> {
    // SAFETY: the caller's promise.
    let arguments =
        unsafe { Bound::from_borrowed_ptr(py, arguments).cast_into_unchecked::<PyTuple>() };
    let Some(numpy) = numpy_abi::get() else { return Ok(None) };
    let Ok(given) = arguments.get_item(0) else { return Ok(None) };
    // NumPy takes any sequence for a state, and would ask it again for what was looked at here.
    // SAFETY: an object; GIL held.
    let state = unsafe {
        if ffi::PySequence_Check(given.as_ptr()) == 0 {
            return Ok(None);
        }
        Bound::from_owned_ptr_or_err(py, ffi::PySequence_Tuple(given.as_ptr()))?
            .cast_into_unchecked::<PyTuple>()
    };
    let content = content_of(numpy, &state);
    // Before anything is decided: the numbers may run Python code, which gives the array another state.
    let state = match state.len() {
        4..=5 => copied(&state, content.is_some())?,
        _ => state,
    };
    // SAFETY: a living array.
    let goes = unsafe { holds_ours((*array.cast::<PyArrayObject>()).descr) };
    if content.is_none() && !goes {
        let arguments = hidden(PyTuple::new(py, [state])?);
        // SAFETY: the caller's promise; the state was read once.
        let result = unsafe { errors::unless_raised(original(array, arguments.as_ptr())) };
        // SAFETY: a new reference, or NULL and an exception.
        return unsafe { Bound::from_owned_ptr_or_err(py, result) }.map(Some);
    }
    // SAFETY: a living array.
    unsafe { refuse_if_it_has_items(py, array) }?;
    let arguments = hidden(PyTuple::new(py, [state])?);
    // SAFETY: GIL held; an array without bytes of a type of NumPy's, that is known nowhere else.
    let new = unsafe {
        let descr = numpy.descr_from_type(NPY_BYTE);
        Bound::from_owned_ptr_or_err(py, numpy.empty(1, [0].as_ptr(), descr, 0))?
    };
    if let Some(content) = content {
        arming::arm(content);
    }
    // SAFETY: the caller's promise, for another array.
    let result = unsafe {
        let result = original(new.as_ptr(), arguments.as_ptr());
        arming::withdraw();
        Bound::from_owned_ptr_or_err(py, errors::unless_raised(result))?
    };
    // SAFETY: both are arrays, and the new one is known nowhere else.
    unsafe {
        // What made the elements may have given it another state.
        refuse_if_it_has_items(py, array)?;
        exchange(array.cast(), new.as_ptr().cast());
    }
    Ok(Some(result))
}

/// What an array of a state `(version, shape, dtype, is_fortran, elements)`, of which the oldest has
/// no version, holds of ours.
fn content_of(numpy: &NumpyApi, state: &Bound<'_, PyTuple>) -> Option<Content> {
    let length = state.len();
    if !(4..=5).contains(&length) {
        return None;
    }
    let dtype = state.get_item(length - 3).ok()?;
    // SAFETY: only what is a descriptor is looked at; GIL held.
    unsafe {
        if ffi::PyObject_TypeCheck(dtype.as_ptr(), numpy.descr_type()) == 0 {
            return None;
        }
        let descr = dtype.as_ptr().cast::<PyArray_Descr>();
        match DType::try_of_descr(descr) {
            Some(dtype) => Some(Content::Cells(dtype.element())),
            None => holds_ours(descr).then_some(Content::Structures),
        }
    }
}

/// The state that NumPy reads: no number in it can change any more, nor, of elements of ours, the
/// list.
///
/// # Errors
/// A number is none; the list is not as long as the shape says. What NumPy refuses by itself is left
/// to it.
fn copied<'py>(state: &Bound<'py, PyTuple>, is_ours: bool) -> PyResult<Bound<'py, PyTuple>> {
    let py = state.py();
    let mut parts: Vec<_> = state.iter().collect();
    let first = parts.len() - 4;
    let Ok(shape) = parts[first].cast::<PyTuple>() else { return Ok(state.clone()) };
    let lengths = shape.iter().map(|length| index(&length)).collect::<PyResult<Vec<_>>>()?;
    // One that does not fit into it is too large for NumPy as well.
    let count = lengths.iter().try_fold(1isize, |count, length| {
        count.checked_mul(length.extract::<isize>().ok().filter(|length| *length >= 0)?)
    });
    parts[first] = PyTuple::new(py, lengths)?.into_any();
    parts[first + 2] = index(&parts[first + 2])?;
    if first == 1 {
        parts[0] = index(&parts[0])?;
    }
    if is_ours && let Ok(elements) = parts[first + 3].cast::<PyList>() {
        // SAFETY: a list; GIL held.
        let elements = unsafe {
            let all = ffi::PyList_GetSlice(elements.as_ptr(), 0, ffi::Py_ssize_t::MAX);
            hidden(Bound::from_owned_ptr_or_err(py, all)?.cast_into_unchecked::<PyList>())
        };
        if count.is_some_and(|count| count != elements.len() as isize) {
            return Err(PyValueError::new_err(format!(
                "the state of an array of {} is broken: {} elements by its shape, {} in its list",
                parts[first + 1],
                count.unwrap_or_default(),
                elements.len()
            )));
        }
        parts[first + 3] = elements.into_any();
    }
    Ok(hidden(PyTuple::new(py, parts)?))
}

/// Has the collector forget a new list or tuple: no Python code finds it there.
fn hidden<T>(container: Bound<'_, T>) -> Bound<'_, T> {
    // SAFETY: an object that the collector may know; it ends as it would have.
    unsafe { ffi::PyObject_GC_UnTrack(container.as_ptr().cast()) };
    container
}

/// Refuses to replace items: whatever works with the array would go on with their number and address.
///
/// # Errors
/// `BorrowError` where an operation works on the array's memory, or client code views it; else
/// `ValueError`.
///
/// # Safety
/// `array` is an array; GIL held.
unsafe fn refuse_if_it_has_items(py: Python<'_>, array: *mut ffi::PyObject) -> PyResult<()> {
    // SAFETY: the caller's promise.
    unsafe {
        let Some(items) = Array::from_ptr(array).map(Array::size).filter(|items| *items > 0) else {
            return Ok(());
        };
        if let Err(failure) = check_idle(array.cast()) {
            let text = format!("the array cannot take another state: {}", failure.message);
            errors::set(failure.kind, &text);
            return Err(PyErr::fetch(py));
        }
        Err(PyValueError::new_err(format!(
            "the array cannot take a state: it has {items} items, with which iterators and \
             functions may be at work. Only an array without items takes a state in which \
             elements come or go. For a new array write pickle.loads(data) or \
             np.array(other, copy=True); to replace the items write a[...] = other"
        )))
    }
}

/// Whether no operation works on the memory that an array owns, no client code views it, and nothing
/// keeps it in its place.
///
/// # Errors
/// `BorrowError`.
///
/// # Safety
/// `array` is an array; GIL held.
pub(super) unsafe fn check_idle(array: *mut PyArrayObject) -> Result<(), Failure> {
    // SAFETY: the caller's promise: the memory is there as long as the array has it.
    unsafe {
        if (*array).flags & NPY_ARRAY_OWNDATA == 0 {
            return Ok(());
        }
        let Some(segment) = access::segment_of((*array).data.cast()) else { return Ok(()) };
        segment.lock().check_idle().map_err(access::refused)
    }
}

/// Exchanges what two arrays have; weak references stay with their object. No Python code runs.
///
/// # Safety
/// Two arrays; GIL held.
unsafe fn exchange(one: *mut PyArrayObject, other: *mut PyArrayObject) {
    // SAFETY: the caller's promise; `mem_handler` is the last field that NumPy knows.
    unsafe {
        let (one, other) = (&mut *one, &mut *other);
        mem::swap(&mut one.data, &mut other.data);
        mem::swap(&mut one.nd, &mut other.nd);
        mem::swap(&mut one.dimensions, &mut other.dimensions);
        mem::swap(&mut one.strides, &mut other.strides);
        mem::swap(&mut one.base, &mut other.base);
        mem::swap(&mut one.descr, &mut other.descr);
        mem::swap(&mut one.flags, &mut other.flags);
        mem::swap(&mut one._buffer_info, &mut other._buffer_info);
        mem::swap(&mut one.mem_handler, &mut other.mem_handler);
    }
}
