//! The scalar class that the runtime makes for a type that brings none: immutable Python objects
//! that hold one element.

use crate::{
    abi,
    dtype::{
        convert::python,
        handle::{DType, errors, trampoline},
        scalar_class::{operators, pickle::reduce, proxy_array, subscript, values},
        scalars::object::{self, Scalar},
    },
    erased::{ElementType, Failure},
};
use pyo3::{exceptions::PyTypeError, ffi, prelude::*, types::PyType};
use std::{
    ffi::{CString, c_int, c_void},
    ptr,
};

/// Makes the class of a type: `module_name.name`. Its attribute `dtype` is set by the caller, before
/// the first instance is made.
///
/// # Errors
/// A cell is too large for a Python object; what Python refuses.
pub fn make_scalar_class<'py>(
    py: Python<'py>,
    element: &ElementType,
    module_name: &str,
    name: &str,
    documentation: &str,
) -> PyResult<Bound<'py, PyType>> {
    let Some(basicsize) = Scalar::size(element) else {
        return Err(PyTypeError::new_err(format!(
            "a cell of {} bytes is too large for a Python object; store {} boxed",
            element.size(),
            element.name()
        )));
    };
    let text = |text: String| CString::new(text.replace('\0', "?")).unwrap_or_default();
    // Python copies both (the name since 3.11).
    let full_name = text(format!("{module_name}.{name}"));
    let documentation = text(documentation.to_owned());
    let hash: ffi::hashfunc = if element.vtable().hash.is_some() {
        values::hash
    } else {
        ffi::PyObject_HashNotImplemented
    };
    let methods: &[ffi::PyMethodDef] =
        if element.is_copyable() { &METHODS.0 } else { &MOVE_ONLY_METHODS.0 };
    let slot = |slot: c_int, function: *mut c_void| ffi::PyType_Slot { slot, pfunc: function };
    let mut slots = vec![
        slot(ffi::Py_tp_doc, documentation.as_ptr().cast_mut().cast()),
        slot(ffi::Py_tp_new, new as ffi::newfunc as *mut c_void),
        slot(ffi::Py_tp_dealloc, object::dealloc as ffi::destructor as *mut c_void),
        slot(ffi::Py_tp_repr, values::repr as ffi::reprfunc as *mut c_void),
        slot(ffi::Py_tp_str, values::str_ as ffi::reprfunc as *mut c_void),
        slot(ffi::Py_tp_hash, hash as *mut c_void),
        slot(ffi::Py_tp_methods, methods.as_ptr().cast_mut().cast()),
    ];
    slots.push(subscript::slot());
    slots.extend(operators::slots());
    slots.push(slot(0, ptr::null_mut()));
    let mut spec = ffi::PyType_Spec {
        name: full_name.as_ptr(),
        basicsize,
        itemsize: 0,
        // No base type: a subclass would need room and destructors of its own.
        flags: ffi::Py_TPFLAGS_DEFAULT as u32,
        slots: slots.as_mut_ptr(),
    };
    // SAFETY: GIL held; the spec and its slots are valid, the methods static.
    let class = unsafe { ffi::PyType_FromSpec(&mut spec) };
    // SAFETY: a new reference to a type, or NULL with an exception.
    let class = unsafe { Bound::from_owned_ptr_or_err(py, class)? };
    Ok(class.cast_into::<PyType>()?)
}

/// `Name()` is the default value, `Name(value)` what an array of the type would store.
unsafe extern "C" fn new(
    class: *mut ffi::PyTypeObject,
    arguments: *mut ffi::PyObject,
    keywords: *mut ffi::PyObject,
) -> *mut ffi::PyObject {
    trampoline::slot("new", || {
        // SAFETY: Python calls it for our classes with a tuple and a dict or NULL; GIL held.
        let outcome = unsafe {
            dtype_of_class(class).and_then(|dtype| {
                let count = ffi::PyTuple_Size(arguments);
                if count > 1 || (!keywords.is_null() && ffi::PyDict_Size(keywords) > 0) {
                    return Err(Failure::new(
                        abi::ERROR_TYPE,
                        format!("{} takes one value at most", dtype.element().name()),
                    ));
                }
                if count == 0 {
                    let object = object::allocate(dtype)?;
                    return object::finish_new(dtype, object, |_| Ok(()));
                }
                let value = ffi::PyTuple_GetItem(arguments, 0);
                if ffi::Py_TYPE(value) == class {
                    ffi::Py_INCREF(value);
                    return Ok(value);
                }
                let object = object::allocate(dtype)?;
                object::finish_new(dtype, object, |cell| python::from_python(dtype, value, cell))
            })
        };
        errors::give(outcome)
    })
}

/// The DType whose scalar class `class` is, by its attribute `dtype`.
///
/// # Safety
/// `class` is a class of ours; GIL held.
unsafe fn dtype_of_class(class: *mut ffi::PyTypeObject) -> Result<&'static DType, Failure> {
    // SAFETY: the caller's promise; DTypes live forever.
    unsafe {
        let descr = ffi::PyObject_GetAttrString(class.cast(), c"dtype".as_ptr());
        if descr.is_null() {
            return Err(errors::already_raised());
        }
        let is_descr = crate::numpy_abi::get()
            .is_some_and(|numpy| ffi::PyObject_TypeCheck(descr, numpy.descr_type()) != 0);
        let dtype = if is_descr { DType::try_of_descr(descr.cast()) } else { None };
        ffi::Py_DECREF(descr);
        dtype.filter(|dtype| dtype.scalar_class() == class).ok_or_else(|| {
            Failure::new(abi::ERROR_TYPE, "the class attribute `dtype` is not the class's own")
        })
    }
}

struct Methods<const COUNT: usize>([ffi::PyMethodDef; COUNT]);

// SAFETY: constant data.
unsafe impl<const COUNT: usize> Sync for Methods<COUNT> {}

/// Of scalars that own a copy.
static METHODS: Methods<4> = Methods([
    method(c"__reduce__", reduce, c"Pickles through the type's codec, else its text."),
    method(c"__copy__", itself, c"The scalar itself: it never changes."),
    ffi::PyMethodDef {
        ml_flags: ffi::METH_O,
        ..method(c"__deepcopy__", itself, c"The scalar itself: it never changes.")
    },
    ffi::PyMethodDef::zeroed(),
]);

/// Of scalars that may be element proxies.
static MOVE_ONLY_METHODS: Methods<5> = Methods([
    method(c"__reduce__", reduce, c"Pickles through the type's codec, else its text."),
    method(c"__copy__", not_copyable, c"TypeError: objects of the type only move."),
    ffi::PyMethodDef {
        ml_flags: ffi::METH_O,
        ..method(c"__deepcopy__", not_copyable, c"TypeError: objects of the type only move.")
    },
    ffi::PyMethodDef {
        ml_name: c"__array_ufunc__".as_ptr(),
        ml_meth: ffi::PyMethodDefPointer { PyCFunctionWithKeywords: proxy_array::array_ufunc },
        ml_flags: ffi::METH_VARARGS | ffi::METH_KEYWORDS,
        ml_doc: c"Runs a ufunc on the scalar's object where it is.".as_ptr(),
    },
    ffi::PyMethodDef::zeroed(),
]);

const fn method(
    name: &'static std::ffi::CStr,
    function: ffi::PyCFunction,
    documentation: &'static std::ffi::CStr,
) -> ffi::PyMethodDef {
    ffi::PyMethodDef {
        ml_name: name.as_ptr(),
        ml_meth: ffi::PyMethodDefPointer { PyCFunction: function },
        ml_flags: ffi::METH_NOARGS,
        ml_doc: documentation.as_ptr(),
    }
}

unsafe extern "C" fn itself(
    object: *mut ffi::PyObject,
    _argument: *mut ffi::PyObject,
) -> *mut ffi::PyObject {
    // SAFETY: GIL held; a valid object.
    unsafe { ffi::Py_INCREF(object) };
    object
}

unsafe extern "C" fn not_copyable(
    object: *mut ffi::PyObject,
    _argument: *mut ffi::PyObject,
) -> *mut ffi::PyObject {
    trampoline::slot("not_copyable", || {
        // SAFETY: Python calls it for scalars; GIL held.
        if let Some((dtype, _)) = unsafe { object::scalar_cell(object) } {
            errors::raise(&dtype.element().not_copyable());
        }
        ptr::null_mut()
    })
}
