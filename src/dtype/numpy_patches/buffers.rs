//! No elements in memory that something else filled: `np.ndarray(shape, dtype, buffer=)` and what is
//! made of it (`np.memmap`, `np.recarray(buf=)`); and none that overlap: `np.ndarray(.., strides=)`.
//!
//! What an argument is made of may change whenever it is looked at (a list of fields, a number with an
//! `__index__`). So each that decides is converted once, and NumPy gets what was looked at.
//!
//! `ndarray.__new__` and every call of the class read the slot `tp_new` of the class when they are
//! called, so wrapping it there is enough, for classes derived later too: they inherit it. Those
//! derived before have a copy of the old pointer, which is exchanged as well; with two different
//! ones Python would refuse `ndarray.__new__(subclass, ..)` as not safe. What makes arrays in C
//! (`np.empty`, results of operations, views) does not come here.

use super::{
    super::handle::trampoline,
    calls::{Arguments, indices},
    holding::holds_ours,
    swap::{self, Original},
};
use crate::numpy_abi::{self, PyArray_Descr};
use pyo3::{
    exceptions::PyTypeError,
    ffi,
    prelude::*,
    types::{PyString, PyTuple},
};
use std::{ffi::CStr, ptr};

static NEW: Original<ffi::newfunc> = Original::new();

pub(super) fn install(py: Python<'_>) -> PyResult<bool> {
    let class = swap::class(py, "ndarray")?;
    // SAFETY: `new_array` makes objects of the class.
    unsafe { swap::slot(&class, new_of, "__new__", &NEW, new_array) }
}

/// # Safety
/// A class; GIL held.
unsafe fn new_of(class: *mut ffi::PyTypeObject) -> *mut Option<ffi::newfunc> {
    // SAFETY: the caller's promise.
    unsafe { &raw mut (*class).tp_new }
}

/// The names of the arguments, in NumPy's order.
const NAMES: [&CStr; 6] = [c"shape", c"dtype", c"buffer", c"offset", c"strides", c"order"];
const SHAPE: usize = 0;
const DTYPE: usize = 1;
const BUFFER: usize = 2;
const STRIDES: usize = 4;

/// `ndarray(shape, dtype=float, buffer=None, offset=0, strides=None, order=None)`: refused where the
/// buffer would be cells of ours, or cells would overlap.
unsafe extern "C" fn new_array(
    class: *mut ffi::PyTypeObject,
    arguments: *mut ffi::PyObject,
    keywords: *mut ffi::PyObject,
) -> *mut ffi::PyObject {
    trampoline::slot("new_array", || {
        // SAFETY: Python's convention for the slot: a tuple, and a dict or NULL; GIL held. The original
        // keeps the same convention.
        unsafe {
            if keywords.is_null() && ffi::PyTuple_GET_SIZE(arguments) < 3 {
                return NEW.get()(class, arguments, keywords);
            }
            let py = Python::assume_attached();
            match looked_at(&Arguments::new(py, arguments, keywords)) {
                Ok(None) => NEW.get()(class, arguments, keywords),
                Ok(Some(given)) => NEW.get()(class, given.as_ptr(), ptr::null_mut()),
                Err(error) => {
                    error.restore(py);
                    ptr::null_mut()
                }
            }
        }
    })
}

/// The arguments as NumPy gets them, where it depends on them whether there is an array. `None` for
/// those that are no good, or need no look.
///
/// # Errors
/// `TypeError` for a buffer as cells of ours, or cells that overlap; what the conversion of an argument
/// fails with.
fn looked_at<'py>(given: &Arguments<'py>) -> PyResult<Option<Bound<'py, PyTuple>>> {
    let py = given.positional.py();
    let Some(numpy) = numpy_abi::get() else { return Ok(None) };
    let none = || py.None().into_bound(py);
    let Some(mut all) = by_place(given) else { return Ok(None) };
    let (buffer, strides) = (all[BUFFER].is_some(), all[STRIDES].is_some());
    if !buffer && !strides {
        return Ok(None);
    }
    let Some(dtype) = all[DTYPE].take() else { return Ok(None) };
    // SAFETY: `np.dtype` is a class, and makes descriptors; GIL held.
    let (descr, is_ours) = unsafe {
        let class = Bound::from_borrowed_ptr(py, numpy.descr_type().cast::<ffi::PyObject>());
        let descr = if dtype.is_instance(&class)? { dtype } else { class.call1((dtype,))? };
        let is_ours = holds_ours(descr.as_ptr().cast::<PyArray_Descr>());
        (descr, is_ours)
    };
    if is_ours && buffer {
        return Err(PyTypeError::new_err(format!(
            "an array of {descr} cannot be made of a buffer: its bytes are no objects. Make an \
             array of its own (np.empty) and assign to it."
        )));
    }
    if is_ours && let (Some(shape), Some(strides)) = (all[SHAPE].take(), all[STRIDES].take()) {
        let (shape, strides) = (indices(&shape)?, indices(&strides)?);
        // SAFETY: a descriptor.
        let size = unsafe { (*descr.as_ptr().cast::<PyArray_Descr>()).elsize };
        if !are_contiguous(&shape.extract::<Vec<_>>()?, &strides.extract::<Vec<_>>()?, size) {
            return Err(PyTypeError::new_err(format!(
                "an array of {descr} cannot be made with the strides {strides}: its elements \
                 would overlap, or lie outside its memory. Leave strides out (order=\"F\" for \
                 columns), and make a view by an index or .T"
            )));
        }
        all[SHAPE] = Some(shape.into_any());
        all[STRIDES] = Some(strides.into_any());
    }
    all[DTYPE] = Some(descr);
    let left_out = [none(), none(), none(), 0i32.into_pyobject(py)?.into_any(), none(), none()];
    let given = all.into_iter().zip(left_out).map(|(value, left_out)| value.unwrap_or(left_out));
    PyTuple::new(py, given.collect::<Vec<_>>()).map(Some)
}

/// Arguments by their places, those that are left out or `None` as nothing; nothing at all where NumPy
/// does not take them.
fn by_place<'py>(given: &Arguments<'py>) -> Option<[Option<Bound<'py, PyAny>>; NAMES.len()]> {
    let mut all = [const { None }; NAMES.len()];
    if given.positional.len() > all.len() {
        return None;
    }
    for (place, value) in all.iter_mut().zip(given.positional.iter()) {
        *place = Some(value);
    }
    for (name, value) in given.named.iter().flat_map(|named| named.iter()) {
        let name = name.cast_into::<PyString>().ok()?;
        // SAFETY: two texts; GIL held.
        let index = NAMES.iter().position(|known| unsafe {
            ffi::PyUnicode_CompareWithASCIIString(name.as_ptr(), known.as_ptr()) == 0
        })?;
        if all[index].replace(value).is_some() {
            return None;
        }
    }
    all[SHAPE].as_ref()?;
    Some(all.map(|value| value.filter(|value| !value.is_none())))
}

/// Whether an array has its items one behind the other, in the order of C or of Fortran.
fn are_contiguous(shape: &[isize], strides: &[isize], size: isize) -> bool {
    if shape.len() != strides.len() || shape.contains(&0) {
        // Refused by NumPy, or an array without items.
        return true;
    }
    let mut axes = shape.iter().zip(strides).filter(|(length, _)| **length != 1);
    let follows = |next: &mut isize, (length, stride): (&isize, &isize)| {
        let fits = *stride == *next;
        *next = next.saturating_mul(*length);
        fits
    };
    let mut next = size;
    let is_fortran = axes.clone().all(|axis| follows(&mut next, axis));
    next = size;
    is_fortran || axes.by_ref().rev().all(|axis| follows(&mut next, axis))
}
