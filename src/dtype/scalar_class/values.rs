//! Text, hash and truth of scalars.
//!
//! The cell of a scalar is read through [`proxy::with_cell`]: it may be that of an array.

use crate::{
    abi::ErrorOut,
    dtype::{
        handle::{errors, pyobj, trampoline},
        loops::{compare, sink},
        scalars::{object, proxy},
    },
    erased::{ElementType, Failure},
};
use pyo3::ffi;
use std::{
    ffi::{CString, c_int},
    ptr,
};

/// The text of a value, `<module.Name>` where the type has none.
///
/// # Safety
/// `cell` is an aligned cell of `element` under rule 1 that no thread writes; GIL held.
unsafe fn text_of(element: &ElementType, cell: *const u8) -> Result<String, Failure> {
    let Some(to_text) = element.vtable().to_text else {
        return Ok(format!("<{}>", element.name()));
    };
    let bytes = sink::collect(|sink, report| {
        // SAFETY: the vtable's contract and the caller's promise.
        unsafe { to_text(element.vtable().context, cell, sink, report) }
    })?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

pub unsafe extern "C" fn str_(object: *mut ffi::PyObject) -> *mut ffi::PyObject {
    trampoline::slot("str_", || {
        // SAFETY: Python calls it for scalars; GIL held.
        let text =
            unsafe { proxy::with_cell(object, |dtype, cell| text_of(dtype.element(), cell)) };
        errors::give(text.map(|text| pyobj::new_text(&text)))
    })
}

/// `Name('text')`.
pub unsafe extern "C" fn repr(object: *mut ffi::PyObject) -> *mut ffi::PyObject {
    trampoline::slot("repr", || {
        // SAFETY: Python calls it for scalars; GIL held; new references are dropped.
        unsafe {
            let Some((dtype, _)) = object::scalar_cell(object) else { return ptr::null_mut() };
            let text = str_(object);
            if text.is_null() || dtype.element().vtable().to_text.is_none() {
                return text;
            }
            let name = dtype.element().name();
            let name = name.rsplit('.').next().unwrap_or(name);
            let result = match CString::new(name) {
                Ok(name) => ffi::PyUnicode_FromFormat(c"%s(%R)".as_ptr(), name.as_ptr(), text),
                Err(_) => ffi::PyObject_Repr(text),
            };
            ffi::Py_DECREF(text);
            result
        }
    })
}

pub unsafe extern "C" fn hash(object: *mut ffi::PyObject) -> ffi::Py_hash_t {
    trampoline::slot("hash", || {
        // SAFETY: Python calls it for scalars; GIL held.
        unsafe {
            let hashed = proxy::with_cell(object, |dtype, cell| {
                let element = dtype.element();
                let Some(hash) = element.vtable().hash else {
                    ffi::PyObject_HashNotImplemented(object);
                    return Err(errors::already_raised());
                };
                let (mut result, mut report) = (0i64, ErrorOut::new());
                let status = hash(element.vtable().context, cell, &mut result, &mut report);
                Failure::check(status, &report).map(|()| result)
            });
            match hashed {
                // That says that there is an exception.
                Ok(-1) => -2,
                Ok(result) => result as ffi::Py_hash_t,
                Err(failure) => {
                    errors::raise(&failure);
                    -1
                }
            }
        }
    })
}

/// `bool(scalar)`; TypeError for a type without truth, as for its arrays.
pub unsafe extern "C" fn bool_(object: *mut ffi::PyObject) -> c_int {
    trampoline::slot("bool_", || {
        // SAFETY: Python calls it for scalars; GIL held.
        let truth = unsafe {
            proxy::with_cell(object, |dtype, cell| compare::truth(dtype.element(), cell))
        };
        match truth {
            Ok(truth) => c_int::from(truth),
            Err(failure) => {
                errors::raise(&failure);
                -1
            }
        }
    })
}
