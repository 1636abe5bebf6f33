//! `put` and `putmask` work on a copy of an array that is not contiguous, or that shares memory with
//! what goes in. Where an element cannot be copied (a type that only moves, a copy that raises) the
//! process dies below NumPy 2.5, which does not look whether there is a copy. Later versions do not
//! look whether the copy could be written back: they return a result beside the exception, which
//! Python makes a `SystemError`.
//!
//! For such arrays of ours the copy is made here, where its failure is an exception, and assigned back.
//!
//! `fill` of records makes one in memory that it gives up as it is where a field fails: the fields made
//! before are lost. Here the one is an array.

use super::{
    super::{
        DType,
        handle::{
            pyobj::{text, tuple},
            trampoline,
        },
    },
    calls::{Arguments, all_arguments, returned},
    holding::holds_ours,
    swap::{self, Original},
};
use crate::numpy_abi::{self, Array, PyArrayObject, flags::*};
use pyo3::{exceptions::PyImportError, ffi, prelude::*};

static FILL: Original<ffi::PyCFunction> = Original::new();
static PUT: Original<ffi::PyCFunctionWithKeywords> = Original::new();
static PUTMASK: Original<ffi::PyCFunctionFastWithKeywords> = Original::new();

pub(super) fn install(py: Python<'_>) -> PyResult<bool> {
    let (class, functions) = (swap::class(py, "ndarray")?, swap::functions(py)?);
    // SAFETY: a method for objects of the class, and a function.
    unsafe {
        Ok(swap::method(&class, "put", &PUT, put)?
            && swap::method(&functions, "putmask", &PUTMASK, putmask)?)
    }
}

pub(super) fn install_fill(py: Python<'_>) -> PyResult<bool> {
    let class = swap::class(py, "ndarray")?;
    // SAFETY: a method for objects of the class.
    unsafe { swap::method(&class, "fill", &FILL, fill) }
}

/// `array.fill(value)`.
unsafe extern "C" fn fill(
    array: *mut ffi::PyObject,
    arguments: *mut ffi::PyObject,
) -> *mut ffi::PyObject {
    trampoline::slot("fill", || {
        // SAFETY: Python's convention for `METH_VARARGS`, which the original keeps as well; Python calls
        // it for arrays only; GIL held.
        unsafe {
            let descr = (*array.cast::<PyArrayObject>()).descr;
            if (*descr).type_num != NPY_VOID
                || ffi::PyTuple_GET_SIZE(arguments) != 1
                || !holds_ours(descr)
            {
                return FILL.get()(array, arguments);
            }
            let py = Python::assume_attached();
            let array = Bound::from_borrowed_ptr(py, array);
            let value = Bound::from_borrowed_ptr(py, ffi::PyTuple_GET_ITEM(arguments, 0));
            returned(py, filled(&array, &value))
        }
    })
}

/// `ndarray`, which is there where there is no memory to import it.
///
/// # Errors
/// NumPy is not imported.
fn array_class(py: Python<'_>) -> PyResult<Bound<'_, PyAny>> {
    let numpy = numpy_abi::get().ok_or_else(|| PyImportError::new_err("NumPy is not imported"))?;
    // SAFETY: a class, which lives as long as NumPy; GIL held.
    Ok(unsafe { Bound::from_borrowed_ptr(py, numpy.array_type().cast()) })
}

/// # Errors
/// What the value cannot be made an item for.
fn filled<'py>(
    array: &Bound<'py, PyAny>,
    value: &Bound<'py, PyAny>,
) -> PyResult<Bound<'py, PyAny>> {
    let py = array.py();
    let class = array_class(py)?;
    let nowhere = tuple(py, Vec::new())?;
    let dtype = array.getattr(text(py, "dtype")?)?;
    let one = class.call1((&nowhere, dtype))?;
    one.set_item(&nowhere, value)?;
    class.call_method1(text(py, "__setitem__")?, (array, py.Ellipsis(), one))?;
    Ok(py.None().into_bound(py))
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
            let original = PUT.get();
            let py = Python::assume_attached();
            let array = Bound::from_borrowed_ptr(py, array);
            let given = Arguments::new(py, arguments, keywords);
            let named = given.named.iter().flat_map(|named| named.iter().map(|(_, value)| value));
            let values = given.positional.iter().chain(named);
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
            let original = PUTMASK.get();
            let py = Python::assume_attached();
            let all = all_arguments(arguments, count, names);
            let bound = |object: &*mut ffi::PyObject| Bound::from_borrowed_ptr(py, *object);
            match all.split_first() {
                Some((array, values))
                    if count > 0 && needs_copy(&bound(array), values.iter().map(bound)) =>
                {
                    through_copy(&bound(array), |copy| {
                        let mut given = all.to_vec();
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
        // By the methods of `ndarray`, as in NumPy: those of a derived class may do something else.
        let class = array_class(py)?;
        let copy = class.call_method1(text(py, "copy")?, (array, text(py, "C")?))?;
        // SAFETY: the caller's promise.
        let result = unsafe { Bound::from_owned_ptr_or_err(py, change(copy.as_ptr())) }?;
        class.call_method1(text(py, "__setitem__")?, (array, py.Ellipsis(), copy))?;
        Ok(result)
    };
    returned(py, work())
}

/// Whether NumPy would copy the array, with elements of ours in it.
fn needs_copy<'py>(
    target: &Bound<'py, PyAny>,
    mut values: impl Iterator<Item = Bound<'py, PyAny>>,
) -> bool {
    let Some(array) = as_array(target) else { return false };
    // SAFETY: the descriptor of a living array.
    let is_ours = unsafe {
        let descr = array.descr();
        let is_structure = (*descr).type_num == NPY_VOID && (*descr).flags & NPY_ITEM_REFCOUNT != 0;
        is_structure || DType::try_of_descr(descr).is_some()
    };
    is_ours
        && array.is_writeable()
        && (!array.has_flags(NPY_ARRAY_CARRAY)
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

fn as_array<'a>(object: &'a Bound<'_, PyAny>) -> Option<Array<'a>> {
    Array::of(numpy_abi::get()?, object)
}
