//! What NumPy returns beside an exception: it does not look whether an element could be read or written
//! in the functions below, and Python would say `SystemError`. A result that comes with an exception is
//! given up, and the exception is what the caller sees.

use super::{
    super::handle::{errors, trampoline},
    swap::{self, Original},
};
use pyo3::{ffi, prelude::*};

const COUNT: usize = 5;

static PLAIN: [Original<ffi::PyCFunction>; COUNT] = [const { Original::new() }; COUNT];
static WITH_KEYWORDS: [Original<ffi::PyCFunctionWithKeywords>; COUNT] =
    [const { Original::new() }; COUNT];
static FAST: [Original<ffi::PyCFunctionFastWithKeywords>; COUNT] =
    [const { Original::new() }; COUNT];

static NEXT: Original<ffi::iternextfunc> = Original::new();

/// `np.broadcast(..)` makes tuples of elements, with NULL where one could not be read.
pub(super) fn install_broadcast(py: Python<'_>) -> PyResult<bool> {
    let class = swap::class(py, "broadcast")?;
    // SAFETY: the next item for objects of the class; a class's slot lives as long as it.
    unsafe { swap::slot(&class, |class| &raw mut (*class).tp_iternext, "__next__", &NEXT, next) }
}

pub(super) fn install(py: Python<'_>) -> PyResult<bool> {
    let class = swap::class(py, "ndarray")?;
    Ok(wrap::<0>(&class, "item")?
        && wrap::<1>(&class, "tolist")?
        && wrap::<2>(&class, "__reduce__")?
        && wrap::<3>(&class, "__reduce_ex__")?
        // What `np.place` calls.
        && wrap::<4>(&swap::functions(py)?, "_place")?)
}

/// Wraps a function by the convention that this NumPy has for it.
fn wrap<const INDEX: usize>(owner: &Bound<'_, PyAny>, name: &str) -> PyResult<bool> {
    // SAFETY: they call the original and look whether it failed.
    unsafe {
        Ok(swap::method(owner, name, &PLAIN[INDEX], plain::<INDEX>)?
            || swap::method(owner, name, &WITH_KEYWORDS[INDEX], with_keywords::<INDEX>)?
            || swap::method(owner, name, &FAST[INDEX], fast::<INDEX>)?)
    }
}

unsafe extern "C" fn plain<const INDEX: usize>(
    itself: *mut ffi::PyObject,
    arguments: *mut ffi::PyObject,
) -> *mut ffi::PyObject {
    trampoline::slot("plain", || {
        // SAFETY: Python's convention for `METH_VARARGS`, by which the original was defined; GIL held.
        unsafe { errors::unless_raised(PLAIN[INDEX].get()(itself, arguments)) }
    })
}

unsafe extern "C" fn with_keywords<const INDEX: usize>(
    itself: *mut ffi::PyObject,
    arguments: *mut ffi::PyObject,
    keywords: *mut ffi::PyObject,
) -> *mut ffi::PyObject {
    trampoline::slot("with_keywords", || {
        // SAFETY: as for `plain`, with `METH_KEYWORDS`.
        unsafe { errors::unless_raised(WITH_KEYWORDS[INDEX].get()(itself, arguments, keywords)) }
    })
}

unsafe extern "C" fn fast<const INDEX: usize>(
    itself: *mut ffi::PyObject,
    arguments: *const *mut ffi::PyObject,
    count: ffi::Py_ssize_t,
    names: *mut ffi::PyObject,
) -> *mut ffi::PyObject {
    trampoline::slot("fast", || {
        // SAFETY: as for `plain`, with `METH_FASTCALL | METH_KEYWORDS`.
        unsafe { errors::unless_raised(FAST[INDEX].get()(itself, arguments, count, names)) }
    })
}

unsafe extern "C" fn next(iterator: *mut ffi::PyObject) -> *mut ffi::PyObject {
    trampoline::slot("next", || {
        // SAFETY: Python's convention for the slot, which the original keeps as well; GIL held.
        unsafe { errors::unless_raised(NEXT.get()(iterator)) }
    })
}
