//! Text, bytes, truth, hash and Python objects: the vtable functions on single values.

use super::batch::shared;
use super::error::{Error, Failure};
use super::guard::batch;
use super::shared::{Reader, Shared};
use super::storage::Storage;
use crate::abi::{self, ErrorOut, PyObject, Sink, Status};
use std::ffi::c_void;
use std::fmt::{self, Write};
use std::str::FromStr;
use std::sync::OnceLock;

/// A hook that the builder set before it put the function that reads it into the vtable.
fn hook<'a, H>(hook: &'a OnceLock<H>, shared: &Shared<impl Sized>) -> Result<&'a H, Failure> {
    hook.get().ok_or_else(|| {
        let name = shared.name();
        Failure::Error(Error::new(
            super::ErrorKind::NotImplemented,
            format!("{name} lacks this operation"),
        ))
    })
}

/// A sink as a target of `write!`.
struct SinkWriter(*mut Sink);

impl SinkWriter {
    fn bytes(&mut self, bytes: &[u8]) -> Result<(), Error> {
        // SAFETY: the sink outlives the call that made this writer; `bytes` is readable.
        let status = unsafe { ((*self.0).write)(self.0, bytes.as_ptr(), bytes.len()) };
        if status == abi::OK {
            Ok(())
        } else {
            Err(Error::new(super::ErrorKind::Memory, "no memory for the value's text or bytes"))
        }
    }
}

impl fmt::Write for SinkWriter {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        self.bytes(text.as_bytes()).map_err(|_| fmt::Error)
    }
}

/// Text of [`fmt::Display`].
///
/// # Safety
/// As [`abi::SaveFn`] says, with the context of this type.
pub(super) unsafe extern "C" fn to_text<T: fmt::Display + 'static, S: Storage<T>>(
    context: *mut c_void,
    cell: *const u8,
    sink: *mut Sink,
    error_out: *mut ErrorOut,
) -> Status {
    // SAFETY: the context is ours, the `ErrorOut` the caller's.
    let shared = unsafe { shared::<T>(context) };
    // SAFETY: the cell is readable.
    unsafe {
        batch(shared, error_out, |_| {
            let reader = Reader::<T, S>::new(shared);
            write!(SinkWriter(sink), "{}", reader.value(cell)?).map_err(|_| {
                Failure::Error(Error::value(format!("{}: formatting failed", shared.name())))
            })
        })
    }
}

/// Value of a text, by the parser that the author gave.
///
/// # Safety
/// As [`abi::LoadFn`] says, with the context of this type.
pub(super) unsafe extern "C" fn from_text<T, S>(
    context: *mut c_void,
    cell: *mut u8,
    bytes: *const u8,
    size: usize,
    error_out: *mut ErrorOut,
) -> Status
where
    T: 'static,
    S: Storage<T>,
{
    // SAFETY: the context is ours, the `ErrorOut` the caller's.
    let shared = unsafe { shared::<T>(context) };
    // SAFETY: the cell is writable, `bytes` readable for `size`.
    unsafe {
        batch(shared, error_out, |_| {
            let text = std::str::from_utf8(slice(bytes, size))
                .map_err(|error| Error::value(format!("{}: {error}", shared.name())))?;
            S::store(cell, hook(&shared.parse, shared)?(text, shared.name())?);
            Ok(())
        })
    }
}

/// The value by [`FromStr`].
pub(super) fn parse<T: FromStr<Err: fmt::Display>>(text: &str, name: &str) -> Result<T, Failure> {
    text.parse::<T>().map_err(|error| not_a_value(text, name, &error.to_string()).into())
}

/// The error of a text that is no value; of a long one it shows the start.
#[cold]
fn not_a_value(text: &str, name: &str, error: &str) -> Error {
    const SHOWN: usize = 60;
    let mut shown: String = text.chars().take(SHOWN).collect();
    if shown.len() < text.len() {
        shown.push('…');
    }
    let shown = format!("{shown:?}");
    if error.contains(&shown) {
        Error::value(error.to_owned())
    } else {
        Error::value(format!("{shown} is not a {name}: {error}"))
    }
}

/// The bytes at a pointer that may be NULL where there are none.
///
/// # Safety
/// `bytes` is readable for `size` bytes as long as the result is used.
unsafe fn slice<'a>(bytes: *const u8, size: usize) -> &'a [u8] {
    if size == 0 {
        &[]
    } else {
        // SAFETY: the caller's promise.
        unsafe { std::slice::from_raw_parts(bytes, size) }
    }
}

/// Bytes of the author's codec.
///
/// # Safety
/// As [`abi::SaveFn`] says, with the context of this type.
pub(super) unsafe extern "C" fn save<T: 'static, S: Storage<T>>(
    context: *mut c_void,
    cell: *const u8,
    sink: *mut Sink,
    error_out: *mut ErrorOut,
) -> Status {
    // SAFETY: the context is ours, the `ErrorOut` the caller's.
    let shared = unsafe { shared::<T>(context) };
    // SAFETY: the cell is readable.
    unsafe {
        batch(shared, error_out, |_| {
            let reader = Reader::<T, S>::new(shared);
            let bytes = hook(&shared.save, shared)?(reader.value(cell)?)?;
            Ok(SinkWriter(sink).bytes(&bytes)?)
        })
    }
}

/// Value of the author's codec.
///
/// # Safety
/// As [`abi::LoadFn`] says, with the context of this type.
pub(super) unsafe extern "C" fn load<T: 'static, S: Storage<T>>(
    context: *mut c_void,
    cell: *mut u8,
    bytes: *const u8,
    size: usize,
    error_out: *mut ErrorOut,
) -> Status {
    // SAFETY: the context is ours, the `ErrorOut` the caller's.
    let shared = unsafe { shared::<T>(context) };
    // SAFETY: the cell is writable, `bytes` readable for `size`.
    unsafe {
        batch(shared, error_out, |_| {
            let value = hook(&shared.load, shared)?(slice(bytes, size))?;
            S::store(cell, value);
            Ok(())
        })
    }
}

/// Truth of values.
///
/// # Safety
/// As [`abi::NonzeroFn`] says, with the context of this type.
pub(super) unsafe extern "C" fn nonzero<T: 'static, S: Storage<T>>(
    context: *mut c_void,
    cells: *const u8,
    stride: isize,
    count: usize,
    results: *mut u8,
    result_stride: isize,
    error_out: *mut ErrorOut,
) -> Status {
    // SAFETY: the context is ours, the `ErrorOut` the caller's.
    let shared = unsafe { shared::<T>(context) };
    // SAFETY: `count` cells are readable, as many results writable.
    unsafe {
        batch(shared, error_out, |done| {
            let reader = Reader::<T, S>::new(shared);
            let truth = hook(&shared.nonzero, shared)?;
            let (mut cell, mut result) = (cells, results);
            while *done < count {
                result.write(u8::from(truth(reader.value(cell)?)?));
                cell = cell.wrapping_offset(stride);
                result = result.wrapping_offset(result_stride);
                *done += 1;
            }
            Ok(())
        })
    }
}

/// Owned heap bytes; a vacant cell owns none. A boxed object is heap itself.
///
/// # Safety
/// As [`abi::HeapBytesFn`] says, with the context of this type.
pub(super) unsafe extern "C" fn heap_bytes<T: 'static, S: Storage<T>>(
    context: *mut c_void,
    cells: *const u8,
    stride: isize,
    count: usize,
    bytes: *mut usize,
) -> Status {
    // SAFETY: the context is ours.
    let shared = unsafe { shared::<T>(context) };
    let own = if S::STORAGE == abi::STORAGE_BOXED { size_of::<T>() } else { 0 };
    let mut error_out = ErrorOut::new();
    // SAFETY: the `ErrorOut` is this frame's, `count` cells are readable, `bytes` is writable.
    unsafe {
        batch(shared, &raw mut error_out, |done| {
            let owned = hook(&shared.heap_bytes, shared)?;
            let mut cell = cells;
            while *done < count {
                if !S::is_vacant(cell) {
                    *bytes += own + owned(&*S::object(cell.cast_mut()));
                }
                cell = cell.wrapping_offset(stride);
                *done += 1;
            }
            Ok(())
        })
    }
}

/// Hash of one value.
///
/// # Safety
/// As [`abi::HashFn`] says, with the context of this type.
pub(super) unsafe extern "C" fn hash<T: 'static, S: Storage<T>>(
    context: *mut c_void,
    cell: *const u8,
    hash: *mut i64,
    error_out: *mut ErrorOut,
) -> Status {
    // SAFETY: the context is ours, the `ErrorOut` the caller's.
    let shared = unsafe { shared::<T>(context) };
    // SAFETY: the cell is readable, `hash` is writable.
    unsafe {
        batch(shared, error_out, |_| {
            let reader = Reader::<T, S>::new(shared);
            let value = hook(&shared.hash, shared)?(reader.value(cell)?);
            // Python keeps -1 for errors.
            *hash = if value == -1 { -2 } else { value };
            Ok(())
        })
    }
}

/// The Python scalar that the author's hook makes.
///
/// # Safety
/// As [`abi::ToPythonFn`] says, with the context of this type.
pub(super) unsafe extern "C" fn to_python<T: 'static, S: Storage<T>>(
    context: *mut c_void,
    cell: *const u8,
    error_out: *mut ErrorOut,
) -> *mut PyObject {
    // SAFETY: the context is ours, the `ErrorOut` the caller's.
    let shared = unsafe { shared::<T>(context) };
    let mut object = std::ptr::null_mut();
    // SAFETY: the cell is readable; the GIL is held.
    let status = unsafe {
        batch(shared, error_out, |_| {
            let reader = Reader::<T, S>::new(shared);
            object = hook(&shared.to_python, shared)?(reader.value(cell)?)?;
            Ok(())
        })
    };
    if status == abi::OK { object } else { std::ptr::null_mut() }
}

/// The value that the author's hook reads from a Python object.
///
/// # Safety
/// As [`abi::FromPythonFn`] says, with the context of this type.
pub(super) unsafe extern "C" fn from_python<T: 'static, S: Storage<T>>(
    context: *mut c_void,
    cell: *mut u8,
    object: *mut PyObject,
    error_out: *mut ErrorOut,
) -> Status {
    // SAFETY: the context is ours, the `ErrorOut` the caller's.
    let shared = unsafe { shared::<T>(context) };
    // SAFETY: the cell is writable; the object is alive and the GIL held.
    unsafe {
        batch(shared, error_out, |_| {
            let value = hook(&shared.from_python, shared)?(object)?;
            S::store(cell, value);
            Ok(())
        })
    }
}
