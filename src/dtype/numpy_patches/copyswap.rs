//! What goes through `copyswap` below NumPy 2.5.2, which knows no failure, and copies bytes.
//!
//! * `a.flat = x` copies the first 8 bytes of each element raw;
//! * `a.flat[1:3]` copies a slice: the exception of an element stays behind a result;
//! * `a[0] = b[0]` and `a.flat[0] = b[0]` of structures succeed beside the exception of a field, which
//!   surfaces somewhere else.
//!
//! Where NumPy calls `copyswap` though it is NULL, `arrfuncs` has filled the slot.

use super::{
    super::handle::{errors, trampoline},
    holding::holds_ours,
    swap::{self, Original},
};
use crate::numpy_abi::{self, PyArrayObject, flags::*};
use pyo3::{ffi, prelude::*};
use std::{
    ffi::{c_int, c_void},
    ptr,
};

static SET_FLAT: Original<ffi::setter> = Original::new();
static FLAT_SUBSCRIPT: Original<ffi::PyCFunction> = Original::new();

/// Of `array[index]` and `array.flat[index]`.
static ASSIGN: [Original<ffi::objobjargproc>; 2] = [const { Original::new() }; 2];

pub(super) fn install_flat(py: Python<'_>) -> PyResult<bool> {
    // SAFETY: `ndarray` is a static class in these versions, and `set_flat` for its objects.
    Ok(unsafe { swap::setter(&swap::class(py, "ndarray")?, c"flat", &SET_FLAT, set_flat) })
}

pub(super) fn install_slices(py: Python<'_>) -> PyResult<bool> {
    let class = swap::class(py, "flatiter")?;
    // SAFETY: a subscript for objects of the class.
    unsafe { swap::slot(&class, subscript_of, "__getitem__", &FLAT_SUBSCRIPT, flat_subscript) }
}

pub(super) fn install_assignment(py: Python<'_>) -> PyResult<bool> {
    let (array, iterator) = (swap::class(py, "ndarray")?, swap::class(py, "flatiter")?);
    // SAFETY: an assignment for objects of both classes.
    unsafe {
        Ok(swap::slot(&array, assignment_of, "__setitem__", &ASSIGN[0], assign::<0>)?
            && swap::slot(&iterator, assignment_of, "__setitem__", &ASSIGN[1], assign::<1>)?)
    }
}

/// # Safety
/// A class; GIL held.
unsafe fn subscript_of(class: *mut ffi::PyTypeObject) -> *mut Option<ffi::binaryfunc> {
    // SAFETY: the caller's promise: the table, where there is one, lives with the class.
    unsafe {
        (*class).tp_as_mapping.as_mut().map_or(ptr::null_mut(), |table| &mut table.mp_subscript)
    }
}

/// # Safety
/// A class; GIL held.
unsafe fn assignment_of(class: *mut ffi::PyTypeObject) -> *mut Option<ffi::objobjargproc> {
    // SAFETY: as for `subscript_of`.
    unsafe {
        (*class).tp_as_mapping.as_mut().map_or(ptr::null_mut(), |table| &mut table.mp_ass_subscript)
    }
}

/// `array[index] = value`, or `array.flat[index] = value`, which has failed where an exception waits.
unsafe extern "C" fn assign<const INDEX: usize>(
    array: *mut ffi::PyObject,
    index: *mut ffi::PyObject,
    value: *mut ffi::PyObject,
) -> c_int {
    trampoline::slot("assign", || {
        // SAFETY: Python's convention for the slot, which the original keeps as well; GIL held.
        unsafe {
            let status = ASSIGN[INDEX].get()(array, index, value);
            if status == 0 && !ffi::PyErr_Occurred().is_null() { -1 } else { status }
        }
    })
}

/// The subscript of the flat iterator: a result that came with an exception is given up.
unsafe extern "C" fn flat_subscript(
    iterator: *mut ffi::PyObject,
    index: *mut ffi::PyObject,
) -> *mut ffi::PyObject {
    trampoline::slot("flat_subscript", || {
        // SAFETY: Python's convention for the slot, which the original keeps as well; GIL held.
        unsafe { errors::unless_raised(FLAT_SUBSCRIPT.get()(iterator, index)) }
    })
}

/// The setter of `ndarray.flat`: for arrays with elements of ours the assignment goes through the
/// flat iterator, which copies element by element and repeats the values in the same way.
unsafe extern "C" fn set_flat(
    array: *mut ffi::PyObject,
    value: *mut ffi::PyObject,
    closure: *mut c_void,
) -> c_int {
    trampoline::slot("set_flat", || {
        // SAFETY: Python calls it for arrays only; GIL held; the original is a setter.
        unsafe {
            let descr = (*array.cast::<PyArrayObject>()).descr;
            if value.is_null() || !holds_ours(descr) {
                return SET_FLAT.get()(array, value, closure);
            }
            let flat = ffi::PyObject_GetAttrString(array, c"flat".as_ptr());
            if flat.is_null() {
                return -1;
            }
            let value = in_order_of(array.cast(), value);
            let status = if value.is_null() {
                -1
            } else {
                ffi::PyObject_SetItem(flat, ffi::Py_Ellipsis(), value)
            };
            ffi::Py_XDECREF(value);
            ffi::Py_DECREF(flat);
            status
        }
    })
}

/// The value of a flat assignment, as a new reference: for an array in Fortran order NumPy wants it
/// in that order too, which copies a view such as `a[::-1]`, so that `a.flat = a[::-1]` is right.
/// NULL where that fails, with the exception.
///
/// # Safety
/// An array and an object; GIL held.
unsafe fn in_order_of(array: *mut PyArrayObject, value: *mut ffi::PyObject) -> *mut ffi::PyObject {
    // SAFETY: the caller's promise; what is seen to be an array is read as one.
    unsafe {
        let is_array = numpy_abi::get()
            .is_some_and(|numpy| ffi::PyObject_TypeCheck(value, numpy.array_type()) != 0);
        let is_fortran = |array: *mut PyArrayObject| (*array).flags & NPY_ARRAY_F_CONTIGUOUS != 0;
        if !is_array || !is_fortran(array) || is_fortran(value.cast()) {
            return ffi::Py_NewRef(value);
        }
        ffi::PyObject_CallMethod(value, c"copy".as_ptr(), c"s".as_ptr(), c"F".as_ptr())
    }
}
