//! The C types that the runtime and its clients agree on.
//!
//! Plain data and function pointers only, so that a client links neither the runtime nor Python
//! to use them. Every struct that may grow starts with its own size (`struct_size`); a reader
//! takes a member only where the size covers it, and fills the rest with zeros. Members are
//! appended, never moved or removed.
//!
//! # Conventions
//! * Sizes, alignments and strides are in bytes, counts in elements. A stride may be 0 or
//!   negative.
//! * Every function pointer comes with a `context`, handed back unchanged as its first argument.
//! * A function that can fail returns a [`Status`] and explains a failure in the [`ErrorOut`]. It
//!   never unwinds and never lets an exception out.
//! * Optional function pointers are `Option<..>`: NULL in C.

mod element;
#[cfg(feature = "runtime")]
#[doc(hidden)]
pub mod layout;
mod table;

pub use element::*;
pub use table::*;

use std::{
    ffi::{c_char, c_void},
    mem::MaybeUninit,
};

/// Version of this interface that this copy was built for: `major << 16 | minor`. A new minor
/// version only appends; another major version is another interface.
pub const ABI_VERSION: u32 = 1 << 16 | 2;

/// A Python object, opaque here. Functions that take or return one need an attached thread (the
/// GIL).
#[repr(C)]
pub struct PyObject {
    _opaque: [u8; 0],
    _marker: std::marker::PhantomData<(*mut u8, std::marker::PhantomPinned)>,
}

/// What a fallible function returns: [`OK`] or one of the failures.
pub type Status = i32;
/// Success.
pub const OK: Status = 0;
/// Failure, explained in the [`ErrorOut`].
pub const FAILED: Status = -1;
/// Failure with a Python exception already set. Only from functions called with the GIL held.
pub const RAISED: Status = -2;

/// The kind of a failure: which Python exception it becomes.
pub type ErrorKind = u32;
/// `RuntimeError`.
pub const ERROR_RUNTIME: ErrorKind = 0;
/// `ValueError`.
pub const ERROR_VALUE: ErrorKind = 1;
/// `TypeError`.
pub const ERROR_TYPE: ErrorKind = 2;
/// `OverflowError`.
pub const ERROR_OVERFLOW: ErrorKind = 3;
/// `ZeroDivisionError`.
pub const ERROR_ZERO_DIVISION: ErrorKind = 4;
/// `MemoryError`.
pub const ERROR_MEMORY: ErrorKind = 5;
/// `denizen.VacantError`: a cell without an object was read, and its type has no default.
pub const ERROR_VACANT: ErrorKind = 6;
/// `denizen.BorrowError`: other code has the cells.
pub const ERROR_BORROW: ErrorKind = 7;
/// `IndexError`.
pub const ERROR_INDEX: ErrorKind = 8;
/// `NotImplementedError`.
pub const ERROR_NOT_IMPLEMENTED: ErrorKind = 9;
/// `denizen.IntegrityError`: memory of an array was overwritten by code that had no business there.
pub const ERROR_INTEGRITY: ErrorKind = 10;

/// Bytes of the message of [`ErrorOut`], the terminating NUL included.
pub const MESSAGE_SIZE: usize = 496;

/// Where a fallible function says how far it came and what went wrong. The caller provides it;
/// the callee fills `kind` and `message` on failure and `done` where the function says so.
#[repr(C)]
pub struct ErrorOut {
    /// Bytes of this struct that the caller provides.
    pub struct_size: u32,
    /// Which kind of failure.
    pub kind: ErrorKind,
    /// Elements completed before the failure.
    pub done: usize,
    /// UTF-8 text, NUL-terminated, cut at a character boundary where it does not fit. Bytes
    /// behind the NUL are never read and need no value: a loop call makes one each time.
    pub message: [MaybeUninit<c_char>; MESSAGE_SIZE],
}

impl ErrorOut {
    /// An empty one.
    #[inline]
    pub const fn new() -> Self {
        let mut message = [MaybeUninit::uninit(); MESSAGE_SIZE];
        message[0] = MaybeUninit::new(0);
        ErrorOut {
            struct_size: size_of::<ErrorOut>() as u32,
            kind: ERROR_RUNTIME,
            done: 0,
            message,
        }
    }

    /// Records a failure and returns [`FAILED`], so that callers can `return error_out.fail(..)`.
    pub fn fail(&mut self, kind: ErrorKind, message: &str) -> Status {
        self.kind = kind;
        let mut end = message.len().min(MESSAGE_SIZE - 1);
        while !message.is_char_boundary(end) {
            end -= 1;
        }
        for (to, &byte) in self.message.iter_mut().zip(&message.as_bytes()[..end]) {
            to.write(if byte == 0 { b'?' } else { byte } as c_char);
        }
        self.message[end].write(0);
        FAILED
    }

    /// The message as text.
    pub fn text(&self) -> String {
        let bytes: Vec<u8> = self
            .message
            .iter()
            // SAFETY: `new` and `fail` end the text with a NUL, as every client must; no byte
            // behind it is looked at.
            .map(|character| unsafe { character.assume_init() } as u8)
            .take_while(|&character| character != 0)
            .collect();
        String::from_utf8_lossy(&bytes).into_owned()
    }
}

impl Default for ErrorOut {
    fn default() -> Self {
        Self::new()
    }
}

/// Takes bytes in pieces. `write` may be called any number of times.
#[repr(C)]
pub struct Sink {
    /// Appends `size` bytes.
    pub write: unsafe extern "C" fn(sink: *mut Sink, bytes: *const u8, size: usize) -> Status,
    /// For the owner of the sink.
    pub context: *mut c_void,
}
