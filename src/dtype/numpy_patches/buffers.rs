//! No elements in memory that somebody else filled: `np.ndarray(shape, dtype, buffer=)` and what is
//! made of it (`np.memmap`, `np.recarray(buf=)`).
//!
//! `ndarray.__new__` and every call of the class read the slot `tp_new` of the class when they are
//! called, so wrapping it there is enough, for classes derived later too: they inherit it. Those
//! derived before have a copy of the old pointer, which is exchanged as well; with two different
//! ones Python would refuse `ndarray.__new__(subclass, ..)` as not safe. What makes arrays in C
//! (`np.empty`, results of operations, views) does not come here.

use super::{super::trampoline, each_class, holds_ours};
use crate::numpy_abi::{self, NumpyApi, PyArray_Descr};
use pyo3::{
    exceptions::{PyImportError, PyTypeError},
    ffi, intern,
    prelude::*,
    types::{PyDict, PyString, PyTuple, PyType},
};
use std::{
    ffi::c_void,
    ptr,
    sync::atomic::{AtomicPtr, Ordering::Relaxed},
};

/// NumPy's own `tp_new` of `ndarray`, once it is wrapped.
static NUMPY_NEW: AtomicPtr<c_void> = AtomicPtr::new(ptr::null_mut());

/// Puts [`new_array`] in front of NumPy's own, in `ndarray` and in what is derived from it.
pub(super) fn install(py: Python<'_>, numpy: &NumpyApi) -> PyResult<()> {
    if !NUMPY_NEW.load(Relaxed).is_null() {
        return Ok(());
    }
    // SAFETY: `ndarray` is a class; GIL held.
    let class =
        unsafe { Bound::from_borrowed_ptr(py, numpy.array_type().cast()).cast_into::<PyType>()? };
    // SAFETY: as above.
    let Some(original) = (unsafe { (*class.as_type_ptr()).tp_new }) else {
        return Err(PyImportError::new_err(format!(
            "NumPy {} makes arrays in an unknown way, so arrays of foreign memory cannot be refused",
            numpy.version()
        )));
    };
    NUMPY_NEW.store(original as *mut c_void, Relaxed);
    each_class(&class, &mut |class| {
        // SAFETY: a class, under the GIL. Python's caches may hold what the slot was.
        unsafe {
            let slot = &mut (*class).tp_new;
            if slot.is_some_and(|new| ptr::fn_addr_eq(new, original)) {
                *slot = Some(new_array);
                ffi::PyType_Modified(class);
            }
        }
    })
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
            let positional =
                Bound::from_borrowed_ptr(py, arguments).cast_into_unchecked::<PyTuple>();
            let named = Bound::from_borrowed_ptr_or_opt(py, keywords)
                .map(|keywords| keywords.cast_into_unchecked::<PyDict>());
            if let Some(numpy) = numpy_abi::get()
                && let Err(error) = check(numpy, &positional, named.as_ref())
            {
                error.restore(py);
                return ptr::null_mut();
            }
            let original: ffi::newfunc = std::mem::transmute(NUMPY_NEW.load(Relaxed));
            original(class, arguments, keywords)
        }
    })
}

/// # Errors
/// `TypeError` for a buffer as cells of ours. Arguments that are no good are left to NumPy.
fn check<'py>(
    numpy: &NumpyApi,
    positional: &Bound<'py, PyTuple>,
    named: Option<&Bound<'py, PyDict>>,
) -> PyResult<()> {
    if positional.len() < 3 && named.is_none() {
        return Ok(());
    }
    let py = positional.py();
    let argument = |index, name| argument(positional, named, index, name);
    if argument(2, intern!(py, "buffer")).is_none_or(|buffer| buffer.is_none()) {
        return Ok(());
    }
    let Some(dtype) = argument(1, intern!(py, "dtype")) else { return Ok(()) };
    // No text stands for a dtype of ours.
    if dtype.is_none() || dtype.is_exact_instance_of::<PyString>() {
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

/// An argument by its place or name.
fn argument<'py>(
    positional: &Bound<'py, PyTuple>,
    named: Option<&Bound<'py, PyDict>>,
    index: usize,
    name: &Bound<'py, PyString>,
) -> Option<Bound<'py, PyAny>> {
    match positional.get_item(index) {
        Ok(value) => Some(value),
        Err(_) => named.and_then(|named| named.get_item(name).ok().flatten()),
    }
}
