//! What NumPy is told of every loop.

use crate::{erased::ElementType, numpy_abi::flags::*};
use std::ffi::c_int;

/// `NPY_METH_*` flags that every loop of the type has.
pub fn loop_flags(element: &ElementType) -> c_int {
    let gil = if element.is_thread_safe() { 0 } else { NPY_METH_REQUIRES_PYAPI };
    NPY_METH_NO_FLOATINGPOINT_ERRORS | gil
}

/// `NPY_METH_*` flags that every cast has: NumPy calls it with the GIL, which it lets go itself
/// ([`super::access::without_gil`]).
pub fn cast_flags() -> c_int {
    NPY_METH_NO_FLOATINGPOINT_ERRORS | NPY_METH_REQUIRES_PYAPI
}
