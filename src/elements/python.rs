//! Python objects as the bundled types need them: through CPython's stable symbols, as any
//! client would, and the helper functions of `denizen._scalars`.

use crate::abi::PyObject;
use crate::client::{Failure, Raised};
use std::ffi::{CStr, c_char, c_double, c_int, c_longlong};
use std::ptr::NonNull;

/// Part of CPython's stable ABI: <https://docs.python.org/3/c-api/stable.html>.
mod c {
    use super::{PyObject, c_char, c_double, c_int, c_longlong};

    // Whatever runs Python code may end the thread at interpreter exit, and that unwinds.
    unsafe extern "C-unwind" {
        pub static mut PyLong_Type: PyObject;
        pub static mut PyFloat_Type: PyObject;
        pub static mut PyUnicode_Type: PyObject;

        pub fn Py_DecRef(object: *mut PyObject);
        pub fn PyErr_Occurred() -> *mut PyObject;
        pub fn PyErr_Clear();
        pub fn PyImport_ImportModule(name: *const c_char) -> *mut PyObject;
        pub fn PyObject_GetAttrString(object: *mut PyObject, name: *const c_char) -> *mut PyObject;
        pub fn PyObject_IsInstance(object: *mut PyObject, class: *mut PyObject) -> c_int;
        pub fn PyObject_CallFunctionObjArgs(callable: *mut PyObject, ...) -> *mut PyObject;
        pub fn PyLong_FromLongLong(value: c_longlong) -> *mut PyObject;
        pub fn PyLong_AsLongLongAndOverflow(
            object: *mut PyObject,
            overflow: *mut c_int,
        ) -> c_longlong;
        pub fn PyFloat_AsDouble(object: *mut PyObject) -> c_double;
        pub fn PyUnicode_AsUTF8AndSize(object: *mut PyObject, size: *mut isize) -> *const c_char;
        pub fn PyBytes_FromStringAndSize(bytes: *const c_char, size: isize) -> *mut PyObject;
        pub fn PyBytes_AsStringAndSize(
            object: *mut PyObject,
            bytes: *mut *mut c_char,
            size: *mut isize,
        ) -> c_int;
    }
}

/// A new reference. All methods of it need the GIL, as does dropping it.
pub struct Object(NonNull<PyObject>);

impl Object {
    /// Takes over a new reference; NULL means that an exception is set.
    ///
    /// # Safety
    /// As said, and the GIL is held as long as the object lives.
    unsafe fn new(pointer: *mut PyObject) -> Result<Self, Raised> {
        NonNull::new(pointer).map(Object).ok_or(Raised)
    }

    /// The object, borrowed.
    pub fn as_ptr(&self) -> *mut PyObject {
        self.0.as_ptr()
    }

    /// Gives the reference away.
    pub fn into_ptr(self) -> *mut PyObject {
        let pointer = self.as_ptr();
        std::mem::forget(self);
        pointer
    }
}

impl Drop for Object {
    fn drop(&mut self) {
        // SAFETY: this value owns a reference, and its maker holds the GIL.
        unsafe { c::Py_DecRef(self.as_ptr()) };
    }
}

/// Functions and classes that stay for the rest of the process.
#[derive(Clone, Copy)]
pub struct Immortal(*mut PyObject);

// SAFETY: an address; every use of it asks for the GIL.
unsafe impl Send for Immortal {}
// SAFETY: as above.
unsafe impl Sync for Immortal {}

impl Immortal {
    /// The object, borrowed.
    pub fn as_ptr(self) -> *mut PyObject {
        self.0
    }

    /// Calls it with one argument.
    ///
    /// # Safety
    /// The GIL is held, the argument is alive.
    pub unsafe fn call(self, argument: *mut PyObject) -> Result<Object, Raised> {
        let end = std::ptr::null_mut::<PyObject>();
        // SAFETY: the caller's promise; the list of arguments ends with NULL.
        unsafe { Object::new(c::PyObject_CallFunctionObjArgs(self.0, argument, end)) }
    }

    /// Calls it with two arguments.
    ///
    /// # Safety
    /// The GIL is held, the arguments are alive.
    pub unsafe fn call2(
        self,
        first: *mut PyObject,
        second: *mut PyObject,
    ) -> Result<Object, Raised> {
        let end = std::ptr::null_mut::<PyObject>();
        // SAFETY: the caller's promise; the list of arguments ends with NULL.
        unsafe { Object::new(c::PyObject_CallFunctionObjArgs(self.0, first, second, end)) }
    }
}

/// Imports a module.
///
/// # Safety
/// The GIL is held as long as the object lives.
pub unsafe fn import(name: &CStr) -> Result<Object, Raised> {
    // SAFETY: the caller's promise.
    unsafe { Object::new(c::PyImport_ImportModule(name.as_ptr())) }
}

/// An attribute, kept for good.
///
/// # Safety
/// The GIL is held, the object is alive.
pub unsafe fn immortal(object: *mut PyObject, name: &CStr) -> Result<Immortal, Raised> {
    // SAFETY: the caller's promise.
    Ok(Immortal(unsafe { attribute(object, name) }?.into_ptr()))
}

/// An attribute.
///
/// # Safety
/// The GIL is held as long as the result lives, the object is alive.
pub unsafe fn attribute(object: *mut PyObject, name: &CStr) -> Result<Object, Raised> {
    // SAFETY: the caller's promise.
    unsafe { Object::new(c::PyObject_GetAttrString(object, name.as_ptr())) }
}

/// `isinstance`.
///
/// # Safety
/// The GIL is held, both are alive.
pub unsafe fn is_instance(object: *mut PyObject, class: *mut PyObject) -> Result<bool, Raised> {
    // SAFETY: the caller's promise.
    match unsafe { c::PyObject_IsInstance(object, class) } {
        0 => Ok(false),
        1 => Ok(true),
        _ => Err(Raised),
    }
}

/// A Python number or text, seen as what it is.
pub enum Seen {
    /// An `int` that fits.
    Small(i64),
    /// An `int` that does not.
    Big,
    /// A `float`.
    Float(f64),
    /// A `str`.
    Text(String),
    /// Anything else.
    Other,
}

/// Looks at an object.
///
/// # Safety
/// The GIL is held, the object is alive.
pub unsafe fn look(object: *mut PyObject) -> Result<Seen, Failure> {
    // SAFETY: the caller's promise; the classes are static.
    unsafe {
        if is_instance(object, &raw mut c::PyLong_Type)? {
            let mut overflow = 0;
            let value = c::PyLong_AsLongLongAndOverflow(object, &raw mut overflow);
            if overflow != 0 {
                return Ok(Seen::Big);
            }
            if value == -1 && !c::PyErr_Occurred().is_null() {
                return Err(Failure::Raised);
            }
            return Ok(Seen::Small(value));
        }
        if is_instance(object, &raw mut c::PyFloat_Type)? {
            let value = c::PyFloat_AsDouble(object);
            if value == -1.0 && !c::PyErr_Occurred().is_null() {
                return Err(Failure::Raised);
            }
            return Ok(Seen::Float(value));
        }
        if is_instance(object, &raw mut c::PyUnicode_Type)? {
            let mut size = 0;
            let text = c::PyUnicode_AsUTF8AndSize(object, &raw mut size);
            if text.is_null() {
                // Lone surrogates: no number, and the helper says so better.
                c::PyErr_Clear();
                return Ok(Seen::Other);
            }
            let bytes = std::slice::from_raw_parts(text.cast::<u8>(), size as usize);
            return Ok(Seen::Text(String::from_utf8_lossy(bytes).into_owned()));
        }
    }
    Ok(Seen::Other)
}

/// A new `int`.
///
/// # Safety
/// The GIL is held as long as the result lives.
pub unsafe fn int_from_i64(value: i64) -> Result<Object, Raised> {
    // SAFETY: the caller's promise.
    unsafe { Object::new(c::PyLong_FromLongLong(value)) }
}

/// A new `bytes`.
///
/// # Safety
/// The GIL is held as long as the result lives.
pub unsafe fn bytes_from_slice(bytes: &[u8]) -> Result<Object, Raised> {
    let size = bytes.len() as isize;
    // SAFETY: the caller's promise; the bytes are copied.
    unsafe { Object::new(c::PyBytes_FromStringAndSize(bytes.as_ptr().cast(), size)) }
}

/// The bytes of a `bytes`, which must stay alive as long as they are used.
///
/// # Safety
/// The GIL is held.
pub unsafe fn bytes_of(object: &Object) -> Result<&[u8], Raised> {
    let (mut bytes, mut size) = (std::ptr::null_mut(), 0);
    // SAFETY: the caller's promise; the object is alive.
    let status =
        unsafe { c::PyBytes_AsStringAndSize(object.as_ptr(), &raw mut bytes, &raw mut size) };
    if status != 0 {
        return Err(Raised);
    }
    // SAFETY: bytes are immutable and live as long as their object, which is borrowed.
    Ok(unsafe { std::slice::from_raw_parts(bytes.cast::<u8>(), size as usize) })
}
