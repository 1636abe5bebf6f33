//! `array.resize(..)`: NumPy ends what is in a tail that goes before it asks the handler, and takes each
//! failure of a handler for a lack of memory. So the memory is looked at first, and before that the
//! numbers of the new shape are read, whose `__index__` may run Python code that begins to use it.

use super::{
    super::{
        cells::later::Resizing,
        handle::{errors, trampoline},
        slots::arming,
    },
    calls::{Arguments, index, indices, is_number},
    holding::holds_ours,
    state,
    swap::{self, Original},
};
use crate::{abi, erased::Failure, handler::realloc_error::Asking, lock, numpy_abi::PyArrayObject};
use pyo3::{
    ffi,
    prelude::*,
    types::{PyDict, PyInt, PyTuple},
};
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
            let py = Python::assume_attached();
            let given = match with_numbers(&Arguments::new(py, arguments, keywords)) {
                Ok(given) => given,
                Err(error) => {
                    error.restore(py);
                    return ptr::null_mut();
                }
            };
            if let Err(failure) = state::check_idle(array.cast()) {
                // Before NumPy ends what is in a tail that goes.
                raise_not_resized(&failure);
                return ptr::null_mut();
            }
            if leaves_references(&given) && is_operand(array.cast()) {
                raise_not_resized(&Failure::new(
                    abi::ERROR_BORROW,
                    "an operation is at work in this thread, which may go on in its memory; \
                     without refcheck=False it is resized where nothing else refers to it",
                ));
                return ptr::null_mut();
            }
            let asking = Asking::begin();
            let resizing = Resizing::begin();
            let result = errors::unless_raised(RESIZE.get()(
                array,
                given.positional.as_ptr(),
                given.named.as_ref().map_or(ptr::null_mut(), Bound::as_ptr),
            ));
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

/// The arguments with real integers: what runs Python code has run before anything is decided.
///
/// # Errors
/// `TypeError` for what is no number.
fn with_numbers<'py>(given: &Arguments<'py>) -> PyResult<Arguments<'py>> {
    let py = given.positional.py();
    let positional = match given.positional.get_item(0) {
        Ok(shape) if given.positional.len() == 1 => {
            let is_plain = shape.is_none() || shape.is_exact_instance_of::<PyInt>();
            let shape = if is_plain { shape } else { indices(&shape)?.into_any() };
            PyTuple::new(py, [shape])?
        }
        _ => indices(&given.positional)?,
    };
    let Some(named) = &given.named else { return Ok(Arguments { positional, named: None }) };
    let copy = PyDict::new(py);
    for (name, value) in named {
        copy.set_item(name, if is_number(&value) { index(&value)? } else { value })?;
    }
    Ok(Arguments { positional, named: Some(copy) })
}

/// Whether NumPy is not to look who else has the array: `refcheck=False`.
fn leaves_references(given: &Arguments<'_>) -> bool {
    let refcheck = given.named.as_ref().and_then(|named| named.get_item("refcheck").ok().flatten());
    refcheck.is_some_and(|refcheck| !refcheck.is_truthy().unwrap_or(true))
}

/// Whether an array with elements may be an operand of the operation that called the client's code from
/// which it is resized: between two calls of a loop, NumPy has an operand's address, and nothing else.
///
/// # Safety
/// `array` is an array; GIL held.
unsafe fn is_operand(array: *mut PyArrayObject) -> bool {
    // SAFETY: the caller's promise.
    lock::is_in_operation() && unsafe { holds_ours((*array).descr) }
}

#[cold]
fn raise_not_resized(reason: &Failure) {
    errors::set(reason.kind, &format!("the array cannot be resized: {}", reason.message));
}
