//! Reading a client's spec: size-prefixed lists and texts.

use crate::{
    abi::{Cast, ElementSpec, Identity, Loop},
    erased::read_prefixed,
};
use pyo3::{
    exceptions::{PyRuntimeError, PyValueError},
    prelude::*,
};
use std::{
    ffi::{CStr, c_char},
    mem::{MaybeUninit, offset_of},
};

/// Copies a client's spec.
///
/// # Errors
/// `ValueError` where it is none.
///
/// # Safety
/// NULL, or a client's spec as [`crate::abi`] describes it.
pub unsafe fn read(spec: *const ElementSpec) -> PyResult<ElementSpec> {
    // SAFETY: the caller's promise.
    unsafe {
        read_prefixed(
            spec,
            |spec: &ElementSpec| spec.struct_size,
            offset_of!(ElementSpec, documentation),
        )
    }
    .map_err(|error| PyValueError::new_err(format!("element spec: {error}")))
}

/// What the entries of a list must have: the list's name, and the pointers that must not be NULL,
/// by offset and name.
pub struct Members<T> {
    list: &'static str,
    required: &'static [(usize, &'static str)],
    struct_size: fn(&T) -> usize,
}

pub const LOOP_MEMBERS: Members<Loop> = Members {
    list: "loops",
    required: &[(offset_of!(Loop, ufunc), "ufunc"), (offset_of!(Loop, operands), "operands")],
    struct_size: |entry| entry.struct_size,
};
pub const CAST_MEMBERS: Members<Cast> = Members {
    list: "casts",
    required: &[(offset_of!(Cast, function), "function")],
    struct_size: |entry| entry.struct_size,
};
pub const IDENTITY_MEMBERS: Members<Identity> = Members {
    list: "identities",
    required: &[
        (offset_of!(Identity, ufunc), "ufunc"),
        (offset_of!(Identity, construct), "construct"),
    ],
    struct_size: |entry| entry.struct_size,
};

/// Reads an array of size-prefixed structs.
///
/// # Errors
/// `ValueError` naming list, index and member where one is missing or has a wrong size.
///
/// # Safety
/// `entries` points to `count` structs as the client knows them, or `count` is 0. The members
/// describe `T`.
pub unsafe fn list<T: Copy>(
    entries: *const T,
    count: usize,
    members: &Members<T>,
) -> PyResult<Vec<T>> {
    let list = members.list;
    let mut read = Vec::new();
    let mut next = entries;
    for index in 0..count {
        let refuse =
            |why: String| PyValueError::new_err(format!("element spec: {list}[{index}]: {why}"));
        // As bytes first: a function pointer that is NULL must not become a value of its type.
        // SAFETY: the caller's promise; all bytes are valid bytes, and the size is the first member.
        let entry = unsafe {
            read_prefixed(
                next.cast::<MaybeUninit<T>>(),
                |bytes| bytes.as_ptr().cast::<usize>().read(),
                size_of::<T>(),
            )
        }
        .map_err(refuse)?;
        for (offset, name) in members.required {
            // SAFETY: the member is a pointer, inside the struct, all of which was read.
            if unsafe { entry.as_ptr().byte_add(*offset).cast::<usize>().read() } == 0 {
                return Err(refuse(format!("`{name}` is NULL")));
            }
        }
        // SAFETY: all bytes were read, and no member that must not be NULL is.
        let entry = unsafe { entry.assume_init() };
        // SAFETY: the next struct follows after as many bytes as this one has.
        next = unsafe { next.byte_add((members.struct_size)(&entry)) };
        read.push(entry);
    }
    Ok(read)
}

/// A text that may be missing.
///
/// # Safety
/// NULL or NUL-terminated.
pub unsafe fn optional_text(text: *const c_char) -> Option<String> {
    if text.is_null() {
        return None;
    }
    // SAFETY: the caller's promise.
    Some(unsafe { CStr::from_ptr(text) }.to_string_lossy().into_owned())
}

/// The name of an entry.
///
/// # Errors
/// There is none.
///
/// # Safety
/// NULL or NUL-terminated.
pub unsafe fn required_text(text: *const c_char, what: &str) -> PyResult<String> {
    // SAFETY: the caller's promise.
    unsafe { optional_text(text) }
        .ok_or_else(|| PyRuntimeError::new_err(format!("element spec: a {what} has no name")))
}
