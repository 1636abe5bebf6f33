//! Read access to arrays and dtypes.

use std::ffi::c_int;
use std::marker::PhantomData;
use std::ptr::NonNull;

use pyo3::ffi::{self, PyObject, PyTypeObject};
use pyo3::prelude::*;

use super::api::NumpyApi;
use super::flags::*;
use super::structs::*;

/// A NumPy array that lives at least for `'a`.
///
/// Fields are read anew on every call, and shape and strides are copied out: Python code may
/// resize the array between two calls.
///
/// # Invariants
/// `pointer` is an `ndarray`; the thread that uses it is attached to Python.
#[derive(Clone, Copy)]
pub struct Array<'a> {
    pointer: NonNull<PyArrayObject>,
    _object: PhantomData<(&'a PyObject, *mut ())>,
}

impl<'a> Array<'a> {
    /// The array that `object` is, or `None` where it is none.
    pub fn of(api: &NumpyApi, object: &'a Bound<'_, PyAny>) -> Option<Self> {
        // SAFETY: the object is alive and the thread attached (`Bound`), the type is NumPy's.
        unsafe { Self::from_object(api, object.as_ptr()) }
    }

    /// The array that `object` is, or `None` where it is none.
    ///
    /// # Safety
    /// `object` is valid and lives for `'a`; the thread is attached, here and in every use.
    pub unsafe fn from_object(api: &NumpyApi, object: *mut PyObject) -> Option<Self> {
        // SAFETY: both are valid objects (caller; invariant of `NumpyApi`).
        if unsafe { ffi::PyObject_TypeCheck(object, api.array_type()) } == 0 {
            return None;
        }
        // SAFETY: just checked to be an array; the rest is the caller's.
        unsafe { Self::from_ptr(object) }
    }

    /// The array at `object`; `None` for NULL.
    ///
    /// # Safety
    /// As [`Array::from_object`], and it is NULL or an array.
    pub unsafe fn from_ptr(object: *mut PyObject) -> Option<Self> {
        Some(Self { pointer: NonNull::new(object.cast())?, _object: PhantomData })
    }

    /// The object itself.
    pub fn as_ptr(self) -> *mut PyObject {
        self.pointer.as_ptr().cast()
    }

    /// Address of the element at index zero.
    pub fn data(self) -> *mut u8 {
        // SAFETY: `pointer` is an array (invariant).
        unsafe { (*self.pointer.as_ptr()).data.cast() }
    }

    /// Number of dimensions.
    pub fn ndim(self) -> usize {
        // SAFETY: `pointer` is an array (invariant).
        let nd = unsafe { (*self.pointer.as_ptr()).nd };
        usize::try_from(nd).unwrap_or(0)
    }

    /// Lengths in elements.
    pub fn shape(self) -> Vec<isize> {
        // SAFETY: `dimensions` holds `nd` lengths (NumPy), and nothing runs in between.
        unsafe { copied((*self.pointer.as_ptr()).dimensions, self.ndim()) }
    }

    /// Strides in bytes.
    pub fn strides(self) -> Vec<isize> {
        // SAFETY: `strides` holds `nd` strides (NumPy), and nothing runs in between.
        unsafe { copied((*self.pointer.as_ptr()).strides, self.ndim()) }
    }

    /// Number of elements.
    pub fn size(self) -> usize {
        self.shape().iter().map(|&length| length.unsigned_abs()).product()
    }

    /// Borrowed reference to the array's dtype, good until Python code runs: `a.dtype = ..` and
    /// `__setstate__` replace it.
    pub fn descr(self) -> *mut PyArray_Descr {
        // SAFETY: `pointer` is an array (invariant).
        unsafe { (*self.pointer.as_ptr()).descr }
    }

    /// Bytes of one element.
    pub fn elsize(self) -> usize {
        // SAFETY: an array's dtype is never NULL, and it lives while no Python code runs.
        unsafe { Descr::from_ptr_unchecked(self.descr()) }.elsize()
    }

    /// `NPY_ARRAY_*` flags.
    pub fn flags(self) -> c_int {
        // SAFETY: `pointer` is an array (invariant).
        unsafe { (*self.pointer.as_ptr()).flags }
    }

    /// Whether all of `flags` are set.
    pub fn has_flags(self, flags: c_int) -> bool {
        self.flags() & flags == flags
    }

    /// Whether the elements may be written to.
    pub fn is_writeable(self) -> bool {
        self.has_flags(NPY_ARRAY_WRITEABLE)
    }

    /// Whether the array frees its data itself.
    pub fn owns_data(self) -> bool {
        self.has_flags(NPY_ARRAY_OWNDATA)
    }

    /// Borrowed reference to the owner of the data, NULL where it is the array itself.
    pub fn base(self) -> *mut PyObject {
        // SAFETY: `pointer` is an array (invariant).
        unsafe { (*self.pointer.as_ptr()).base }
    }

    /// Borrowed reference to the handler capsule; NULL where the array does not own its data.
    pub fn mem_handler(self) -> *mut PyObject {
        // SAFETY: `pointer` is an array (invariant).
        unsafe { (*self.pointer.as_ptr()).mem_handler }
    }

    /// A copy of the handler; `None` where the array does not own its data.
    pub fn handler(self) -> Option<PyDataMem_Handler> {
        // SAFETY: the array holds a reference to the capsule, or has none.
        unsafe { handler_in(self.mem_handler()) }
    }
}

/// A copy of the handler in a capsule; `None` for NULL and for any other object.
///
/// # Safety
/// `capsule` is NULL or a valid object; the thread is attached.
pub unsafe fn handler_in(capsule: *mut PyObject) -> Option<PyDataMem_Handler> {
    // SAFETY: `PyCapsule_IsValid` takes any object and NULL.
    if unsafe { ffi::PyCapsule_IsValid(capsule, MEM_HANDLER.as_ptr()) } == 0 {
        return None;
    }
    // SAFETY: a valid capsule of this name.
    let handler = unsafe { ffi::PyCapsule_GetPointer(capsule, MEM_HANDLER.as_ptr()) };
    // SAFETY: a capsule of this name holds a handler (NEP 49).
    unsafe { handler.cast::<PyDataMem_Handler>().as_ref() }.copied()
}

/// `count` numbers from `pointer`.
///
/// # Safety
/// There are `count` numbers at `pointer`, or `count` is 0.
unsafe fn copied(pointer: *const npy_intp, count: usize) -> Vec<isize> {
    if count == 0 {
        return Vec::new();
    }
    // SAFETY: the caller's.
    unsafe { std::slice::from_raw_parts(pointer, count) }.to_vec()
}

/// A dtype instance that lives at least for `'a`.
///
/// # Invariants
/// `pointer` is a dtype instance; the thread that uses it is attached to Python.
#[derive(Clone, Copy)]
pub struct Descr<'a> {
    pointer: NonNull<PyArray_Descr>,
    _object: PhantomData<(&'a PyObject, *mut ())>,
}

impl<'a> Descr<'a> {
    /// The dtype that `object` is, or `None` where it is none.
    pub fn of(api: &NumpyApi, object: &'a Bound<'_, PyAny>) -> Option<Self> {
        let pointer = object.as_ptr();
        // SAFETY: both are valid objects (`Bound`; invariant of `NumpyApi`).
        if unsafe { ffi::PyObject_TypeCheck(pointer, api.descr_type()) } == 0 {
            return None;
        }
        // SAFETY: just checked, and the object lives for `'a`.
        unsafe { Self::from_ptr(pointer.cast()) }
    }

    /// The dtype at `descr`; `None` for NULL.
    ///
    /// # Safety
    /// It is NULL or a dtype instance that lives for `'a`; the thread is attached in every use.
    pub unsafe fn from_ptr(descr: *const PyArray_Descr) -> Option<Self> {
        Some(Self { pointer: NonNull::new(descr.cast_mut())?, _object: PhantomData })
    }

    /// The dtype at `descr`.
    ///
    /// # Safety
    /// As [`Descr::from_ptr`], and not NULL.
    pub unsafe fn from_ptr_unchecked(descr: *const PyArray_Descr) -> Self {
        // SAFETY: not NULL (caller).
        let pointer = unsafe { NonNull::new_unchecked(descr.cast_mut()) };
        Self { pointer, _object: PhantomData }
    }

    /// The object itself.
    pub fn as_ptr(self) -> *mut PyArray_Descr {
        self.pointer.as_ptr()
    }

    /// Bytes of one element.
    pub fn elsize(self) -> usize {
        // SAFETY: `pointer` is a dtype instance (invariant).
        let elsize = unsafe { (*self.pointer.as_ptr()).elsize };
        usize::try_from(elsize).unwrap_or(0)
    }

    /// Alignment of one element, at least 1.
    pub fn alignment(self) -> usize {
        // SAFETY: `pointer` is a dtype instance (invariant).
        let alignment = unsafe { (*self.pointer.as_ptr()).alignment };
        usize::try_from(alignment).unwrap_or(1).max(1)
    }

    /// `NPY_ITEM_REFCOUNT` and the other dtype flags.
    pub fn flags(self) -> u64 {
        // SAFETY: `pointer` is a dtype instance (invariant).
        unsafe { (*self.pointer.as_ptr()).flags }
    }

    /// Legacy type number, -1 for user dtypes.
    pub fn type_num(self) -> c_int {
        // SAFETY: `pointer` is a dtype instance (invariant).
        unsafe { (*self.pointer.as_ptr()).type_num }
    }

    /// Kind letter.
    pub fn kind(self) -> u8 {
        // SAFETY: `pointer` is a dtype instance (invariant).
        unsafe { (*self.pointer.as_ptr()).kind }.cast_unsigned()
    }

    /// Type letter.
    pub fn char(self) -> u8 {
        // SAFETY: `pointer` is a dtype instance (invariant).
        unsafe { (*self.pointer.as_ptr()).r#type }.cast_unsigned()
    }

    /// Borrowed reference to the scalar type.
    pub fn scalar_type(self) -> *mut PyTypeObject {
        // SAFETY: `pointer` is a dtype instance (invariant).
        unsafe { (*self.pointer.as_ptr()).typeobj }
    }

    /// Borrowed reference to the DType class.
    pub fn dtype(self) -> *mut PyArray_DTypeMeta {
        // SAFETY: `pointer` is a dtype instance, so its type is a DType class.
        unsafe { ffi::Py_TYPE(self.pointer.as_ptr().cast()) }.cast()
    }
}
