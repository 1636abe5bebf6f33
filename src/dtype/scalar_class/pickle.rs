//! Scalars as bytes and back.

use crate::{
    abi::{self, ErrorOut},
    dtype::{
        convert::python,
        handle::{DType, errors, pyobj, trampoline},
        loops::sink,
        scalars::{object, proxy},
    },
    erased::{ElementType, Failure, rules},
};
use pyo3::{ffi, prelude::*};
use std::ptr;

/// `(denizen._runtime._scalar_from_bytes, (name, bytes))`.
pub unsafe extern "C" fn reduce(
    object: *mut ffi::PyObject,
    _none: *mut ffi::PyObject,
) -> *mut ffi::PyObject {
    trampoline::slot("reduce", || {
        // SAFETY: Python calls it for scalars; GIL held; new references are dropped or given on.
        unsafe {
            let saved = proxy::with_cell(object, |dtype, cell| {
                Ok((dtype.element().name(), scalar_to_bytes(dtype.element(), cell)?))
            });
            let (name, bytes) = match saved {
                Ok(saved) => saved,
                Err(failure) => {
                    errors::raise(&failure);
                    return ptr::null_mut();
                }
            };
            let module = ffi::PyImport_ImportModule(c"denizen._runtime".as_ptr());
            if module.is_null() {
                return ptr::null_mut();
            }
            let function = ffi::PyObject_GetAttrString(module, c"_scalar_from_bytes".as_ptr());
            ffi::Py_DECREF(module);
            if function.is_null() {
                return ptr::null_mut();
            }
            let bytes = ffi::PyBytes_FromStringAndSize(bytes.as_ptr().cast(), bytes.len() as isize);
            ffi::Py_BuildValue(c"N(NN)".as_ptr(), function, pyobj::new_text(name), bytes)
        }
    })
}

/// A value as bytes of the codec, else as text that the type can read again.
///
/// # Safety
/// `cell` is an aligned cell of `element` under rule 1 that no thread writes; GIL held.
unsafe fn scalar_to_bytes(element: &ElementType, cell: *const u8) -> Result<Vec<u8>, Failure> {
    let vtable = element.vtable();
    let text = vtable.to_text.filter(|_| vtable.from_text.is_some());
    let Some(save) = vtable.save.or(text) else {
        return Err(Failure::new(
            abi::ERROR_TYPE,
            format!("{} cannot be pickled: it has no codec and no text", element.name()),
        ));
    };
    sink::collect(|sink, report| {
        // SAFETY: the vtable's contract and the caller's promise.
        unsafe { save(vtable.context, cell, sink, report) }
    })
}

/// The scalar that `__reduce__` wrote.
///
/// # Errors
/// `TypeError` where the type has no codec and no text; what reading fails with.
pub fn scalar_from_bytes(
    py: Python<'_>,
    dtype: &'static DType,
    bytes: &[u8],
) -> PyResult<Py<PyAny>> {
    // SAFETY: GIL held.
    let object = errors::give(unsafe { read_scalar(dtype, bytes) });
    // SAFETY: a new reference, or NULL with an exception.
    Ok(unsafe { Bound::from_owned_ptr_or_err(py, object)? }.unbind())
}

/// # Safety
/// GIL held.
unsafe fn read_scalar(dtype: &'static DType, bytes: &[u8]) -> Result<*mut ffi::PyObject, Failure> {
    let vtable = dtype.element().vtable();
    let text = vtable.from_text.filter(|_| vtable.to_text.is_some());
    let Some(load) = vtable.load.or(text) else {
        return Err(Failure::new(
            abi::ERROR_TYPE,
            format!("{} cannot be unpickled: it has no codec and no text", dtype.element().name()),
        ));
    };
    let read = |cell: *mut u8| {
        let mut report = ErrorOut::new();
        // SAFETY: the vtable's contract: a vacant cell and readable bytes.
        let status =
            unsafe { load(vtable.context, cell, bytes.as_ptr(), bytes.len(), &mut report) };
        Failure::check(status, &report)
    };
    // SAFETY: GIL held; the cells are new and vacant, then live.
    unsafe {
        if object::is_ours(dtype.scalar_class()) {
            let object = object::allocate(dtype)?;
            return object::finish_new(dtype, object, read);
        }
        let mut passing = python::Object::new(dtype.element())?;
        read(passing.address())?;
        rules::materialise(dtype.element(), passing.cells())?;
        python::to_python(dtype, passing.address())
    }
}
