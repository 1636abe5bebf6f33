//! NumPy's own quicksort trusts comparisons: one that contradicts itself sends it out of the array.
//! It sorts structures with elements, and `partition` falls back to it. So for arrays that hold our
//! elements the methods below go through `denizen._sorts`, which asks for sorts that stay inside
//! whatever a comparison says. Arrays of other dtypes go straight to NumPy's method. So does `lexsort`,
//! which copies keys that are not contiguous.

use super::{
    super::{fallible::text, trampoline},
    holds_ours,
};
use crate::{
    dtype::DType,
    numpy_abi::{Array, NumpyApi, PyArrayObject},
};
use pyo3::{
    ffi,
    prelude::*,
    sync::PyOnceLock,
    types::{PyList, PyTuple},
};
use std::{
    ffi::{c_int, c_void},
    ptr,
    sync::atomic::{AtomicPtr, Ordering::Relaxed},
};

const COUNT: usize = 4;
/// Methods of `ndarray`, and functions of `denizen._sorts`.
const NAMES: [&str; COUNT] = ["sort", "argsort", "partition", "argpartition"];
/// Those that our own sorts serve, for arrays whose dtype is ours.
const SORTS: usize = 2;

/// NumPy's own functions, once they are wrapped.
static ORIGINALS: [AtomicPtr<c_void>; COUNT] = [const { AtomicPtr::new(ptr::null_mut()) }; COUNT];
/// The same as unbound methods, for Python.
static METHODS: [PyOnceLock<Py<PyAny>>; COUNT] = [const { PyOnceLock::new() }; COUNT];

/// Wraps the methods. One that is not made as expected stays as it is.
pub(super) fn install(py: Python<'_>, numpy: &NumpyApi) -> PyResult<()> {
    install_one::<0>(py, numpy)?;
    install_one::<1>(py, numpy)?;
    install_one::<2>(py, numpy)?;
    install_one::<3>(py, numpy)?;
    install_lexsort(py)
}

/// NumPy's own `lexsort`, once it is wrapped, and the same for Python.
static LEXSORT: AtomicPtr<c_void> = AtomicPtr::new(ptr::null_mut());
static LEXSORT_FUNCTION: PyOnceLock<Py<PyAny>> = PyOnceLock::new();

/// Wraps `lexsort`, of which `np.lexsort` is a dispatcher.
fn install_lexsort(py: Python<'_>) -> PyResult<()> {
    const FAST: c_int = ffi::METH_FASTCALL | ffi::METH_KEYWORDS;
    let function = py.import("numpy._core._multiarray_umath")?.getattr("lexsort")?;
    // SAFETY: a function of a module is what its type says; its definition is NumPy's own, which
    // lives forever, as does the copy; GIL held.
    unsafe {
        if ffi::PyCFunction_CheckExact(function.as_ptr()) == 0 || !LEXSORT.load(Relaxed).is_null() {
            return Ok(());
        }
        let definition = (*function.as_ptr().cast::<ffi::PyCFunctionObject>()).m_ml;
        if (*definition).ml_flags != FAST {
            return Ok(());
        }
        let module = (*function.as_ptr().cast::<ffi::PyCFunctionObject>()).m_self;
        let copy = Box::leak(Box::new(ptr::read(definition)));
        let original = ffi::PyCFunction_NewEx(copy, module, ptr::null_mut());
        let original = Bound::from_owned_ptr_or_err(py, original)?.unbind();
        let _ = LEXSORT_FUNCTION.set(py, original);
        LEXSORT.store((*definition).ml_meth.PyCFunctionFastWithKeywords as _, Relaxed);
        (*definition).ml_meth = ffi::PyMethodDefPointer { PyCFunctionFastWithKeywords: lexsort };
    }
    Ok(())
}

unsafe extern "C" fn lexsort(
    module: *mut ffi::PyObject,
    arguments: *const *mut ffi::PyObject,
    count: ffi::Py_ssize_t,
    names: *mut ffi::PyObject,
) -> *mut ffi::PyObject {
    trampoline::slot("lexsort", || {
        // SAFETY: Python's convention for `METH_FASTCALL | METH_KEYWORDS`, which the original keeps as
        // well: `count` arguments, then one a name; GIL held.
        unsafe {
            let py = Python::assume_attached();
            let named = if names.is_null() { 0 } else { ffi::PyTuple_Size(names) };
            // The keys come first, in whatever way they are given: the other argument is a number.
            let given = (0..count + named).map(|index| *arguments.offset(index));
            let mut given = given.map(|object| Bound::from_borrowed_ptr(py, object));
            match given.any(|object| may_hold_ours(&object)) {
                false => {
                    let original: ffi::PyCFunctionFastWithKeywords =
                        std::mem::transmute(LEXSORT.load(Relaxed));
                    original(module, arguments, count, names)
                }
                true => match guarded_lexsort(py, arguments, count, names) {
                    Ok(result) => result.into_ptr(),
                    Err(error) => {
                        error.restore(py);
                        ptr::null_mut()
                    }
                },
            }
        }
    })
}

/// Whether an object is an array that holds elements of ours, or a sequence that may give one.
fn may_hold_ours(object: &Bound<'_, PyAny>) -> bool {
    let Some(numpy) = crate::numpy_abi::get() else { return false };
    let is_ours = |object: &Bound<'_, PyAny>| {
        // SAFETY: the descriptor of a living array; GIL held.
        Array::of(numpy, object).map(|array| unsafe { holds_ours(array.descr()) })
    };
    if let Some(is_ours) = is_ours(object) {
        return is_ours;
    }
    let any = |mut keys: Box<dyn Iterator<Item = Bound<'_, PyAny>> + '_>| {
        keys.any(|key| is_ours(&key).unwrap_or(false))
    };
    match (object.cast::<PyList>(), object.cast::<PyTuple>()) {
        (Ok(list), _) => any(Box::new(list.iter())),
        (_, Ok(tuple)) => any(Box::new(tuple.iter())),
        // Of other sequences, what they give is not known before it is asked for.
        // SAFETY: an object; GIL held.
        _ => unsafe { ffi::PySequence_Check(object.as_ptr()) != 0 },
    }
}

/// `denizen._sorts.lexsort(lexsort, ..)`.
///
/// # Safety
/// As for [`lexsort`].
unsafe fn guarded_lexsort<'py>(
    py: Python<'py>,
    arguments: *const *mut ffi::PyObject,
    count: ffi::Py_ssize_t,
    names: *mut ffi::PyObject,
) -> PyResult<Bound<'py, PyAny>> {
    let function = py.import(text(py, "denizen._sorts")?)?.getattr(text(py, "lexsort")?)?;
    let original = LEXSORT_FUNCTION.get(py).map_or(ptr::null_mut(), Py::as_ptr);
    // SAFETY: the caller's promise; borrowed references, alive through the call.
    unsafe {
        let named = if names.is_null() { 0 } else { ffi::PyTuple_Size(names) };
        let mut all = vec![original];
        all.extend((0..count + named).map(|index| *arguments.offset(index)));
        let result =
            ffi::PyObject_Vectorcall(function.as_ptr(), all.as_ptr(), count as usize + 1, names);
        Bound::from_owned_ptr_or_err(py, result)
    }
}

fn install_one<const INDEX: usize>(py: Python<'_>, numpy: &NumpyApi) -> PyResult<()> {
    const FAST: c_int = ffi::METH_FASTCALL | ffi::METH_KEYWORDS;
    // SAFETY: `ndarray` is a class; a method descriptor is what its type says, and its definition
    // is NumPy's own, which lives forever, as does the copy; GIL held.
    unsafe {
        let class = Bound::from_borrowed_ptr(py, numpy.array_type().cast::<ffi::PyObject>());
        let descriptor = class.getattr(NAMES[INDEX])?;
        if ffi::Py_TYPE(descriptor.as_ptr()) != &raw mut ffi::PyMethodDescr_Type
            || METHODS[INDEX].get(py).is_some()
        {
            return Ok(());
        }
        let definition = (*descriptor.as_ptr().cast::<ffi::PyMethodDescrObject>()).d_method;
        if (*definition).ml_flags != FAST {
            return Ok(());
        }
        let copy = Box::leak(Box::new(ptr::read(definition)));
        let method = ffi::PyDescr_NewMethod(numpy.array_type(), copy);
        let method = Bound::from_owned_ptr_or_err(py, method)?.unbind();
        let _ = METHODS[INDEX].set(py, method);
        ORIGINALS[INDEX].store((*definition).ml_meth.PyCFunctionFastWithKeywords as _, Relaxed);
        (*definition).ml_meth =
            ffi::PyMethodDefPointer { PyCFunctionFastWithKeywords: wrapper::<INDEX> };
    }
    Ok(())
}

unsafe extern "C" fn wrapper<const INDEX: usize>(
    array: *mut ffi::PyObject,
    arguments: *const *mut ffi::PyObject,
    count: ffi::Py_ssize_t,
    names: *mut ffi::PyObject,
) -> *mut ffi::PyObject {
    trampoline::slot("wrapper", || {
        // SAFETY: Python's convention for `METH_FASTCALL | METH_KEYWORDS`, which the original keeps as
        // well, on an array; GIL held.
        unsafe {
            let descr = (*array.cast::<PyArrayObject>()).descr;
            let is_served = INDEX < SORTS && DType::try_of_descr(descr).is_some();
            if is_served || !holds_ours(descr) {
                let original: ffi::PyCFunctionFastWithKeywords =
                    std::mem::transmute(ORIGINALS[INDEX].load(Relaxed));
                return original(array, arguments, count, names);
            }
            let py = Python::assume_attached();
            match through_python::<INDEX>(py, array, arguments, count, names) {
                Ok(result) => result.into_ptr(),
                Err(error) => {
                    error.restore(py);
                    ptr::null_mut()
                }
            }
        }
    })
}

/// `denizen._sorts.NAME(method, array, ..)`.
///
/// # Safety
/// As for [`wrapper`].
unsafe fn through_python<'py, const INDEX: usize>(
    py: Python<'py>,
    array: *mut ffi::PyObject,
    arguments: *const *mut ffi::PyObject,
    count: ffi::Py_ssize_t,
    names: *mut ffi::PyObject,
) -> PyResult<Bound<'py, PyAny>> {
    let function = py.import(text(py, "denizen._sorts")?)?.getattr(text(py, NAMES[INDEX])?)?;
    // SAFETY: the caller's promise: `count` arguments, then one a name.
    unsafe {
        let named = if names.is_null() { 0 } else { ffi::PyTuple_Size(names) };
        let mut all = vec![ptr::null_mut(), array];
        all[0] = METHODS[INDEX].get(py).map_or(array, Py::as_ptr);
        all.extend((0..count + named).map(|index| *arguments.offset(index)));
        let result =
            ffi::PyObject_Vectorcall(function.as_ptr(), all.as_ptr(), count as usize + 2, names);
        Bound::from_owned_ptr_or_err(py, result)
    }
}
