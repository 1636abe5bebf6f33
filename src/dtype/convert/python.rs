//! A Python object from a cell, and a cell from a Python object; neither is in an array.

use crate::{
    abi::{self, ErrorOut},
    dtype::{
        casts::objects,
        handle::{DType, errors, pyobj::text},
        scalars::object,
    },
    erased::{
        Cells, CellsMut, CountDelta, ElementType, Exclusive, Failure, Location, SpareCell, rules,
    },
};
use pyo3::{exceptions::PyTypeError, ffi, prelude::*};
use std::ptr;

/// The Python object of a live, aligned cell: a new reference.
///
/// # Safety
/// `cell` is a live cell of the type that nothing else touches; GIL held.
pub unsafe fn to_python(
    dtype: &'static DType,
    cell: *const u8,
) -> Result<*mut ffi::PyObject, Failure> {
    let element = dtype.element();
    let Some(to_python) = element.vtable().to_python else {
        // SAFETY: the caller's promise.
        return unsafe { object::new_scalar(dtype, Cells::new(cell, element.size() as isize, 1)) };
    };
    let mut report = ErrorOut::new();
    // SAFETY: the vtable's contract and the caller's promise.
    let object = unsafe { to_python(element.vtable().context, cell, &mut report) };
    if object.is_null() {
        // SAFETY: GIL held.
        let raised = !unsafe { ffi::PyErr_Occurred() }.is_null();
        return Err(Failure::new(report.kind, report.text()).with_raised(raised));
    }
    Ok(object.cast())
}

/// Reads a Python object into a vacant, aligned cell.
///
/// In this order: a scalar of the type, the client's own conversion, text (`str`, or `bytes` of
/// UTF-8) where the type reads it, and Python's and NumPy's numbers through the casts that the type has.
///
/// # Errors
/// `TypeError` for objects that the type cannot take; what the conversion fails with. The cell is
/// vacant then.
///
/// # Safety
/// `object` is a Python object, `cell` vacant and aligned and the caller's alone; GIL held.
pub unsafe fn from_python(
    dtype: &'static DType,
    object: *mut ffi::PyObject,
    cell: *mut u8,
) -> Result<(), Failure> {
    let element = dtype.element();
    let vtable = element.vtable();
    // SAFETY: a valid object; GIL held.
    if let Some((other, source)) = unsafe { object::scalar_cell(object) }
        && ptr::eq(other, dtype)
    {
        // SAFETY: the scalar's cell is live and aligned, ours is vacant.
        return unsafe {
            rules::copy(
                element,
                CellsMut::new(cell, element.size() as isize, 1, Exclusive::own()),
                Cells::new(source, element.size() as isize, 1),
            )
        };
    }
    if let Some(from_python) = vtable.from_python {
        let mut report = ErrorOut::new();
        // SAFETY: the vtable's contract and the caller's promise.
        let status = unsafe { from_python(vtable.context, cell, object.cast(), &mut report) };
        return Failure::check(status, &report);
    }
    if let Some(from_text) = vtable.from_text
        // SAFETY: GIL held, a valid object.
        && let Some((text, size)) = unsafe { text_of(object) }?
    {
        let mut report = ErrorOut::new();
        // SAFETY: the vtable's contract; `size` readable bytes, as long as the object lives.
        let status = unsafe { from_text(vtable.context, cell, text, size, &mut report) };
        return Failure::check(status, &report);
    }
    // SAFETY: the caller's promise.
    if unsafe { objects::number_into_cell(dtype, object, cell) }? {
        return Ok(());
    }
    // SAFETY: the caller's promise.
    if unsafe { numpy_scalar_into_cell(dtype, object, cell) }? {
        return Ok(());
    }
    Err(refused(element, object))
}

/// The text of a `str` or of `bytes`, as UTF-8; `None` for other objects.
///
/// # Errors
/// A `str` that has no UTF-8.
///
/// # Safety
/// `object` is a Python object; GIL held.
unsafe fn text_of(object: *mut ffi::PyObject) -> Result<Option<(*const u8, usize)>, Failure> {
    let mut size = 0;
    // SAFETY: the caller's promise; both keep their bytes as long as they live.
    let text = unsafe {
        if ffi::PyUnicode_Check(object) != 0 {
            ffi::PyUnicode_AsUTF8AndSize(object, &mut size)
        } else if ffi::PyBytes_Check(object) != 0 {
            size = ffi::PyBytes_Size(object);
            ffi::PyBytes_AsString(object).cast_const()
        } else {
            return Ok(None);
        }
    };
    if text.is_null() {
        Err(errors::already_raised())
    } else {
        Ok(Some((text.cast(), size as usize)))
    }
}

/// Reads a scalar of NumPy that Python does not take for a number (`float32`, `longdouble`,
/// `bool`) through the cast of its type. `false` where the object is none or has no such cast.
///
/// # Errors
/// What the cast fails with; the cell is vacant then.
///
/// # Safety
/// `object` is a Python object, `cell` vacant and aligned and the caller's alone; GIL held.
#[cold]
unsafe fn numpy_scalar_into_cell(
    dtype: &'static DType,
    object: *mut ffi::PyObject,
    cell: *mut u8,
) -> Result<bool, Failure> {
    // SAFETY: GIL held, a valid object; the class of scalars lives as long as the process.
    let (py, object, class) = unsafe {
        let py = Python::assume_attached();
        let class = Bound::from_borrowed_ptr(py, dtype.scalar_class().cast());
        (py, Bound::from_borrowed_ptr(py, object), class)
    };
    let cast = || {
        // Only those: NumPy would cast others by asking for a conversion of the object again.
        let numpy = py.import(text(py, "numpy")?)?;
        for kind in [text(py, "inexact")?, text(py, "bool_")?] {
            if object.is_instance(&numpy.getattr(kind)?)? {
                return object.call_method1(text(py, "astype")?, (class,)).map(Some);
            }
        }
        Ok(None)
    };
    let scalar = match cast() {
        Ok(Some(scalar)) => scalar,
        Ok(None) => return Ok(false),
        Err(error) if error.is_instance_of::<PyTypeError>(py) => return Ok(false),
        Err(error) => {
            error.restore(py);
            return Err(errors::already_raised());
        }
    };
    let size = dtype.element().size() as isize;
    // SAFETY: a scalar of ours holds a live, aligned cell as long as it lives; ours is vacant.
    unsafe {
        match object::scalar_cell(scalar.as_ptr()) {
            Some((other, source)) if ptr::eq(other, dtype) => rules::copy(
                dtype.element(),
                CellsMut::new(cell, size, 1, Exclusive::own()),
                Cells::new(source, size, 1),
            )
            .map(|()| true),
            _ => Ok(false),
        }
    }
}

/// The failure of an object that the type cannot take.
#[cold]
fn refused(element: &ElementType, object: *mut ffi::PyObject) -> Failure {
    // SAFETY: GIL held, a valid object.
    let class = unsafe {
        std::ffi::CStr::from_ptr((*ffi::Py_TYPE(object)).tp_name).to_string_lossy().into_owned()
    };
    Failure::new(
        abi::ERROR_TYPE,
        format!("cannot make a {} from an object of type {class}", element.name()),
    )
}

/// An object on its way between Python and an array: counted while it exists, destroyed if it
/// does not arrive.
pub struct Object<'a> {
    element: &'static ElementType,
    spare: SpareCell<'a>,
}

impl Object<'_> {
    pub fn new(element: &'static ElementType) -> Result<Self, Failure> {
        Ok(Object { element, spare: SpareCell::new(element)? })
    }

    pub fn cells(&mut self) -> CellsMut<'_> {
        self.spare.cells()
    }

    pub fn address(&mut self) -> *mut u8 {
        self.spare.cells().address(0)
    }

    /// Whether there is an object here.
    pub fn is_live(&mut self) -> bool {
        self.element.vacancy().count_live(self.spare.cells().as_cells()) > 0
    }

    /// Changes places with what is in a cell of an array, aligned or not.
    ///
    /// # Safety
    /// `cell` is a cell of the type under rule 1, exclusively this thread's for the reason given.
    #[inline]
    pub unsafe fn arrive(&mut self, cell: *mut u8, _right: Exclusive<'_>) {
        // SAFETY: two cells that differ, ours and the caller's.
        unsafe { ptr::swap_nonoverlapping(cell, self.address(), self.element.size()) };
    }
}

impl Drop for Object<'_> {
    fn drop(&mut self) {
        let element = self.element;
        if !self.is_live() {
            return;
        }
        // The object was made and is destroyed outside any array; or one like it is in the array, and
        // this one was there before.
        let delta = CountDelta { constructed: 1, destroyed: 1, ..CountDelta::default() };
        element.record(delta, Location::Passing);
        let mut end = || {
            // SAFETY: a cell under rule 1, ours alone.
            if let Err(failure) = unsafe { rules::end(element, self.spare.cells()) } {
                errors::write_unraisable(&failure, errors::DESTRUCTOR);
            }
        };
        // SAFETY: the slots that make such objects hold the GIL.
        unsafe {
            if ffi::PyErr_Occurred().is_null() { end() } else { errors::keeping_exception(end) }
        }
    }
}
