//! TEMP stub
use super::DType;
use crate::{
    abi::Cast,
    erased::{ElementType, Failure},
    numpy_abi::*,
};
use pyo3::{ffi, prelude::*};
pub fn common_class(_d: &DType, _o: *mut PyArray_DTypeMeta) -> Option<*mut PyArray_DTypeMeta> {
    None
}
pub struct CastSpecs;
impl CastSpecs {
    pub fn new(_n: &NumpyApi, _e: &'static ElementType, _c: &[Cast]) -> PyResult<Self> {
        Ok(CastSpecs)
    }
    pub fn pointers(&mut self) -> Vec<*mut PyArrayMethod_Spec> {
        vec![]
    }
    pub fn attach(&self, _d: &'static DType) {}
}
pub unsafe fn number_into_cell(
    _d: &'static DType,
    _o: *mut ffi::PyObject,
    _c: *mut u8,
) -> Result<bool, Failure> {
    Ok(false)
}
