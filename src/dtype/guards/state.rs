//! A pickled array whose list of elements is shorter than its shape says: `__setstate__` reads
//! behind the end of the list.

use super::holds_ours;
use crate::numpy_abi::{self, PyArray_Descr};
use pyo3::{
    exceptions::PyValueError,
    ffi,
    prelude::*,
    types::{PyList, PyTuple},
};

/// Checks the arguments of `__setstate__`: a state `(version, shape, dtype, is_fortran, elements)`,
/// of which the oldest has no version. What is no state at all is left to NumPy.
///
/// # Errors
/// `ValueError` where elements of ours are missing.
///
/// # Safety
/// `arguments` is a tuple; GIL held.
pub(super) unsafe fn check(py: Python<'_>, arguments: *mut ffi::PyObject) -> PyResult<()> {
    // SAFETY: the caller's promise.
    let arguments = unsafe { Bound::from_borrowed_ptr(py, arguments) };
    let Ok(state) = arguments.get_item(0).and_then(|state| Ok(state.cast_into::<PyTuple>()?))
    else {
        return Ok(());
    };
    let length = state.len();
    if length < 4 {
        return Ok(());
    }
    let part = |from_end: usize| state.get_item(length - from_end);
    let (shape, dtype, elements) = (part(4)?, part(3)?, part(1)?);
    let (Ok(shape), Ok(elements)) = (shape.extract::<Vec<isize>>(), elements.cast::<PyList>())
    else {
        return Ok(());
    };
    // SAFETY: only what is a descriptor is looked at; GIL held.
    let is_ours = unsafe {
        numpy_abi::get().is_some_and(|numpy| {
            ffi::PyObject_TypeCheck(dtype.as_ptr(), numpy.descr_type()) != 0
                && holds_ours(dtype.as_ptr().cast::<PyArray_Descr>())
        })
    };
    let count = shape.iter().try_fold(1isize, |count, &size| count.checked_mul(size));
    match count {
        Some(count) if is_ours && count > elements.len() as isize => {
            Err(PyValueError::new_err(format!(
                "the state of an array of {dtype} is broken: {count} elements by its shape, {} in \
                 its list",
                elements.len()
            )))
        }
        _ => Ok(()),
    }
}
