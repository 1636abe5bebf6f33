//! Bytes of cells are not given away: they are pointers, and whoever writes them makes objects of
//! nothing.
//!
//! NumPy refuses views of another dtype, files and DLPack by itself, and a buffer where its format is
//! asked for. What it leaves open is closed here, for arrays and structured scalars whose memory holds
//! elements (`holding::shows_ours`):
//!
//! * the buffer protocol without a format (`readinto`, `recv_into`, `struct.pack_into`, `hashlib`,
//!   `zlib`, `write`, `bytes`, ..), and of views of a part of a record's fields. `bf_getbuffer` is
//!   wrapped in the classes, and in those derived from them before, which have a copy of the pointer;
//!   so is what `__buffer__` keeps of it (Python 3.12);
//! * `tobytes`; `np.void.__reduce__` too, which asks for the scalar's buffer before it finds that it
//!   pickles an array;
//! * `__array_struct__`, an address that others take for an array of plain bytes;
//! * assigned `strides`, under which a cell is found where none begins.
//!
//! The address itself is not hidden (`ctypes.data`, `__array_interface__`): programs that write to
//! addresses are their own affair.

use super::{super::trampoline, each_class, holding::shows_ours, wrap_method};
use crate::numpy_abi::NumpyApi;
use pyo3::{
    exceptions::{PyAttributeError, PyImportError, PyTypeError},
    ffi,
    prelude::*,
    types::{PyTuple, PyType},
};
use std::{
    ffi::{CStr, c_int, c_void},
    ptr,
    sync::atomic::{AtomicPtr, Ordering::Relaxed},
};

/// Arrays, as the parameter of the wrappers.
const ARRAY: usize = 0;
/// Structured scalars.
const SCALAR: usize = 1;

/// NumPy's own `bf_getbuffer`s, once they are wrapped.
static GET_BUFFER: [AtomicPtr<c_void>; 2] = [const { AtomicPtr::new(ptr::null_mut()) }; 2];
/// NumPy's own `ndarray.tobytes`.
static TO_BYTES: AtomicPtr<c_void> = AtomicPtr::new(ptr::null_mut());
/// NumPy's own `generic.__reduce__`.
static REDUCE: AtomicPtr<c_void> = AtomicPtr::new(ptr::null_mut());
/// NumPy's own getters of `__array_struct__`.
static ARRAY_STRUCT: [AtomicPtr<c_void>; 2] = [const { AtomicPtr::new(ptr::null_mut()) }; 2];
/// NumPy's own setter of `ndarray.strides`.
static SET_STRIDES: AtomicPtr<c_void> = AtomicPtr::new(ptr::null_mut());

/// Wraps all of them. Idempotent.
///
/// # Errors
/// `ImportError` where the running NumPy is not made as expected: it must not be used.
pub(super) fn install(py: Python<'_>, numpy: &NumpyApi) -> PyResult<()> {
    // SAFETY: classes; GIL held.
    let class = |class: *mut ffi::PyTypeObject| unsafe {
        Bound::from_borrowed_ptr(py, class.cast()).cast_into::<PyType>()
    };
    let (array, void) = (class(numpy.array_type())?, class(numpy.void_type())?);
    let generic = class(numpy.generic_type())?;
    let with_keywords = ffi::METH_VARARGS | ffi::METH_KEYWORDS;
    let to_bytes = ffi::PyMethodDefPointer { PyCFunctionWithKeywords: to_bytes };
    let reduce = ffi::PyMethodDefPointer { PyCFunction: reduce };
    // SAFETY: both are defined so below; GIL held.
    let methods = unsafe {
        wrap_method(&array, "tobytes", with_keywords, &TO_BYTES, to_bytes)?
            && wrap_method(&generic, "__reduce__", ffi::METH_VARARGS, &REDUCE, reduce)?
    };
    let installed = methods
        && install_buffer::<ARRAY>(&array)?
        && install_buffer::<SCALAR>(&void)?
        && wrap_getter::<ARRAY>(&array)
        && wrap_getter::<SCALAR>(&generic)
        && wrap_strides(&array);
    if installed {
        return Ok(());
    }
    Err(PyImportError::new_err(format!(
        "NumPy {} gives the bytes of arrays away in an unknown way, so those of elements cannot be \
         protected",
        numpy.version()
    )))
}

/// Puts [`get_buffer`] into a class, and into what is derived from it and has the same pointer.
fn install_buffer<const KIND: usize>(class: &Bound<'_, PyType>) -> PyResult<bool> {
    if !GET_BUFFER[KIND].load(Relaxed).is_null() {
        return Ok(true);
    }
    // SAFETY: a class's own table, or NULL; GIL held.
    let Some(original) = (unsafe { buffer_slot(class.as_type_ptr()).and_then(|slot| *slot) })
    else {
        return Ok(false);
    };
    GET_BUFFER[KIND].store(original as *mut c_void, Relaxed);
    each_class(class, &mut |class| {
        // SAFETY: as above.
        unsafe {
            if let Some(slot) = buffer_slot(class)
                && slot.is_some_and(|function| ptr::fn_addr_eq(function, original))
            {
                *slot = Some(get_buffer::<KIND>);
                ffi::PyType_Modified(class);
            }
        }
    })?;
    let Ok(method) = class.getattr("__buffer__") else { return Ok(true) };
    // SAFETY: a slot's descriptor is what its type says; it calls what it keeps by the convention
    // of the slot, as which `get_buffer` is defined.
    unsafe {
        if ffi::Py_TYPE(method.as_ptr()) == &raw mut ffi::PyWrapperDescr_Type {
            let kept = &raw mut (*method.as_ptr().cast::<ffi::PyWrapperDescrObject>()).d_wrapped;
            if *kept == original as *mut c_void {
                *kept = get_buffer::<KIND> as ffi::getbufferproc as *mut c_void;
            }
        }
    }
    Ok(true)
}

/// # Safety
/// `class` is a class; GIL held.
unsafe fn buffer_slot<'a>(
    class: *mut ffi::PyTypeObject,
) -> Option<&'a mut Option<ffi::getbufferproc>> {
    // SAFETY: the caller's promise: the table, where there is one, lives with the class.
    unsafe {
        let table = (*class).tp_as_buffer;
        (!table.is_null()).then(|| &mut (*table).bf_getbuffer)
    }
}

/// The buffer of an array or of a structured scalar.
unsafe extern "C" fn get_buffer<const KIND: usize>(
    object: *mut ffi::PyObject,
    view: *mut ffi::Py_buffer,
    flags: c_int,
) -> c_int {
    // SAFETY: Python's convention for the slot, which the original keeps as well; GIL held.
    unsafe {
        if !shows_ours(object, KIND == SCALAR) {
            let original: ffi::getbufferproc = std::mem::transmute(GET_BUFFER[KIND].load(Relaxed));
            return original(object, view, flags);
        }
        trampoline::slot("get_buffer", || {
            if !view.is_null() {
                (*view).obj = ptr::null_mut();
            }
            refuse(object, "lends nobody their bytes");
            -1
        })
    }
}

/// `array.tobytes(order)`.
unsafe extern "C" fn to_bytes(
    array: *mut ffi::PyObject,
    arguments: *mut ffi::PyObject,
    keywords: *mut ffi::PyObject,
) -> *mut ffi::PyObject {
    trampoline::slot("to_bytes", || {
        // SAFETY: Python's convention for `METH_VARARGS | METH_KEYWORDS`, which the original keeps as
        // well; it is called for arrays only; GIL held.
        unsafe {
            if shows_ours(array, false) {
                refuse(array, "has no bytes to copy out");
                return ptr::null_mut();
            }
            let original: ffi::PyCFunctionWithKeywords =
                std::mem::transmute(TO_BYTES.load(Relaxed));
            original(array, arguments, keywords)
        }
    })
}

/// `scalar.__reduce__()`: a structured scalar with elements is pickled as an array, which is what
/// NumPy does with it once it has its buffer.
unsafe extern "C" fn reduce(
    scalar: *mut ffi::PyObject,
    arguments: *mut ffi::PyObject,
) -> *mut ffi::PyObject {
    trampoline::slot("reduce", || {
        // SAFETY: Python's convention for `METH_VARARGS`, which the original keeps as well; it is called
        // for NumPy's scalars only; GIL held.
        unsafe {
            let guarded = crate::numpy_abi::get().filter(|numpy| {
                ffi::PyObject_TypeCheck(scalar, numpy.void_type()) != 0 && shows_ours(scalar, true)
            });
            let Some(numpy) = guarded else {
                let original: ffi::PyCFunction = std::mem::transmute(REDUCE.load(Relaxed));
                return original(scalar, arguments);
            };
            let py = Python::assume_attached();
            let work = || -> PyResult<Bound<'_, PyTuple>> {
                let module = py.import("numpy._core._multiarray_umath")?;
                let array = numpy.from_any(scalar, ptr::null_mut(), 0, 0, 0, ptr::null_mut());
                let array = Bound::from_owned_ptr_or_err(py, array)?;
                let parts = PyTuple::new(py, [array.getattr("dtype")?, array])?;
                PyTuple::new(py, [module.getattr("scalar")?, parts.into_any()])
            };
            match work() {
                Ok(result) => result.into_ptr(),
                Err(error) => {
                    error.restore(py);
                    ptr::null_mut()
                }
            }
        }
    })
}

/// The entry of a class for an attribute in C.
///
/// # Safety
/// GIL held. The entry lives as long as the class.
unsafe fn attribute(class: &Bound<'_, PyType>, name: &CStr) -> Option<*mut ffi::PyGetSetDef> {
    // SAFETY: a class's getters and setters are an array that ends with a NULL name, which its
    // descriptors point into.
    unsafe {
        let mut entry = (*class.as_type_ptr()).tp_getset;
        while !entry.is_null() && !(*entry).name.is_null() {
            if CStr::from_ptr((*entry).name) == name {
                return Some(entry);
            }
            entry = entry.add(1);
        }
    }
    None
}

/// Puts [`array_struct`] in front of NumPy's own.
fn wrap_getter<const KIND: usize>(class: &Bound<'_, PyType>) -> bool {
    if !ARRAY_STRUCT[KIND].load(Relaxed).is_null() {
        return true;
    }
    // SAFETY: GIL held; the entry is the class's own.
    unsafe {
        let Some(entry) = attribute(class, c"__array_struct__") else { return false };
        let Some(original) = (*entry).get else { return false };
        ARRAY_STRUCT[KIND].store(original as *mut c_void, Relaxed);
        (*entry).get = Some(array_struct::<KIND>);
    }
    true
}

/// `__array_struct__` of an array or of any scalar of NumPy's.
unsafe extern "C" fn array_struct<const KIND: usize>(
    object: *mut ffi::PyObject,
    closure: *mut c_void,
) -> *mut ffi::PyObject {
    trampoline::slot("array_struct", || {
        // SAFETY: Python's convention for getters, which the original keeps as well; it calls them for
        // objects of the class only; GIL held.
        unsafe {
            let has_dtype = KIND == ARRAY
                || crate::numpy_abi::get()
                    .is_some_and(|numpy| ffi::PyObject_TypeCheck(object, numpy.void_type()) != 0);
            if has_dtype && shows_ours(object, KIND == SCALAR) {
                let py = Python::assume_attached();
                // Others ask for the attribute to see whether there is one.
                PyAttributeError::new_err(message(object, "lends nobody their memory")).restore(py);
                return ptr::null_mut();
            }
            let original: ffi::getter = std::mem::transmute(ARRAY_STRUCT[KIND].load(Relaxed));
            original(object, closure)
        }
    })
}

/// Puts [`set_strides`] in front of NumPy's own.
fn wrap_strides(class: &Bound<'_, PyType>) -> bool {
    if !SET_STRIDES.load(Relaxed).is_null() {
        return true;
    }
    // SAFETY: GIL held; the entry is the class's own.
    unsafe {
        let Some(entry) = attribute(class, c"strides") else { return false };
        // A NumPy that has no setter needs no guard.
        let Some(original) = (*entry).set else { return true };
        SET_STRIDES.store(original as *mut c_void, Relaxed);
        (*entry).set = Some(set_strides);
    }
    true
}

/// `array.strides = strides`, which NumPy has deprecated: under strides that are no multiples of an
/// item, or in a record's field, a cell would be found where none begins.
unsafe extern "C" fn set_strides(
    object: *mut ffi::PyObject,
    strides: *mut ffi::PyObject,
    closure: *mut c_void,
) -> c_int {
    trampoline::slot("set_strides", || {
        // SAFETY: Python's convention for setters, which the original keeps as well; it calls them for
        // arrays only; GIL held.
        unsafe {
            if shows_ours(object, false) {
                refuse(object, "keeps its strides (make a view by an index, or a copy)");
                return -1;
            }
            let original: ffi::setter = std::mem::transmute(SET_STRIDES.load(Relaxed));
            original(object, strides, closure)
        }
    })
}

/// # Safety
/// `object` is an array or a structured scalar; GIL held.
#[cold]
unsafe fn refuse(object: *mut ffi::PyObject, why: &str) {
    // SAFETY: the caller's promise.
    unsafe {
        PyTypeError::new_err(message(object, why)).restore(Python::assume_attached());
    }
}

/// # Safety
/// `object` is an array or a structured scalar; GIL held.
unsafe fn message(object: *mut ffi::PyObject, why: &str) -> String {
    // SAFETY: the caller's promise; the dtype lives as long as the object.
    unsafe {
        let py = Python::assume_attached();
        let dtype = Bound::from_borrowed_ptr(py, object)
            .getattr("dtype")
            .and_then(|dtype| Ok(dtype.str()?.to_string()))
            .unwrap_or_default();
        format!(
            "an array of {dtype} {why}: they hold pointers to objects. Convert it \
             (.astype(object), .tolist(), a cast to numbers or text), or use pickle or np.save"
        )
    }
}
