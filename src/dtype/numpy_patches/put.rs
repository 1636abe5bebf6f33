//! `put` and `putmask` work on a copy of an array that is not contiguous, or that shares memory with
//! what goes in. Where an element cannot be copied (a type that only moves, a copy that raises) the
//! process dies below NumPy 2.5, which does not look whether there is a copy. Later versions do not
//! look whether the copy could be written back: they return a result beside the exception, which
//! Python makes a `SystemError`.
//!
//! Both are wrapped in their `PyMethodDef`, which Python reads at every call: for such arrays of
//! ours the copy is made here, where its failure is an exception, and assigned back.

use super::super::{DType, fallible::text, trampoline};
use crate::numpy_abi::{NumpyApi, PyArrayObject, flags::*};
use pyo3::{
    ffi,
    prelude::*,
    types::{PyDict, PyTuple},
};
use std::{
    ffi::{c_int, c_void},
    ptr,
    sync::atomic::{AtomicPtr, Ordering::Relaxed},
};

/// NumPy's own `ndarray.put`, once it is wrapped.
static NUMPY_PUT: AtomicPtr<c_void> = AtomicPtr::new(ptr::null_mut());
/// NumPy's own `putmask`, once it is wrapped.
static NUMPY_PUTMASK: AtomicPtr<c_void> = AtomicPtr::new(ptr::null_mut());

/// Wraps both. One that is not made as expected stays as it is.
///
/// # Errors
/// What Python fails with.
pub(super) fn install(py: Python<'_>, numpy: &NumpyApi) -> PyResult<()> {
    // SAFETY: `ndarray` is a class; GIL held.
    let class = unsafe { Bound::from_borrowed_ptr(py, numpy.array_type().cast::<ffi::PyObject>()) };
    let method = class.getattr("put")?;
    let function = py.import("numpy._core._multiarray_umath")?.getattr("putmask")?;
    // SAFETY: a method descriptor and a function of a module are what their types say; their
    // definitions are NumPy's own, which live forever.
    unsafe {
        if ffi::Py_TYPE(method.as_ptr()) == &raw mut ffi::PyMethodDescr_Type {
            let definition = (*method.as_ptr().cast::<ffi::PyMethodDescrObject>()).d_method;
            let guarded = ffi::PyMethodDefPointer { PyCFunctionWithKeywords: put };
            wrap(definition, &NUMPY_PUT, ffi::METH_VARARGS | ffi::METH_KEYWORDS, guarded);
        }
        if ffi::PyCFunction_CheckExact(function.as_ptr()) != 0 {
            let definition = (*function.as_ptr().cast::<ffi::PyCFunctionObject>()).m_ml;
            let guarded = ffi::PyMethodDefPointer { PyCFunctionFastWithKeywords: putmask };
            wrap(definition, &NUMPY_PUTMASK, ffi::METH_FASTCALL | ffi::METH_KEYWORDS, guarded);
        }
    }
    Ok(())
}

/// # Safety
/// `definition` is NumPy's own, which lives forever, or NULL, and `guarded` is called by the
/// convention of `flags`; GIL held.
unsafe fn wrap(
    definition: *mut ffi::PyMethodDef,
    original: &AtomicPtr<c_void>,
    flags: c_int,
    guarded: ffi::PyMethodDefPointer,
) {
    // SAFETY: the caller's promise; each member of the union is a pointer to a function.
    unsafe {
        if !definition.is_null()
            && (*definition).ml_flags == flags
            && original.load(Relaxed).is_null()
        {
            original.store((*definition).ml_meth.PyCFunction as *mut c_void, Relaxed);
            (*definition).ml_meth = guarded;
        }
    }
}

/// `array.put(indices, values, mode)`.
unsafe extern "C" fn put(
    array: *mut ffi::PyObject,
    arguments: *mut ffi::PyObject,
    keywords: *mut ffi::PyObject,
) -> *mut ffi::PyObject {
    trampoline::slot("put", || {
        // SAFETY: Python's convention for `METH_VARARGS | METH_KEYWORDS`, which the original keeps as
        // well; GIL held.
        unsafe {
            let original: ffi::PyCFunctionWithKeywords =
                std::mem::transmute(NUMPY_PUT.load(Relaxed));
            let py = Python::assume_attached();
            let array = Bound::from_borrowed_ptr(py, array);
            let given = Bound::from_borrowed_ptr(py, arguments).cast_into_unchecked::<PyTuple>();
            let named = Bound::from_borrowed_ptr_or_opt(py, keywords)
                .map(|keywords| keywords.cast_into_unchecked::<PyDict>());
            let values = given
                .iter()
                .chain(named.iter().flat_map(|named| named.iter().map(|(_, value)| value)));
            if !needs_copy(&array, values) {
                return original(array.as_ptr(), arguments, keywords);
            }
            through_copy(&array, |copy| original(copy, arguments, keywords))
        }
    })
}

/// `putmask(array, mask, values)`.
unsafe extern "C" fn putmask(
    module: *mut ffi::PyObject,
    arguments: *const *mut ffi::PyObject,
    count: ffi::Py_ssize_t,
    names: *mut ffi::PyObject,
) -> *mut ffi::PyObject {
    trampoline::slot("putmask", || {
        // SAFETY: Python's convention for `METH_FASTCALL | METH_KEYWORDS`, which the original keeps as
        // well: `count` arguments, then one for each name; GIL held.
        unsafe {
            let original: ffi::PyCFunctionFastWithKeywords =
                std::mem::transmute(NUMPY_PUTMASK.load(Relaxed));
            let named = if names.is_null() { 0 } else { ffi::PyTuple_GET_SIZE(names) };
            let py = Python::assume_attached();
            let mut given: Vec<_> = (0..count + named).map(|i| *arguments.offset(i)).collect();
            let values: Vec<_> =
                given.iter().map(|value| Bound::from_borrowed_ptr(py, *value)).collect();
            match values.split_first() {
                Some((array, values)) if count > 0 && needs_copy(array, values.iter().cloned()) => {
                    through_copy(array, |copy| {
                        given[0] = copy;
                        original(module, given.as_ptr(), count, names)
                    })
                }
                _ => original(module, arguments, count, names),
            }
        }
    })
}

/// Changes a copy, and assigns it to the array.
///
/// # Safety
/// `change` returns a new reference, or NULL with an exception.
unsafe fn through_copy(
    array: &Bound<'_, PyAny>,
    change: impl FnOnce(*mut ffi::PyObject) -> *mut ffi::PyObject,
) -> *mut ffi::PyObject {
    let py = array.py();
    let work = || -> PyResult<Bound<'_, PyAny>> {
        let copy = array.call_method1(text(py, "copy")?, (text(py, "C")?,))?;
        // SAFETY: the caller's promise.
        let result = unsafe { Bound::from_owned_ptr_or_err(py, change(copy.as_ptr())) }?;
        array.set_item(py.Ellipsis(), copy)?;
        Ok(result)
    };
    match work() {
        Ok(result) => result.into_ptr(),
        Err(error) => {
            error.restore(py);
            ptr::null_mut()
        }
    }
}

/// Whether NumPy would copy the array, with elements of ours in it.
fn needs_copy<'py>(
    target: &Bound<'py, PyAny>,
    mut values: impl Iterator<Item = Bound<'py, PyAny>>,
) -> bool {
    let Some(array) = as_array(target) else { return false };
    // SAFETY: an array, and its descriptor.
    let (flags, ours) = unsafe {
        let descr = (*array).descr;
        let is_structure = (*descr).type_num == NPY_VOID && (*descr).flags & NPY_ITEM_REFCOUNT != 0;
        ((*array).flags, is_structure || DType::try_of_descr(descr).is_some())
    };
    ours && flags & NPY_ARRAY_WRITEABLE != 0
        && (flags & NPY_ARRAY_CARRAY != NPY_ARRAY_CARRAY
            || values.any(|value| as_array(&value).is_some() && shares_memory(target, &value)))
}

/// Whether two arrays may overlap; taken for granted where NumPy cannot say.
fn shares_memory(one: &Bound<'_, PyAny>, other: &Bound<'_, PyAny>) -> bool {
    let py = one.py();
    let ask = || -> PyResult<bool> {
        py.import(text(py, "numpy")?)?
            .call_method1(text(py, "may_share_memory")?, (one, other))?
            .extract()
    };
    ask().unwrap_or(true)
}

fn as_array(object: &Bound<'_, PyAny>) -> Option<*mut PyArrayObject> {
    let numpy = crate::numpy_abi::get()?;
    // SAFETY: an object and a class; GIL held.
    let is_array = unsafe { ffi::PyObject_TypeCheck(object.as_ptr(), numpy.array_type()) } != 0;
    is_array.then(|| object.as_ptr().cast())
}
