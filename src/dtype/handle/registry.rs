//! All element types of the process, and their DTypes.

use crate::{
    abi::Element,
    dtype::handle::DType,
    erased::{ElementType, Registry},
    numpy_abi::{NumpyApi, PyArray_DTypeMeta},
};
use pyo3::{ffi, prelude::*, types::PyType};
use std::{
    ptr,
    sync::{LazyLock, RwLock},
};

/// All element types of the process.
pub static REGISTRY: LazyLock<Registry> = LazyLock::new(Registry::default);

/// Their DTypes, in the order of registration.
static DTYPES: RwLock<Vec<&'static DType>> = RwLock::new(Vec::new());

/// Types that have no DType of ours, in the order of registration.
static BARE: RwLock<Vec<&'static ElementType>> = RwLock::new(Vec::new());

/// Makes a DType known.
pub fn add(dtype: &'static DType) {
    DTYPES.write().unwrap_or_else(|poisoned| poisoned.into_inner()).push(dtype);
}

/// Makes a type without a DType known.
pub fn add_bare(element: &'static ElementType) {
    BARE.write().unwrap_or_else(|poisoned| poisoned.into_inner()).push(element);
}

/// The DType of a registered element type.
pub fn dtype_of(element: *const Element) -> Option<&'static DType> {
    let all = DTYPES.read().unwrap_or_else(|poisoned| poisoned.into_inner());
    all.iter().copied().find(|dtype| ptr::from_ref(dtype.element()).cast() == element)
}

/// The DType of that name.
pub fn dtype_named(name: &str) -> Option<&'static DType> {
    let all = DTYPES.read().unwrap_or_else(|poisoned| poisoned.into_inner());
    all.iter().copied().find(|dtype| dtype.element().name() == name)
}

/// Whether a class is the scalar class of a DType.
pub fn has_scalar_class(class: &Bound<'_, PyType>) -> bool {
    all().iter().any(|dtype| dtype.scalar_class() == class.as_type_ptr())
}

/// All DTypes, in the order of registration.
pub fn all() -> Vec<&'static DType> {
    DTYPES.read().unwrap_or_else(|poisoned| poisoned.into_inner()).clone()
}

/// All element types in the order of registration, those without a DType last.
pub fn elements() -> Vec<&'static ElementType> {
    let bare = BARE.read().unwrap_or_else(|poisoned| poisoned.into_inner());
    all().into_iter().map(DType::element).chain(bare.iter().copied()).collect()
}

/// The element type of a handle if it has no DType.
pub fn bare_element(element: *const Element) -> Option<&'static ElementType> {
    let bare = BARE.read().unwrap_or_else(|poisoned| poisoned.into_inner());
    bare.iter().copied().find(|known| ptr::from_ref(*known).cast() == element)
}

/// The element type of a handle, with or without a DType.
pub fn element_of(element: *const Element) -> Option<&'static ElementType> {
    if let Some(dtype) = dtype_of(element) {
        return Some(dtype.element());
    }
    bare_element(element)
}

/// The DType class of a type number, borrowed (it is immortal).
pub fn builtin_class(
    py: Python<'_>,
    numpy: &NumpyApi,
    number: i32,
) -> PyResult<*mut PyArray_DTypeMeta> {
    // SAFETY: GIL held; an unknown number gives NULL and an exception.
    let descr = unsafe { numpy.descr_from_type(number) };
    if descr.is_null() {
        return Err(PyErr::fetch(py));
    }
    // SAFETY: a new reference; classes of built-in types are immortal.
    unsafe {
        let class = ffi::Py_TYPE(descr.cast());
        ffi::Py_DECREF(descr.cast());
        Ok(class.cast())
    }
}
