pub mod python;
pub(in crate::dtype) use python::*;
