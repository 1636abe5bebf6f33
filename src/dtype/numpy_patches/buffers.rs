//! No elements in memory that something else filled: `np.ndarray(shape, dtype, buffer=)` and what is
//! made of it (`np.memmap`, `np.recarray(buf=)`).
//!
//! `ndarray.__new__` and every call of the class read the slot `tp_new` of the class when they are
//! called, so wrapping it there is enough, for classes derived later too: they inherit it. Those
//! derived before have a copy of the old pointer, which is exchanged as well; with two different
//! ones Python would refuse `ndarray.__new__(subclass, ..)` as not safe. What makes arrays in C
//! (`np.empty`, results of operations, views) does not come here.

use super::{
    super::handle::trampoline,
    calls::Arguments,
    holding::holds_ours,
    swap::{self, Original},
};
use crate::numpy_abi::{self, PyArray_Descr};
use pyo3::{exceptions::PyTypeError, ffi, intern, prelude::*, types::PyString};
use std::ptr;

static NEW: Original<ffi::newfunc> = Original::new();

pub(super) fn install(py: Python<'_>) -> PyResult<bool> {
    let class = swap::class(py, "ndarray")?;
    // SAFETY: `new_array` makes objects of the class.
    unsafe { swap::slot(&class, new_of, "__new__", &NEW, new_array) }
}

/// # Safety
/// A class; GIL held.
unsafe fn new_of(class: *mut ffi::PyTypeObject) -> *mut Option<ffi::newfunc> {
    // SAFETY: the caller's promise.
    unsafe { &raw mut (*class).tp_new }
}

/// `ndarray(shape, dtype=float, buffer=None, ..)`: refused where the buffer would be cells of ours.
unsafe extern "C" fn new_array(
    class: *mut ffi::PyTypeObject,
    arguments: *mut ffi::PyObject,
    keywords: *mut ffi::PyObject,
) -> *mut ffi::PyObject {
    trampoline::slot("new_array", || {
        // SAFETY: Python's convention for the slot: a tuple, and a dict or NULL; GIL held. The original
        // keeps the same convention.
        unsafe {
            let py = Python::assume_attached();
            let given = Arguments::new(py, arguments, keywords);
            if let Err(error) = check(&given) {
                error.restore(py);
                return ptr::null_mut();
            }
            NEW.get()(class, arguments, keywords)
        }
    })
}

/// # Errors
/// `TypeError` for a buffer as cells of ours. Arguments that are no good are left to NumPy.
fn check(given: &Arguments<'_>) -> PyResult<()> {
    if given.positional.len() < 3 && given.named.is_none() {
        return Ok(());
    }
    let py = given.positional.py();
    let Some(numpy) = numpy_abi::get() else { return Ok(()) };
    if given.get(2, intern!(py, "buffer")).is_none() {
        return Ok(());
    }
    let Some(dtype) = given.get(1, intern!(py, "dtype")) else { return Ok(()) };
    // No text stands for a dtype of ours.
    if dtype.is_exact_instance_of::<PyString>() {
        return Ok(());
    }
    // SAFETY: `np.dtype` is a class, and makes descriptors; GIL held.
    unsafe {
        let class = Bound::from_borrowed_ptr(py, numpy.descr_type().cast::<ffi::PyObject>());
        let descr = match dtype.is_instance(&class)? {
            true => dtype,
            false => match class.call1((dtype,)) {
                Ok(descr) => descr,
                Err(_) => return Ok(()),
            },
        };
        if !holds_ours(descr.as_ptr().cast::<PyArray_Descr>()) {
            return Ok(());
        }
        Err(PyTypeError::new_err(format!(
            "an array of {descr} cannot be made of a buffer: its bytes are no objects. Make an \
             array of its own (np.empty) and assign to it."
        )))
    }
}
