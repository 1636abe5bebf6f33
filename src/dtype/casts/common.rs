//! The type in which values of two types meet.

use crate::{
    abi::{self, CastLevel},
    dtype::{
        casts::{
            numbers::{self, Family, Number},
            table,
        },
        handle::DType,
    },
    numpy_abi::{self, NumpyApi, PyArray_DTypeMeta},
};
use std::ptr;

type Class = *mut PyArray_DTypeMeta;

/// The DType class in which values of `dtype` and of `other` meet:
///
/// * `dtype`, where `other` casts to it within the kind (a Python `int` counts as `int64`, `float`
///   as `float64`, `complex` as `complex128`);
/// * else `other`, where `dtype` casts to it safely; else the 64-bit type of `other`'s family,
///   where `dtype` casts to that within the kind (`int64` and `float32` meet in `float64` too);
/// * of two element types, the one to which the other casts safely.
///
/// # Safety
/// `other` is a DType class; GIL held.
pub unsafe fn common_class(dtype: &'static DType, other: Class) -> Option<Class> {
    let numpy = numpy_abi::get()?;
    let own = dtype.class();
    let level = |from: Class, to: Class| table::find(from, to).map(|entry| entry.level);
    let within = |from, to, most: CastLevel| level(from, to).is_some_and(|level| level <= most);
    // SAFETY: the caller's promise.
    if let Some(second) = unsafe { DType::try_of_class(other) } {
        if ptr::eq(second, dtype) {
            return Some(own);
        }
        let to_other = within(own, other, abi::CAST_SAFE);
        let to_own = within(other, own, abi::CAST_SAFE);
        return match (to_other, to_own) {
            (true, false) => Some(other),
            (false, true) => Some(own),
            // Whatever the order in which NumPy asks, the answer is the same.
            (true, true) if dtype.element().name() < second.element().name() => Some(own),
            (true, true) => Some(other),
            (false, false) => None,
        };
    }
    let stand_in = concrete(numpy, other);
    // SAFETY: a DType class.
    let number = numbers::number(unsafe { (*stand_in).type_num })?;
    if within(stand_in, own, abi::CAST_SAME_KIND) {
        return Some(own);
    }
    if within(own, stand_in, abi::CAST_SAFE) {
        return Some(stand_in);
    }
    let wide = widest(numpy, stand_in, number);
    within(own, wide, abi::CAST_SAME_KIND).then_some(wide)
}

/// The class of values of Python's number types, for NumPy's stand-ins for those.
pub fn concrete(numpy: &NumpyApi, class: Class) -> Class {
    if class == numpy.py_long_dtype() {
        numpy.long_dtype()
    } else if class == numpy.py_float_dtype() {
        numpy.double_dtype()
    } else if class == numpy.py_complex_dtype() {
        numpy.cdouble_dtype()
    } else {
        class
    }
}

/// The 64-bit type of a number's family.
fn widest(numpy: &NumpyApi, class: Class, number: &Number) -> Class {
    match (number.family, number.size) {
        (Family::Signed, _) => numpy.long_dtype(),
        (Family::Unsigned, _) => numpy.ulong_dtype(),
        (Family::Float, 2 | 4) => numpy.double_dtype(),
        (Family::Complex, 8) => numpy.cdouble_dtype(),
        _ => class,
    }
}
