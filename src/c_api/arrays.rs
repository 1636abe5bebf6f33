//! New arrays for clients: default-filled, or over memory that they own.

use super::{boundary, dtype_of};
use crate::{
    abi::{self, Element},
    dtype::{
        handle::{library, trampoline},
        loops::access::AdoptedRange,
    },
    numpy_abi::{self, NumpyApi, flags::*},
    owner_map::{self, AdoptError},
};
use pyo3::{
    exceptions::{PyOverflowError, PyValueError},
    ffi,
    prelude::*,
};
use std::{
    ffi::{c_int, c_void},
    ptr::{self, NonNull},
    sync::Arc,
};

/// The running NumPy.
pub(super) fn numpy() -> PyResult<&'static NumpyApi> {
    numpy_abi::get().ok_or_else(|| PyValueError::new_err("denizen._runtime is not imported"))
}

/// A shape that a client passed, checked.
///
/// # Safety
/// `shape` points to `count` lengths.
unsafe fn checked_shape<'a>(
    shape: *const isize,
    count: usize,
    cell: usize,
) -> PyResult<&'a [isize]> {
    if count > abi::MAX_DIMENSIONS {
        return Err(PyValueError::new_err(format!(
            "{count} dimensions are more than the {} that an array can have",
            abi::MAX_DIMENSIONS
        )));
    }
    if count == 0 {
        return Ok(&[]);
    }
    if shape.is_null() {
        return Err(PyValueError::new_err(format!("the shape of {count} dimensions is NULL")));
    }
    // SAFETY: the caller's promise.
    let shape = unsafe { std::slice::from_raw_parts(shape, count) };
    if let Some(length) = shape.iter().find(|length| **length < 0) {
        return Err(PyValueError::new_err(format!("negative length {length} in a shape")));
    }
    let bytes = shape
        .iter()
        .filter(|length| **length != 0)
        .try_fold(cell, |bytes, length| bytes.checked_mul(length.unsigned_abs()));
    match bytes.filter(|bytes| isize::try_from(*bytes).is_ok()) {
        Some(_) => Ok(shape),
        None => Err(PyOverflowError::new_err(format!(
            "an array of shape {shape:?} and {cell}-byte cells is larger than memory can be"
        ))),
    }
}

pub(super) unsafe extern "C" fn empty(
    element: *const Element,
    dimension_count: usize,
    shape: *const isize,
) -> *mut abi::PyObject {
    boundary(ptr::null_mut(), |py| {
        let dtype = dtype_of(element)?;
        // SAFETY: the client's shape by contract.
        let shape = unsafe { checked_shape(shape, dimension_count, dtype.element().size())? };
        // SAFETY: GIL held; the reference to the descriptor goes with the call.
        let array = unsafe {
            numpy()?.empty(dimension_count as c_int, shape.as_ptr(), dtype.new_descr_reference(), 0)
        };
        if array.is_null() { Err(PyErr::fetch(py)) } else { Ok(array.cast()) }
    })
}

/// An owner whose release function runs when the last view is gone.
struct Owner {
    owner: *mut c_void,
    release: Option<unsafe extern "C" fn(*mut c_void)>,
    /// Where the range starts that the owner map knows, and its payload.
    range: Option<(usize, Arc<AdoptedRange>)>,
    /// The capsule that holds this, once there is one.
    base: *mut ffi::PyObject,
}

/// Makes a range known to the owner map. Its payload has the lock of the range; an adoption of the
/// same memory again shares it.
fn adopt_range(start: usize, bytes: usize) -> Result<(usize, Arc<AdoptedRange>), AdoptError> {
    let range = Arc::new(AdoptedRange::default());
    let payload = NonNull::from(&*range).cast();
    let adopted = owner_map::adopt(start..start + bytes, payload)?;
    if adopted.payload == payload {
        return Ok((start, range));
    }
    let known: *const AdoptedRange = adopted.payload.as_ptr().cast();
    // SAFETY: the payload of a known range came from an `Arc` here, and an owner that has not
    // disowned it yet keeps it; the GIL serves adoption and release.
    let range = unsafe {
        Arc::increment_strong_count(known);
        Arc::from_raw(known)
    };
    Ok((start, range))
}

impl Drop for Owner {
    fn drop(&mut self) {
        // The range leaves the map before its owner dies.
        if let Some((start, mut range)) = self.range.take() {
            range.remove_base(self.base);
            owner_map::disown(start);
            if let Some(range) = Arc::get_mut(&mut range) {
                range.lock.retire();
            }
        }
        if let Some(release) = self.release {
            // SAFETY: the client's function, once.
            unsafe { release(self.owner) };
        }
    }
}

const OWNER_NAME: &std::ffi::CStr = c"denizen.owner";

unsafe extern "C" fn drop_owner(capsule: *mut ffi::PyObject) {
    trampoline::end("drop_owner", || {
        // SAFETY: the capsule holds the box that `adopt` put into it.
        unsafe {
            let owner = ffi::PyCapsule_GetPointer(capsule, OWNER_NAME.as_ptr());
            if !owner.is_null() {
                drop(Box::from_raw(owner.cast::<Owner>()));
            }
        }
    })
}

pub(super) unsafe extern "C" fn adopt(
    element: *const Element,
    data: *mut u8,
    dimension_count: usize,
    shape: *const isize,
    strides: *const isize,
    owner: *mut c_void,
    release: Option<unsafe extern "C" fn(owner: *mut c_void)>,
    flags: u32,
) -> *mut abi::PyObject {
    // Whatever happens, the owner is released once.
    let mut owner = Owner { owner, release, range: None, base: ptr::null_mut() };
    boundary(ptr::null_mut(), move |py| {
        let dtype = dtype_of(element)?;
        let kind = dtype.element();
        if kind.vtable().storage != abi::STORAGE_INLINE {
            return Err(PyValueError::new_err(format!(
                "{} is not stored inline (its zero bytes are not promised to be vacant or the \
                 default), so its objects cannot be adopted where they are; move them into a new \
                 array instead",
                kind.name()
            )));
        }
        // What the array refers to is there as long as the array, even if its library is closed.
        let release = release.map_or(ptr::null(), |release| release as *const c_void);
        library::pin([
            ("the release function", release),
            ("the owner", owner.owner.cast_const()),
            ("the memory", data.cast_const().cast()),
        ])
        .map_err(|error| PyValueError::new_err(format!("adopt {}: {error}", kind.name())))?;
        // SAFETY: the client's shape by contract.
        let shape = unsafe { checked_shape(shape, dimension_count, kind.size())? };
        let strides = if strides.is_null() || dimension_count == 0 {
            None
        } else {
            // SAFETY: as many strides as lengths by contract.
            Some(unsafe { std::slice::from_raw_parts(strides, dimension_count) })
        };
        if flags & !abi::ADOPT_READ_ONLY != 0 {
            return Err(PyValueError::new_err(format!("unknown flags {flags:#x} for adopt")));
        }
        let is_empty = shape.contains(&0);
        if data.is_null() && !is_empty {
            return Err(PyValueError::new_err(format!(
                "the memory to adopt for an array of shape {shape:?} is NULL"
            )));
        }
        // Along a dimension of one element no stride is ever taken.
        let steps = || {
            let strides = strides.unwrap_or_default();
            shape.iter().zip(strides).filter(|(length, _)| **length > 1).map(|(_, stride)| *stride)
        };
        if !is_empty {
            let align = kind.align();
            let misaligned = !data.addr().is_multiple_of(align)
                || steps().any(|stride| !stride.unsigned_abs().is_multiple_of(align));
            if misaligned {
                return Err(PyValueError::new_err(format!(
                    "the memory to adopt is not aligned to the {align} bytes that {} needs",
                    kind.name()
                )));
            }
            if let Some(stride) =
                steps().find(|stride| (1..kind.size()).contains(&stride.unsigned_abs()))
            {
                return Err(PyValueError::new_err(format!(
                    "with a stride of {stride} bytes the {}-byte cells of {} overlap",
                    kind.size(),
                    kind.name()
                )));
            }
            let range = extent(shape, strides, kind.size()).and_then(|(low, high)| {
                let start = data.addr().checked_add_signed(low)?;
                let end = data.addr().checked_add_signed(high)?;
                (start < end).then_some((start, end - start))
            });
            let Some((start, bytes)) = range else {
                let strides = steps().collect::<Vec<_>>();
                return Err(PyOverflowError::new_err(format!(
                    "an array of shape {shape:?} and strides {strides:?} reaches beyond the \
                     memory that there can be"
                )));
            };
            owner.range = Some(
                adopt_range(start, bytes)
                    .map_err(|error| PyValueError::new_err(error.to_string()))?,
            );
        }
        let writeable = if flags & abi::ADOPT_READ_ONLY == 0 { NPY_ARRAY_WRITEABLE } else { 0 };
        // NumPy would allocate for a NULL pointer; an empty vector may well have a dangling one.
        let data = if data.is_null() { ptr::dangling_mut() } else { data };
        let numpy = numpy()?;
        let boxed = Box::into_raw(Box::new(owner));
        // SAFETY: GIL held. The capsule owns the box; the array owns the capsule. NumPy takes the
        // references to the descriptor and, also when it fails, to the capsule.
        unsafe {
            let capsule = ffi::PyCapsule_New(boxed.cast(), OWNER_NAME.as_ptr(), Some(drop_owner));
            // The exception is taken away before the owner goes: its function may use Python.
            if capsule.is_null() {
                let error = PyErr::fetch(py);
                drop(Box::from_raw(boxed));
                return Err(error);
            }
            (*boxed).base = capsule;
            if let Some((_, range)) = &(*boxed).range {
                range.add_base(capsule);
            }
            let array = numpy.new_from_descr(
                numpy.array_type(),
                dtype.new_descr_reference(),
                dimension_count as c_int,
                shape.as_ptr(),
                strides.map_or(ptr::null(), <[isize]>::as_ptr),
                data.cast(),
                writeable,
                ptr::null_mut(),
            );
            if array.is_null() {
                let error = PyErr::fetch(py);
                ffi::Py_DECREF(capsule);
                return Err(error);
            }
            if numpy.set_base_object(array, capsule) < 0 {
                let error = PyErr::fetch(py);
                ffi::Py_DECREF(array);
                return Err(error);
            }
            Ok(array.cast())
        }
    })
}

/// First and one past the last byte of an array's cells, from its first cell; `None` where that
/// overflows.
pub(super) fn extent(
    shape: &[isize],
    strides: Option<&[isize]>,
    size: usize,
) -> Option<(isize, isize)> {
    let size = isize::try_from(size).ok()?;
    let Some(strides) = strides else {
        let bytes = shape.iter().try_fold(size, |bytes, length| bytes.checked_mul(*length))?;
        return Some((0, bytes));
    };
    let (mut low, mut high) = (0, size);
    for (length, stride) in shape.iter().zip(strides) {
        let reach = stride.checked_mul((length - 1).max(0))?;
        low = reach.min(0).checked_add(low)?;
        high = reach.max(0).checked_add(high)?;
    }
    Some((low, high))
}
