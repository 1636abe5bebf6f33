//! Types without a NumPy dtype of ours, and the objects behind the cells of the legacy dtypes that
//! use them.

use super::{boundary, exception};
use crate::{
    abi::{self, Element, ElementVTable, Status},
    dtype::{handle::registry, register},
    erased::{ElementType, Failure},
    handler::objects::{self, Peeked},
};
use pyo3::{
    exceptions::{PyRuntimeError, PyTypeError, PyValueError},
    prelude::*,
};
use std::{ffi::c_void, ptr};

pub(super) unsafe extern "C" fn register_type(
    vtable: *const ElementVTable,
    module: *mut abi::PyObject,
    element: *mut *const Element,
) -> Status {
    boundary(abi::RAISED, |py| {
        // SAFETY: a borrowed module or NULL by contract.
        let module = unsafe { Bound::from_borrowed_ptr_or_opt(py, module.cast()) };
        let registrant = match module.map(Bound::cast_into::<PyModule>) {
            Some(Ok(module)) => Some(module.name()?.to_string()),
            Some(Err(_)) => {
                return Err(PyTypeError::new_err("element types are registered with a module"));
            }
            None => None,
        };
        // SAFETY: the client's vtable by contract.
        let registered = unsafe { register::register_bare(vtable, registrant.as_deref()) }?;
        if !element.is_null() {
            // SAFETY: the client's place for the handle.
            unsafe { *element = ptr::from_ref(registered).cast() };
        }
        Ok(abi::OK)
    })
}

/// The type of a handle, with or without a dtype.
pub(super) fn element_of(element: *const Element) -> PyResult<&'static ElementType> {
    registry::element_of(element)
        .ok_or_else(|| PyRuntimeError::new_err("not a handle of a registered element type"))
}

/// The type of a handle that has no dtype: cells of the others are not for these functions.
fn bare(element: *const Element) -> PyResult<&'static ElementType> {
    registry::bare_element(element).ok_or_else(|| match registry::element_of(element) {
        Some(element) => PyTypeError::new_err(format!(
            "{} has a dtype of denizen's, whose cells are the objects themselves",
            element.name()
        )),
        None => PyRuntimeError::new_err("not a handle of a registered element type"),
    })
}

/// An access to the cell at `pointer`.
#[track_caller]
fn access(
    pointer: *const c_void,
    element: *const Element,
    work: impl FnOnce(&'static ElementType) -> Result<Status, Failure>,
) -> Status {
    boundary(abi::RAISED, |py| {
        let element = bare(element)?;
        if pointer.is_null() {
            return Err(PyValueError::new_err(format!("the cell of {} is NULL", element.name())));
        }
        work(element).map_err(|failure| exception(py, &failure))
    })
}

/// # Safety
/// `place` is NULL or may be written.
unsafe fn give<T>(place: *mut T, value: T) {
    if !place.is_null() {
        // SAFETY: the caller's promise.
        unsafe { place.write(value) };
    }
}

pub(super) unsafe extern "C" fn touch(
    pointer: *mut c_void,
    element: *const Element,
    object: *mut *mut c_void,
) -> Status {
    access(pointer, element, |element| {
        // SAFETY: a cell in NumPy's memory, GIL held, by contract.
        unsafe {
            let address = objects::touch(pointer.cast(), element)?;
            give(object, address.as_ptr().cast());
        }
        Ok(abi::OK)
    })
}

pub(super) unsafe extern "C" fn peek(
    pointer: *const c_void,
    element: *const Element,
    object: *mut *const c_void,
) -> Status {
    access(pointer, element, |element| {
        // SAFETY: a cell in NumPy's memory, GIL held, by contract.
        unsafe {
            give(object, ptr::null());
            match objects::peek(pointer.cast(), element)? {
                Peeked::Vacant => Ok(abi::OK),
                Peeked::Stale => Ok(abi::STALE),
                Peeked::Object(address) => {
                    give(object, address.as_ptr().cast_const().cast());
                    Ok(abi::OK)
                }
            }
        }
    })
}

pub(super) unsafe extern "C" fn store(
    pointer: *mut c_void,
    element: *const Element,
    object: *const c_void,
) -> Status {
    access(pointer, element, |element| {
        if object.is_null() {
            return Err(Failure::new(
                abi::ERROR_VALUE,
                format!("the object of {} to store is NULL", element.name()),
            ));
        }
        // SAFETY: a cell in NumPy's memory and a live object, GIL held, by contract.
        unsafe { objects::store(pointer.cast(), element, object.cast()) }.map(|()| abi::OK)
    })
}

pub(super) unsafe extern "C" fn vacate(pointer: *mut c_void, element: *const Element) -> Status {
    access(pointer, element, |element| {
        // SAFETY: a cell in NumPy's memory, GIL held, by contract.
        unsafe { objects::vacate(pointer.cast(), element) }.map(|()| abi::OK)
    })
}

pub(super) unsafe extern "C" fn sweep(element: *const Element) -> usize {
    boundary(0, |_| {
        let elements = if element.is_null() { registry::elements() } else { vec![bare(element)?] };
        // SAFETY: no code uses the objects, by contract.
        Ok(elements.into_iter().map(|element| unsafe { objects::sweep(element) }).sum())
    })
}
