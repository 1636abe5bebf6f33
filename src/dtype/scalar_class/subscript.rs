//! The subscript of scalars: that of a 0-d array, as far as scalars of NumPy's own have it.
//!
//! NumPy's functions take it for granted: `np.median(a, keepdims=True)` writes
//! `result[(np.newaxis,)]`, whatever the result is.
//!
//! It is the subscript of a mapping alone. One of a sequence, which a `__getitem__` in Python brings
//! along, would let `iter` succeed and NumPy look for the elements of a scalar.

use crate::dtype::{
    handle::{pyobj::text, trampoline},
    scalars::object,
};
use pyo3::{
    exceptions::{PyIndexError, PyTypeError},
    ffi,
    prelude::*,
    types::{PyEllipsis, PyTuple, PyType},
};
use std::ffi::{c_int, c_void};

/// The slot of the subscript.
pub fn slot() -> ffi::PyType_Slot {
    ffi::PyType_Slot {
        slot: ffi::Py_mp_subscript,
        pfunc: subscript as ffi::binaryfunc as *mut c_void,
    }
}

/// A base class that has nothing but the subscript, for scalar classes that are written in Python.
///
/// # Errors
/// What Python refuses.
pub fn make_base_class(py: Python<'_>) -> PyResult<Bound<'_, PyType>> {
    let documentation = c"What indexes a scalar: () is itself, ... and None make an array.";
    let mut slots = [
        ffi::PyType_Slot {
            slot: ffi::Py_tp_doc,
            pfunc: documentation.as_ptr().cast_mut().cast::<c_void>(),
        },
        slot(),
        ffi::PyType_Slot::default(),
    ];
    let mut spec = ffi::PyType_Spec {
        name: c"denizen._runtime._Indexed".as_ptr(),
        basicsize: size_of::<ffi::PyObject>() as c_int,
        itemsize: 0,
        flags: (ffi::Py_TPFLAGS_DEFAULT | ffi::Py_TPFLAGS_BASETYPE) as u32,
        slots: slots.as_mut_ptr(),
    };
    // SAFETY: GIL held; the spec and its slots are valid, Python copies both. The result is a new
    // reference to a type, or NULL with an exception.
    let class = unsafe { Bound::from_owned_ptr_or_err(py, ffi::PyType_FromSpec(&mut spec))? };
    Ok(class.cast_into::<PyType>()?)
}

unsafe extern "C" fn subscript(
    object: *mut ffi::PyObject,
    index: *mut ffi::PyObject,
) -> *mut ffi::PyObject {
    trampoline::slot("subscript", || {
        // SAFETY: Python calls it with two objects, the first of a class with this slot; GIL held.
        let (py, object, index) = unsafe {
            let py = Python::assume_attached();
            (py, Bound::from_borrowed_ptr(py, object), Bound::from_borrowed_ptr(py, index))
        };
        match indexed(&object, &index) {
            Ok(result) => result.into_ptr(),
            Err(error) => {
                error.restore(py);
                std::ptr::null_mut()
            }
        }
    })
}

/// `scalar[index]`.
fn indexed<'py>(
    scalar: &Bound<'py, PyAny>,
    index: &Bound<'py, PyAny>,
) -> PyResult<Bound<'py, PyAny>> {
    let is_valid = match index.cast::<PyTuple>() {
        Ok(parts) if parts.is_empty() => return Ok(scalar.clone()),
        Ok(parts) => {
            let ellipses = parts.iter().filter(|part| part.is_instance_of::<PyEllipsis>()).count();
            let axes = parts.iter().filter(|part| part.is_none()).count();
            ellipses <= 1 && ellipses + axes == parts.len()
        }
        Err(_) => index.is_none() || index.is_instance_of::<PyEllipsis>(),
    };
    if !is_valid {
        return Err(PyIndexError::new_err("invalid index to scalar variable."));
    }
    // SAFETY: an object; GIL held.
    if let Some((dtype, _)) = unsafe { object::scalar_cell(scalar.as_ptr()) }
        && !dtype.element().is_copyable()
    {
        return Err(PyTypeError::new_err(format!(
            "an array of the scalar would need a copy, and {} has none",
            dtype.element().name()
        )));
    }
    let py = scalar.py();
    let dtype = scalar.getattr(text(py, "dtype")?)?;
    let array = py.import(text(py, "numpy")?)?.call_method1(text(py, "array")?, (scalar, dtype))?;
    array.get_item(index)
}
