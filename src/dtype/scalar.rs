//! TEMP stub
use super::DType;
use crate::erased::*;
use pyo3::{ffi, prelude::*, types::PyType};
pub fn make_scalar_class<'py>(
    _p: Python<'py>,
    _e: &'static ElementType,
    _m: &str,
    _n: &str,
    _d: &str,
) -> PyResult<Bound<'py, PyType>> {
    Err(pyo3::exceptions::PyRuntimeError::new_err("stub"))
}
pub unsafe fn new_scalar(_d: &'static DType, _c: Cells<'_>) -> Result<*mut ffi::PyObject, Failure> {
    Err(Failure::new(0, "stub"))
}
pub fn scalar_cell(_o: *mut ffi::PyObject) -> Option<(&'static DType, *mut u8)> {
    None
}
pub fn scalar_from_bytes(_p: Python<'_>, _d: &'static DType, _b: &[u8]) -> PyResult<Py<PyAny>> {
    Err(pyo3::exceptions::PyRuntimeError::new_err("stub"))
}
