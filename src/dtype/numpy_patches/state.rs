//! `array.__setstate__(state)`, which is how arrays are unpickled, copied deeply, and loaded from files.
//!
//! NumPy gives an array that takes a state memory of the caller's handler, frees what it had under
//! every view of it, and reads the elements off a list that Python code may change meanwhile. So where
//! elements of ours come in or go, [`set_state`] has a *new* array take the state, which nothing else
//! knows:
//!
//! * what NumPy reads is a copy of the state (real integers, a list of its own) whose length fits;
//! * our handler is armed for the one allocation that follows: nothing runs between, since the new
//!   array has nothing to clear;
//! * only when it is complete do the two arrays exchange what they have. A state that cannot be read
//!   leaves the array as it was;
//! * [`let_go`] decides what becomes of the old memory.

use super::{
    super::{
        DType, cells,
        handle::{errors, trampoline},
        loops::access::{self, Run},
        slots::arming,
    },
    calls::returned,
    holding::{for_cells, holds_ours},
    swap::{self, Original},
};
use crate::{
    erased::Failure,
    handler::allocation_hint::Content,
    numpy_abi::{self, NumpyApi, PyArray_Descr, PyArrayObject, flags::*},
};
use pyo3::{
    exceptions::PyValueError,
    ffi,
    prelude::*,
    types::{PyList, PyTuple},
};
use std::{ffi::c_void, mem};

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
        if !plain((*array).descr) || !(*array).base.is_null() {
            return false;
        }
        if ffi::PyTuple_GET_SIZE(arguments) != 1 {
            return false;
        }
        let state = ffi::PyTuple_GET_ITEM(arguments, 0);
        if ffi::PyTuple_CheckExact(state) == 0 || ffi::PyTuple_GET_SIZE(state) < 4 {
            return false;
        }
        let descr = ffi::PyTuple_GET_ITEM(state, ffi::PyTuple_GET_SIZE(state) - 3);
        ffi::PyObject_TypeCheck(descr, numpy.descr_type()) != 0 && plain(descr.cast())
    }
}

/// `None` where it is no affair of ours.
///
/// # Errors
/// What is wrong with the state; the array is in use.
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
    // SAFETY: a living array. What it is based on may be memory that it gave up, under views.
    let goes = unsafe {
        let array = &*array.cast::<PyArrayObject>();
        holds_ours(array.descr) || !array.base.is_null()
    };
    if content.is_none() && !goes && state.is(&given) {
        return Ok(None);
    }
    let state = match content {
        Some(_) => copied(&state)?,
        None => state,
    };
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
        refuse_if_in_use(py, array.cast())?;
        exchange(array.cast(), new.as_ptr().cast());
        let_go(py, array.cast(), new)?;
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

/// The state that NumPy reads: nothing in it can change any more.
///
/// # Errors
/// A number is none; the list is not as long as the shape says. What NumPy refuses by itself is left
/// to it.
fn copied<'py>(state: &Bound<'py, PyTuple>) -> PyResult<Bound<'py, PyTuple>> {
    let py = state.py();
    let index = |number: Bound<'py, PyAny>| {
        // SAFETY: an object; GIL held.
        unsafe { Bound::from_owned_ptr_or_err(py, ffi::PyNumber_Index(number.as_ptr())) }
    };
    let mut parts: Vec<_> = state.iter().collect();
    let first = parts.len() - 4;
    let Ok(shape) = parts[first].cast::<PyTuple>() else { return Ok(state.clone()) };
    let lengths = shape.iter().map(index).collect::<PyResult<Vec<_>>>()?;
    // One that does not fit into it is too large for NumPy as well.
    let count = lengths.iter().try_fold(1isize, |count, length| {
        count.checked_mul(length.extract::<isize>().ok().filter(|length| *length >= 0)?)
    });
    parts[first] = PyTuple::new(py, lengths)?.into_any();
    parts[first + 2] = index(parts[first + 2].clone())?;
    if first == 1 {
        parts[0] = index(parts[0].clone())?;
    }
    if let Ok(elements) = parts[first + 3].cast::<PyList>() {
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

/// Refuses to replace the memory of an array that an operation works on, or client code views.
///
/// The question is asked for the sake of those who use the array: whatever the answer, the memory
/// stays as long as it may be used ([`let_go`]).
///
/// # Errors
/// `BorrowError`.
///
/// # Safety
/// `array` is an array; GIL held.
unsafe fn refuse_if_in_use(py: Python<'_>, array: *mut PyArrayObject) -> PyResult<()> {
    // SAFETY: the caller's promise.
    if let Err(failure) = unsafe { check_idle(array) } {
        let text = format!("the array cannot take another state: {}", failure.message);
        errors::set(failure.kind, &text);
        return Err(PyErr::fetch(py));
    }
    Ok(())
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

/// Ends `old`, which has what `array` had. Where others may know the array, there may be views of that
/// memory: its objects end now, and it stays until the array gives up what it has.
///
/// # Errors
/// Python fails.
///
/// # Safety
/// `array` is an array and `old` too, which is known nowhere else; GIL held.
unsafe fn let_go(py: Python<'_>, array: *mut PyArrayObject, old: Bound<'_, PyAny>) -> PyResult<()> {
    let from = old.as_ptr().cast::<PyArrayObject>();
    // SAFETY: the caller's promise.
    unsafe {
        let alone = ffi::Py_REFCNT(array.cast()) <= 1;
        let size = count_of(from);
        if alone || size == 0 {
            drop(old);
            return Ok(());
        }
        if (*from).flags & NPY_ARRAY_OWNDATA != 0 {
            clear(from, size);
        }
        // The array may have got another state again, from a destructor.
        if let Some(segment) = access::segment_of((*array).data.cast())
            && segment.cells().as_ptr() == (*array).data.cast()
            && segment.dependency().1.is_none()
        {
            segment.set_dependency(old.into_ptr().cast(), Some(drop_old));
            return Ok(());
        }
        // Memory of NumPy's own: what it is based on is kept as long.
        let base = (*array).base;
        (*array).base = if base.is_null() {
            old.into_ptr()
        } else {
            let both = PyTuple::new(py, [Bound::from_borrowed_ptr(py, base), old])?;
            ffi::Py_DECREF(base);
            both.into_ptr()
        };
    }
    Ok(())
}

/// Ends an array that a segment kept. NumPy frees memory with the GIL held.
unsafe extern "C" fn drop_old(old: *mut c_void) {
    trampoline::end("drop_old", || {
        // SAFETY: callable in any thread; the reference that the segment had. Without the GIL, which
        // only a client that frees NumPy's memory itself could lack, the array is leaked.
        unsafe {
            if ffi::PyGILState_Check() != 0 {
                ffi::Py_DECREF(old.cast());
            }
        }
    });
}

/// How many items an array has.
///
/// # Safety
/// An array; GIL held.
unsafe fn count_of(array: *mut PyArrayObject) -> usize {
    // SAFETY: the caller's promise: `nd` lengths.
    unsafe {
        (0..usize::try_from((*array).nd).unwrap_or(0))
            .map(|axis| (*(*array).dimensions.add(axis)).unsigned_abs())
            .product()
    }
}

/// Ends the objects of an array that has its memory alone. What cannot be cleared, because an operation
/// uses it again, is when the memory goes.
///
/// # Safety
/// An array that owns `size` items, one behind the other; GIL held.
unsafe fn clear(array: *mut PyArrayObject, size: usize) {
    // SAFETY: the caller's promise; the cells of an item are where its dtype says.
    unsafe {
        let (descr, data) = ((*array).descr, (*array).data.cast::<u8>());
        let step = (*descr).elsize;
        let mut runs = Vec::new();
        let _all = for_cells(descr, 0, &mut |dtype, offset, count| {
            runs.push((dtype.element(), offset, count));
            Ok(())
        });
        for (element, offset, count) in runs {
            for cell in 0..count {
                let first = data.add(offset + cell * element.size());
                let cleared = cells::clear_cells(element, Run::write(first, step, size));
                if let Err(failure) = cleared {
                    errors::write_unraisable(&failure, errors::DESTRUCTOR);
                }
            }
        }
    }
}
