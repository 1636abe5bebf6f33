//! Failures as Python exceptions.

use crate::{
    abi::{self, ErrorKind},
    erased::{ElementType, Failure},
    memory::emergency_heap,
};
use pyo3::{Py, PyAny, ffi, sync::PyOnceLock};
use std::ffi::{CStr, CString};

/// `denizen.VacantError`, a `ValueError`.
pub static VACANT_ERROR: PyOnceLock<Py<PyAny>> = PyOnceLock::new();
/// `denizen.BorrowError`, a `RuntimeError`.
pub static BORROW_ERROR: PyOnceLock<Py<PyAny>> = PyOnceLock::new();
/// `denizen.IntegrityError`, a `RuntimeError`.
pub static INTEGRITY_ERROR: PyOnceLock<Py<PyAny>> = PyOnceLock::new();

/// The exception class of a kind, borrowed.
fn class(kind: ErrorKind) -> *mut ffi::PyObject {
    // SAFETY: the caller of this module's functions holds the GIL; the classes are immortal
    // statics of the interpreter or kept by the three cells above.
    unsafe {
        let own = |cell: &PyOnceLock<Py<PyAny>>, fallback| {
            let python = pyo3::Python::assume_attached();
            cell.get(python).map_or(fallback, Py::as_ptr)
        };
        match kind {
            abi::ERROR_VALUE => ffi::PyExc_ValueError,
            abi::ERROR_TYPE => ffi::PyExc_TypeError,
            abi::ERROR_OVERFLOW => ffi::PyExc_OverflowError,
            abi::ERROR_ZERO_DIVISION => ffi::PyExc_ZeroDivisionError,
            abi::ERROR_MEMORY => ffi::PyExc_MemoryError,
            abi::ERROR_VACANT => own(&VACANT_ERROR, ffi::PyExc_ValueError),
            abi::ERROR_BORROW => own(&BORROW_ERROR, ffi::PyExc_RuntimeError),
            abi::ERROR_INTEGRITY => own(&INTEGRITY_ERROR, ffi::PyExc_RuntimeError),
            abi::ERROR_INDEX => ffi::PyExc_IndexError,
            abi::ERROR_NOT_IMPLEMENTED => ffi::PyExc_NotImplementedError,
            _ => ffi::PyExc_RuntimeError,
        }
    }
}

/// Whether an exception waits: NumPy goes on after some failures. GIL held.
#[inline]
pub fn is_raised() -> bool {
    // SAFETY: GIL held.
    !unsafe { ffi::PyErr_Occurred() }.is_null()
}

/// Sets the exception that a failure stands for. The GIL is held.
#[cold]
pub fn raise(failure: &Failure) {
    if failure.raised && is_raised() {
        return;
    }
    set(failure.kind, &failure.message);
}

/// Sets an exception of a kind. The GIL is held.
#[cold]
pub fn set(kind: ErrorKind, message: &str) {
    let message = CString::new(message.replace('\0', "?")).unwrap_or_default();
    // SAFETY: GIL held; the class and the text are valid.
    unsafe { ffi::PyErr_SetString(class(kind), message.as_ptr()) };
    drop(message);
    emergency_heap::over();
}

/// Sets the exception from a thread that may or may not hold the GIL. No lock of ours is held.
#[cold]
pub fn raise_from_anywhere(failure: &Failure) {
    with_gil(|| raise(failure));
}

/// Runs `action` with the GIL. No lock of ours is held, no catch frame of ours is open: at
/// interpreter exit the thread may end here.
#[cold]
pub fn with_gil<R>(action: impl FnOnce() -> R) -> R {
    // SAFETY: the interpreter is initialised, and the state is given back below.
    let state = unsafe { ffi::PyGILState_Ensure() };
    let result = action();
    // SAFETY: pairs with the call above.
    unsafe { ffi::PyGILState_Release(state) };
    result
}

/// Where failures happen that no caller can be told of: the memory of an array.
pub const MEMORY: &CStr = c"denizen: memory of an array";
/// The same, of the end of an element's life.
pub const DESTRUCTOR: &CStr = c"denizen: destructor of an element";

/// Reports a failure that no caller can be told of, keeping the exception that may be on its way. Python
/// prints "Exception ignored in: 'place'".
#[cold]
pub fn write_unraisable(failure: &Failure, place: &CStr) {
    with_gil(|| {
        let report = || {
            let mut text = std::ptr::null_mut();
            // SAFETY: GIL held. Without memory for the text the exception alone is printed.
            unsafe {
                keeping_exception(|| {
                    text = ffi::PyUnicode_FromString(place.as_ptr());
                    ffi::PyErr_Clear();
                });
            }
            raise(failure);
            // SAFETY: GIL held; the exception was just set; the text is a reference of ours or NULL.
            unsafe {
                ffi::PyErr_WriteUnraisable(text);
                ffi::Py_XDECREF(text);
            }
        };
        if failure.raised {
            report();
        } else {
            // SAFETY: GIL held.
            unsafe { keeping_exception(report) };
        }
    });
}

/// Gives a result up that came with an exception.
///
/// # Safety
/// `result` is NULL or a new reference; GIL held.
pub unsafe fn unless_raised(result: *mut ffi::PyObject) -> *mut ffi::PyObject {
    // SAFETY: the caller's promise.
    unsafe {
        if !result.is_null() && !ffi::PyErr_Occurred().is_null() {
            // What ends with the result must not see the exception.
            keeping_exception(|| ffi::Py_DECREF(result));
            return std::ptr::null_mut();
        }
    }
    result
}

// Deprecated since CPython 3.12 in favour of functions that 3.11 lacks; part of the stable ABI, so
// they stay. Bound here because pyo3 marks them deprecated or not by the interpreter of the build.
unsafe extern "C" {
    fn PyErr_Fetch(
        kind: *mut *mut ffi::PyObject,
        value: *mut *mut ffi::PyObject,
        traceback: *mut *mut ffi::PyObject,
    );
    fn PyErr_Restore(
        kind: *mut ffi::PyObject,
        value: *mut ffi::PyObject,
        traceback: *mut ffi::PyObject,
    );
}

/// Runs `action` with no exception set, then puts back the one that was on its way, if any.
///
/// # Safety
/// The GIL is held. `action` does not unwind.
pub unsafe fn keeping_exception<R>(action: impl FnOnce() -> R) -> R {
    let (mut kind, mut value, mut traceback) =
        (std::ptr::null_mut(), std::ptr::null_mut(), std::ptr::null_mut());
    // SAFETY: GIL held; three places for references.
    unsafe { PyErr_Fetch(&mut kind, &mut value, &mut traceback) };
    let result = action();
    // SAFETY: GIL held; the references that were fetched, given back once.
    unsafe { PyErr_Restore(kind, value, traceback) };
    result
}

/// The failure whose exception is set already.
#[cold]
pub fn already_raised() -> Failure {
    Failure::new(abi::ERROR_RUNTIME, "a Python exception is set").with_raised(true)
}

/// The failure of an operation that a type does not have.
#[cold]
pub fn missing(element: &ElementType, operation: &str) -> Failure {
    Failure::new(abi::ERROR_TYPE, format!("{} has no {operation}", element.name()))
}

/// A result for Python: the object, or NULL with the exception.
pub fn give(outcome: Result<*mut ffi::PyObject, Failure>) -> *mut ffi::PyObject {
    outcome.unwrap_or_else(|failure| {
        raise(&failure);
        std::ptr::null_mut()
    })
}
