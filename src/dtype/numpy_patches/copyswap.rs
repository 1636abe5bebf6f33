//! Assignment to one structure below NumPy 2.5.2: it goes through `copyswap`, which cannot report,
//! so `a[0] = b[0]` and `a.flat[0] = b[0]` succeed beside the exception of a field, which surfaces
//! somewhere else.
//!
//! The slots of `ndarray` and `flatiter` are wrapped, also in classes that are derived from them
//! and have the same pointer; what is derived later inherits it. `ndarray.__setitem__`, an object
//! that keeps the pointer, follows.

use super::{super::trampoline, each_class};
use pyo3::{ffi, prelude::*, types::PyType};
use std::{
    ffi::{c_int, c_void},
    ptr,
    sync::atomic::{AtomicPtr, Ordering::Relaxed},
};

/// NumPy's own assignments to `array[index]` and `array.flat[index]`, once they are wrapped.
static ORIGINALS: [AtomicPtr<c_void>; 2] = [const { AtomicPtr::new(ptr::null_mut()) }; 2];

/// Puts [`assign`] in front of NumPy's own. Where that is not made as expected, the exception of a
/// field surfaces late.
pub(super) fn install(py: Python<'_>) -> PyResult<()> {
    let numpy = py.import("numpy")?;
    install_in::<0>(&numpy.getattr("ndarray")?.cast_into::<PyType>()?)?;
    install_in::<1>(&numpy.getattr("flatiter")?.cast_into::<PyType>()?)
}

fn install_in<const INDEX: usize>(class: &Bound<'_, PyType>) -> PyResult<()> {
    if !ORIGINALS[INDEX].load(Relaxed).is_null() {
        return Ok(());
    }
    // SAFETY: a class's own table of slots, or NULL; GIL held.
    let Some(original) = (unsafe { slot(class.as_type_ptr()).and_then(|slot| *slot) }) else {
        return Ok(());
    };
    ORIGINALS[INDEX].store(original as *mut c_void, Relaxed);
    each_class(class, &mut |class| {
        // SAFETY: as above.
        unsafe {
            if let Some(slot) = slot(class)
                && slot.is_some_and(|function| ptr::fn_addr_eq(function, original))
            {
                *slot = Some(assign::<INDEX>);
                ffi::PyType_Modified(class);
            }
        }
    })?;
    let method = class.getattr("__setitem__")?;
    // SAFETY: a slot's descriptor is what its type says; it calls what it keeps by the convention
    // of the slot, as which `assign` is defined.
    unsafe {
        if ffi::Py_TYPE(method.as_ptr()) == &raw mut ffi::PyWrapperDescr_Type {
            let kept = &raw mut (*method.as_ptr().cast::<ffi::PyWrapperDescrObject>()).d_wrapped;
            if *kept == original as *mut c_void {
                *kept = assign::<INDEX> as ffi::objobjargproc as *mut c_void;
            }
        }
    }
    Ok(())
}

/// The slot of a class.
///
/// # Safety
/// `class` is a class; GIL held.
unsafe fn slot<'a>(class: *mut ffi::PyTypeObject) -> Option<&'a mut Option<ffi::objobjargproc>> {
    // SAFETY: the caller's promise: the table, where there is one, lives with the class.
    unsafe {
        let mapping = (*class).tp_as_mapping;
        (!mapping.is_null()).then(|| &mut (*mapping).mp_ass_subscript)
    }
}

/// `array[index] = value`, or `array.flat[index] = value`, which has failed where an exception waits.
unsafe extern "C" fn assign<const INDEX: usize>(
    array: *mut ffi::PyObject,
    index: *mut ffi::PyObject,
    value: *mut ffi::PyObject,
) -> c_int {
    trampoline::slot("assign", || {
        // SAFETY: Python's convention for the slot, which the original keeps as well; GIL held.
        unsafe {
            let original: ffi::objobjargproc = std::mem::transmute(ORIGINALS[INDEX].load(Relaxed));
            let status = original(array, index, value);
            if status == 0 && !ffi::PyErr_Occurred().is_null() { -1 } else { status }
        }
    })
}
