//! Keeps `numpy.linalg` from rounding elements silently: it casts whatever it does not know to
//! `float64`, at the level 'unsafe'.
//!
//! | what NumPy does | until | guard |
//! |---|---|---|
//! | `solve`, `inv`, `det`, `eig`, `svd`, `qr`, .. ask `_commonType` in which type to compute, and hear `float64`; `pinv`, `cond`, `matrix_rank`, `tensorsolve` and negative powers go through those | open | `common_type` in its place refuses our elements |
//! | `norm` makes `float64` of all numbers for which `issubclass(.., (inexact, object_))` is false | open | `is_subclass` in that module refuses the scalar classes of clients' types. Norms of the bundled numbers are `float64`, as all irrational functions of them. |
//!
//! The functions look both names up at each call, so those that somebody imported before us are
//! guarded as well. Where NumPy is not made as expected, it rounds: `test_linalg.py` would notice.

use super::super::{DType, fallible::text, register};
use crate::numpy_abi::{self, PyArrayObject};
use pyo3::{
    exceptions::PyTypeError,
    ffi,
    prelude::*,
    sync::PyOnceLock,
    types::{PyAnyMethods, PyTuple},
};

/// The module whose names are replaced.
const MODULE: &str = "numpy.linalg._linalg";

/// NumPy's own `_commonType`, once another stands in its place.
static NUMPY_COMMON_TYPE: PyOnceLock<Py<PyAny>> = PyOnceLock::new();

/// What `denizen.linalg` has under the same name.
const EXACT: [&str; 5] = ["solve", "inv", "det", "matrix_rank", "lstsq"];

/// Puts both guards in place. Idempotent.
///
/// # Errors
/// What Python fails with.
pub(super) fn install(py: Python<'_>) -> PyResult<()> {
    let module = py.import(MODULE)?;
    if NUMPY_COMMON_TYPE.get(py).is_some() || !module.hasattr("_commonType")? {
        return Ok(());
    }
    let _ = NUMPY_COMMON_TYPE.set(py, module.getattr("_commonType")?.unbind());
    module.setattr("_commonType", wrap_pyfunction!(common_type, &module)?)?;
    module.setattr("issubclass", wrap_pyfunction!(is_subclass, &module)?)
}

/// NumPy's `_commonType(*arrays)` for arrays of other dtypes.
#[pyfunction]
#[pyo3(signature = (*arrays))]
fn common_type<'py>(arrays: &Bound<'py, PyTuple>) -> PyResult<Bound<'py, PyAny>> {
    let py = arrays.py();
    for array in arrays {
        if let Some(dtype) = element_of(&array) {
            return Err(refuse(py, dtype.element().name()));
        }
    }
    match NUMPY_COMMON_TYPE.get(py) {
        Some(original) => original.bind(py).call1(arrays),
        None => Err(PyTypeError::new_err("NumPy's _commonType was not kept")),
    }
}

/// The element type of an array of ours.
fn element_of(array: &Bound<'_, PyAny>) -> Option<&'static DType> {
    let numpy = numpy_abi::get()?;
    // SAFETY: GIL held; of an array the descriptor lives as long as it.
    unsafe {
        if ffi::PyObject_TypeCheck(array.as_ptr(), numpy.array_type()) == 0 {
            return None;
        }
        DType::try_of_descr((*array.as_ptr().cast::<PyArrayObject>()).descr)
    }
}

/// Says which function it is, and what to call instead.
#[cold]
fn refuse(py: Python<'_>, name: &str) -> PyErr {
    let called = called_function(py).unwrap_or_default();
    let called = called.as_str();
    let advice = if EXACT.contains(&called) {
        format!("denizen.linalg.{called} computes in exact types")
    } else if called == "matrix_power" {
        "raise denizen.linalg.inv of the matrix to the positive power, which is exact".to_owned()
    } else if called == "tensorsolve" || called == "tensorinv" {
        "reshape to matrices for denizen.linalg.solve or denizen.linalg.inv, which are exact"
            .to_owned()
    } else {
        "denizen.linalg has solve, inv, det, matrix_rank and lstsq, which are exact".to_owned()
    };
    PyTypeError::new_err(format!(
        "numpy.linalg.{called} would round elements of {name} to float64: {advice}; or convert \
         with astype(float) first"
    ))
}

/// The function of `numpy.linalg` that somebody outside it called.
fn called_function(py: Python<'_>) -> PyResult<String> {
    let mut frame = py.import(text(py, "sys")?)?.call_method0(text(py, "_getframe")?)?;
    let mut name = String::new();
    while !frame.is_none() {
        let module = frame.getattr(text(py, "f_globals")?)?.get_item(text(py, "__name__")?)?;
        if module.extract::<String>()? != MODULE {
            break;
        }
        name = frame.getattr(text(py, "f_code")?)?.getattr(text(py, "co_name")?)?.extract()?;
        frame = frame.getattr(text(py, "f_back")?)?;
    }
    Ok(name)
}

/// Python's `issubclass`, but for `norm`.
#[pyfunction]
#[pyo3(signature = (class, bases, /))]
fn is_subclass(class: &Bound<'_, PyAny>, bases: &Bound<'_, PyAny>) -> PyResult<bool> {
    let py = class.py();
    // SAFETY: GIL held, two objects.
    let answer = unsafe { ffi::PyObject_IsSubclass(class.as_ptr(), bases.as_ptr()) };
    if answer < 0 {
        return Err(PyErr::fetch(py));
    }
    // Only `norm` asks about several classes.
    if answer == 0 && bases.is_instance_of::<PyTuple>() {
        let ours = register::all()
            .into_iter()
            .find(|dtype| dtype.scalar_class().cast::<ffi::PyObject>() == class.as_ptr());
        if let Some(dtype) = ours.filter(|dtype| !is_bundled(dtype)) {
            return Err(PyTypeError::new_err(format!(
                "numpy.linalg.norm would make float64 of elements of {}; write \
                 np.sqrt((a * a).sum()) or np.abs(a).max(), which keep the type, or convert with \
                 astype(float) first",
                dtype.element().name()
            )));
        }
    }
    Ok(answer == 1)
}

/// Whether a type came with denizen: of these an irrational function gives `float64`.
fn is_bundled(dtype: &DType) -> bool {
    dtype.element().name().starts_with("denizen.")
}
