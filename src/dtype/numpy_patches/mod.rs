//! Guards against what NumPy does wrong below a given version; each names the version that ends
//! it.
//!
//! | what | from a user | until | guard |
//! |---|---|---|---|
//! | `array_flat_set` copies the first 8 bytes of each element raw (numpy#32151, #32221) | `a.flat = x` | 2.5.2 | [`install`]: the setter is wrapped for arrays that hold our elements |
//! | a slice of a flat iterator is copied with `copyswap`, which cannot report a failure: the exception stays behind a result | `a.flat[1:3]` | 2.5.2 | [`install`]: the iterator's subscript is wrapped |
//! | `copyswap` called though it is NULL (numpy#30795, #32151) | `np.place`, `a.byteswap()`, a void scalar assigned | 2.5.2 | `arrfuncs` fills the slots |
//! | `PyArray_PutTo` and `PyArray_PutMask` work on a copy that they do not look for | `a[::2].put(..)` of elements that cannot be copied | open (a crash below 2.5.0, a `SystemError` from there on) | [`put`] makes the copy |
//! | sort calls a method without naming it | `a.sort()` | 2.5.0 | `sort` brings its own `get_loop` |
//! | `nonzero` called though it is NULL | `np.count_nonzero(a)` | open | `arrfuncs` fills the slot |
//! | the ends of a long array are copied, to look at their dtype | `print(a)` | open | [`install_printing`], once a type without copies is registered: no copies |
//! | an element with an empty text is laid out as its lines, of which it has none | `print(a)` from 2.5 on | open | [`install_empty_text`], once a type of a client's has text: laid out as one empty word |
//! | the cast from raw bytes looks up its loop at index -1, the `type_num` of every user dtype, calls what stands there | `a[0] = np.void(b"x")` | open | `void_casts` brings a cast that refuses |
//! | `c_einsum` looks up its loop at index -1, the `type_num` of every user dtype, calls what stands there | `np.einsum("i,i", a, a)` | open | `c_einsum` in its place refuses our elements |
//! | `cumsum` looks its dtype up by `type_num`, -1 | `a.cumsum(dtype=T)` | open | [`ufunc_methods`] calls `np.add.accumulate` |
//! | `ufunc.at` casts unsafely | `np.add.at(a, 0, 0.5)` | open | [`ufunc_methods`] refuses what would be rounded |
//! | a buffer is taken for cells, by NumPy itself refused from 2.5.2 on where it is not a structure | `np.ndarray(3, dtype, buffer)`, `np.memmap` | open | [`buffers`]: refused |
//! | a result is returned beside the exception of an element | `a.argmax()`, `a.tolist()`, pickle | open | [`results`]: the result is given up |
//! | an assignment of a structure is done beside the exception of a field | `a[0] = b[0]` | 2.5.2 | [`copyswap`]: it has failed |
//! | `compare` called though it is NULL | sorts of structures with a field that has no order | 2.5.0 | `arrfuncs` fills the slot |
//! | bytes of cells are lent for reading and writing where no format is asked for, copied out, and found under other strides | `io.BytesIO(..).readinto(a)`, `hashlib.md5(a)`, `a.tobytes()`, `a.strides = ..` | open | [`bytes`]: refused |
//! | a dtype changes under arrays that have it | `a.dtype.__setstate__(..)`, `a.dtype.__reduce__()[2][4].update(..)` | open | [`structures`]: refused where elements come in or go; a copy of the fields |
//! | memory that an object describes is taken for cells | `np.array` of an object with `__array_interface__` | open | [`interface`]: refused |
//! | a list of elements is read behind its end, or while it changes; the memory goes under views of it, and the new one has no segment | `a.__setstate__(..)` | open | [`state`]: a new array takes the state |
//! | items of structures, and keys that are not contiguous, are compared by copies of their bytes, which a comparison may outlive | sorts of structures, `np.lexsort`, `searchsorted`, `argmax` | open | [`raw`]: the memory is locked for reading meanwhile |
//! | quicksort leaves the array where a comparison contradicts itself | `a.partition(3)`, sorts of structures | open | [`sorts`]: sorts that stay inside |
//!
//! [`holding`] says which dtypes and arrays these are.

mod buffers;
mod bytes;
mod copyswap;
mod holding;
mod interface;
mod linalg;
mod put;
pub mod raw;
mod results;
mod sorts;
mod state;
mod structures;
mod ufunc_methods;
pub(super) mod void_casts;

use self::holding::holds_ours;
use super::{DType, errors, trampoline};
use crate::numpy_abi::{NumpyApi, NumpyVersion, PyArrayObject, flags::*};
use pyo3::{
    exceptions::{PyImportError, PyTypeError},
    ffi,
    prelude::*,
    sync::PyOnceLock,
    types::{PyDict, PyList, PyString, PyTuple, PyType},
};
use std::{
    ffi::{CStr, c_int, c_void},
    ptr,
    sync::atomic::{AtomicPtr, Ordering::Relaxed},
};

/// NumPy's own setter of `ndarray.flat`, once it is wrapped.
static NUMPY_SET_FLAT: AtomicPtr<c_void> = AtomicPtr::new(ptr::null_mut());

/// NumPy's own subscript of the flat iterator, once it is wrapped.
static NUMPY_FLAT_SUBSCRIPT: AtomicPtr<c_void> = AtomicPtr::new(ptr::null_mut());

/// NumPy's own `c_einsum`, once another stands in its place.
static NUMPY_EINSUM: PyOnceLock<Py<PyAny>> = PyOnceLock::new();

/// NumPy's own `_leading_trailing`, once another stands in its place.
static NUMPY_ENDS: PyOnceLock<Py<PyAny>> = PyOnceLock::new();

/// NumPy's own `_extendLine_pretty`, once another stands in its place.
static NUMPY_EXTEND_LINE: PyOnceLock<Py<PyAny>> = PyOnceLock::new();

/// Installs what the running NumPy needs. Idempotent.
///
/// # Errors
/// `ImportError` where a NumPy in need of a guard is not made as expected: it must not be used.
pub fn install(py: Python<'_>, numpy: &NumpyApi) -> PyResult<()> {
    install_einsum(py)?;
    linalg::install(py)?;
    ufunc_methods::install(py, numpy)?;
    buffers::install(py, numpy)?;
    bytes::install(py, numpy)?;
    interface::install(py, numpy)?;
    structures::install(py, numpy)?;
    results::install(py, numpy)?;
    sorts::install(py, numpy)?;
    put::install(py, numpy)?;
    if numpy.version() < NumpyVersion::new(2, 5, 2) {
        install_flat_subscript(py, numpy)?;
        copyswap::install(py)?;
    }
    install_flat(numpy)
}

/// Calls a function with a class and all that are derived from it.
fn each_class(
    class: &Bound<'_, PyType>,
    function: &mut impl FnMut(*mut ffi::PyTypeObject),
) -> PyResult<()> {
    function(class.as_type_ptr());
    // Asked of `type`: a metaclass may have a method of the same name.
    let derived = class.py().get_type::<PyType>().getattr("__subclasses__")?.call1((class,))?;
    for class in derived.cast::<PyList>()?.iter() {
        each_class(class.cast::<PyType>()?, function)?;
    }
    Ok(())
}

/// Puts a function in the place of a method in C, which is called by the convention of `flags`.
/// Idempotent; says whether the method is made as expected.
///
/// # Safety
/// `guarded` is called by the convention of `flags`, and calls `original` by it; GIL held.
unsafe fn wrap_method(
    class: &Bound<'_, PyType>,
    name: &str,
    flags: c_int,
    original: &AtomicPtr<c_void>,
    guarded: ffi::PyMethodDefPointer,
) -> PyResult<bool> {
    if !original.load(Relaxed).is_null() {
        return Ok(true);
    }
    let method = class.getattr(name)?;
    // SAFETY: a method descriptor is what its type says; its definition is NumPy's own, which lives
    // forever, and each member of the union is a pointer to a function.
    unsafe {
        if ffi::Py_TYPE(method.as_ptr()) != &raw mut ffi::PyMethodDescr_Type {
            return Ok(false);
        }
        let definition = (*method.as_ptr().cast::<ffi::PyMethodDescrObject>()).d_method;
        if definition.is_null() || (*definition).ml_flags != flags {
            return Ok(false);
        }
        original.store((*definition).ml_meth.PyCFunction as *mut c_void, Relaxed);
        (*definition).ml_meth = guarded;
    }
    Ok(true)
}

/// Puts `c_einsum` in the two modules that have NumPy's: `np.einsum` takes it from the second.
fn install_einsum(py: Python<'_>) -> PyResult<()> {
    if NUMPY_EINSUM.get(py).is_some() {
        return Ok(());
    }
    let modules = [py.import("numpy._core.multiarray")?, py.import("numpy._core.einsumfunc")?];
    let _ = NUMPY_EINSUM.set(py, modules[0].getattr("c_einsum")?.unbind());
    let guarded = wrap_pyfunction!(c_einsum, &modules[0])?;
    modules.iter().try_for_each(|module| module.setattr("c_einsum", &guarded))
}

/// Lets long arrays print whose elements only move: NumPy copies their first and last elements to
/// choose a format, for which of an element type it looks at nothing but the dtype. Where it is not
/// made as expected, such arrays fail to print with a `TypeError`. Idempotent.
///
/// # Errors
/// What Python fails with.
pub(super) fn install_printing(py: Python<'_>) -> PyResult<()> {
    let module = py.import("numpy._core.arrayprint")?;
    if NUMPY_ENDS.get(py).is_some() || !module.hasattr("_leading_trailing")? {
        return Ok(());
    }
    let _ = NUMPY_ENDS.set(py, module.getattr("_leading_trailing")?.unbind());
    module.setattr("_leading_trailing", wrap_pyfunction!(leading_trailing, &module)?)
}

/// Lets arrays print in which an element has an empty text (a string, say): NumPy takes the longest
/// line of each text, and the empty one has none. Where it is not made as expected, such arrays fail
/// to print with NumPy's `ValueError`. Idempotent.
///
/// # Errors
/// What Python fails with.
pub(super) fn install_empty_text(py: Python<'_>) -> PyResult<()> {
    let module = py.import("numpy._core.arrayprint")?;
    if NUMPY_EXTEND_LINE.get(py).is_some()
        || !module.hasattr("_extendLine_pretty")?
        || !module.hasattr("_extendLine")?
    {
        return Ok(());
    }
    let _ = NUMPY_EXTEND_LINE.set(py, module.getattr("_extendLine_pretty")?.unbind());
    module.setattr("_extendLine_pretty", wrap_pyfunction!(extend_line, &module)?)
}

/// NumPy's `_extendLine_pretty(s, line, word, ..)`; an empty word is one line.
#[pyfunction]
#[pyo3(signature = (*arguments, **keywords))]
fn extend_line<'py>(
    arguments: &Bound<'py, PyTuple>,
    keywords: Option<&Bound<'py, PyDict>>,
) -> PyResult<Bound<'py, PyAny>> {
    let py = arguments.py();
    let is_empty = arguments.get_item(2).is_ok_and(|word| {
        word.cast::<PyString>().is_ok_and(|word| word.len().is_ok_and(|length| length == 0))
    });
    match NUMPY_EXTEND_LINE.get(py) {
        Some(original) if !is_empty => original.bind(py).call(arguments, keywords),
        _ => py.import("numpy._core.arrayprint")?.getattr("_extendLine")?.call(arguments, keywords),
    }
}

/// NumPy's `_leading_trailing`; an array whose elements only move is all of its ends.
#[pyfunction]
#[pyo3(signature = (array, *arguments, **keywords))]
fn leading_trailing<'py>(
    array: &Bound<'py, PyAny>,
    arguments: &Bound<'py, PyTuple>,
    keywords: Option<&Bound<'py, PyDict>>,
) -> PyResult<Bound<'py, PyAny>> {
    let py = array.py();
    // SAFETY: GIL held; of an array the descriptor lives as long as it.
    let only_moves = unsafe {
        crate::numpy_abi::get().is_some_and(|numpy| {
            ffi::PyObject_TypeCheck(array.as_ptr(), numpy.array_type()) != 0
                && DType::try_of_descr((*array.as_ptr().cast::<PyArrayObject>()).descr)
                    .is_some_and(|dtype| !dtype.element().is_copyable())
        })
    };
    match NUMPY_ENDS.get(py) {
        Some(original) if !only_moves => {
            let mut all = vec![array.clone()];
            all.extend(arguments.iter());
            original.bind(py).call(PyTuple::new(py, all)?, keywords)
        }
        _ => Ok(array.clone()),
    }
}

/// NumPy's `c_einsum` for arrays of other dtypes; it has no loops for element types.
#[pyfunction]
#[pyo3(signature = (*operands, **keywords))]
fn c_einsum<'py>(
    operands: &Bound<'py, PyTuple>,
    keywords: Option<&Bound<'py, PyDict>>,
) -> PyResult<Bound<'py, PyAny>> {
    let py = operands.py();
    let mut refused = operands.iter().any(|operand| makes_ours(&operand));
    if let Some(keywords) = keywords {
        if let Some(out) = keywords.get_item("out")? {
            refused |= makes_ours(&out);
        }
        if let Some(dtype) = keywords.get_item("dtype")?.filter(|dtype| !dtype.is_none()) {
            let descr = py.import("numpy")?.getattr("dtype")?.call1((dtype,))?;
            // SAFETY: `np.dtype` makes descriptors; GIL held.
            refused |= unsafe { holds_ours(descr.as_ptr().cast()) };
        }
    }
    if refused {
        return Err(PyTypeError::new_err(
            "einsum has no loops for element types; use @, np.matmul or np.vecdot, or a sum of \
             products",
        ));
    }
    match NUMPY_EINSUM.get(py) {
        Some(original) => original.bind(py).call(operands, keywords),
        None => Err(PyTypeError::new_err("NumPy's c_einsum was not kept")),
    }
}

/// Whether NumPy makes an array with elements of ours from an operand.
fn makes_ours(operand: &Bound<'_, PyAny>) -> bool {
    let py = operand.py();
    if operand.is_none() || operand.is_instance_of::<PyString>() {
        return false;
    }
    let array = py.import("numpy").and_then(|numpy| numpy.call_method1("asarray", (operand,)));
    // What makes no array is for NumPy to refuse.
    // SAFETY: an array, whose descriptor lives as long as it; GIL held.
    array.is_ok_and(|array| unsafe { holds_ours((*array.as_ptr().cast::<PyArrayObject>()).descr) })
}

/// Wraps the setter of `ndarray.flat` below NumPy 2.5.2.
fn install_flat(numpy: &NumpyApi) -> PyResult<()> {
    if numpy.version() >= NumpyVersion::new(2, 5, 2) || !NUMPY_SET_FLAT.load(Relaxed).is_null() {
        return Ok(());
    }
    // SAFETY: `ndarray` is a static type in these versions; its getters and setters are an array
    // that ends with a NULL name, which its descriptors point into. GIL held.
    unsafe {
        let mut entry = (*numpy.array_type()).tp_getset;
        while !entry.is_null() && !(*entry).name.is_null() {
            if CStr::from_ptr((*entry).name) == c"flat"
                && let Some(original) = (*entry).set
            {
                NUMPY_SET_FLAT.store(original as *mut c_void, Relaxed);
                (*entry).set = Some(set_flat);
                return Ok(());
            }
            entry = entry.add(1);
        }
    }
    Err(PyImportError::new_err(format!(
        "NumPy {} corrupts elements in `array.flat = values`, and the setter to guard was not \
         found. NumPy 2.5.2 and later need no guard: pip install 'numpy>=2.5.2'.",
        numpy.version()
    )))
}

/// Puts [`flat_subscript`] in front of NumPy's own.
fn install_flat_subscript(py: Python<'_>, numpy: &NumpyApi) -> PyResult<()> {
    if !NUMPY_FLAT_SUBSCRIPT.load(Relaxed).is_null() {
        return Ok(());
    }
    let class = py.import("numpy")?.getattr("flatiter")?.cast_into::<PyType>()?;
    // SAFETY: a type object, static in these versions, and its mapping methods with it; GIL held.
    unsafe {
        let mapping = (*class.as_type_ptr()).tp_as_mapping;
        if !mapping.is_null()
            && let Some(original) = (*mapping).mp_subscript
        {
            NUMPY_FLAT_SUBSCRIPT.store(original as *mut c_void, Relaxed);
            (*mapping).mp_subscript = Some(flat_subscript);
            return Ok(());
        }
    }
    Err(PyImportError::new_err(format!(
        "NumPy {} hides failures in `array.flat[1:3]`, and the subscript to guard was not found. \
         NumPy 2.5.2 and later need no guard: pip install 'numpy>=2.5.2'.",
        numpy.version()
    )))
}

/// The subscript of the flat iterator: a result that came with an exception is given up.
unsafe extern "C" fn flat_subscript(
    iterator: *mut ffi::PyObject,
    index: *mut ffi::PyObject,
) -> *mut ffi::PyObject {
    trampoline::slot("flat_subscript", || {
        // SAFETY: Python's convention for the slot, which the original keeps as well; GIL held.
        unsafe {
            let original: ffi::binaryfunc = std::mem::transmute(NUMPY_FLAT_SUBSCRIPT.load(Relaxed));
            errors::unless_raised(original(iterator, index))
        }
    })
}

/// The setter of `ndarray.flat`: for arrays with elements of ours the assignment goes through the
/// flat iterator, which copies element by element and repeats the values in the same way.
unsafe extern "C" fn set_flat(
    array: *mut ffi::PyObject,
    value: *mut ffi::PyObject,
    closure: *mut c_void,
) -> c_int {
    trampoline::slot("set_flat", || {
        // SAFETY: Python calls it for arrays only; GIL held; the original is a setter.
        unsafe {
            let descr = (*array.cast::<PyArrayObject>()).descr;
            if value.is_null() || !holds_ours(descr) {
                let original: ffi::setter = std::mem::transmute(NUMPY_SET_FLAT.load(Relaxed));
                return original(array, value, closure);
            }
            let flat = ffi::PyObject_GetAttrString(array, c"flat".as_ptr());
            if flat.is_null() {
                return -1;
            }
            let value = in_order_of(array.cast(), value);
            let status = if value.is_null() {
                -1
            } else {
                ffi::PyObject_SetItem(flat, ffi::Py_Ellipsis(), value)
            };
            ffi::Py_XDECREF(value);
            ffi::Py_DECREF(flat);
            status
        }
    })
}

/// The value of a flat assignment, as a new reference: for an array in Fortran order NumPy wants it
/// in that order too, which copies a view such as `a[::-1]`, so that `a.flat = a[::-1]` is right.
/// NULL where that fails, with the exception.
///
/// # Safety
/// An array and an object; GIL held.
unsafe fn in_order_of(array: *mut PyArrayObject, value: *mut ffi::PyObject) -> *mut ffi::PyObject {
    // SAFETY: the caller's promise; what is seen to be an array is read as one.
    unsafe {
        let is_array = crate::numpy_abi::get()
            .is_some_and(|numpy| ffi::PyObject_TypeCheck(value, numpy.array_type()) != 0);
        let is_fortran = |array: *mut PyArrayObject| (*array).flags & NPY_ARRAY_F_CONTIGUOUS != 0;
        if !is_array || !is_fortran(array) || is_fortran(value.cast()) {
            return ffi::Py_NewRef(value);
        }
        ffi::PyObject_CallMethod(value, c"copy".as_ptr(), c"s".as_ptr(), c"F".as_ptr())
    }
}
