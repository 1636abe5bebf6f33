//! No elements in memory that an object describes: `np.array` and its like take any object with an
//! `__array_interface__` for an array, whose `descr` may name a dtype of ours, over bytes that are no
//! objects.
//!
//! The functions are wrapped in their `PyMethodDef`, which Python reads at every call. An object that
//! describes memory is made an array before anything is read from it, and refused where that holds
//! elements in memory that is neither an array's nor an owner's. Where another function converts such
//! an object on its way, or finds it in a list, nothing of ours is asked (`docs/numpy.md`).

use super::{super::trampoline, holding::holds_ours};
use crate::{
    numpy_abi::{self, NumpyApi, PyArrayObject, PyVoidScalarObject, flags::*},
    owner_map,
};
use pyo3::{
    exceptions::{PyImportError, PyTypeError},
    ffi,
    prelude::*,
};
use std::{
    ffi::c_void,
    ptr,
    sync::atomic::{AtomicPtr, Ordering::Relaxed},
};

/// What makes an array of any object.
const NAMES: [&str; 5] = ["array", "asarray", "asanyarray", "ascontiguousarray", "asfortranarray"];

/// Index of `asarray`, which copies nothing.
const AS_ARRAY: usize = 1;

/// NumPy's own functions, once they are wrapped.
static ORIGINALS: [AtomicPtr<c_void>; NAMES.len()] =
    [const { AtomicPtr::new(ptr::null_mut()) }; NAMES.len()];

/// The wrappers, in the order of [`NAMES`].
const WRAPPERS: [ffi::PyCFunctionFastWithKeywords; NAMES.len()] =
    [convert::<0>, convert::<1>, convert::<2>, convert::<3>, convert::<4>];

/// Puts [`convert`] in front of NumPy's own functions. Idempotent.
///
/// # Errors
/// `ImportError` where they are not made as expected.
pub(super) fn install(py: Python<'_>, numpy: &NumpyApi) -> PyResult<()> {
    let module = py.import("numpy._core._multiarray_umath")?;
    for ((name, original), wrapper) in NAMES.iter().zip(&ORIGINALS).zip(WRAPPERS) {
        if !original.load(Relaxed).is_null() {
            continue;
        }
        let function = module.getattr(*name)?;
        // SAFETY: a function of a module is what its type says; its definition is NumPy's own, which
        // lives forever, and each member of the union is a pointer to a function.
        let wrapped = unsafe {
            ffi::PyCFunction_CheckExact(function.as_ptr()) != 0 && {
                let definition = (*function.as_ptr().cast::<ffi::PyCFunctionObject>()).m_ml;
                let as_expected = !definition.is_null()
                    && (*definition).ml_flags == ffi::METH_FASTCALL | ffi::METH_KEYWORDS;
                if as_expected {
                    original.store((*definition).ml_meth.PyCFunction as *mut c_void, Relaxed);
                    (*definition).ml_meth =
                        ffi::PyMethodDefPointer { PyCFunctionFastWithKeywords: wrapper };
                }
                as_expected
            }
        };
        if !wrapped {
            return Err(PyImportError::new_err(format!(
                "NumPy {} makes arrays of objects in an unknown way, so bytes cannot be kept from \
                 being taken for elements",
                numpy.version()
            )));
        }
    }
    Ok(())
}

/// `np.array(object, ..)` and the others.
unsafe extern "C" fn convert<const INDEX: usize>(
    module: *mut ffi::PyObject,
    arguments: *const *mut ffi::PyObject,
    count: ffi::Py_ssize_t,
    names: *mut ffi::PyObject,
) -> *mut ffi::PyObject {
    trampoline::slot("convert", || {
        // SAFETY: Python's convention for `METH_FASTCALL | METH_KEYWORDS`, which the original keeps as
        // well; GIL held.
        unsafe {
            let original: ffi::PyCFunctionFastWithKeywords =
                std::mem::transmute(ORIGINALS[INDEX].load(Relaxed));
            let given = place_of_object(count, names);
            let Some(place) = given.filter(|place| describes_memory(*arguments.add(*place))) else {
                return original(module, arguments, count, names);
            };
            let as_array: ffi::PyCFunctionFastWithKeywords =
                std::mem::transmute(ORIGINALS[AS_ARRAY].load(Relaxed));
            let array = as_array(module, arguments.add(place), 1, ptr::null_mut());
            if array.is_null() {
                return array;
            }
            if is_over_bytes(array) {
                return give_up(array);
            }
            let named = if names.is_null() { 0 } else { ffi::PyTuple_GET_SIZE(names) };
            let mut given: Vec<_> = (0..count + named).map(|i| *arguments.offset(i)).collect();
            given[place] = array;
            let result = original(module, given.as_ptr(), count, names);
            ffi::Py_DECREF(array);
            result
        }
    })
}

/// Where among its arguments a function finds the object.
///
/// # Safety
/// Python's convention for `METH_FASTCALL | METH_KEYWORDS`; GIL held.
unsafe fn place_of_object(count: ffi::Py_ssize_t, names: *mut ffi::PyObject) -> Option<usize> {
    if count > 0 {
        return Some(0);
    }
    if names.is_null() {
        return None;
    }
    // SAFETY: the caller's promise: a tuple of strings.
    unsafe {
        (0..ffi::PyTuple_GET_SIZE(names)).find(|index| {
            let name = ffi::PyTuple_GET_ITEM(names, *index);
            [c"object", c"a"]
                .iter()
                .any(|known| ffi::PyUnicode_CompareWithASCIIString(name, known.as_ptr()) == 0)
        })
    }
    .and_then(|index| usize::try_from(index).ok())
}

/// Whether NumPy may take an object for memory that it describes: it is no array, no scalar of
/// NumPy's and no number, text or sequence of Python's, and has the attribute.
///
/// # Safety
/// An object; GIL held.
#[inline]
unsafe fn describes_memory(object: *mut ffi::PyObject) -> bool {
    // SAFETY: the caller's promise.
    unsafe {
        let Some(numpy) = numpy_abi::get() else { return false };
        let class = ffi::Py_TYPE(object);
        let is_usual = class == numpy.array_type()
            || ffi::PyList_CheckExact(object) != 0
            || ffi::PyTuple_CheckExact(object) != 0
            || ffi::PyFloat_CheckExact(object) != 0
            || ffi::PyLong_CheckExact(object) != 0
            || ffi::PyUnicode_CheckExact(object) != 0;
        !is_usual
            && ffi::PyObject_TypeCheck(object, numpy.array_type()) == 0
            && ffi::PyObject_TypeCheck(object, numpy.generic_type()) == 0
            && has_interface(object)
    }
}

/// # Safety
/// An object; GIL held.
#[inline(never)]
unsafe fn has_interface(object: *mut ffi::PyObject) -> bool {
    // SAFETY: the caller's promise. Asking may raise anything, as it does for NumPy.
    unsafe { ffi::PyObject_HasAttrString(object, c"__array_interface__".as_ptr()) != 0 }
}

/// Whether an object is an array of elements in memory of nobody who may have elements.
///
/// # Safety
/// An object; GIL held.
unsafe fn is_over_bytes(object: *mut ffi::PyObject) -> bool {
    // SAFETY: the caller's promise; only arrays are read as such.
    unsafe {
        let Some(numpy) = numpy_abi::get() else { return false };
        if ffi::PyObject_TypeCheck(object, numpy.array_type()) == 0 {
            return false;
        }
        let array = object.cast::<PyArrayObject>();
        holds_ours((*array).descr) && !is_an_arrays(numpy, array)
    }
}

/// Whether an array's memory is its own, that of another array or structured scalar of elements, or
/// adopted.
///
/// # Safety
/// An array; GIL held.
unsafe fn is_an_arrays(numpy: &NumpyApi, mut array: *mut PyArrayObject) -> bool {
    // SAFETY: the caller's promise; each array keeps its base alive.
    unsafe {
        while (*array).flags & NPY_ARRAY_OWNDATA == 0 {
            let base = (*array).base;
            if base.is_null() || owner_map::is_adopted((*array).data.cast()) {
                // Without a base: memory that somebody lends in C, as NumPy does its buffers.
                return true;
            }
            if ffi::PyObject_TypeCheck(base, numpy.void_type()) != 0 {
                return holds_ours((*base.cast::<PyVoidScalarObject>()).descr);
            }
            if ffi::PyObject_TypeCheck(base, numpy.array_type()) == 0
                || !holds_ours((*base.cast::<PyArrayObject>()).descr)
            {
                return false;
            }
            array = base.cast();
        }
        true
    }
}

/// # Safety
/// An array, whose reference is this function's; GIL held.
#[cold]
unsafe fn give_up(array: *mut ffi::PyObject) -> *mut ffi::PyObject {
    // SAFETY: the caller's promise.
    unsafe {
        let py = Python::assume_attached();
        let array = Bound::from_owned_ptr(py, array);
        let dtype = array.getattr("dtype").and_then(|dtype| Ok(dtype.str()?.to_string()));
        PyTypeError::new_err(format!(
            "an array of {} cannot be made of memory that an object describes: its bytes are no \
             objects. Make an array of its own (np.empty) and assign to it.",
            dtype.unwrap_or_default()
        ))
        .restore(py);
        ptr::null_mut()
    }
}
