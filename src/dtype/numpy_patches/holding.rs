//! Which dtypes and objects of NumPy's hold elements of ours: a dtype of ours, a structure with a field
//! of one, a subarray of one, a view of some fields of such a structure.

use super::super::{DType, handle::errors};
use crate::numpy_abi::{self, Array, PyArray_Descr, PyArrayObject, PyVoidScalarObject, flags::*};
use pyo3::{ffi, prelude::*};

/// The element type of an array whose dtype is ours.
pub(super) fn element_of(array: &Bound<'_, PyAny>) -> Option<&'static DType> {
    let array = Array::of(numpy_abi::get()?, array)?;
    // SAFETY: the descriptor of a living array; GIL held.
    unsafe { DType::try_of_descr(array.descr()) }
}

/// Whether a dtype is ours or a structure with a field of ours.
///
/// # Safety
/// `descr` is a descriptor; GIL held.
#[inline]
pub(super) unsafe fn holds_ours(descr: *mut PyArray_Descr) -> bool {
    // SAFETY: the caller's promise. Structures inherit the flag from their fields.
    unsafe { (*descr).flags & NPY_ITEM_REFCOUNT != 0 && looks_like_ours(descr) }
}

/// # Safety
/// As for [`holds_ours`].
unsafe fn looks_like_ours(descr: *mut PyArray_Descr) -> bool {
    // SAFETY: the caller's promise.
    unsafe {
        if DType::try_of_descr(descr).is_some() {
            return true;
        }
        if (*descr).type_num != NPY_VOID {
            return false;
        }
        // What cannot be looked at is taken for ours: the patches are right for every dtype.
        let found = |_, _, count| if count > 0 { Err(Stop::Enough) } else { Ok(()) };
        for_cells(descr, 0, &mut { found }).is_err()
    }
}

/// Why not all cells of a dtype are visited.
pub(super) enum Stop {
    /// The visitor saw enough.
    Enough,
    /// Fields could not be looked at: no memory.
    Unknown,
}

/// Gets the type of a run of cells in one item of a dtype, the offset of the first in bytes, and how
/// many there are side by side.
type Visitor<'a> = dyn FnMut(&'static DType, usize, usize) -> Result<(), Stop> + 'a;

/// Calls `visit` for each run of cells in one item of a dtype that begins at `offset`.
///
/// # Errors
/// The visitor's own; there was no memory to look at the fields. No exception is left behind.
///
/// # Safety
/// `descr` is a descriptor; GIL held, and `visit` runs no Python code.
pub(super) unsafe fn for_cells(
    descr: *mut PyArray_Descr,
    offset: usize,
    visit: &mut Visitor<'_>,
) -> Result<(), Stop> {
    // SAFETY: the caller's promise.
    unsafe {
        if let Some(dtype) = DType::try_of_descr(descr) {
            return visit(dtype, offset, 1);
        }
        if (*descr).type_num != NPY_VOID || (*descr).flags & NPY_ITEM_REFCOUNT == 0 {
            return Ok(());
        }
        // An exception that waits stays.
        errors::keeping_exception(|| {
            let outcome = for_fields(descr.cast(), offset, visit);
            ffi::PyErr_Clear();
            outcome
        })
    }
}

/// # Errors
/// As for [`for_cells`]; there may be an exception.
///
/// # Safety
/// `descr` is a descriptor of kind void, otherwise as for [`for_cells`].
unsafe fn for_fields(
    descr: *mut ffi::PyObject,
    offset: usize,
    visit: &mut Visitor<'_>,
) -> Result<(), Stop> {
    // SAFETY: new references are dropped at the end, borrowed ones live in their tuples; `fields`
    // and `subdtype` are attributes of every dtype.
    unsafe {
        let subarray = Owned::new(ffi::PyObject_GetAttrString(descr, c"subdtype".as_ptr()))?;
        if ffi::PyTuple_Check(subarray.0) != 0 {
            let base = ffi::PyTuple_GetItem(subarray.0, 0).cast::<PyArray_Descr>();
            let step = usize::try_from((*base).elsize).unwrap_or(0);
            let whole = usize::try_from((*descr.cast::<PyArray_Descr>()).elsize).unwrap_or(0);
            let count = whole.checked_div(step).unwrap_or(0);
            if DType::try_of_descr(base).is_some() {
                return for_cells(base, offset, &mut |dtype, offset, _| {
                    visit(dtype, offset, count)
                });
            }
            return (0..count).try_for_each(|item| for_cells(base, offset + item * step, visit));
        }
        let fields = Owned::new(ffi::PyObject_GetAttrString(descr, c"fields".as_ptr()))?;
        if fields.0 == ffi::Py_None() {
            return Ok(());
        }
        // One entry a name: a title is a second key of its field.
        let names = Owned::new(ffi::PyObject_GetAttrString(descr, c"names".as_ptr()))?;
        if ffi::PyTuple_Check(names.0) == 0 {
            return Ok(());
        }
        for index in 0..ffi::PyTuple_Size(names.0) {
            let name = ffi::PyTuple_GetItem(names.0, index);
            // `(dtype, offset)` or `(dtype, offset, title)`.
            let field = Owned::new(ffi::PyObject_GetItem(fields.0, name))?;
            if ffi::PyTuple_Check(field.0) == 0 || ffi::PyTuple_Size(field.0) < 2 {
                continue;
            }
            let start = ffi::PyLong_AsSsize_t(ffi::PyTuple_GetItem(field.0, 1));
            let Ok(start) = usize::try_from(start) else { return Err(Stop::Unknown) };
            for_cells(ffi::PyTuple_GetItem(field.0, 0).cast(), offset + start, visit)?;
        }
        Ok(())
    }
}

/// A reference that is dropped with this.
struct Owned(*mut ffi::PyObject);

impl Owned {
    fn new(object: *mut ffi::PyObject) -> Result<Owned, Stop> {
        if object.is_null() { Err(Stop::Unknown) } else { Ok(Owned(object)) }
    }
}

impl Drop for Owned {
    fn drop(&mut self) {
        // SAFETY: a new reference; the GIL is held by all users.
        unsafe { ffi::Py_DECREF(self.0) };
    }
}

/// Whether the bytes of an array or of a structured scalar are, or lie between, cells of ours.
///
/// A view of some fields (`records[["n"]]`) has the others as holes, under a dtype that does not know
/// them any more, but for its flags. So what it is a view of is asked, too.
///
/// # Safety
/// `object` is an array or a structured scalar; GIL held.
#[inline]
pub(super) unsafe fn exposes_ours(object: *mut ffi::PyObject, is_scalar: bool) -> bool {
    // SAFETY: the caller's promise: the fields of its struct.
    unsafe {
        let descr = if is_scalar {
            (*object.cast::<PyVoidScalarObject>()).descr
        } else {
            (*object.cast::<PyArrayObject>()).descr
        };
        (*descr).flags & NPY_ITEM_REFCOUNT != 0 && memory_holds_ours(object)
    }
}

/// # Safety
/// As for [`exposes_ours`].
#[inline(never)]
unsafe fn memory_holds_ours(mut object: *mut ffi::PyObject) -> bool {
    let Some(numpy) = numpy_abi::get() else { return false };
    // SAFETY: the caller's promise; each base is alive as long as what is based on it.
    unsafe {
        while !object.is_null() {
            let (descr, base) = if ffi::PyObject_TypeCheck(object, numpy.array_type()) != 0 {
                let array = object.cast::<PyArrayObject>();
                ((*array).descr, (*array).base)
            } else if ffi::PyObject_TypeCheck(object, numpy.void_type()) != 0 {
                let scalar = object.cast::<PyVoidScalarObject>();
                ((*scalar).descr, (*scalar).base)
            } else {
                return false;
            };
            if holds_ours(descr) {
                return true;
            }
            // Of other dtypes there are no views of a part.
            if (*descr).type_num != NPY_VOID || (*descr).flags & NPY_ITEM_REFCOUNT == 0 {
                return false;
            }
            object = base;
        }
    }
    false
}
