//! The one frame between C code and the functions of the runtime that it calls: a panic becomes a
//! Python exception, whatever slot it happens in.
//!
//! | function | for |
//! |---|---|
//! | [`slot`] | slots, methods and patches: whatever may run Python code |
//! | [`inlined`], [`looped`] | loops and slots that NumPy calls once an element, inlined into their frame |
//! | [`end`] | destructors: no caller takes an exception from them, it is reported |
//! | [`failing`] | functions that client code calls, which have a way of their own to fail |
//!
//! The exception is raised after the frame that caught the panic was left: a thread without the GIL
//! has to take it then, and at interpreter exit it may end there.
//!
//! [`slot`] and [`end`] call the body through a pointer that the compiler cannot see through. pyo3
//! declares CPython's functions as such that never unwind, but before CPython 3.14 a daemon thread
//! that asks for the GIL at interpreter exit is unwound out of them. Where a frame has a handler of
//! panics, and a call in it that is said not to unwind, such a thread aborts the process; behind the
//! pointer the body's frame has no handler, and the one here waits ([`crate::boundary`]).

use crate::{
    abi,
    boundary::{self, Payload, catch},
    dtype::handle::errors,
    erased::Failure,
    faults,
};
use std::ffi::c_int;

/// What a function of C's convention returns when it fails.
pub(crate) trait Failed: Copy {
    /// With an exception set.
    const FAILED: Self;
}

macro_rules! failed {
    ($($type:ty: $value:expr),* $(,)?) => {
        $(impl Failed for $type {
            const FAILED: Self = $value;
        })*
    };
}

// Integers as NumPy and CPython take them: statuses, castings, hashes; `npy_bool`.
failed!((): (), i32: -1, isize: -1, u8: 0);

impl<T> Failed for *mut T {
    const FAILED: Self = std::ptr::null_mut();
}

/// Runs the body of a slot. After a panic an exception is set, which names the slot, and the result
/// is that of a failure.
#[inline]
pub(crate) fn slot<R: Failed>(name: &'static str, body: impl FnOnce() -> R) -> R {
    caught(body).unwrap_or_else(|payload| {
        raise(name, payload);
        R::FAILED
    })
}

/// As [`slot`], in the caller's frame: for bodies that call no function of CPython's which may run
/// Python code.
#[inline(always)]
pub(crate) fn inlined<R: Failed>(name: &'static str, body: impl FnOnce() -> R) -> R {
    match catch(|| {
        faults::slot();
        body()
    }) {
        Ok(result) => result,
        Err(payload) => {
            raise(name, payload);
            R::FAILED
        }
    }
}

/// Runs the work of a loop in the caller's frame, as [`inlined`]. What it fails with becomes an exception
/// when the frame is left: the thread may have to take the GIL for it.
#[inline(always)]
pub(crate) fn looped(name: &'static str, work: impl FnOnce() -> Result<(), Failure>) -> c_int {
    let outcome = catch(|| {
        faults::slot();
        work()
    });
    finish(name, outcome)
}

/// As [`looped`], of work that may give the GIL up and take it again, or calls Python itself.
#[inline]
pub(crate) fn looped_apart(
    name: &'static str,
    work: impl FnOnce() -> Result<(), Failure>,
) -> c_int {
    finish(name, caught(work))
}

#[inline(always)]
fn finish(name: &'static str, outcome: Result<Result<(), Failure>, Payload>) -> c_int {
    match outcome {
        Ok(Ok(())) => return 0,
        Ok(Err(failure)) => errors::raise_from_anywhere(&failure),
        Err(payload) => raise(name, payload),
    }
    -1
}

/// Runs the body of a destructor. A panic is reported as an exception that no caller takes.
#[inline]
pub(crate) fn end(name: &'static str, body: impl FnOnce()) {
    if let Err(payload) = caught(body) {
        errors::write_unraisable(&failure(name, payload), errors::DESTRUCTOR);
    }
}

/// Runs a function that a client calls. A panic has no other trace than the result `failed`, of
/// which the client says what it means.
#[inline(always)]
pub(crate) fn failing<R>(failed: R, body: impl FnOnce() -> R) -> R {
    catch(|| {
        faults::slot();
        body()
    })
    .unwrap_or_else(|payload| {
        boundary::discard(payload);
        failed
    })
}

/// Runs a body, behind a pointer; a panic in it is the error, for [`raise`].
///
/// # Errors
/// What a panic carried.
#[inline]
pub(crate) fn caught<R>(body: impl FnOnce() -> R) -> Result<R, Payload> {
    let mut body = Some(body);
    let mut result = None;
    enter(&mut || result = body.take().map(|body| body()))?;
    result.ok_or_else(|| Box::new("a body that did not run") as Payload)
}

/// The frame. Its own, and one for all: so the call of `body` is one that may unwind.
#[inline(never)]
fn enter(body: &mut dyn FnMut()) -> Result<(), Payload> {
    catch(|| {
        faults::slot();
        body();
    })
}

/// Sets the exception of a panic, from a thread that may or may not hold the GIL.
#[cold]
#[inline(never)]
pub(crate) fn raise(name: &str, payload: Payload) {
    errors::raise_from_anywhere(&failure(name, payload));
}

/// The failure that a panic is.
#[cold]
fn failure(name: &str, payload: Payload) -> Failure {
    let text = boundary::text(&payload).unwrap_or("no message");
    let kind =
        if boundary::is_lack_of_memory(text) { abi::ERROR_MEMORY } else { abi::ERROR_RUNTIME };
    let message = format!("denizen's {name} panicked: {text}; please report it");
    boundary::discard(payload);
    Failure::new(kind, message)
}
