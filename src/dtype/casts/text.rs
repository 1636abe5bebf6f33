//! Casts between an element type and text: of fixed size (`U`, `S`) and `StringDType`.
//!
//! Text is never cut: a value whose text does not fit is a `ValueError`. NumPy resolves dtypes
//! without looking at values, so a target without a size (`astype(str)`) gets
//! [`DEFAULT_LENGTH`] characters, as other user dtypes do with a length of their own; longer text
//! goes to `StringDType`, which has no size.

use crate::{
    abi::{self, ErrorOut, Sink},
    dtype::{
        casts::text_form::{TextForm, UCS4},
        handle::{DType, errors, trampoline},
        loops::{access::Run, sink},
    },
    erased::{ElementType, Failure},
    numpy_abi::{self, PyArray_DTypeMeta, PyArray_Descr, PyArrayMethodObject, flags::*},
};
use pyo3::ffi;
use std::ffi::{c_int, c_void};

/// Characters of a text dtype whose size is not given.
const DEFAULT_LENGTH: usize = 64;

/// Reads values from text.
///
/// # Safety
/// `from` is values of the form, `to` aligned cells of `element` under rule 1, exclusively this
/// thread's.
pub(super) unsafe fn from_text(
    element: &ElementType,
    form: TextForm,
    to: Run,
    from: Run,
) -> Result<(), Failure> {
    let Some(load) = element.vtable().from_text else {
        return Err(errors::missing(element, "conversion from text"));
    };
    let mut text = String::new();
    for index in 0..to.count {
        let (cell, value) = (to.part(index, 1).data, from.part(index, 1).data);
        // SAFETY: the caller's promise, the vtable's contract.
        let result = unsafe {
            form.read(value, &mut text).and_then(|()| {
                let mut report = ErrorOut::new();
                let context = element.vtable().context;
                let status = load(context, cell, text.as_ptr(), text.len(), &mut report);
                Failure::check(status, &report)
            })
        };
        result.map_err(|failure| failure.at(index))?;
    }
    Ok(())
}

/// Writes values as text.
///
/// # Safety
/// `from` is aligned cells of `element` under rule 1 that no thread writes, `to` room for as many
/// values of the form.
pub(super) unsafe fn to_text(
    element: &ElementType,
    form: TextForm,
    to: Run,
    from: Run,
) -> Result<(), Failure> {
    let Some(save) = element.vtable().to_text else {
        return Err(errors::missing(element, "conversion to text"));
    };
    let mut bytes: Vec<u8> = Vec::new();
    for index in 0..to.count {
        let (value, cell) = (to.part(index, 1).data, from.part(index, 1).data);
        bytes.clear();
        let mut sink = Sink { write: sink::append, context: (&raw mut bytes).cast() };
        let mut report = ErrorOut::new();
        // SAFETY: the caller's promise, the vtable's contract; the sink lives through the call.
        let result = unsafe {
            let status = save(element.vtable().context, cell, &mut sink, &mut report);
            Failure::check(status, &report).and_then(|()| {
                let text = std::str::from_utf8(&bytes).map_err(|_| {
                    Failure::new(
                        abi::ERROR_VALUE,
                        format!("{} wrote text that is not UTF-8", element.name()),
                    )
                })?;
                form.write(value, text)
            })
        };
        result.map_err(|failure| failure.at(index))?;
    }
    Ok(())
}

/// From text: whatever the size and byte order, and there is one descriptor to cast to.
pub(super) unsafe extern "C" fn resolve_from_text(
    _method: *mut PyArrayMethodObject,
    dtypes: *const *mut PyArray_DTypeMeta,
    given: *const *mut PyArray_Descr,
    out: *mut *mut PyArray_Descr,
    _view_offset: *mut isize,
) -> c_int {
    trampoline::slot("resolve_from_text", || {
        // SAFETY: NumPy passes two DTypes, the second ours, two given descriptors (the second may be
        // NULL) and room for two new references; GIL held.
        unsafe {
            let to = DType::of_class(*dtypes.add(1)).new_descr_reference();
            if to.is_null() {
                return -1;
            }
            ffi::Py_INCREF((*given).cast());
            *out = *given;
            *out.add(1) = to;
        }
        NPY_UNSAFE_CASTING
    })
}

/// To text of the given size, or of the default one. As for NumPy's integers the cast is safe where
/// no size is given, else within the kind.
pub(super) unsafe extern "C" fn resolve_to_text(
    _method: *mut PyArrayMethodObject,
    dtypes: *const *mut PyArray_DTypeMeta,
    given: *const *mut PyArray_Descr,
    out: *mut *mut PyArray_Descr,
    _view_offset: *mut isize,
) -> c_int {
    trampoline::slot("resolve_to_text", || {
        // SAFETY: NumPy passes two DTypes, the first ours, two given descriptors (the second may be
        // NULL) and room for two new references; GIL held.
        unsafe {
            let mut to = *given.add(1);
            let mut level = NPY_SAFE_CASTING;
            if to.is_null() {
                to = new_text_descr(*dtypes.add(1));
                if to.is_null() {
                    return -1;
                }
            } else {
                ffi::Py_INCREF(to.cast());
                if (*to).type_num != NPY_VSTRING {
                    level = NPY_SAME_KIND_CASTING;
                }
            }
            ffi::Py_INCREF((*given).cast());
            *out = *given;
            *out.add(1) = to;
            level
        }
    })
}

/// A new descriptor of a text DType, of the default size where it has one; NULL with an exception
/// on failure.
///
/// # Safety
/// GIL held; a text DType.
unsafe fn new_text_descr(class: *mut PyArray_DTypeMeta) -> *mut PyArray_Descr {
    let Some(numpy) = numpy_abi::get() else { return std::ptr::null_mut::<c_void>().cast() };
    // SAFETY: the caller's promise; the copy is ours to change before it is seen.
    unsafe {
        let type_num = (*class).type_num;
        if type_num == NPY_VSTRING {
            return numpy.get_default_descr(class);
        }
        let plain = numpy.descr_from_type(type_num);
        if plain.is_null() {
            return plain;
        }
        let descr = numpy.descr_new(plain);
        ffi::Py_DECREF(plain.cast());
        if !descr.is_null() {
            let unit = if type_num == NPY_UNICODE { UCS4 } else { 1 };
            (*descr).elsize = (DEFAULT_LENGTH * unit) as isize;
        }
        descr
    }
}
