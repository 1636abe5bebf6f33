//! TEMP stub
use crate::erased::ElementType;
use pyo3::ffi;
pub fn slots(_e: &ElementType) -> Vec<ffi::PyType_Slot> {
    vec![]
}
