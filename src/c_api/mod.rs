//! The function table that clients import: `denizen._runtime._C_API`.
//!
//! Every function is called with the GIL (but `segment_of`), stops errors and panics at its edge
//! as Python exceptions, and finds types by their handle, which is the address of the element
//! type.

mod arrays;
mod cells;
mod views;

use crate::{
    abi::{self, Api, Element, ElementSpec, ElementVTable, ErrorOut, Stats, Status},
    dtype::{
        DType,
        handle::{errors, registry, trampoline},
        register,
    },
    erased::{ElementType, Failure, read_vtable},
    segment::Segment,
};
use pyo3::{
    exceptions::{PyLookupError, PyRuntimeError, PyTypeError, PyValueError},
    ffi,
    prelude::*,
};
use std::{
    ffi::{CStr, c_char, c_void},
    panic::Location,
    ptr,
};

/// The table. Members are only ever appended.
static API: ApiTable = ApiTable(Api {
    struct_size: size_of::<Api>(),
    abi_version: abi::ABI_VERSION,
    reserved: 0,
    runtime_version: concat!(env!("CARGO_PKG_VERSION"), "\0").as_ptr().cast(),
    register_element,
    find_element,
    dtype,
    empty: arrays::empty,
    adopt: arrays::adopt,
    view: views::view,
    release_view: views::release_view,
    stats,
    segment_of,
    raise,
    register_type: cells::register_type,
    touch: cells::touch,
    peek: cells::peek,
    store: cells::store,
    vacate: cells::vacate,
    sweep: cells::sweep,
    import_element,
});

struct ApiTable(Api);
// SAFETY: constant data and functions.
unsafe impl Sync for ApiTable {}

/// The table, for the bundled element types.
pub fn table() -> &'static Api {
    &API.0
}

/// The capsule around the table.
///
/// # Errors
/// There is no memory for it.
pub fn capsule(py: Python<'_>) -> PyResult<Bound<'_, PyAny>> {
    // SAFETY: the table is static; the name too.
    let capsule = unsafe {
        ffi::PyCapsule_New((&raw const API.0).cast_mut().cast(), abi::CAPSULE_NAME.as_ptr(), None)
    };
    // SAFETY: a new reference, or NULL with an exception.
    unsafe { Bound::from_owned_ptr_or_err(py, capsule) }
}

/// The address of an element type, as clients know it.
pub(crate) fn handle(dtype: &'static DType) -> *const Element {
    ptr::from_ref(dtype.element()).cast()
}

/// Runs a function of the table: an error or a panic becomes a Python exception and `failed`.
#[track_caller]
fn boundary<T>(failed: T, body: impl FnOnce(Python<'_>) -> PyResult<T>) -> T {
    let place = Location::caller();
    // SAFETY: the table's functions are called with the GIL.
    let py = unsafe { Python::assume_attached() };
    match trampoline::caught(|| body(py)) {
        Ok(Ok(value)) => value,
        Ok(Err(error)) => {
            // SAFETY: the GIL is held.
            unsafe { attached(|py| error.restore(py)) };
            failed
        }
        Err(payload) => {
            trampoline::raise(&format!("C function at {place}"), payload);
            failed
        }
    }
}

/// Runs code that gives up references so that PyO3 knows of the GIL: else it puts them aside until
/// the next call of it.
///
/// # Safety
/// The GIL is held.
unsafe fn attached<T>(body: impl FnOnce(Python<'_>) -> T) -> T {
    // SAFETY: the interpreter works, as the GIL is held.
    unsafe { Python::attach_unchecked(body) }
}

/// The DType of a handle.
fn dtype_of(element: *const Element) -> PyResult<&'static DType> {
    registry::dtype_of(element).ok_or_else(|| match registry::element_of(element) {
        Some(element) => PyTypeError::new_err(format!(
            "{} has no dtype of denizen's: it was registered for handler mode alone",
            element.name()
        )),
        None => PyRuntimeError::new_err("not a handle of a registered element type"),
    })
}

/// A failure as an exception.
fn exception(py: Python<'_>, failure: &Failure) -> PyErr {
    errors::raise(failure);
    PyErr::fetch(py)
}

unsafe extern "C" fn register_element(
    spec: *const ElementSpec,
    module: *mut abi::PyObject,
    element: *mut *const Element,
) -> Status {
    let mut kept = None;
    let status = boundary(abi::RAISED, |py| {
        // SAFETY: a borrowed module by contract.
        let module = unsafe { Bound::from_borrowed_ptr_or_opt(py, module.cast()) };
        let Some(Ok(module)) = module.map(Bound::cast_into::<PyModule>) else {
            return Err(PyTypeError::new_err("element types are registered with a module"));
        };
        // SAFETY: the client's spec by contract; the GIL is held.
        let registered = unsafe { attached(|_| register::register(&module, spec, &mut kept)) };
        registered.map(|_| abi::OK)
    });
    if !element.is_null() {
        // SAFETY: the client's place for the handle.
        unsafe { *element = kept.map_or(ptr::null(), |kept| ptr::from_ref(kept).cast()) };
    }
    status
}

unsafe extern "C" fn find_element(
    name: *const c_char,
    size: usize,
    align: usize,
    language_name: *const c_char,
) -> *const Element {
    boundary(ptr::null(), |_| {
        if name.is_null() {
            return Err(PyValueError::new_err("the name of an element type is NULL"));
        }
        // SAFETY: NUL-terminated by contract.
        let name = unsafe { CStr::from_ptr(name) }.to_string_lossy();
        let element = element_named(&name)?;
        if (size, align) != (element.size(), element.align()) {
            return Err(PyTypeError::new_err(format!(
                "{name} was registered with cells of {} bytes aligned to {}, not {size} aligned \
                 to {align}: the two modules were built from different definitions",
                element.size(),
                element.align()
            )));
        }
        if let (false, Some(known)) = (language_name.is_null(), element.language_name()) {
            // SAFETY: NUL-terminated by contract.
            let wanted = unsafe { CStr::from_ptr(language_name) }.to_string_lossy();
            if wanted != known {
                return Err(PyTypeError::new_err(format!(
                    "{name} was registered as the type {known}, not {wanted}"
                )));
            }
        }
        Ok(ptr::from_ref(element).cast())
    })
}

/// The registered type of that name.
fn element_named(name: &str) -> PyResult<&'static ElementType> {
    let found = registry::elements().into_iter().find(|element| element.name() == name);
    found.ok_or_else(|| {
        PyLookupError::new_err(format!(
            "no element type {name} is registered; import the module that registers it first"
        ))
    })
}

unsafe extern "C" fn import_element(expected: *const ElementVTable) -> *const Element {
    boundary(ptr::null(), |_| {
        // SAFETY: the client's vtable by contract.
        let expected = unsafe { read_vtable(expected) }
            .map_err(|error| PyValueError::new_err(error.to_string()))?;
        if expected.name.is_null() {
            return Err(PyValueError::new_err("element vtable: `name` is missing"));
        }
        // SAFETY: NUL-terminated by contract.
        let name = unsafe { CStr::from_ptr(expected.name) }.to_string_lossy();
        let element = element_named(&name)?;
        // SAFETY: as above.
        unsafe { element.compare(&expected) }
            .map_err(|error| PyTypeError::new_err(error.to_string()))?;
        Ok(ptr::from_ref(element).cast())
    })
}

unsafe extern "C" fn dtype(element: *const Element) -> *mut abi::PyObject {
    boundary(ptr::null_mut(), |_| Ok(dtype_of(element)?.new_descr_reference().cast()))
}

unsafe extern "C" fn stats(element: *const Element, stats: *mut Stats) -> Status {
    boundary(abi::RAISED, |_| {
        let read = cells::element_of(element)?.counters().read();
        // SAFETY: the client's struct begins with its size.
        if stats.is_null() || unsafe { (*stats).struct_size } < size_of::<usize>() {
            return Err(PyValueError::new_err("stats: `struct_size` is missing"));
        }
        // SAFETY: the client's struct, of which it says how many bytes there are.
        unsafe {
            let size = (*stats).struct_size.min(size_of::<Stats>());
            stats.cast::<u8>().copy_from_nonoverlapping((&raw const read).cast(), size);
            (*stats).struct_size = size;
        }
        Ok(abi::OK)
    })
}

unsafe extern "C" fn segment_of(pointer: *const c_void) -> *mut c_void {
    trampoline::inlined("segment_of", || {
        // SAFETY: by contract the memory is not freed meanwhile; any other address is a miss.
        unsafe { Segment::find(pointer.cast()) }
            .map_or(ptr::null_mut(), |segment| segment.cells().as_ptr().cast())
    })
}

unsafe extern "C" fn raise(error_out: *const ErrorOut) {
    boundary((), |py| -> PyResult<()> {
        // SAFETY: NULL or an `ErrorOut` by contract.
        let Some(error_out) = (unsafe { error_out.as_ref() }) else {
            return Err(PyRuntimeError::new_err("a failure without an error: it is NULL"));
        };
        Err(exception(py, &Failure::new(error_out.kind, error_out.text())))
    });
}
