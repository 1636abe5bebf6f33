//! Between cells and Python objects: the `setitem` and `getitem` slots.
//!
//! Both convert outside the array: an object passes through a spare cell of its own, and only its
//! move into the array, or the copy out of it, happens under the lock. So a client's conversion may
//! use the very array, by Python code. The memory stays where it is meanwhile
//! ([`access::pinned`]): NumPy goes on at this address.

use super::{
    DType,
    access::{self, Run},
    errors,
    fallible::text,
    loan, scalar, trampoline, watched, within,
};
use crate::{
    abi::{self, ErrorOut},
    audit::{self, Operation},
    erased::{
        Cells, CellsMut, CountDelta, ElementType, Exclusive, Failure, Location, SpareCell, rules,
    },
    numpy_abi::PyArray_Descr,
};
use pyo3::{exceptions::PyTypeError, ffi, prelude::*};
use std::{
    ffi::{c_char, c_int},
    hint::black_box,
    ptr,
};

/// Whether an exception waits, after which NumPy went on. GIL held.
fn is_raised() -> bool {
    // SAFETY: GIL held by contract of both slots.
    !unsafe { ffi::PyErr_Occurred() }.is_null()
}

type Set = unsafe fn(&'static DType, *mut ffi::PyObject, *mut u8) -> Result<(), Failure>;
type Get = unsafe fn(&'static DType, *mut u8) -> Result<*mut ffi::PyObject, Failure>;

/// Writes a Python object into a cell.
pub(super) unsafe extern "C" fn setitem(
    descr: *mut PyArray_Descr,
    object: *mut ffi::PyObject,
    data: *mut c_char,
) -> c_int {
    trampoline::slot("setitem", || {
        // `__setstate__` goes on after a failure, when no Python code may run.
        if is_raised() {
            return -1;
        }
        // SAFETY: a descriptor of ours, an object, and a cell under rule 1; GIL held.
        let outcome = unsafe {
            let dtype = DType::of_descr(descr);
            if audit::is_running() {
                watched::at_work_on(Operation::new("setitem"), || {
                    // By address: a second call that the compiler sees would keep the first from being
                    // compiled into this function.
                    let set: Set = black_box(set);
                    set(dtype, object, data.cast())
                })
            } else {
                set(dtype, object, data.cast())
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
pub(super) unsafe extern "C" fn getitem(
    descr: *mut PyArray_Descr,
    data: *mut c_char,
) -> *mut ffi::PyObject {
    trampoline::slot("getitem", || {
        if is_raised() {
            return ptr::null_mut();
        }
        // SAFETY: a descriptor of ours and a cell under rule 1; GIL held.
        let outcome = unsafe {
            let dtype = DType::of_descr(descr);
            if audit::is_running() {
                watched::at_work_on(Operation::new("getitem"), || {
                    let get: Get = black_box(get);
                    get(dtype, data.cast())
                })
            } else {
                get(dtype, data.cast())
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

/// # Safety
/// `object` is a Python object, `cell` a cell of the type under rule 1, aligned or not; GIL held.
unsafe fn set(
    dtype: &'static DType,
    object: *mut ffi::PyObject,
    cell: *mut u8,
) -> Result<(), Failure> {
    let element = dtype.element();
    if !element.is_copyable() {
        // SAFETY: the same contract.
        return unsafe { loan::put(dtype, object, cell) };
    }
    let mut spare = Object::new(element)?;
    let made = || {
        // NumPy lends an item of a list, which the conversion may empty.
        // SAFETY: a live object; the spare cell is vacant and aligned; GIL held.
        unsafe {
            ffi::Py_INCREF(object);
            let made = from_python(dtype, object, spare.address());
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

/// # Safety
/// As for [`set`].
unsafe fn get(dtype: &'static DType, cell: *mut u8) -> Result<*mut ffi::PyObject, Failure> {
    let element = dtype.element();
    if !element.is_copyable() {
        // SAFETY: the same contract.
        return unsafe {
            if element.vtable().to_python.is_some() {
                to_python_in_place(dtype, cell)
            } else {
                loan::show(dtype, cell)
            }
        };
    }
    let mut spare = Object::new(element)?;
    let run = Run::read(cell, element.size() as isize, 1);
    access::with_segments(element, [run], |_, _| {
        // SAFETY: one cell of the type, locked, copied to a vacant one.
        unsafe {
            within::with_aligned_source(element, cell, |cell| {
                rules::copy(element, spare.cells(), Cells::new(cell, element.size() as isize, 1))
            })
        }
    })?;
    let convert = || {
        // SAFETY: a vacant cell reads as the default; a live, aligned cell of ours.
        unsafe {
            rules::materialise(element, spare.cells())?;
            let object = to_python(dtype, spare.address());
            drop(spare);
            object
        }
    };
    // SAFETY: `run-alive` for the cell.
    unsafe { access::pinned(cell, convert) }
}

/// The client's Python object for a cell that cannot be copied, made from the cell itself; a vacant
/// one gets its default first.
///
/// # Safety
/// As for [`set`]; the type has a conversion of its own.
unsafe fn to_python_in_place(
    dtype: &'static DType,
    cell: *mut u8,
) -> Result<*mut ffi::PyObject, Failure> {
    let element = dtype.element();
    let size = element.size() as isize;
    // SAFETY: one cell, the caller's.
    let is_live = || unsafe { element.vacancy().is_live(cell) };
    if !element.zero_is_default() && !is_live() {
        let run = Run::write(cell, size, 1);
        access::with_segments(element, [run], |[segment], right| {
            // SAFETY: one cell of the type, locked.
            unsafe {
                access::with_ledger(element, segment, run, right, || {
                    within::aligned(element, run, right, |cells| rules::materialise(element, cells))
                })
            }
        })?;
    }
    // SAFETY: the caller's promise; nobody writes the cell while it is borrowed.
    unsafe {
        loan::with_borrow(element, cell, || {
            within::with_aligned_source(element, cell, |cell| to_python(dtype, cell))
        })
    }
}

/// The Python object of a live, aligned cell: a new reference.
///
/// # Safety
/// `cell` is a live cell of the type that nobody else touches; GIL held.
pub unsafe fn to_python(
    dtype: &'static DType,
    cell: *const u8,
) -> Result<*mut ffi::PyObject, Failure> {
    let element = dtype.element();
    let Some(to_python) = element.vtable().to_python else {
        // SAFETY: the caller's promise.
        return unsafe { scalar::new_scalar(dtype, Cells::new(cell, element.size() as isize, 1)) };
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
/// `object` is a Python object, `cell` vacant and aligned and nobody else's; GIL held.
pub unsafe fn from_python(
    dtype: &'static DType,
    object: *mut ffi::PyObject,
    cell: *mut u8,
) -> Result<(), Failure> {
    let element = dtype.element();
    let vtable = element.vtable();
    // SAFETY: a valid object; GIL held.
    if let Some((other, source)) = unsafe { scalar::scalar_cell(object) }
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
    if unsafe { super::casts::number_into_cell(dtype, object, cell) }? {
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
    if text.is_null() { Err(already_raised()) } else { Ok(Some((text.cast(), size as usize))) }
}

/// Reads a scalar of NumPy that Python does not take for a number (`float32`, `longdouble`,
/// `bool`) through the cast of its type. `false` where the object is none or has no such cast.
///
/// # Errors
/// What the cast fails with; the cell is vacant then.
///
/// # Safety
/// `object` is a Python object, `cell` vacant and aligned and nobody else's; GIL held.
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
            return Err(already_raised());
        }
    };
    let size = dtype.element().size() as isize;
    // SAFETY: a scalar of ours holds a live, aligned cell as long as it lives; ours is vacant.
    unsafe {
        match scalar::scalar_cell(scalar.as_ptr()) {
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

/// The failure whose exception is set already.
#[cold]
pub(super) fn already_raised() -> Failure {
    Failure::new(abi::ERROR_RUNTIME, "a Python exception is set").with_raised(true)
}

/// An object on its way between Python and an array: counted while it exists, destroyed if it
/// does not arrive.
pub(super) struct Object<'a> {
    element: &'static ElementType,
    spare: SpareCell<'a>,
}

impl Object<'_> {
    pub(super) fn new(element: &'static ElementType) -> Result<Self, Failure> {
        Ok(Object { element, spare: SpareCell::new(element)? })
    }

    pub(super) fn cells(&mut self) -> CellsMut<'_> {
        self.spare.cells()
    }

    pub(super) fn address(&mut self) -> *mut u8 {
        self.spare.cells().address(0)
    }

    /// Whether there is an object here.
    fn is_live(&mut self) -> bool {
        self.element.vacancy().count_live(self.spare.cells().as_cells()) > 0
    }

    /// Changes places with what is in a cell of an array, aligned or not.
    ///
    /// # Safety
    /// `cell` is a cell of the type under rule 1, exclusively this thread's for the reason given.
    #[inline]
    unsafe fn arrive(&mut self, cell: *mut u8, _right: Exclusive<'_>) {
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
        let tally = CountDelta { constructed: 1, destroyed: 1, ..CountDelta::default() };
        element.record(tally, Location::Passing);
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
