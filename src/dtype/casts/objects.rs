//! Python's numbers as elements, through the casts of NumPy's.

use crate::{
    abi::{self, ErrorOut},
    dtype::{
        casts::{table, text_form::TextForm},
        handle::{DType, errors},
        loops::access::Run,
    },
    erased::Failure,
    numpy_abi::{self, NumpyApi, PyArray_DTypeMeta},
};
use pyo3::ffi;
use std::ptr;

/// Reads a Python number into a vacant cell through the casts that the type has: `bool` and `int`
/// as `int64` or `uint64`, larger ones as text, `float` as `float64`, `complex` as `complex128`.
/// `false` where the object is none of these or the type has no such cast.
///
/// # Errors
/// What the client's cast fails with; the cell is vacant then.
///
/// # Safety
/// `object` is a Python object, `cell` vacant and aligned and the caller's alone; GIL held.
pub unsafe fn number_into_cell(
    dtype: &'static DType,
    object: *mut ffi::PyObject,
    cell: *mut u8,
) -> Result<bool, Failure> {
    let Some(numpy) = numpy_abi::get() else { return Ok(false) };
    let to = Run::write(cell, dtype.element().size() as isize, 1);
    let convert = |from: *mut PyArray_DTypeMeta, value: &mut [u64; 2]| {
        let Some(entry) = table::find(from, dtype.class()) else { return Ok(false) };
        let source = Run::read(value.as_mut_ptr().cast(), 8, 1);
        // SAFETY: one value of that type, and the caller's cell.
        unsafe { entry.convert(TextForm::None, to, source) }.map(|()| true)
    };
    // SAFETY: GIL held, a valid object; the int that `PyNumber_Index` makes is given back.
    unsafe {
        if ffi::PyFloat_Check(object) != 0 {
            let value = ffi::PyFloat_AsDouble(object);
            return convert(numpy.double_dtype(), &mut [value.to_bits(), 0]);
        }
        if ffi::PyComplex_Check(object) != 0 {
            let parts = [ffi::PyComplex_RealAsDouble(object), ffi::PyComplex_ImagAsDouble(object)];
            return convert(numpy.cdouble_dtype(), &mut parts.map(f64::to_bits));
        }
        if ffi::PyIndex_Check(object) == 0 {
            return Ok(false);
        }
        let integer = ffi::PyNumber_Index(object);
        if integer.is_null() {
            return Err(errors::already_raised());
        }
        let outcome = integer_into_cell(numpy, dtype, integer, to, convert);
        ffi::Py_DECREF(integer);
        outcome
    }
}

/// # Safety
/// As for [`number_into_cell`], with a Python `int`.
unsafe fn integer_into_cell(
    numpy: &NumpyApi,
    dtype: &'static DType,
    integer: *mut ffi::PyObject,
    to: Run,
    convert: impl Fn(*mut PyArray_DTypeMeta, &mut [u64; 2]) -> Result<bool, Failure>,
) -> Result<bool, Failure> {
    let (signed, unsigned) = (numpy.long_dtype(), numpy.ulong_dtype());
    let mut overflow = 0;
    // SAFETY: GIL held, a Python int.
    let small = unsafe { ffi::PyLong_AsLongLongAndOverflow(integer, &mut overflow) };
    if overflow == 0 {
        return convert(signed, &mut [small.cast_unsigned(), 0]);
    }
    if overflow > 0 {
        // SAFETY: as above.
        let large = unsafe { ffi::PyLong_AsUnsignedLongLong(integer) };
        // SAFETY: as above.
        if unsafe { ffi::PyErr_Occurred() }.is_null() {
            if convert(unsigned, &mut [large, 0])? {
                return Ok(true);
            }
        } else {
            // SAFETY: as above; it was an OverflowError.
            unsafe { ffi::PyErr_Clear() };
        }
    }
    let element = dtype.element();
    let Some(from_text) = element.vtable().from_text else {
        return if table::find(signed, dtype.class()).is_some() {
            Err(Failure::new(
                abi::ERROR_OVERFLOW,
                format!("the int is out of the range of 64 bits that {} takes", element.name()),
            ))
        } else {
            Ok(false)
        };
    };
    // SAFETY: as above. The text is freed after its use; the cell is the caller's.
    unsafe {
        let text = ffi::PyNumber_ToBase(integer, 10);
        let mut size = 0;
        let bytes = if text.is_null() {
            ptr::null()
        } else {
            ffi::PyUnicode_AsUTF8AndSize(text, &mut size)
        };
        let outcome = if bytes.is_null() {
            Err(errors::already_raised())
        } else {
            let mut report = ErrorOut::new();
            let context = element.vtable().context;
            let status = from_text(context, to.data, bytes.cast(), size as usize, &mut report);
            Failure::check(status, &report)
        };
        ffi::Py_XDECREF(text);
        outcome.map(|()| true)
    }
}
