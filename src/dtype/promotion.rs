//! TEMP stub
use super::{DType, register::LoopData};
use crate::numpy_abi::*;
use pyo3::prelude::*;
pub fn register_promoters(
    _p: Python<'_>,
    _n: &NumpyApi,
    _d: &'static DType,
    _l: &LoopData,
) -> PyResult<()> {
    Ok(())
}
