//! Guards on C methods of NumPy's classes that lose values of ours or fail without a reason, whoever
//! calls them. Functions of ours stand in front, in the method's own entry, and hand everything on
//! that has no part of ours.
//!
//! * `ndarray.cumsum` and `cumprod` look `dtype=` up again by its `type_num`, which is -1 for every
//!   user dtype, and go on with the exception set: a `SystemError`. Of a DType class they make
//!   `object`. `accumulate` takes DType classes, and is called instead.
//! * `ufunc.at` casts unsafely: elements to the type of the loop, and results back. `np.add.at` of
//!   a float would round fractions to floats. What `a[i] + x` could not be put into is refused. It
//!   also returns `None` beside the exception of an element.
//!
//! Open in NumPy. Where a method is not made as expected it is left as it is.

use super::super::{
    DType, errors,
    fallible::{dict, text, tuple},
    register, trampoline,
};
use crate::numpy_abi::{NumpyApi, PyArrayObject};
use pyo3::{
    ffi,
    prelude::*,
    types::{PyComplex, PyDict, PyFloat, PyInt, PyTuple, PyType},
};
use std::{
    ffi::{CStr, c_int, c_void},
    ptr,
    sync::atomic::{AtomicPtr, Ordering::Relaxed},
};

type WithKeywords = unsafe extern "C" fn(
    *mut ffi::PyObject,
    *mut ffi::PyObject,
    *mut ffi::PyObject,
) -> *mut ffi::PyObject;
type WithArguments =
    unsafe extern "C" fn(*mut ffi::PyObject, *mut ffi::PyObject) -> *mut ffi::PyObject;

static CUMSUM: AtomicPtr<c_void> = AtomicPtr::new(ptr::null_mut());
static CUMPROD: AtomicPtr<c_void> = AtomicPtr::new(ptr::null_mut());
static AT: AtomicPtr<c_void> = AtomicPtr::new(ptr::null_mut());

/// Puts the guards in place. Idempotent.
///
/// # Errors
/// What Python fails with.
pub(super) fn install(py: Python<'_>, numpy: &NumpyApi) -> PyResult<()> {
    const KEYWORDS: c_int = ffi::METH_VARARGS | ffi::METH_KEYWORDS;
    let add = py.import("numpy")?.getattr("add")?;
    // SAFETY: both classes are static types; the flags say which kind of function stands in an
    // entry, and the guards are of that kind. GIL held.
    unsafe {
        let array = numpy.array_type();
        replace(array, c"cumsum", KEYWORDS, cumsum as WithKeywords as *mut c_void, &CUMSUM);
        replace(array, c"cumprod", KEYWORDS, cumprod as WithKeywords as *mut c_void, &CUMPROD);
        let ufunc = ffi::Py_TYPE(add.as_ptr());
        replace(ufunc, c"at", ffi::METH_VARARGS, at as WithArguments as *mut c_void, &AT);
    }
    Ok(())
}

/// Puts a function into the entry of a method and keeps the one that was there.
///
/// # Safety
/// A static type; `guard` is a function of the kind that `flags` say. GIL held.
unsafe fn replace(
    class: *mut ffi::PyTypeObject,
    name: &CStr,
    flags: c_int,
    guard: *mut c_void,
    original: &AtomicPtr<c_void>,
) {
    if !original.load(Relaxed).is_null() {
        return;
    }
    // SAFETY: the methods of a static type are an array that ends with a NULL name, which the
    // descriptors in its dictionary point into; the union in an entry is one pointer.
    unsafe {
        let mut entry = (*class).tp_methods;
        while !entry.is_null() && !(*entry).ml_name.is_null() {
            if CStr::from_ptr((*entry).ml_name) == name && (*entry).ml_flags == flags {
                let method = (&raw mut (*entry).ml_meth).cast::<*mut c_void>();
                original.store(*method, Relaxed);
                *method = guard;
                return;
            }
            entry = entry.add(1);
        }
    }
}

unsafe extern "C" fn cumsum(
    array: *mut ffi::PyObject,
    arguments: *mut ffi::PyObject,
    keywords: *mut ffi::PyObject,
) -> *mut ffi::PyObject {
    trampoline::slot("cumsum", || {
        // SAFETY: Python calls it for arrays, with a tuple and a dictionary or NULL; GIL held.
        unsafe { accumulating("add", &CUMSUM, array, arguments, keywords) }
    })
}

unsafe extern "C" fn cumprod(
    array: *mut ffi::PyObject,
    arguments: *mut ffi::PyObject,
    keywords: *mut ffi::PyObject,
) -> *mut ffi::PyObject {
    trampoline::slot("cumprod", || {
        // SAFETY: as for `cumsum`.
        unsafe { accumulating("multiply", &CUMPROD, array, arguments, keywords) }
    })
}

/// # Safety
/// The arguments of `cumsum`, `cumprod`; `original` holds NumPy's own.
unsafe fn accumulating(
    ufunc: &str,
    original: &AtomicPtr<c_void>,
    array: *mut ffi::PyObject,
    arguments: *mut ffi::PyObject,
    keywords: *mut ffi::PyObject,
) -> *mut ffi::PyObject {
    // SAFETY: the caller's promise; borrowed references live through the call.
    unsafe {
        let py = Python::assume_attached();
        let given = Arguments {
            positional: Bound::from_borrowed_ptr(py, arguments),
            named: Bound::from_borrowed_ptr_or_opt(py, keywords),
        };
        let Some(dtype) = given.dtype() else {
            let original: WithKeywords = std::mem::transmute(original.load(Relaxed));
            return original(array, arguments, keywords);
        };
        let array = Bound::from_borrowed_ptr(py, array);
        returned(py, accumulate(ufunc, dtype, &array, &given))
    }
}

/// A new reference, or NULL and an exception.
fn returned(py: Python<'_>, result: PyResult<Bound<'_, PyAny>>) -> *mut ffi::PyObject {
    match result {
        Ok(result) => result.into_ptr(),
        Err(error) => {
            error.restore(py);
            ptr::null_mut()
        }
    }
}

/// What a method was called with.
struct Arguments<'py> {
    positional: Bound<'py, PyAny>,
    named: Option<Bound<'py, PyAny>>,
}

impl<'py> Arguments<'py> {
    /// The argument of that place and name, unless it is `None`.
    fn get(&self, index: usize, name: &str) -> Option<Bound<'py, PyAny>> {
        let positional = self.positional.cast::<PyTuple>().ok()?.get_item(index).ok();
        let named = || {
            let named = self.named.as_ref()?.cast::<PyDict>().ok()?;
            named.get_item(text(named.py(), name).ok()?).ok().flatten()
        };
        positional.or_else(named).filter(|given| !given.is_none())
    }

    /// The DType that `dtype=` names, where it is one of ours: by its instance, its class or the
    /// scalar class.
    fn dtype(&self) -> Option<&'static DType> {
        let given = self.get(1, "dtype")?;
        register::all().into_iter().find(|dtype| {
            let known: [*mut ffi::PyObject; 3] =
                [dtype.descr().cast(), dtype.class().cast(), dtype.scalar_class().cast()];
            known.contains(&given.as_ptr())
        })
    }
}

fn accumulate<'py>(
    ufunc: &str,
    dtype: &'static DType,
    array: &Bound<'py, PyAny>,
    given: &Arguments<'py>,
) -> PyResult<Bound<'py, PyAny>> {
    let py = array.py();
    let options = dict(py)?;
    // SAFETY: DType classes are immortal Python types.
    let class = unsafe { Bound::from_borrowed_ptr(py, dtype.class().cast()) };
    options.set_item(text(py, "dtype")?, class.cast_into::<PyType>()?)?;
    options.set_item(text(py, "out")?, given.get(2, "out"))?;
    let array = match given.get(0, "axis") {
        Some(axis) => {
            options.set_item(text(py, "axis")?, axis)?;
            array.clone()
        }
        None => array.call_method0(text(py, "ravel")?)?,
    };
    let ufunc = py.import(text(py, "numpy")?)?.getattr(text(py, ufunc)?)?;
    ufunc.getattr(text(py, "accumulate")?)?.call((array,), Some(&options))
}

unsafe extern "C" fn at(
    ufunc: *mut ffi::PyObject,
    arguments: *mut ffi::PyObject,
) -> *mut ffi::PyObject {
    trampoline::slot("at", || {
        // SAFETY: Python calls it for ufuncs, with a tuple; GIL held; the original is of this kind.
        unsafe {
            let py = Python::assume_attached();
            let checked = fits(
                &Bound::from_borrowed_ptr(py, ufunc),
                &Bound::from_borrowed_ptr(py, arguments),
            );
            if let Err(error) = checked {
                error.restore(py);
                return ptr::null_mut();
            }
            let original: WithArguments = std::mem::transmute(AT.load(Relaxed));
            // Of an array that shares memory with the operand NumPy takes a copy, and does not look
            // whether it could be written back.
            errors::unless_raised(original(ufunc, arguments))
        }
    })
}

/// Whether the results of `ufunc.at(array, places, operand)` may be put where the elements are.
///
/// # Errors
/// NumPy's `TypeError` where they may not.
fn fits(ufunc: &Bound<'_, PyAny>, arguments: &Bound<'_, PyAny>) -> PyResult<()> {
    let (py, arguments) = (ufunc.py(), arguments.cast::<PyTuple>()?);
    let Some(numpy) = crate::numpy_abi::get() else { return Ok(()) };
    let Ok(array) = arguments.get_item(0) else { return Ok(()) };
    // SAFETY: GIL held; of an array the descriptor lives as long as it.
    let is_ours = unsafe {
        ffi::PyObject_TypeCheck(array.as_ptr(), numpy.array_type()) != 0
            && DType::try_of_descr((*array.as_ptr().cast::<PyArrayObject>()).descr).is_some()
    };
    if !is_ours {
        return Ok(());
    }
    let own = array.getattr(text(py, "dtype")?)?;
    let mut dtypes = vec![own.clone()];
    if let Ok(operand) = arguments.get_item(2) {
        // Python's own numbers adapt to what they meet.
        let is_literal = operand.is_exact_instance_of::<PyInt>()
            || operand.is_exact_instance_of::<PyFloat>()
            || operand.is_exact_instance_of::<PyComplex>();
        dtypes.push(if is_literal {
            operand.get_type().into_any()
        } else {
            py.import(text(py, "numpy")?)?
                .call_method1(text(py, "asarray")?, (operand,))?
                .getattr(text(py, "dtype")?)?
        });
    }
    dtypes.push(own);
    ufunc.call_method1(text(py, "resolve_dtypes")?, (tuple(py, dtypes)?,))?;
    Ok(())
}
