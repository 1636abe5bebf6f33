//! `array.resize(..)`: NumPy ends what is in a tail that goes before it asks the handler, and takes each
//! failure of a handler for a lack of memory.

use super::{
    super::{
        cells::later::Resizing,
        handle::{errors, trampoline},
        slots::arming,
    },
    state,
    swap::{self, Original},
};
use crate::{erased::Failure, handler::realloc_error::Asking};
use pyo3::{ffi, prelude::*};
use std::ptr;

static RESIZE: Original<ffi::PyCFunctionWithKeywords> = Original::new();

pub(super) fn install(py: Python<'_>) -> PyResult<bool> {
    let class = swap::class(py, "ndarray")?;
    // SAFETY: a method for objects of the class.
    unsafe { swap::method(&class, "resize", &RESIZE, resize) }
}

unsafe extern "C" fn resize(
    array: *mut ffi::PyObject,
    arguments: *mut ffi::PyObject,
    keywords: *mut ffi::PyObject,
) -> *mut ffi::PyObject {
    trampoline::slot("resize", || {
        // SAFETY: Python's convention for `METH_VARARGS | METH_KEYWORDS`, which the original keeps as
        // well; it is called for arrays only; GIL held.
        unsafe {
            if let Err(failure) = state::check_idle(array.cast()) {
                // Before NumPy ends what is in a tail that goes.
                raise_not_resized(&failure);
                return ptr::null_mut();
            }
            let asking = Asking::begin();
            let resizing = Resizing::begin();
            let result = errors::unless_raised(RESIZE.get()(array, arguments, keywords));
            // It asks for the fill-zero loop of what it does not fill, where that is nothing.
            arming::withdraw();
            if let Some(reason) = Asking::end(asking) {
                if result.is_null() && ffi::PyErr_ExceptionMatches(ffi::PyExc_MemoryError) != 0 {
                    // NumPy takes each failure of the handler for a lack of memory.
                    raise_not_resized(&reason);
                } else {
                    errors::write_unraisable(&reason, errors::MEMORY);
                }
            }
            // Destructors see the array as it is now.
            drop(resizing);
            result
        }
    })
}

#[cold]
fn raise_not_resized(reason: &Failure) {
    errors::set(reason.kind, &format!("the array cannot be resized: {}", reason.message));
}
