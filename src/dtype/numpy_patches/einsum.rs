//! `c_einsum` looks up its loop at index -1, the `type_num` of every user dtype, and calls what stands
//! there. `np.einsum` takes it from a module of its own.

use super::{
    holding::holds_ours,
    swap::{self, OriginalObject},
};
use crate::numpy_abi::PyArrayObject;
use pyo3::{
    exceptions::PyTypeError,
    prelude::*,
    types::{PyDict, PyString, PyTuple},
};

static EINSUM: OriginalObject = OriginalObject::new();

pub(super) fn install(py: Python<'_>) -> PyResult<bool> {
    let modules = ["numpy._core.multiarray", "numpy._core.einsumfunc"];
    swap::name(py, &modules, "c_einsum", &EINSUM, |module| wrap_pyfunction!(c_einsum, module))
}

/// NumPy's `c_einsum` for arrays of other dtypes; it has no loops for element types.
#[pyfunction]
#[pyo3(signature = (*operands, **keywords))]
fn c_einsum<'py>(
    operands: &Bound<'py, PyTuple>,
    keywords: Option<&Bound<'py, PyDict>>,
) -> PyResult<Bound<'py, PyAny>> {
    let py = operands.py();
    let mut refused = operands.iter().any(|operand| makes_ours(&operand));
    if let Some(keywords) = keywords {
        if let Some(out) = keywords.get_item("out")? {
            refused |= makes_ours(&out);
        }
        if let Some(dtype) = keywords.get_item("dtype")?.filter(|dtype| !dtype.is_none()) {
            let descr = py.import("numpy")?.getattr("dtype")?.call1((dtype,))?;
            // SAFETY: `np.dtype` makes descriptors; GIL held.
            refused |= unsafe { holds_ours(descr.as_ptr().cast()) };
        }
    }
    if refused {
        return Err(PyTypeError::new_err(
            "einsum has no loops for element types; use @, np.matmul or np.vecdot, or a sum of \
             products",
        ));
    }
    EINSUM.bind(py)?.call(operands, keywords)
}

/// Whether NumPy makes an array with elements of ours from an operand.
fn makes_ours(operand: &Bound<'_, PyAny>) -> bool {
    let py = operand.py();
    if operand.is_none() || operand.is_instance_of::<PyString>() {
        return false;
    }
    let array = py.import("numpy").and_then(|numpy| numpy.call_method1("asarray", (operand,)));
    // What makes no array is for NumPy to refuse.
    // SAFETY: an array, whose descriptor lives as long as it; GIL held.
    array.is_ok_and(|array| unsafe { holds_ours((*array.as_ptr().cast::<PyArrayObject>()).descr) })
}
