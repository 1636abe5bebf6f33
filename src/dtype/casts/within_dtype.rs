//! The cast from a type to itself: NumPy's copy and move loops.

use crate::{
    dtype::{
        cells::move_cells,
        handle::{DType, trampoline},
        loops::{
            access::{self, Run},
            audited, flags, transfer,
        },
    },
    erased::ElementType,
    numpy_abi::{
        NpyAuxData, PyArray_DTypeMeta, PyArray_Descr, PyArrayMethod_Context, PyArrayMethod_Spec,
        PyArrayMethodObject, callbacks::StridedLoop, flags::*, slots,
    },
};
use pyo3::ffi;
use std::{
    ffi::{c_char, c_int},
    ptr,
};

/// The spec of the cast, with the arrays it points to.
pub struct CastSpec {
    spec: PyArrayMethod_Spec,
    _dtypes: Box<[*mut PyArray_DTypeMeta; 2]>,
    _slots: Box<[ffi::PyType_Slot; 3]>,
}

impl CastSpec {
    pub fn new() -> Self {
        let mut dtypes = Box::new([ptr::null_mut(); 2]);
        let mut slots = Box::new([
            slots::method::resolve_descriptors(resolve),
            slots::method::get_loop(get_loop),
            slots::END,
        ]);
        CastSpec {
            spec: PyArrayMethod_Spec {
                name: c"denizen_copy".as_ptr(),
                nin: 1,
                nout: 1,
                casting: NPY_NO_CASTING,
                flags: flags::cast_flags() | NPY_METH_SUPPORTS_UNALIGNED,
                dtypes: dtypes.as_mut_ptr(),
                slots: slots.as_mut_ptr(),
            },
            _dtypes: dtypes,
            _slots: slots,
        }
    }

    pub fn as_mut_ptr(&mut self) -> *mut PyArrayMethod_Spec {
        &mut self.spec
    }
}

// `resolve` and `get_loop` have no trampoline: nothing in them can fail, and NumPy calls what it did
// not get where they do (`PyArray_PutTo`).

/// There is one descriptor, so every copy is the identity, and a view will do.
unsafe extern "C" fn resolve(
    _method: *mut PyArrayMethodObject,
    _dtypes: *const *mut PyArray_DTypeMeta,
    given: *const *mut PyArray_Descr,
    out: *mut *mut PyArray_Descr,
    view_offset: *mut isize,
) -> c_int {
    // SAFETY: NumPy passes two given descriptors (the second may be NULL) and room for two.
    unsafe {
        let from = *given;
        let to = if (*given.add(1)).is_null() { from } else { *given.add(1) };
        ffi::Py_INCREF(from.cast());
        ffi::Py_INCREF(to.cast());
        *out = from;
        *out.add(1) = to;
        *view_offset = 0;
    }
    NPY_NO_CASTING
}

unsafe extern "C" fn get_loop(
    _context: *mut PyArrayMethod_Context,
    _aligned: c_int,
    move_references: c_int,
    _strides: *const isize,
    out_loop: *mut Option<StridedLoop>,
    out_auxdata: *mut *mut NpyAuxData,
    flags: *mut c_int,
) -> c_int {
    // SAFETY: NumPy passes a context with our descriptors and valid places for the results.
    unsafe {
        *out_loop = Some(if move_references != 0 { move_loop } else { copy_loop });
        *out_auxdata = ptr::null_mut();
        *flags = flags::cast_flags();
        if move_references != 0 {
            audited::audit_loop::<Move>(out_loop);
        } else {
            audited::audit_loop::<Copy>(out_loop);
        }
    }
    0
}

audited::audited_loop!(Copy: copy_loop, "copy");

audited::audited_loop!(Move: move_loop, "move");

unsafe extern "C" fn copy_loop(
    context: *mut PyArrayMethod_Context,
    data: *const *mut c_char,
    dimensions: *const isize,
    strides: *const isize,
    _auxdata: *mut NpyAuxData,
) -> c_int {
    // SAFETY: NumPy's convention for a loop with one input and one output of our dtype.
    unsafe {
        let element = DType::of_descr(*(*context).descriptors).element();
        let count = *dimensions as usize;
        let from = Run::read((*data).cast(), *strides, count);
        let to = Run::write((*data.add(1)).cast(), *strides.add(1), count);
        if count < access::WORTHWHILE {
            return trampoline::looped("copy", || transfer::copy_cells(element, to, from));
        }
        let work = || transfer::copy_cells(element, to, from);
        trampoline::looped_apart("copy", || freely(element, count, work))
    }
}

unsafe extern "C" fn move_loop(
    context: *mut PyArrayMethod_Context,
    data: *const *mut c_char,
    dimensions: *const isize,
    strides: *const isize,
    _auxdata: *mut NpyAuxData,
) -> c_int {
    // SAFETY: as for `copy_loop`; the source is NumPy's to give away.
    unsafe {
        let element = DType::of_descr(*(*context).descriptors).element();
        let count = *dimensions as usize;
        let from = Run::write((*data).cast(), *strides, count);
        let to = Run::write((*data.add(1)).cast(), *strides.add(1), count);
        let work = || move_cells(element, to, from);
        trampoline::looped_apart("move", || freely(element, count, work))
    }
}

/// Runs the work of a cast without the GIL, where the type allows it.
#[inline]
fn freely<R>(element: &ElementType, count: usize, work: impl FnOnce() -> R) -> R {
    access::without_gil(if element.is_thread_safe() { count } else { 0 }, work)
}
