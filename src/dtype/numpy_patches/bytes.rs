//! Bytes of cells are not given away: they are pointers, and what writes them makes objects of nothing.
//!
//! NumPy refuses views of another dtype, files and DLPack by itself, and a buffer where its format is
//! asked for. What it leaves open is closed here, for arrays and structured scalars whose memory holds
//! elements (`holding::exposes_ours`):
//!
//! * the buffer protocol without a format (`readinto`, `recv_into`, `struct.pack_into`, `hashlib`,
//!   `zlib`, `write`, `bytes`, ..), and of views of a part of a record's fields. `bf_getbuffer` is
//!   wrapped in the classes, and in those derived from them before, which have a copy of the pointer;
//!   so is what `__buffer__` keeps of it (Python 3.12);
//! * `tobytes`; `np.void.__reduce__` too, which asks for the scalar's buffer before it finds that it
//!   pickles an array;
//! * `__array_struct__`, an address that others take for an array of plain bytes;
//! * `np.generic.byteswap`, which exchanges the bytes of a record in memory that is not zeroed, and
//!   gives that back without an end of its elements: an array is swapped instead;
//! * assigned `strides`, under which a cell is found where none begins.
//!
//! The address itself is not hidden (`ctypes.data`, `__array_interface__`): programs that write to
//! addresses are their own affair.

use super::{
    super::handle::trampoline,
    calls::returned,
    holding::exposes_ours,
    swap::{self, Original},
};
use crate::numpy_abi;
use pyo3::{
    exceptions::{PyAttributeError, PyTypeError},
    ffi,
    prelude::*,
    types::PyTuple,
};
use std::{
    ffi::{c_int, c_void},
    ptr,
};

/// Arrays, as the parameter of the wrappers.
const ARRAY: usize = 0;
/// Structured scalars.
const SCALAR: usize = 1;

static GET_BUFFER: [Original<ffi::getbufferproc>; 2] = [const { Original::new() }; 2];
static TO_BYTES: Original<ffi::PyCFunctionWithKeywords> = Original::new();
static REDUCE: Original<ffi::PyCFunction> = Original::new();
static BYTESWAP: Original<ffi::PyCFunctionWithKeywords> = Original::new();
static ARRAY_STRUCT: [Original<ffi::getter>; 2] = [const { Original::new() }; 2];
static SET_STRIDES: Original<ffi::setter> = Original::new();

/// The buffer protocol of arrays and structured scalars, also by way of `__buffer__` (Python 3.12).
pub(super) fn install_buffer(py: Python<'_>) -> PyResult<bool> {
    let (array, void) = (swap::class(py, "ndarray")?, swap::class(py, "void")?);
    let (of_arrays, of_scalars) = (&GET_BUFFER[ARRAY], &GET_BUFFER[SCALAR]);
    // SAFETY: a slot for objects of each class.
    unsafe {
        Ok(swap::slot(&array, buffer_of, "__buffer__", of_arrays, get_buffer::<ARRAY>)?
            && swap::slot(&void, buffer_of, "__buffer__", of_scalars, get_buffer::<SCALAR>)?)
    }
}

/// `tobytes`, `__array_struct__`, `strides`.
pub(super) fn install_raw(py: Python<'_>) -> PyResult<bool> {
    let (array, generic) = (swap::class(py, "ndarray")?, swap::class(py, "generic")?);
    let [of_arrays, of_scalars] = &ARRAY_STRUCT;
    // SAFETY: static classes of NumPy's, and functions for objects of each.
    unsafe {
        Ok(swap::method(&array, "tobytes", &TO_BYTES, to_bytes)?
            && swap::getter(&array, c"__array_struct__", of_arrays, array_struct::<ARRAY>)
            && swap::getter(&generic, c"__array_struct__", of_scalars, array_struct::<SCALAR>)
            && swap::setter(&array, c"strides", &SET_STRIDES, set_strides))
    }
}

/// `np.generic.__reduce__`.
pub(super) fn install_pickle(py: Python<'_>) -> PyResult<bool> {
    let generic = swap::class(py, "generic")?;
    // SAFETY: a method for objects of the class.
    unsafe { swap::method(&generic, "__reduce__", &REDUCE, reduce) }
}

/// `np.generic.byteswap`.
pub(super) fn install_byteswap(py: Python<'_>) -> PyResult<bool> {
    let generic = swap::class(py, "generic")?;
    // SAFETY: a method for objects of the class.
    unsafe { swap::method(&generic, "byteswap", &BYTESWAP, byteswap) }
}

/// # Safety
/// A class; GIL held.
unsafe fn buffer_of(class: *mut ffi::PyTypeObject) -> *mut Option<ffi::getbufferproc> {
    // SAFETY: the caller's promise: the table, where there is one, lives with the class.
    unsafe {
        (*class).tp_as_buffer.as_mut().map_or(ptr::null_mut(), |table| &mut table.bf_getbuffer)
    }
}

/// The buffer of an array or of a structured scalar.
unsafe extern "C" fn get_buffer<const CLASS: usize>(
    object: *mut ffi::PyObject,
    view: *mut ffi::Py_buffer,
    flags: c_int,
) -> c_int {
    // SAFETY: Python's convention for the slot, which the original keeps as well; GIL held.
    unsafe {
        if !exposes_ours(object, CLASS == SCALAR) {
            return GET_BUFFER[CLASS].get()(object, view, flags);
        }
        trampoline::slot("get_buffer", || {
            if !view.is_null() {
                (*view).obj = ptr::null_mut();
            }
            refuse(object, "does not expose its bytes");
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
            if exposes_ours(array, false) {
                refuse(array, "has no bytes to copy out");
                return ptr::null_mut();
            }
            TO_BYTES.get()(array, arguments, keywords)
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
            if !is_ours(scalar) {
                return REDUCE.get()(scalar, arguments);
            }
            let py = Python::assume_attached();
            let recipe = || {
                let module = swap::functions(py)?;
                let array = as_array(py, scalar)?;
                let parts = PyTuple::new(py, [array.getattr("dtype")?, array])?;
                PyTuple::new(py, [module.getattr("scalar")?, parts.into_any()])
            };
            returned(py, recipe().map(Bound::into_any))
        }
    })
}

/// `scalar.byteswap(inplace=False)`.
unsafe extern "C" fn byteswap(
    scalar: *mut ffi::PyObject,
    arguments: *mut ffi::PyObject,
    keywords: *mut ffi::PyObject,
) -> *mut ffi::PyObject {
    trampoline::slot("byteswap", || {
        // SAFETY: Python's convention for `METH_VARARGS | METH_KEYWORDS`, which the original keeps as
        // well; it is called for NumPy's scalars only; GIL held.
        unsafe {
            if !is_ours(scalar) {
                return BYTESWAP.get()(scalar, arguments, keywords);
            }
            let py = Python::assume_attached();
            let swapped = || {
                // What cannot be swapped in place is refused by NumPy, for a scalar that has no
                // elements.
                let other = py.import("numpy")?.getattr("uint8")?.call0()?;
                let refused = BYTESWAP.get()(other.as_ptr(), arguments, keywords);
                Bound::from_owned_ptr_or_err(py, refused)?;
                as_array(py, scalar)?.call_method0("byteswap")?.get_item(PyTuple::empty(py))
            };
            returned(py, swapped())
        }
    })
}

/// Whether a scalar of NumPy's is a structured one whose memory holds elements.
///
/// # Safety
/// A scalar of NumPy's; GIL held.
unsafe fn is_ours(scalar: *mut ffi::PyObject) -> bool {
    // SAFETY: the caller's promise; only a structured scalar is read as one.
    unsafe {
        numpy_abi::get().is_some_and(|numpy| {
            ffi::PyObject_TypeCheck(scalar, numpy.void_type()) != 0 && exposes_ours(scalar, true)
        })
    }
}

/// The array that NumPy makes of a scalar.
///
/// # Errors
/// No memory.
///
/// # Safety
/// A scalar of NumPy's; GIL held.
unsafe fn as_array(py: Python<'_>, scalar: *mut ffi::PyObject) -> PyResult<Bound<'_, PyAny>> {
    let numpy = numpy_abi::import(py)?;
    // SAFETY: the caller's promise; a new reference, or NULL and an exception.
    unsafe {
        let array = numpy.from_any(scalar, ptr::null_mut(), 0, 0, 0, ptr::null_mut());
        Bound::from_owned_ptr_or_err(py, array)
    }
}

/// `__array_struct__` of an array or of any scalar of NumPy's.
unsafe extern "C" fn array_struct<const CLASS: usize>(
    object: *mut ffi::PyObject,
    closure: *mut c_void,
) -> *mut ffi::PyObject {
    trampoline::slot("array_struct", || {
        // SAFETY: Python's convention for getters, which the original keeps as well; it calls them for
        // objects of the class only; GIL held.
        unsafe {
            let has_dtype = CLASS == ARRAY
                || numpy_abi::get()
                    .is_some_and(|numpy| ffi::PyObject_TypeCheck(object, numpy.void_type()) != 0);
            if has_dtype && exposes_ours(object, CLASS == SCALAR) {
                let py = Python::assume_attached();
                // Others ask for the attribute to see whether there is one.
                PyAttributeError::new_err(message(object, "does not expose its memory"))
                    .restore(py);
                return ptr::null_mut();
            }
            ARRAY_STRUCT[CLASS].get()(object, closure)
        }
    })
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
            if exposes_ours(object, false) {
                refuse(object, "keeps its strides (make a view by an index, or a copy)");
                return -1;
            }
            SET_STRIDES.get()(object, strides, closure)
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
            "an array of {dtype} {why}: it holds pointers to objects. Convert it \
             (.astype(object), .tolist(), a cast to numbers or text), or use pickle or np.save"
        )
    }
}
