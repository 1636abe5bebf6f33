//! The installed runtime: the function table behind its capsule, reached through CPython's own
//! symbols, so that a client needs no binding crate and no particular version of one.

use super::error::{Error, Failure, Raised};
use crate::abi::{self, Api, CAPSULE_NAME, ErrorOut, PyObject};
use std::ffi::{CStr, CString, c_char, c_int, c_void};
use std::sync::OnceLock;

mod python {
    use super::{PyObject, c_char, c_int, c_void};

    // Part of CPython's stable ABI: https://docs.python.org/3/c-api/stable.html
    unsafe extern "C-unwind" {
        pub(super) fn PyCapsule_Import(name: *const c_char, no_block: c_int) -> *mut c_void;
        pub(super) fn PyImport_ImportModule(name: *const c_char) -> *mut PyObject;
        pub(super) fn PyErr_ExceptionMatches(exception: *mut PyObject) -> c_int;
        pub(super) fn PyErr_SetString(exception: *mut PyObject, message: *const c_char);
        pub(super) fn Py_DecRef(object: *mut PyObject);
        pub(super) fn PyModule_GetName(module: *mut PyObject) -> *const c_char;
        pub(super) static PyExc_ImportError: *mut PyObject;
        pub(super) static PyExc_ModuleNotFoundError: *mut PyObject;
        pub(super) static PyExc_RuntimeError: *mut PyObject;
    }
}

/// The table, once it is found.
static RUNTIME: OnceLock<Table> = OnceLock::new();

/// A checked table.
struct Table(&'static Api);
// SAFETY: the table is constant plain data; its functions say themselves what they need.
unsafe impl Send for Table {}
// SAFETY: as above.
unsafe impl Sync for Table {}

/// The function table of the runtime in this process; imports `denizen` if need be.
///
/// # Safety
/// The GIL is held.
///
/// # Errors
/// With a Python exception set: denizen is not installed, or its runtime is another version of
/// the interface, or older than this client.
pub unsafe fn runtime() -> Result<&'static Api, Raised> {
    if let Some(table) = RUNTIME.get() {
        return Ok(table.0);
    }
    // SAFETY: the GIL is held.
    unsafe { import_package() }?;
    // SAFETY: the name is NUL-terminated and the GIL is held.
    let pointer = unsafe { python::PyCapsule_Import(CAPSULE_NAME.as_ptr(), 0) };
    if pointer.is_null() {
        return Err(Raised);
    }
    // SAFETY: a capsule of this name holds a table that starts with its size and version and
    // lives as long as the process.
    match unsafe { check(pointer.cast()) } {
        Ok(api) => Ok(RUNTIME.get_or_init(|| Table(api)).0),
        Err(message) => {
            // SAFETY: the GIL is held.
            unsafe { raise(python::PyExc_ImportError, &message) };
            Err(Raised)
        }
    }
}

/// Imports the package before its capsule is asked for: `PyCapsule_Import` replaces the exception
/// that says why a module cannot be imported.
///
/// # Safety
/// The GIL is held.
unsafe fn import_package() -> Result<(), Raised> {
    // SAFETY: the GIL is held, the name is NUL-terminated; the reference is given back.
    unsafe {
        let module = python::PyImport_ImportModule(c"denizen".as_ptr());
        if !module.is_null() {
            python::Py_DecRef(module);
            return Ok(());
        }
        if python::PyErr_ExceptionMatches(python::PyExc_ModuleNotFoundError) != 0 {
            raise(
                python::PyExc_ModuleNotFoundError,
                "this extension needs the Python package denizen, and that or a package that it \
                 needs is not installed: pip install denizen",
            );
        }
    }
    Err(Raised)
}

/// Compares a table with what this client knows.
///
/// # Safety
/// `api` points to a table that starts with its size, version and text version, and stays.
pub(super) unsafe fn check(api: *const Api) -> Result<&'static Api, String> {
    // SAFETY: the first members exist in every version; nothing behind them is read yet.
    let (size, version, text) =
        unsafe { ((*api).struct_size, (*api).abi_version, (*api).runtime_version) };
    let text = if text.is_null() {
        "(unknown)".to_owned()
    } else {
        // SAFETY: the runtime gives NUL-terminated text.
        unsafe { CStr::from_ptr(text) }.to_string_lossy().into_owned()
    };
    let show = |version: u32| format!("{}.{}", version >> 16, version & 0xffff);
    let (theirs, ours) = (show(version), show(abi::ABI_VERSION));
    let client = env!("CARGO_PKG_VERSION");
    if version >> 16 != abi::ABI_VERSION >> 16 {
        return Err(format!(
            "this extension was built for interface {ours} of denizen (version {client}), the \
             installed denizen {text} has interface {theirs}: rebuild the one that is older"
        ));
    }
    if size < size_of::<Api>() {
        return Err(format!(
            "this extension was built for denizen {client} (interface {ours}, {} bytes), the \
             installed denizen {text} (interface {theirs}, {size} bytes) lacks functions that it \
             needs: upgrade denizen",
            size_of::<Api>()
        ));
    }
    // SAFETY: the table covers all members that this client knows.
    Ok(unsafe { &*api })
}

/// Sets a Python exception.
///
/// # Safety
/// The GIL is held; `exception` is an exception class.
unsafe fn raise(exception: *mut PyObject, message: &str) {
    let message = CString::new(message.replace('\0', "?")).unwrap_or_default();
    // SAFETY: the caller's promise.
    unsafe { python::PyErr_SetString(exception, message.as_ptr()) };
}

/// Turns an error into the Python exception of its kind.
///
/// # Safety
/// The GIL is held.
pub(super) unsafe fn raise_error(api: Option<&Api>, error: Error) -> Raised {
    match api {
        Some(api) => {
            let mut error_out = ErrorOut::new();
            Failure::Error(error).write(&mut error_out, "", 0);
            // SAFETY: the GIL is held, the `ErrorOut` is filled.
            unsafe { (api.raise)(&raw const error_out) };
        }
        // SAFETY: the GIL is held.
        None => unsafe { raise(python::PyExc_RuntimeError, error.message()) },
    }
    Raised
}

/// Gives up a reference.
///
/// # Safety
/// The GIL is held and the reference is the caller's.
pub(super) unsafe fn release_reference(object: *mut PyObject) {
    // SAFETY: the caller's promise.
    unsafe { python::Py_DecRef(object) };
}

/// The `__name__` of a module.
///
/// # Safety
/// The GIL is held and `module` is alive.
pub(super) unsafe fn module_name(module: *mut PyObject) -> Result<String, Raised> {
    // SAFETY: the caller's promise.
    let name = unsafe { python::PyModule_GetName(module) };
    if name.is_null() {
        return Err(Raised);
    }
    // SAFETY: NUL-terminated, alive as long as the module.
    Ok(unsafe { CStr::from_ptr(name) }.to_string_lossy().into_owned())
}
