//! Keeps `numpy.linalg` from rounding elements silently: it casts whatever it does not know to
//! `float64`, at the level 'unsafe'.
//!
//! * `solve`, `inv`, `det`, `eig`, `svd`, `qr`, .. ask `_commonType` in which type to compute, and hear
//!   `float64`; `pinv`, `cond`, `matrix_rank`, `tensorsolve` and negative powers go through those;
//! * `norm` makes `float64` of all numbers for which `issubclass(.., (inexact, object_))` is false.
//!   Norms of the bundled numbers are `float64`, as all irrational functions of them.
//!
//! The functions look both names up at each call, so those that were imported before are patched as
//! well.

use super::{
    super::{
        DType,
        handle::{pyobj::text, registry},
    },
    holding::element_of,
    swap::{self, OriginalObject},
};
use pyo3::{
    exceptions::PyTypeError,
    ffi,
    prelude::*,
    types::{PyTuple, PyType},
};

/// The module whose names are replaced.
const MODULE: &str = "numpy.linalg._linalg";

static COMMON_TYPE: OriginalObject = OriginalObject::new();
static IS_SUBCLASS: OriginalObject = OriginalObject::new();

/// What `denizen.linalg` has under the same name.
const EXACT: [&str; 5] = ["solve", "inv", "det", "matrix_rank", "lstsq"];

pub(super) fn install(py: Python<'_>) -> PyResult<bool> {
    Ok(swap::name(py, &[MODULE], "_commonType", &COMMON_TYPE, |module| {
        wrap_pyfunction!(common_type, module)
    })? && swap::name(py, &[MODULE], "issubclass", &IS_SUBCLASS, |module| {
        wrap_pyfunction!(is_subclass, module)
    })?)
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
    COMMON_TYPE.bind(py)?.call1(arrays)
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

/// The function of `numpy.linalg` that was called from outside it.
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
fn is_subclass(class: &Bound<'_, PyType>, bases: &Bound<'_, PyAny>) -> PyResult<bool> {
    let is_subclass = class.is_subclass(bases)?;
    // Only `norm` asks about several classes.
    if !is_subclass && bases.is_instance_of::<PyTuple>() {
        let ours = registry::all()
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
    Ok(is_subclass)
}

/// Whether a type came with denizen: of these an irrational function gives `float64`.
fn is_bundled(dtype: &DType) -> bool {
    dtype.element().name().starts_with("denizen.")
}
