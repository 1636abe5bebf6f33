//! Ufuncs and casts on scalars of types that only move: on the object where it is.
//!
//! NumPy would make an array of each operand, by moving the scalar's object in. It gets an array
//! over the scalar's cell instead, read-only and without dimensions.

use crate::{
    abi,
    dtype::{
        handle::{DType, errors, trampoline},
        loops::access,
        scalars::{object, proxy::Use},
    },
    erased::Failure,
    lock::{Borrow, RawBorrow, SegmentLock},
    numpy_abi,
};
use pyo3::ffi;
use std::ptr::{self, NonNull};

/// An array over the cell of a scalar. Meanwhile the cell stays where it is, and no thread writes to
/// it: for good, if the array is kept.
struct ProxyArray {
    array: *mut ffi::PyObject,
    used: Option<Use>,
    borrow: Option<(NonNull<SegmentLock>, RawBorrow)>,
}

impl ProxyArray {
    /// # Safety
    /// `object` is a scalar of `dtype`, which has no copies; GIL held, also when this is dropped.
    unsafe fn new(
        object: *mut ffi::PyObject,
        (dtype, cell): (&'static DType, *mut u8),
    ) -> Result<ProxyArray, Failure> {
        let element = dtype.element();
        let Some(numpy) = numpy_abi::get() else { return Err(errors::already_raised()) };
        // SAFETY: the caller's promise; the cell is borrowed before the array is made. NumPy takes
        // the references to the descriptor and, also when it fails, to the scalar.
        unsafe {
            let mut this = ProxyArray {
                array: ptr::null_mut(),
                used: Some(Use::begin(object, element)?),
                borrow: None,
            };
            let segment = access::segment_of(cell);
            if let Some(place) = access::lock_range_of(segment.as_ref(), cell) {
                let first = cell.addr() - place.base;
                let borrow = place.lock.try_borrow(first..first + element.size(), false);
                let borrow = borrow.map_err(access::refused)?;
                this.borrow = Some((NonNull::from(place.lock), borrow.into_raw()));
            }
            this.array = numpy.new_from_descr(
                numpy.array_type(),
                dtype.new_descr_reference(),
                0,
                ptr::null(),
                ptr::null(),
                cell.cast(),
                0,
                ptr::null_mut(),
            );
            if this.array.is_null() {
                return Err(errors::already_raised());
            }
            ffi::Py_INCREF(object);
            if numpy.set_base_object(this.array, object) < 0 {
                return Err(errors::already_raised());
            }
            Ok(this)
        }
    }
}

impl Drop for ProxyArray {
    fn drop(&mut self) {
        // SAFETY: GIL held; the reference is ours.
        unsafe {
            if !self.array.is_null() && ffi::Py_REFCNT(self.array) > 1 {
                ffi::Py_DECREF(self.array);
                std::mem::forget(self.used.take());
                return;
            }
            ffi::Py_XDECREF(self.array);
            if let Some((lock, borrow)) = self.borrow.take() {
                // SAFETY: the scalar is in use, so that the lock's memory stays (`proxy-used`).
                drop(Borrow::from_raw(lock.as_ref(), borrow));
            }
        }
    }
}

/// Runs `work` on an array over the cell of a scalar, borrowed.
///
/// # Errors
/// What `work` fails with; `BorrowError` where a thread writes to the cell.
///
/// # Safety
/// `object` is a scalar of ours whose type has no copies; GIL held.
pub unsafe fn with_array<R>(
    object: *mut ffi::PyObject,
    work: impl FnOnce(*mut ffi::PyObject) -> Result<R, Failure>,
) -> Result<R, Failure> {
    // SAFETY: the caller's promise.
    unsafe {
        let Some(found) = object::scalar_cell(object) else {
            return Err(Failure::new(abi::ERROR_TYPE, "not a scalar of an element type"));
        };
        let array = ProxyArray::new(object, found)?;
        work(array.array)
    }
}

/// `__array_ufunc__`: the ufunc's method again, with arrays over the cells of the scalars among its
/// inputs.
pub unsafe extern "C" fn array_ufunc(
    _object: *mut ffi::PyObject,
    arguments: *mut ffi::PyObject,
    keywords: *mut ffi::PyObject,
) -> *mut ffi::PyObject {
    trampoline::slot("array_ufunc", || {
        // SAFETY: Python calls it with a tuple, and a dict or NULL; GIL held.
        errors::give(unsafe { call(arguments, keywords) })
    })
}

/// # Safety
/// A tuple, and a dict or NULL; GIL held.
unsafe fn call(
    arguments: *mut ffi::PyObject,
    keywords: *mut ffi::PyObject,
) -> Result<*mut ffi::PyObject, Failure> {
    // SAFETY: the caller's promise; borrowed items live by the tuple, new references are dropped.
    unsafe {
        let count = ffi::PyTuple_Size(arguments);
        if count < 2 {
            return Err(Failure::new(
                abi::ERROR_TYPE,
                "__array_ufunc__ takes a ufunc, the name of a method, and its inputs",
            ));
        }
        let mut arrays = Vec::new();
        let inputs = ffi::PyTuple_New(count - 2);
        if inputs.is_null() {
            return Err(errors::already_raised());
        }
        let inputs = Reference(inputs);
        for index in 2..count {
            let mut input = ffi::PyTuple_GetItem(arguments, index);
            if let Some(found) = object::scalar_cell(input)
                && !found.0.element().is_copyable()
            {
                let array = ProxyArray::new(input, found)?;
                input = array.array;
                arrays.push(array);
            }
            ffi::Py_INCREF(input);
            ffi::PyTuple_SetItem(inputs.0, index - 2, input);
        }
        if arrays.is_empty() {
            // Asked for the sake of something that is no input.
            ffi::Py_INCREF(ffi::Py_NotImplemented());
            return Ok(ffi::Py_NotImplemented());
        }
        let method = ffi::PyObject_GetAttr(
            ffi::PyTuple_GetItem(arguments, 0),
            ffi::PyTuple_GetItem(arguments, 1),
        );
        if method.is_null() {
            return Err(errors::already_raised());
        }
        let method = Reference(method);
        let result = ffi::PyObject_Call(method.0, inputs.0, keywords);
        // The arrays are given back last: the tuple refers to them.
        drop(inputs);
        drop(arrays);
        if result.is_null() { Err(errors::already_raised()) } else { Ok(result) }
    }
}

/// A reference that is dropped.
struct Reference(*mut ffi::PyObject);

impl Drop for Reference {
    fn drop(&mut self) {
        // SAFETY: GIL held by those who make one; the reference is ours.
        unsafe { ffi::Py_DECREF(self.0) };
    }
}
