//! Methods that lose values of ours or fail without a reason.
//!
//! * `ndarray.cumsum` and `cumprod` look `dtype=` up again by its `type_num`, which is -1 for every
//!   user dtype, and go on with the exception set: a `SystemError`. Of a DType class they make
//!   `object`. `accumulate` takes DType classes, and is called instead.
//! * `ufunc.at` casts unsafely: elements to the type of the loop, and results back. `np.add.at` of
//!   a float would round fractions to floats. What `a[i] + x` could not be put into is refused. It
//!   also returns `None` beside the exception of an element.

use super::{
    super::{
        DType,
        handle::{
            errors,
            pyobj::{dict, text, tuple},
            registry, trampoline,
        },
    },
    calls::{Arguments, returned},
    holding::element_of,
    swap::{self, Original},
};
use pyo3::{
    ffi,
    prelude::*,
    types::{PyComplex, PyFloat, PyInt, PyTuple, PyType},
};
use std::ptr;

/// Of `cumsum` and `cumprod`, and what each accumulates with.
static CUMULATIVE: [Original<ffi::PyCFunctionWithKeywords>; 2] = [const { Original::new() }; 2];
const UFUNCS: [&str; 2] = ["add", "multiply"];

static AT: Original<ffi::PyCFunction> = Original::new();

pub(super) fn install_cumulative(py: Python<'_>) -> PyResult<bool> {
    let class = swap::class(py, "ndarray")?;
    // SAFETY: methods for objects of the class.
    unsafe {
        swap::methods(
            &class,
            [
                ("cumsum", &CUMULATIVE[0], cumulative::<0>),
                ("cumprod", &CUMULATIVE[1], cumulative::<1>),
            ],
        )
    }
}

pub(super) fn install_at(py: Python<'_>) -> PyResult<bool> {
    let class = swap::class(py, "ufunc")?;
    // SAFETY: a method for objects of the class.
    unsafe { swap::method(&class, "at", &AT, at) }
}

unsafe extern "C" fn cumulative<const INDEX: usize>(
    array: *mut ffi::PyObject,
    arguments: *mut ffi::PyObject,
    keywords: *mut ffi::PyObject,
) -> *mut ffi::PyObject {
    trampoline::slot("cumulative", || {
        // SAFETY: Python's convention for `METH_VARARGS | METH_KEYWORDS`, which the original keeps as
        // well, on an array; GIL held.
        unsafe {
            let py = Python::assume_attached();
            let given = Arguments::new(py, arguments, keywords);
            let Some(dtype) = wanted_dtype(py, &given) else {
                return CUMULATIVE[INDEX].get()(array, arguments, keywords);
            };
            let array = Bound::from_borrowed_ptr(py, array);
            returned(py, accumulate(UFUNCS[INDEX], dtype, &array, &given))
        }
    })
}

/// The DType that `dtype=` names, where it is one of ours: by its instance, its class or the scalar
/// class.
fn wanted_dtype<'py>(py: Python<'py>, given: &Arguments<'py>) -> Option<&'static DType> {
    if given.positional.len() < 2 && given.named.is_none() {
        return None;
    }
    let wanted = given.get(1, &text(py, "dtype").ok()?)?;
    registry::all().into_iter().find(|dtype| {
        let known: [*mut ffi::PyObject; 3] =
            [dtype.descr().cast(), dtype.class().cast(), dtype.scalar_class().cast()];
        known.contains(&wanted.as_ptr())
    })
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
    options.set_item(text(py, "out")?, given.get(2, &text(py, "out")?))?;
    let array = match given.get(0, &text(py, "axis")?) {
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
            // Of an array that shares memory with the operand NumPy takes a copy, and does not look
            // whether it could be written back.
            errors::unless_raised(AT.get()(ufunc, arguments))
        }
    })
}

/// Whether the results of `ufunc.at(array, places, operand)` may be put where the elements are.
///
/// # Errors
/// NumPy's `TypeError` where they may not.
fn fits(ufunc: &Bound<'_, PyAny>, arguments: &Bound<'_, PyAny>) -> PyResult<()> {
    let (py, arguments) = (ufunc.py(), arguments.cast::<PyTuple>()?);
    let Ok(array) = arguments.get_item(0) else { return Ok(()) };
    if element_of(&array).is_none() {
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
