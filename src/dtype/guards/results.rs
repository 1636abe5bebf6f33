//! What NumPy returns beside an exception: it does not look whether an element could be compared,
//! read or written in the functions below, and Python would say `SystemError`.
//!
//! Each function is wrapped in its `PyMethodDef`, which Python reads at every call, in all versions:
//! a result that comes with an exception is given up, and the exception is what the caller sees.

use super::{
    super::{arming, errors, later::Resizing, trampoline},
    raw, state,
};
use crate::{erased::Failure, handler::realloc_error::Asking, numpy_abi::NumpyApi};
use pyo3::{ffi, prelude::*};
use std::{
    ffi::{c_int, c_void},
    ptr,
    sync::atomic::{AtomicPtr, Ordering::Relaxed},
};

const COUNT: usize = 10;
/// Those before compare items.
const COMPARING: usize = 3;
/// Index of `__setstate__`.
const SET_STATE: usize = 7;
/// Index of `resize`.
const RESIZE: usize = 8;

/// NumPy's own functions, once they are wrapped.
static ORIGINALS: [AtomicPtr<c_void>; COUNT] = [const { AtomicPtr::new(ptr::null_mut()) }; COUNT];

/// A function's name and a wrapper for each way of calling that NumPy uses.
struct Wrapped {
    name: &'static str,
    original: &'static AtomicPtr<c_void>,
    plain: ffi::PyCFunction,
    with_keywords: ffi::PyCFunctionWithKeywords,
    fast: ffi::PyCFunctionFastWithKeywords,
}

const fn wrapped<const INDEX: usize>(name: &'static str) -> Wrapped {
    Wrapped {
        name,
        original: &ORIGINALS[INDEX],
        plain: plain::<INDEX>,
        with_keywords: with_keywords::<INDEX>,
        fast: fast::<INDEX>,
    }
}

/// Methods of `ndarray`.
static METHODS: [Wrapped; COUNT - 1] = [
    wrapped::<0>("argmax"),
    wrapped::<1>("argmin"),
    wrapped::<2>("searchsorted"),
    wrapped::<3>("item"),
    wrapped::<4>("tolist"),
    wrapped::<5>("__reduce__"),
    wrapped::<6>("__reduce_ex__"),
    wrapped::<SET_STATE>("__setstate__"),
    wrapped::<RESIZE>("resize"),
];

/// What `np.place` calls.
static PLACE: Wrapped = wrapped::<9>("_place");

/// Wraps the functions. One that is not made as expected stays as it is: its failures are
/// `SystemError`s with the exception as their cause.
pub(super) fn install(py: Python<'_>, numpy: &NumpyApi) -> PyResult<()> {
    // SAFETY: `ndarray` is a class; GIL held.
    let class = unsafe { Bound::from_borrowed_ptr(py, numpy.array_type().cast::<ffi::PyObject>()) };
    for method in &METHODS {
        let descriptor = class.getattr(method.name)?;
        // SAFETY: a method descriptor is what its type says.
        unsafe {
            if ffi::Py_TYPE(descriptor.as_ptr()) == &raw mut ffi::PyMethodDescr_Type {
                method.install((*descriptor.as_ptr().cast::<ffi::PyMethodDescrObject>()).d_method);
            }
        }
    }
    let place = py.import("numpy._core.multiarray")?.getattr(PLACE.name)?;
    // SAFETY: as above, for a function of a module.
    unsafe {
        if ffi::PyCFunction_CheckExact(place.as_ptr()) != 0 {
            PLACE.install((*place.as_ptr().cast::<ffi::PyCFunctionObject>()).m_ml);
        }
    }
    Ok(())
}

impl Wrapped {
    /// # Safety
    /// `definition` is NumPy's own, which lives forever, or NULL; GIL held.
    unsafe fn install(&self, definition: *mut ffi::PyMethodDef) {
        const FAST: c_int = ffi::METH_FASTCALL | ffi::METH_KEYWORDS;
        const WITH_KEYWORDS: c_int = ffi::METH_VARARGS | ffi::METH_KEYWORDS;
        if definition.is_null() || !self.original.load(Relaxed).is_null() {
            return;
        }
        // SAFETY: the caller's promise; the flags tell how the function is called, and each member
        // of the union is a pointer to a function.
        unsafe {
            let function = &mut (*definition).ml_meth;
            let wrapper = match (*definition).ml_flags {
                ffi::METH_VARARGS => ffi::PyMethodDefPointer { PyCFunction: self.plain },
                WITH_KEYWORDS => {
                    ffi::PyMethodDefPointer { PyCFunctionWithKeywords: self.with_keywords }
                }
                FAST => ffi::PyMethodDefPointer { PyCFunctionFastWithKeywords: self.fast },
                _ => return,
            };
            self.original.store(function.PyCFunction as *mut c_void, Relaxed);
            *function = wrapper;
        }
    }
}

unsafe extern "C" fn plain<const INDEX: usize>(
    itself: *mut ffi::PyObject,
    arguments: *mut ffi::PyObject,
) -> *mut ffi::PyObject {
    trampoline::slot("plain", || {
        // SAFETY: Python's convention for `METH_VARARGS`, by which the original was defined; GIL held.
        unsafe {
            let original: ffi::PyCFunction = std::mem::transmute(ORIGINALS[INDEX].load(Relaxed));
            if INDEX == SET_STATE {
                return state::set_state(itself, arguments, original);
            }
            errors::unless_raised(original(itself, arguments))
        }
    })
}

unsafe extern "C" fn with_keywords<const INDEX: usize>(
    itself: *mut ffi::PyObject,
    arguments: *mut ffi::PyObject,
    keywords: *mut ffi::PyObject,
) -> *mut ffi::PyObject {
    trampoline::slot("with_keywords", || {
        // SAFETY: as for `plain`, with `METH_KEYWORDS`.
        unsafe {
            if INDEX == RESIZE
                && let Err(failure) = state::check_idle(itself.cast())
            {
                // Before NumPy ends what is in a tail that goes.
                raise_not_resized(&failure);
                return ptr::null_mut();
            }
            let original: ffi::PyCFunctionWithKeywords =
                std::mem::transmute(ORIGINALS[INDEX].load(Relaxed));
            let asking = (INDEX == RESIZE).then(Asking::begin);
            let resizing = (INDEX == RESIZE).then(Resizing::begin);
            let result = errors::unless_raised(original(itself, arguments, keywords));
            if INDEX == RESIZE {
                // It asks for the fill-zero loop of what it does not fill, where that is nothing.
                arming::withdraw();
            }
            if let Some(reason) = asking.and_then(Asking::end) {
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

unsafe extern "C" fn fast<const INDEX: usize>(
    itself: *mut ffi::PyObject,
    arguments: *const *mut ffi::PyObject,
    count: ffi::Py_ssize_t,
    names: *mut ffi::PyObject,
) -> *mut ffi::PyObject {
    trampoline::slot("fast", || {
        // SAFETY: as for `plain`, with `METH_FASTCALL | METH_KEYWORDS`.
        unsafe {
            let original: ffi::PyCFunctionFastWithKeywords =
                std::mem::transmute(ORIGINALS[INDEX].load(Relaxed));
            let call = || errors::unless_raised(original(itself, arguments, count, names));
            if INDEX >= COMPARING || !raw::is_compared_raw(itself) {
                return call();
            }
            let py = Python::assume_attached();
            let named = if names.is_null() { 0 } else { ffi::PyTuple_Size(names) };
            let given = (0..count + named).map(|index| *arguments.offset(index));
            let arrays: Vec<_> = std::iter::once(itself)
                .chain(given)
                .map(|object| Bound::from_borrowed_ptr(py, object))
                .collect();
            raw::locked_for_reading(py, &arrays, || Ok(call())).unwrap_or_else(|error| {
                error.restore(py);
                ptr::null_mut()
            })
        }
    })
}
