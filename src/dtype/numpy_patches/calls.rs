//! How Python calls a function in C: its arguments, and what it returns.

use pyo3::{
    ffi,
    prelude::*,
    types::{PyDict, PyString, PyTuple},
};
use std::ptr;

/// The arguments of a call by `METH_VARARGS | METH_KEYWORDS`, and of a slot with keywords.
pub(super) struct Arguments<'py> {
    pub positional: Bound<'py, PyTuple>,
    pub named: Option<Bound<'py, PyDict>>,
}

impl<'py> Arguments<'py> {
    /// # Safety
    /// Python's convention: a tuple, and a dict or NULL.
    #[inline]
    pub unsafe fn new(
        py: Python<'py>,
        arguments: *mut ffi::PyObject,
        keywords: *mut ffi::PyObject,
    ) -> Self {
        // SAFETY: the caller's promise.
        unsafe {
            Arguments {
                positional: Bound::from_borrowed_ptr(py, arguments).cast_into_unchecked(),
                named: Bound::from_borrowed_ptr_or_opt(py, keywords)
                    .map(|keywords| keywords.cast_into_unchecked()),
            }
        }
    }

    /// The argument of that place or name, unless it is `None`.
    pub fn get(&self, index: usize, name: &Bound<'py, PyString>) -> Option<Bound<'py, PyAny>> {
        let named = || self.named.as_ref()?.get_item(name).ok().flatten();
        self.positional.get_item(index).ok().or_else(named).filter(|value| !value.is_none())
    }
}

/// All arguments of a call by `METH_FASTCALL | METH_KEYWORDS`: those by place, then one a name.
///
/// # Safety
/// Python's convention; GIL held. They live through the call.
pub(super) unsafe fn all_arguments<'a>(
    arguments: *const *mut ffi::PyObject,
    count: ffi::Py_ssize_t,
    names: *mut ffi::PyObject,
) -> &'a [*mut ffi::PyObject] {
    // SAFETY: the caller's promise.
    unsafe {
        let named = if names.is_null() { 0 } else { ffi::PyTuple_GET_SIZE(names) };
        match usize::try_from(count + named) {
            Ok(all) if all > 0 => std::slice::from_raw_parts(arguments, all),
            _ => &[],
        }
    }
}

/// Whether an object counts as an integer.
pub(super) fn is_number(object: &Bound<'_, PyAny>) -> bool {
    // SAFETY: an object; GIL held.
    unsafe { ffi::PyIndex_Check(object.as_ptr()) != 0 }
}

/// The integer that an object counts as: asking again runs no Python code.
///
/// # Errors
/// `TypeError` for what is none.
pub(super) fn index<'py>(number: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
    // SAFETY: an object; a new reference, or NULL and an exception; GIL held.
    unsafe {
        let index = ffi::PyNumber_Index(number.as_ptr());
        Bound::from_owned_ptr_or_err(number.py(), index)
    }
}

/// The integers of a shape or of strides: a sequence, or one number.
///
/// # Errors
/// `TypeError` for what is none.
pub(super) fn indices<'py>(given: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyTuple>> {
    let numbers = if is_number(given) {
        vec![index(given)?]
    } else {
        given.try_iter()?.map(|number| index(&number?)).collect::<PyResult<_>>()?
    };
    PyTuple::new(given.py(), numbers)
}

/// What a function in C returns: a new reference, or NULL and an exception.
pub(super) fn returned(py: Python<'_>, outcome: PyResult<Bound<'_, PyAny>>) -> *mut ffi::PyObject {
    match outcome {
        Ok(object) => object.into_ptr(),
        Err(error) => {
            error.restore(py);
            ptr::null_mut()
        }
    }
}
