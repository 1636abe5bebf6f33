//! Python objects that Python may have no memory for. Where pyo3 makes them it panics then, and a
//! panic ends the process in a function that C calls; here it is an exception.

use pyo3::{
    ffi,
    prelude::*,
    types::{PyDict, PyString, PyTuple},
};

/// A text.
///
/// # Errors
/// `MemoryError`.
pub fn text<'py>(py: Python<'py>, text: &str) -> PyResult<Bound<'py, PyString>> {
    // SAFETY: bytes of UTF-8 and their number; a new reference to a text, or NULL and an exception.
    unsafe {
        let made = ffi::PyUnicode_FromStringAndSize(text.as_ptr().cast(), text.len() as isize);
        Ok(Bound::from_owned_ptr_or_err(py, made)?.cast_into_unchecked())
    }
}

/// A tuple.
///
/// # Errors
/// `MemoryError`.
pub fn tuple<'py>(py: Python<'py>, items: Vec<Bound<'py, PyAny>>) -> PyResult<Bound<'py, PyTuple>> {
    // SAFETY: a new reference to a tuple, or NULL and an exception; each place of a new tuple takes
    // over one reference.
    unsafe {
        let made = ffi::PyTuple_New(items.len() as isize);
        let made = Bound::from_owned_ptr_or_err(py, made)?;
        for (place, item) in items.into_iter().enumerate() {
            ffi::PyTuple_SET_ITEM(made.as_ptr(), place as isize, item.into_ptr());
        }
        Ok(made.cast_into_unchecked())
    }
}

/// An empty dictionary.
///
/// # Errors
/// `MemoryError`.
pub fn dict(py: Python<'_>) -> PyResult<Bound<'_, PyDict>> {
    // SAFETY: a new reference to a dictionary, or NULL and an exception.
    unsafe { Ok(Bound::from_owned_ptr_or_err(py, ffi::PyDict_New())?.cast_into_unchecked()) }
}

/// A Python string: a new reference, or NULL with an exception.
pub fn new_text(text: &str) -> *mut ffi::PyObject {
    // SAFETY: GIL held by all callers; the bytes are UTF-8 of that length.
    unsafe { ffi::PyUnicode_FromStringAndSize(text.as_ptr().cast(), text.len() as isize) }
}
