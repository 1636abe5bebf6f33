//! Scalars of the classes that the runtime makes: a Python object that holds one element.
//!
//! A scalar of a type without copies may be an element proxy instead ([`super::proxy`]).

use crate::{
    abi,
    dtype::{
        handle::{DType, errors, trampoline},
        scalars::proxy_table::Proxy,
    },
    erased::{Cells, CellsMut, CountDelta, ElementType, Exclusive, Failure, Location, rules},
};
use pyo3::ffi;
use std::{ffi::c_int, ptr};

/// A scalar. Its cell follows, at the next address that is aligned for it; in a type without copies
/// a [`Proxy`] comes between.
#[repr(C)]
pub struct Scalar {
    head: ffi::PyObject,
    /// Set right after the allocation.
    dtype: *const DType,
}

impl Scalar {
    /// Bytes in front of the cell.
    pub fn head(element: &ElementType) -> usize {
        size_of::<Scalar>() + if element.is_copyable() { 0 } else { size_of::<Proxy>() }
    }

    /// Address of the own cell of the scalar at `object`.
    pub fn cell(object: *mut ffi::PyObject, element: &ElementType) -> *mut u8 {
        let end = object.cast::<u8>().wrapping_add(Scalar::head(element));
        end.wrapping_add(end.addr().wrapping_neg() & (element.align() - 1))
    }

    /// Bytes of an object, whatever address the allocator gives it.
    pub fn size(element: &ElementType) -> Option<c_int> {
        let size = Scalar::head(element).checked_add(element.size())?;
        c_int::try_from(size.checked_add(element.align() - 1)?).ok()
    }
}

/// Whether a class is one that the runtime made: its objects end in [`dealloc`].
///
/// # Safety
/// `class` is a Python type; GIL held.
pub unsafe fn is_ours(class: *mut ffi::PyTypeObject) -> bool {
    // SAFETY: the caller's promise.
    unsafe { (*class).tp_dealloc }
        .is_some_and(|function| ptr::fn_addr_eq(function, dealloc as ffi::destructor))
}

/// The type and the cell of a scalar of a class that the runtime made; `None` for other objects.
/// The cell is its own, or the one that it stands for; it is read through
/// [`super::proxy::with_cell`].
///
/// # Safety
/// `object` is a Python object; GIL held. The cell is read only, while the object lives.
#[inline]
pub unsafe fn scalar_cell(object: *mut ffi::PyObject) -> Option<(&'static DType, *mut u8)> {
    // SAFETY: the caller's promise; all objects of our classes are `Scalar`s, made by `allocate`.
    unsafe {
        if !is_ours(ffi::Py_TYPE(object)) {
            return None;
        }
        let dtype = &*(*object.cast::<Scalar>()).dtype;
        let element = dtype.element();
        if !element.is_copyable()
            && let Some(cell) = (*proxy_of(object)).cell()
        {
            return Some((dtype, cell));
        }
        Some((dtype, Scalar::cell(object, element)))
    }
}

/// What a scalar stands for.
///
/// # Safety
/// `object` is a scalar of ours, whose type has no copies.
pub unsafe fn proxy_of(object: *mut ffi::PyObject) -> *mut Proxy {
    object.cast::<u8>().wrapping_add(size_of::<Scalar>()).cast()
}

/// The scalar's own cell, whatever it stands for.
///
/// # Safety
/// `object` is a scalar of `element`.
pub unsafe fn own_address(object: *mut ffi::PyObject, element: &ElementType) -> *mut u8 {
    Scalar::cell(object, element)
}

/// A scalar with a vacant cell: a new reference.
///
/// # Safety
/// GIL held.
pub unsafe fn allocate(dtype: &'static DType) -> Result<*mut ffi::PyObject, Failure> {
    let class = dtype.scalar_class();
    // SAFETY: GIL held; classes are never NULL. The memory is zeroed.
    unsafe {
        if !is_ours(class) {
            return Err(Failure::new(
                abi::ERROR_TYPE,
                format!(
                    "{} has a scalar class of its own, but no conversion to it",
                    dtype.element().name()
                ),
            ));
        }
        let Some(allocate) = (*class).tp_alloc else { return Err(errors::already_raised()) };
        let object = allocate(class, 0);
        if object.is_null() {
            return Err(errors::already_raised());
        }
        (*object.cast::<Scalar>()).dtype = dtype;
        Ok(object)
    }
}

/// The scalar's own cell.
///
/// # Safety
/// `object` is a scalar of the type that is known nowhere else yet, or that goes away, or whose object
/// is about to move.
pub unsafe fn own_cell<'a>(object: *mut ffi::PyObject, element: &ElementType) -> CellsMut<'a> {
    let cell = Scalar::cell(object, element);
    // SAFETY: the caller's promise.
    unsafe { CellsMut::new(cell, element.size() as isize, 1, Exclusive::own()) }
}

/// Gives a new scalar its value, counts it, and hands it out.
///
/// # Safety
/// `object` is a new scalar of the type with a vacant cell, a reference that goes to this function;
/// `fill` writes nothing but that cell. GIL held.
pub unsafe fn finish_new(
    dtype: &'static DType,
    object: *mut ffi::PyObject,
    fill: impl FnOnce(*mut u8) -> Result<(), Failure>,
) -> Result<*mut ffi::PyObject, Failure> {
    let element = dtype.element();
    // SAFETY: the caller's promise.
    unsafe {
        let outcome = fill(Scalar::cell(object, element))
            .and_then(|()| rules::materialise(element, own_cell(object, element)));
        let live = element.vacancy().count_live(own_cell(object, element).as_cells()) as u64;
        let delta = CountDelta { constructed: live, foreign: live, ..CountDelta::default() };
        element.record(delta, Location::Scalar(Scalar::cell(object, element)));
        if let Err(failure) = outcome {
            ffi::Py_DECREF(object);
            return Err(failure);
        }
    }
    Ok(object)
}

/// A scalar with a copy of the one cell: a new reference.
///
/// # Errors
/// `TypeError` for a type without copies; what the copy fails with.
///
/// # Safety
/// `cells` is one aligned cell of the type under rule 1; GIL held.
pub unsafe fn new_scalar(
    dtype: &'static DType,
    cells: Cells<'_>,
) -> Result<*mut ffi::PyObject, Failure> {
    let element = dtype.element();
    // SAFETY: the caller's promise; the new cell is vacant.
    unsafe {
        let object = allocate(dtype)?;
        finish_new(dtype, object, |cell| {
            let own = CellsMut::new(cell, element.size() as isize, 1, Exclusive::own());
            rules::copy(element, own, cells)
        })
    }
}

/// Destroys the object in the cell, once.
pub unsafe extern "C" fn dealloc(object: *mut ffi::PyObject) {
    trampoline::end("dealloc", || {
        // SAFETY: Python calls it once, for a scalar without references; GIL held. The exception on
        // its way, if any, is put back.
        unsafe {
            let class = ffi::Py_TYPE(object);
            let dtype = (*object.cast::<Scalar>()).dtype;
            if let Some(dtype) = dtype.as_ref() {
                let element = dtype.element();
                if !element.is_copyable() {
                    errors::keeping_exception(|| Proxy::forget(proxy_of(object)));
                }
                let live =
                    element.vacancy().count_live(own_cell(object, element).as_cells()) as u64;
                errors::keeping_exception(|| {
                    if let Err(failure) = rules::clear(element, own_cell(object, element)) {
                        errors::write_unraisable(&failure, errors::DESTRUCTOR);
                    }
                });
                let place = Location::Scalar(Scalar::cell(object, element));
                element.record(CountDelta { destroyed: live, ..CountDelta::default() }, place);
            }
            if let Some(free) = (*class).tp_free {
                free(object.cast());
            }
            // Objects of heap types hold their type.
            ffi::Py_DECREF(class.cast());
        }
    })
}
