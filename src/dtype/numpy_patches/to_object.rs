//! Elements, and records with elements, as Python objects.
//!
//! NumPy's cast to `object` gives up the object that is in the destination, *then* asks for the new one.
//! Asking for one of ours may run Python code, or let other threads run: they find a pointer to an
//! object that has ended. And a tuple made of a record keeps NULL where a field's element failed. So
//!
//! * the loop of that cast, where it reads elements of ours, has NumPy's own put one object at a time
//!   into memory of its own, and exchanges it with what is in the destination only then;
//! * a tuple that comes with an exception is given up.

use super::{
    super::{
        handle::{errors, trampoline},
        loops::access,
    },
    holding::holds_ours,
    swap::{self, Original},
};
use crate::numpy_abi::{
    self, BoundArrayMethod, CastMethod, NpyAuxData, PyArrayMethod_Context,
    callbacks::{ArrGetItem, GetLoop, StridedLoop},
    flags::NPY_VOID,
};
use pyo3::{ffi, prelude::*};
use std::{
    ffi::{CStr, c_char, c_int, c_void},
    ptr,
};

static GET_LOOP: Original<GetLoop> = Original::new();
static GET_RECORD: Original<ArrGetItem> = Original::new();

/// NumPy's own loop. There is one for all dtypes.
static LOOP: Original<StridedLoop> = Original::new();

/// What the cast is called in NumPy.
const NAME: &CStr = c"any_to_object_cast";

pub(super) fn install_cast(py: Python<'_>) -> PyResult<bool> {
    let dtypes = py.import("numpy")?.getattr("dtypes")?;
    let ends = (dtypes.getattr("VoidDType")?, dtypes.getattr("ObjectDType")?);
    let bound = swap::functions(py)?.getattr("_get_castingimpl")?.call1(ends)?;
    // SAFETY: a bound method has, behind its head, a pointer to the method, which lives as long as NumPy;
    // name and numbers are looked at before anything is taken for what it should be. GIL held.
    unsafe {
        let class = ffi::Py_TYPE(bound.as_ptr());
        if (*class).tp_basicsize != size_of::<BoundArrayMethod>() as isize {
            return Ok(false);
        }
        let method = (*bound.as_ptr().cast::<BoundArrayMethod>()).method;
        let as_expected = !method.is_null()
            && (*ffi::Py_TYPE(method.cast())).tp_basicsize >= size_of::<CastMethod>() as isize
            && CStr::from_ptr((*method).name) == NAME
            && ((*method).nin, (*method).nout) == (1, 1);
        Ok(as_expected && swap::pointer(&mut (*method).get_loop, &GET_LOOP, get_loop))
    }
}

pub(super) fn install_records(_py: Python<'_>) -> PyResult<bool> {
    let Some(numpy) = numpy_abi::get() else { return Ok(false) };
    // SAFETY: the functions of the structures' DType, which lives as long as NumPy; GIL held.
    Ok(unsafe {
        let descr = numpy.descr_from_type(NPY_VOID);
        let functions = numpy.get_arrfuncs(descr);
        ffi::Py_DECREF(descr.cast());
        swap::pointer(&mut (*functions).getitem, &GET_RECORD, get_record)
    })
}

/// Chooses the loop of a cast to `object`.
unsafe extern "C" fn get_loop(
    context: *mut PyArrayMethod_Context,
    aligned: c_int,
    move_references: c_int,
    strides: *const isize,
    out_loop: *mut Option<StridedLoop>,
    out_auxdata: *mut *mut NpyAuxData,
    flags: *mut c_int,
) -> c_int {
    trampoline::slot("get_loop", || {
        // SAFETY: NumPy's convention, which the original keeps as well; it has the GIL. The original
        // chooses one loop, whose data are its own.
        unsafe {
            let original = GET_LOOP.get();
            let status =
                original(context, aligned, move_references, strides, out_loop, out_auxdata, flags);
            if status == 0
                && holds_ours(*(*context).descriptors)
                && let Some(numpys) = *out_loop
            {
                LOOP.keep(numpys);
                *out_loop = Some(to_object);
            }
            status
        }
    })
}

/// Puts the objects of some items in the place of others.
unsafe extern "C" fn to_object(
    context: *mut PyArrayMethod_Context,
    data: *const *mut c_char,
    dimensions: *const isize,
    strides: *const isize,
    auxdata: *mut NpyAuxData,
) -> c_int {
    trampoline::slot("to_object", || {
        // SAFETY: NumPy's convention for a loop with one input and one output, with the GIL.
        let outcome = unsafe {
            access::pinned((*data).cast(), || {
                Ok(put_objects(context, data, dimensions, strides, auxdata))
            })
        };
        outcome.unwrap_or_else(|failure| {
            errors::raise(&failure);
            -1
        })
    })
}

/// The loop itself: the elements stay where they are meanwhile, whatever the end of an object does.
///
/// # Safety
/// As for [`to_object`].
unsafe fn put_objects(
    context: *mut PyArrayMethod_Context,
    data: *const *mut c_char,
    dimensions: *const isize,
    strides: *const isize,
    auxdata: *mut NpyAuxData,
) -> c_int {
    // SAFETY: the caller's promise; the cells of the output are objects or NULL, aligned or not. `LOOP`
    // was kept when the loop was chosen, and is of the same convention.
    unsafe {
        let numpys = LOOP.get();
        let (mut from, mut to) = (*data, (*data.add(1)).cast::<*mut ffi::PyObject>());
        for _ in 0..*dimensions {
            let mut object: *mut ffi::PyObject = ptr::null_mut();
            let one = [from, (&raw mut object).cast()];
            if numpys(context, one.as_ptr(), &1, strides, auxdata) != 0 {
                return -1;
            }
            let old = to.read_unaligned();
            to.write_unaligned(object);
            ffi::Py_XDECREF(old);
            from = from.offset(*strides);
            to = to.byte_offset(*strides.add(1));
        }
    }
    0
}

/// The tuple of a record.
unsafe extern "C" fn get_record(item: *mut c_void, array: *mut c_void) -> *mut ffi::PyObject {
    trampoline::slot("get_record", || {
        // SAFETY: NumPy's convention, which the original keeps as well; GIL held.
        unsafe { errors::unless_raised(GET_RECORD.get()(item, array)) }
    })
}
