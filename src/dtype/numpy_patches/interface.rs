//! No elements in memory that an object describes: `np.array` and its like take any object with an
//! `__array_interface__` for an array, whose `descr` may name a dtype of ours, over bytes that are no
//! objects.
//!
//! An object that describes memory is made an array before anything is read from it, and refused where
//! that holds elements in memory that is neither an array's nor an owner's. NumPy asks an object again
//! for what was asked here, and one that answers with code of its own may say something else then; so
//! NumPy gets what such an object was found to be instead of it ([`stand_in`]). What lists and tuples
//! have in them is asked, but not replaced: an array of objects takes it as it is. What other functions
//! convert on their way is not asked (`docs/numpy.md`).

use super::{
    super::handle::trampoline,
    calls::all_arguments,
    describing::{Answer, Scan, answer_of, is_list, is_over_bytes, is_plain},
    swap::{self, Original},
};
use crate::numpy_abi::{self, NumpyApi};
use pyo3::{
    exceptions::{PyKeyError, PyMemoryError, PyRecursionError, PyTypeError},
    ffi,
    prelude::*,
};
use std::{ffi::CStr, ptr};

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
            let (Some(numpy), Some(place)) = (numpy_abi::get(), place_of_object(count, names))
            else {
                return original(module, arguments, count, names);
            };
            let object = *arguments.add(place);
            if is_plain(numpy, ffi::Py_TYPE(object)) {
                return original(module, arguments, count, names);
            }
            if is_list(ffi::Py_TYPE(object)) {
                let mut scan = Scan::new(numpy, ORIGINALS[AS_ARRAY].get());
                return match scan.items(object, 1) {
                    Ok(()) => original(module, arguments, count, names),
                    Err(array) => give_up(array),
                };
            }
            let py = Python::assume_attached();
            let mut no_copy = false;
            let given = match answer_of(object) {
                Err(error) => Err(error),
                Ok(Answer::Nothing) => return original(module, arguments, count, names),
                Ok(Answer::Memory) => as_array(py, object),
                Ok(Answer::Unknown) => {
                    if is_for_others(numpy, argument(arguments, count, names, c"like")) {
                        return original(module, arguments, count, names);
                    }
                    no_copy = is_false(argument(arguments, count, names, c"copy"));
                    stand_in(py, numpy, object, no_copy)
                }
            };
            let given = match given {
                Ok(given) => given,
                Err(error) => {
                    error.restore(py);
                    return ptr::null_mut();
                }
            };
            let mut all = all_arguments(arguments, count, names).to_vec();
            all[place] = given.as_ptr();
            let result = original(module, all.as_ptr(), count, names);
            if no_copy && !result.is_null() && is_over_bytes(result) {
                return give_up(result);
            }
            result
        }
    })
}

/// The array of an object that describes memory.
///
/// # Errors
/// It holds elements in memory that cannot have any; what NumPy fails with.
///
/// # Safety
/// An object; GIL held.
unsafe fn as_array(py: Python<'_>, object: *mut ffi::PyObject) -> PyResult<Bound<'_, PyAny>> {
    // SAFETY: the caller's promise; `asarray` takes one object, and returns a new reference, or NULL
    // and an exception.
    unsafe {
        let array = ORIGINALS[AS_ARRAY].get()(ptr::null_mut(), &object, 1, ptr::null_mut());
        let array = Bound::from_owned_ptr_or_err(py, array)?;
        if is_over_bytes(array.as_ptr()) { Err(refusal(&array)) } else { Ok(array) }
    }
}

/// What an object has but for its interface: its `__array__`.
#[pyclass(frozen, module = "denizen", name = "_ArrayMethod")]
struct ArrayMethod {
    #[pyo3(get, name = "__array__")]
    method: Py<PyAny>,
}

/// What NumPy gets for an object that described no memory when it was asked, and could when NumPy asks:
/// its buffer, its `__array__`, its items, or an array with the object in it, in the order in which
/// NumPy looks for them. Where there must be no copy, it is the object itself: nothing is read then.
///
/// # Errors
/// What it fails with, as in NumPy.
///
/// # Safety
/// An object; GIL held.
#[cold]
unsafe fn stand_in<'py>(
    py: Python<'py>,
    numpy: &NumpyApi,
    object: *mut ffi::PyObject,
    no_copy: bool,
) -> PyResult<Bound<'py, PyAny>> {
    // SAFETY: the caller's promise; all functions return a new reference, or NULL and an exception.
    unsafe {
        let bound = Bound::from_borrowed_ptr(py, object);
        if ffi::PyObject_CheckBuffer(object) != 0 {
            match Bound::from_owned_ptr_or_err(py, ffi::PyMemoryView_FromObject(object)) {
                Ok(view) => return Ok(view),
                Err(_) => ffi::PyErr_Clear(),
            }
        }
        let is_class = ffi::PyType_Check(object) != 0;
        // Of a class it may be what its objects have.
        let method = bound.getattr_opt("__array__")?;
        if let Some(method) = method
            && !(is_class && method.hasattr("__get__").unwrap_or(true))
        {
            return Ok(Bound::new(py, ArrayMethod { method: method.unbind() })?.into_any());
        }
        if ffi::PySequence_Check(object) != 0 {
            if ffi::PySequence_Size(object) >= 0 {
                let items = if ffi::PyTuple_Check(object) != 0 {
                    ffi::PySequence_Tuple(object)
                } else {
                    ffi::PySequence_List(object)
                };
                match Bound::from_owned_ptr_or_err(py, items) {
                    Ok(items) => {
                        let mut scan = Scan::new(numpy, ORIGINALS[AS_ARRAY].get());
                        return match scan.items(items.as_ptr(), 1) {
                            Ok(()) => Ok(items),
                            Err(array) if array.is_null() => Err(PyErr::fetch(py)),
                            Err(array) => Err(refusal(&Bound::from_owned_ptr(py, array))),
                        };
                    }
                    // What looks like a dictionary is an object.
                    Err(error) if error.is_instance_of::<PyKeyError>(py) => {}
                    Err(error) => return Err(error),
                }
            } else {
                let error = PyErr::fetch(py);
                if error.is_instance_of::<PyRecursionError>(py)
                    || error.is_instance_of::<PyMemoryError>(py)
                {
                    return Err(error);
                }
            }
        }
        if no_copy { Ok(bound) } else { as_array(py, object) }
    }
}

/// The argument of a name, or NULL.
///
/// # Safety
/// Python's convention for `METH_FASTCALL | METH_KEYWORDS`; GIL held.
unsafe fn argument(
    arguments: *const *mut ffi::PyObject,
    count: ffi::Py_ssize_t,
    names: *mut ffi::PyObject,
    wanted: &CStr,
) -> *mut ffi::PyObject {
    if names.is_null() {
        return ptr::null_mut();
    }
    // SAFETY: the caller's promise: a tuple of texts, and one argument each.
    unsafe {
        (0..ffi::PyTuple_GET_SIZE(names))
            .find(|index| {
                let name = ffi::PyTuple_GET_ITEM(names, *index);
                ffi::PyUnicode_CompareWithASCIIString(name, wanted.as_ptr()) == 0
            })
            .map_or(ptr::null_mut(), |index| *arguments.offset(count + index))
    }
}

/// Whether the array is made by another library: `like=` with what is no array of NumPy's.
///
/// # Safety
/// An object or NULL; GIL held.
unsafe fn is_for_others(numpy: &NumpyApi, like: *mut ffi::PyObject) -> bool {
    // SAFETY: the caller's promise.
    unsafe {
        !like.is_null()
            && like != ffi::Py_None()
            && ffi::PyObject_TypeCheck(like, numpy.array_type()) == 0
    }
}

/// Whether an object is `False` or 0, and stays so.
///
/// # Safety
/// An object or NULL; GIL held.
unsafe fn is_false(object: *mut ffi::PyObject) -> bool {
    // SAFETY: the caller's promise.
    unsafe {
        !object.is_null()
            && (object == ffi::Py_False()
                || ffi::PyLong_CheckExact(object) != 0 && ffi::PyObject_IsTrue(object) == 0)
    }
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

/// # Safety
/// An array, whose reference is this function's, or NULL and an exception; GIL held.
#[cold]
unsafe fn give_up(array: *mut ffi::PyObject) -> *mut ffi::PyObject {
    if array.is_null() {
        return array;
    }
    // SAFETY: the caller's promise.
    unsafe {
        let py = Python::assume_attached();
        refusal(&Bound::from_owned_ptr(py, array)).restore(py);
    }
    ptr::null_mut()
}

#[cold]
fn refusal(array: &Bound<'_, PyAny>) -> PyErr {
    let dtype = array.getattr("dtype").and_then(|dtype| Ok(dtype.str()?.to_string()));
    PyTypeError::new_err(format!(
        "an array of {} cannot be made of memory that an object describes: its bytes are no \
         objects. Make an array of its own (np.empty) and assign to it.",
        dtype.unwrap_or_default()
    ))
}
