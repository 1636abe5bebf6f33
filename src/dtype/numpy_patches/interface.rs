//! No elements in memory that an object describes: `np.array` and its like take any object with an
//! `__array_interface__` for an array, whose `descr` may name a dtype of ours, over bytes that are no
//! objects.
//!
//! An object that describes memory is made an array before anything is read from it, and refused where
//! that holds elements in memory that is neither an array's nor an owner's. Where another function
//! converts such an object on its way, or finds it in a list, nothing of ours is asked
//! (`docs/numpy.md`).

use super::{
    super::handle::trampoline,
    calls::all_arguments,
    holding::holds_ours,
    swap::{self, Original},
};
use crate::{
    numpy_abi::{self, NumpyApi, PyArrayObject, PyVoidScalarObject, flags::*},
    owner_map,
};
use pyo3::{exceptions::PyTypeError, ffi, prelude::*};
use std::ptr;

static ORIGINALS: [Original<ffi::PyCFunctionFastWithKeywords>; 5] = [const { Original::new() }; 5];

/// Index of `asarray`, which copies nothing. All others call it, so it comes first.
const AS_ARRAY: usize = 0;

pub(super) fn install(py: Python<'_>) -> PyResult<bool> {
    let functions = swap::functions(py)?;
    // SAFETY: each makes an array of any object.
    unsafe {
        swap::methods(
            &functions,
            [
                ("asarray", &ORIGINALS[AS_ARRAY], convert::<AS_ARRAY>),
                ("array", &ORIGINALS[1], convert::<1>),
                ("asanyarray", &ORIGINALS[2], convert::<2>),
                ("ascontiguousarray", &ORIGINALS[3], convert::<3>),
                ("asfortranarray", &ORIGINALS[4], convert::<4>),
            ],
        )
    }
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
            let original = ORIGINALS[INDEX].get();
            let given = place_of_object(count, names);
            let Some(place) = given.filter(|place| describes_memory(*arguments.add(*place))) else {
                return original(module, arguments, count, names);
            };
            let array = ORIGINALS[AS_ARRAY].get()(module, arguments.add(place), 1, ptr::null_mut());
            if array.is_null() {
                return array;
            }
            if is_over_bytes(array) {
                return give_up(array);
            }
            let mut given = all_arguments(arguments, count, names).to_vec();
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

/// Whether an object is an array of elements in memory that cannot have any.
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
                // Without a base: memory that a function in C gives away, as NumPy does its buffers.
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
