//! A structured dtype does not change under the arrays that have it.
//!
//! `dtype.__setstate__` gives a dtype other fields, whatever has it by then: the bytes of an array would
//! be elements from there on, or no elements any more. And the fields that `__reduce__` gives away, or
//! `__setstate__` takes, are a dict that the dtype goes on using. So both are wrapped:
//!
//! * fields are copied on their way out and in;
//! * a dtype with elements takes no state, and no dtype takes fields of elements so;
//! * it is pickled as what makes a new one, `np.dtype({"names": .., "formats": .., ..})`.

use super::{
    super::handle::trampoline,
    calls::{index, is_number, returned},
    holding::holds_ours,
    swap::{self, Original},
};
use crate::numpy_abi::{self, PyArray_Descr, flags::*};
use pyo3::{
    exceptions::PyTypeError,
    ffi, intern,
    prelude::*,
    types::{PyDict, PyList, PyTuple},
};

static REDUCE: Original<ffi::PyCFunction> = Original::new();
static SET_STATE: Original<ffi::PyCFunction> = Original::new();

pub(super) fn install(py: Python<'_>) -> PyResult<bool> {
    let class = swap::class(py, "dtype")?;
    // SAFETY: methods for objects of the class.
    unsafe {
        swap::methods(
            &class,
            [("__reduce__", &REDUCE, reduce), ("__setstate__", &SET_STATE, set_state)],
        )
    }
}

/// Whether a dtype is a structure, a subarray or raw bytes.
///
/// # Safety
/// A descriptor; GIL held.
unsafe fn is_void(descr: *mut ffi::PyObject) -> bool {
    // SAFETY: the caller's promise.
    unsafe { (*descr.cast::<PyArray_Descr>()).type_num == NPY_VOID }
}

/// `dtype.__reduce__()`.
unsafe extern "C" fn reduce(
    descr: *mut ffi::PyObject,
    arguments: *mut ffi::PyObject,
) -> *mut ffi::PyObject {
    trampoline::slot("reduce", || {
        // SAFETY: Python's convention for `METH_VARARGS`, which the original keeps as well; it is called
        // for dtypes only; GIL held.
        unsafe {
            let original = REDUCE.get();
            if !is_void(descr) {
                return original(descr, arguments);
            }
            let py = Python::assume_attached();
            let dtype = Bound::from_borrowed_ptr(py, descr);
            if holds_ours(descr.cast()) {
                return returned(py, recipe(&dtype));
            }
            let result = original(descr, arguments);
            if result.is_null() {
                return result;
            }
            returned(py, with_copied_fields(Bound::from_owned_ptr(py, result)))
        }
    })
}

/// `(np.dtype, (what makes the dtype, align, copy, metadata))` of a structure or a subarray.
fn recipe<'py>(dtype: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
    let py = dtype.py();
    let class = py.import("numpy")?.getattr("dtype")?;
    let subarray = dtype.getattr(intern!(py, "subdtype"))?;
    let (made_of, align) = if subarray.is_none() {
        let fields = dtype.getattr(intern!(py, "fields"))?;
        let lists = [(); 4].map(|()| PyList::empty(py));
        for name in dtype.getattr(intern!(py, "names"))?.try_iter()? {
            let name = name?;
            let field = fields.get_item(&name)?.cast_into::<PyTuple>()?;
            lists[0].append(name)?;
            lists[1].append(field.get_item(0)?)?;
            lists[2].append(field.get_item(1)?)?;
            lists[3].append(field.get_item(2).unwrap_or_else(|_| py.None().into_bound(py)))?;
        }
        let parts = PyDict::new(py);
        for (key, list) in ["names", "formats", "offsets", "titles"].into_iter().zip(lists) {
            parts.set_item(key, list)?;
        }
        parts.set_item("itemsize", dtype.getattr(intern!(py, "itemsize"))?)?;
        let scalar = dtype.getattr(intern!(py, "type"))?;
        let align = dtype.getattr(intern!(py, "isalignedstruct"))?;
        if scalar.is(py.import("numpy")?.getattr("void")?) {
            (parts.into_any(), align)
        } else {
            // `np.record`, or a class of the user's.
            let structure = class.call1((parts, align))?;
            let plain = PyTuple::new(py, [scalar, structure])?;
            (plain.into_any(), false.into_pyobject(py)?.to_owned().into_any())
        }
    } else {
        (subarray, false.into_pyobject(py)?.to_owned().into_any())
    };
    let mut arguments = vec![made_of, align];
    let metadata = dtype.getattr(intern!(py, "metadata"))?;
    if !metadata.is_none() {
        let copy = PyDict::new(py);
        copy.update(metadata.cast()?)?;
        arguments.extend([false.into_pyobject(py)?.to_owned().into_any(), copy.into_any()]);
    }
    let arguments = PyTuple::new(py, arguments)?.into_any();
    Ok(PyTuple::new(py, [class, arguments])?.into_any())
}

/// The result of NumPy's own `__reduce__`, with fields that are no longer the dtype's own.
fn with_copied_fields(result: Bound<'_, PyAny>) -> PyResult<Bound<'_, PyAny>> {
    let py = result.py();
    let Ok(parts) = result.cast::<PyTuple>() else { return Ok(result) };
    let Ok(state) = parts.get_item(2).and_then(|state| Ok(state.cast_into::<PyTuple>()?)) else {
        return Ok(result);
    };
    let parts = [parts.get_item(0)?, parts.get_item(1)?, copied(&state)?.into_any()];
    Ok(PyTuple::new(py, parts)?.into_any())
}

/// A state with copies of its dicts.
fn copied<'py>(state: &Bound<'py, PyTuple>) -> PyResult<Bound<'py, PyTuple>> {
    let copy = |part: Bound<'py, PyAny>| match part.cast::<PyDict>() {
        Ok(fields) => Ok(fields.copy()?.into_any()),
        Err(_) => Ok::<_, PyErr>(part),
    };
    let parts = state.iter().map(copy).collect::<PyResult<Vec<_>>>()?;
    PyTuple::new(state.py(), parts)
}

/// A state with real integers.
///
/// # Errors
/// What the conversion of a number fails with.
fn with_numbers<'py>(state: &Bound<'py, PyTuple>) -> PyResult<Bound<'py, PyTuple>> {
    let real = |part| if is_number(&part) { index(&part) } else { Ok(part) };
    PyTuple::new(state.py(), state.iter().map(real).collect::<PyResult<Vec<_>>>()?)
}

/// `dtype.__setstate__(state)`.
unsafe extern "C" fn set_state(
    descr: *mut ffi::PyObject,
    arguments: *mut ffi::PyObject,
) -> *mut ffi::PyObject {
    trampoline::slot("set_state", || {
        // SAFETY: Python's convention for `METH_VARARGS`, which the original keeps as well; it is called
        // for dtypes only; GIL held.
        unsafe {
            let original = SET_STATE.get();
            if !is_void(descr) {
                return original(descr, arguments);
            }
            let py = Python::assume_attached();
            returned(py, take_state(py, descr, arguments, original))
        }
    })
}

/// # Errors
/// NumPy's own; `TypeError` where elements come in or go.
///
/// # Safety
/// As for [`set_state`], of a dtype of kind void.
unsafe fn take_state<'py>(
    py: Python<'py>,
    descr: *mut ffi::PyObject,
    arguments: *mut ffi::PyObject,
    original: ffi::PyCFunction,
) -> PyResult<Bound<'py, PyAny>> {
    // SAFETY: the caller's promise.
    unsafe {
        let given = Bound::from_borrowed_ptr(py, arguments).cast_into_unchecked::<PyTuple>();
        // Read once: a number's `__index__` could change the fields before they are read again.
        let state = match given.get_item(0) {
            Ok(state) if given.len() == 1 => match state.cast_into::<PyTuple>() {
                Ok(state) => Some(with_numbers(&copied(&state)?)?),
                Err(_) => None,
            },
            _ => None,
        };
        let call = |descr: *mut ffi::PyObject| {
            let arguments = match &state {
                Some(state) => PyTuple::new(py, [copied(state)?])?,
                None => given.clone(),
            };
            Bound::from_owned_ptr_or_err(py, original(descr, arguments.as_ptr()))
        };
        let Some(numpy) = numpy_abi::get() else { return call(descr) };
        // A dtype of no array takes the state first. Its flags are part of the state, and
        // may lie.
        let trial = numpy.descr_new(descr.cast()).cast::<ffi::PyObject>();
        let trial = Bound::from_owned_ptr_or_err(py, trial)?;
        call(trial.as_ptr())?;
        let known = trial.as_ptr().cast::<PyArray_Descr>();
        let flags = std::mem::replace(&mut (*known).flags, NPY_ITEM_REFCOUNT);
        let comes = holds_ours(known);
        (*known).flags = flags;
        if comes || holds_ours(descr.cast()) {
            return Err(PyTypeError::new_err(
                "a structured dtype with fields of an element type takes no state: arrays may have \
                 it. Make a new one with np.dtype.",
            ));
        }
        call(descr)
    }
}
