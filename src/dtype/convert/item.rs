//! The `setitem` and `getitem` slots, and what they do for types that can be copied.
//!
//! Both convert outside the array: an object passes through a spare cell of its own, and only its
//! move into the array, or the copy out of it, happens under the lock. So a client's conversion may
//! use the very array, by Python code. The memory stays where it is meanwhile
//! ([`access::pinned`]): NumPy goes on at this address.

use crate::{
    audit::{self, Operation},
    dtype::{
        convert::python::{self, Object},
        handle::{DType, errors, trampoline},
        loops::{
            access::{self, Run},
            align, audited,
        },
    },
    erased::{Cells, Failure, rules},
    numpy_abi::PyArray_Descr,
};
use pyo3::ffi;
use std::{
    ffi::{c_char, c_int},
    hint::black_box,
    ptr,
};

/// How elements of some types are set and got. Which one a type has is chosen when its class is made.
pub trait Item {
    /// Writes a Python object into a cell.
    ///
    /// # Safety
    /// `object` is a Python object, `cell` a cell of the type under rule 1, aligned or not; GIL held.
    unsafe fn set(
        dtype: &'static DType,
        object: *mut ffi::PyObject,
        cell: *mut u8,
    ) -> Result<(), Failure>;

    /// The Python object of a cell: a new reference.
    ///
    /// # Safety
    /// As for [`Item::set`].
    unsafe fn get(dtype: &'static DType, cell: *mut u8) -> Result<*mut ffi::PyObject, Failure>;
}

type Set = unsafe fn(&'static DType, *mut ffi::PyObject, *mut u8) -> Result<(), Failure>;
type Get = unsafe fn(&'static DType, *mut u8) -> Result<*mut ffi::PyObject, Failure>;

/// Writes a Python object into a cell.
pub unsafe extern "C" fn setitem<I: Item>(
    descr: *mut PyArray_Descr,
    object: *mut ffi::PyObject,
    data: *mut c_char,
) -> c_int {
    trampoline::slot("setitem", || {
        // `__setstate__` goes on after a failure, when no Python code may run.
        if errors::is_raised() {
            return -1;
        }
        // SAFETY: a descriptor of ours, an object, and a cell under rule 1; GIL held.
        let outcome = unsafe {
            let dtype = DType::of_descr(descr);
            if audit::is_running() {
                audited::at_work_on(Operation::new("setitem"), || {
                    // By address: a second call that the compiler sees would keep the first from being
                    // compiled into this function.
                    let set: Set = black_box(I::set);
                    set(dtype, object, data.cast())
                })
            } else {
                I::set(dtype, object, data.cast())
            }
        };
        match outcome {
            Ok(()) => 0,
            Err(failure) => {
                errors::raise(&failure);
                -1
            }
        }
    })
}

/// The Python scalar of a cell.
pub unsafe extern "C" fn getitem<I: Item>(
    descr: *mut PyArray_Descr,
    data: *mut c_char,
) -> *mut ffi::PyObject {
    trampoline::slot("getitem", || {
        if errors::is_raised() {
            return ptr::null_mut();
        }
        // SAFETY: a descriptor of ours and a cell under rule 1; GIL held.
        let outcome = unsafe {
            let dtype = DType::of_descr(descr);
            if audit::is_running() {
                audited::at_work_on(Operation::new("getitem"), || {
                    let get: Get = black_box(I::get);
                    get(dtype, data.cast())
                })
            } else {
                I::get(dtype, data.cast())
            }
        };
        match outcome {
            Ok(object) => object,
            Err(failure) => {
                errors::raise(&failure);
                ptr::null_mut()
            }
        }
    })
}

/// Types that can be copied: their scalars own a copy.
pub struct Copyable;

impl Item for Copyable {
    #[inline]
    unsafe fn set(
        dtype: &'static DType,
        object: *mut ffi::PyObject,
        cell: *mut u8,
    ) -> Result<(), Failure> {
        let element = dtype.element();
        let mut spare = Object::new(element)?;
        let made = || {
            // NumPy lends an item of a list, which the conversion may empty.
            // SAFETY: a live object; the spare cell is vacant and aligned; GIL held.
            unsafe {
                ffi::Py_INCREF(object);
                let made = python::from_python(dtype, object, spare.address());
                ffi::Py_DECREF(object);
                made
            }
        };
        // SAFETY: `run-alive` for the cell.
        unsafe { access::pinned(cell, made) }?;
        let run = Run::write(cell, element.size() as isize, 1);
        access::with_segments(element, [run], |[segment], right| {
            // SAFETY: one cell of the type, locked; the object moves in, and what was there out.
            unsafe {
                access::with_ledger(element, segment, run, right, || spare.arrive(cell, right));
            }
            Ok(())
        })?;
        // NumPy would take a destructor's error for the opposite, and forget a buffer of its own with
        // the object in it: it goes to the hook for unraisable exceptions.
        if spare.is_live() {
            // SAFETY: as above.
            unsafe {
                access::pinned(cell, || {
                    drop(spare);
                    Ok(())
                })?;
            }
        }
        Ok(())
    }

    #[inline]
    unsafe fn get(dtype: &'static DType, cell: *mut u8) -> Result<*mut ffi::PyObject, Failure> {
        let element = dtype.element();
        let mut spare = Object::new(element)?;
        let run = Run::read(cell, element.size() as isize, 1);
        access::with_segments(element, [run], |_, _| {
            // SAFETY: one cell of the type, locked, copied to a vacant one.
            unsafe {
                align::with_aligned_source(element, cell, |cell| {
                    rules::copy(
                        element,
                        spare.cells(),
                        Cells::new(cell, element.size() as isize, 1),
                    )
                })
            }
        })?;
        let convert = || {
            // SAFETY: a vacant cell reads as the default; a live, aligned cell of ours.
            unsafe {
                rules::materialise(element, spare.cells())?;
                let object = python::to_python(dtype, spare.address());
                drop(spare);
                object
            }
        };
        // SAFETY: `run-alive` for the cell.
        unsafe { access::pinned(cell, convert) }
    }
}
