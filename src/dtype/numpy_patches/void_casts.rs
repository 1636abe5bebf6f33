//! The cast from raw bytes (`V`), which refuses.
//!
//! NumPy has a cast from `V` to every dtype. For raw bytes it looks its loop up by `type_num`, which
//! is -1 for every user dtype, and calls what stands there: a crash (`array[0] = np.void(b"x")`).
//! So each type brings a cast of its own, which NumPy prefers. A record is refused as well, because
//! only NumPy's cast knows the way into its fields; a field by its name is an array like any other.

use super::super::{
    DType,
    handle::{errors, trampoline},
    loops::flags,
};
use crate::{
    abi,
    numpy_abi::{
        NpyAuxData, NumpyApi, PyArray_DTypeMeta, PyArray_Descr, PyArrayMethod_Context,
        PyArrayMethod_Spec, PyArrayMethodObject, slots,
    },
};
use pyo3::ffi::PyType_Slot;
use std::{
    ffi::{c_char, c_int},
    ptr,
};

/// The spec of the cast, with the arrays it points to.
pub struct VoidCastSpec {
    spec: PyArrayMethod_Spec,
    _dtypes: Box<[*mut PyArray_DTypeMeta; 2]>,
    _slots: Box<[PyType_Slot; 3]>,
}

impl VoidCastSpec {
    pub fn new(numpy: &NumpyApi) -> Self {
        let mut dtypes = Box::new([numpy.void_dtype(), ptr::null_mut()]);
        let mut slots = Box::new([
            slots::method::resolve_descriptors(refuse),
            slots::method::strided_loop(refuse_loop),
            slots::END,
        ]);
        VoidCastSpec {
            spec: PyArrayMethod_Spec {
                name: c"denizen_from_void".as_ptr(),
                nin: 1,
                nout: 1,
                casting: abi::CAST_UNSAFE as c_int,
                flags: flags::cast_flags(),
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

/// Says no, with the type's name.
unsafe extern "C" fn refuse(
    _method: *mut PyArrayMethodObject,
    dtypes: *const *mut PyArray_DTypeMeta,
    _given_descrs: *const *mut PyArray_Descr,
    _loop_descrs: *mut *mut PyArray_Descr,
    _view_offset: *mut isize,
) -> c_int {
    trampoline::slot("refuse", || {
        // SAFETY: NumPy passes the DTypes of both ends, of which the second is the registered one.
        let dtype = unsafe { DType::of_class(*dtypes.add(1)) };
        let message = format!(
            "raw bytes are no {}; of a structured array take a field by its name",
            dtype.element().name()
        );
        errors::set(abi::ERROR_TYPE, &message);
        -1
    })
}

/// Never called: there are no descriptors that it could be called for.
unsafe extern "C" fn refuse_loop(
    _context: *mut PyArrayMethod_Context,
    _data: *const *mut c_char,
    _dimensions: *const isize,
    _strides: *const isize,
    _auxdata: *mut NpyAuxData,
) -> c_int {
    trampoline::slot("refuse_loop", || {
        errors::set(abi::ERROR_TYPE, "raw bytes are no elements");
        -1
    })
}
