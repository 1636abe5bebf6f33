//! The one place where panics stop: nothing unwinds out of a function that the runtime calls.

use super::error::{Error, Failure};
use super::shared::Shared;
use crate::abi::{self, Report, Status};
use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};

/// Runs one batch. `body` counts finished elements in its argument; a failure or a panic is
/// written to `report` with that count.
///
/// # Safety
/// `report` points to a writable [`Report`].
#[inline(always)]
pub(super) unsafe fn batch<T>(
    shared: &Shared<T>,
    report: *mut Report,
    body: impl FnOnce(&mut usize) -> Result<(), Failure>,
) -> Status {
    let mut done = 0;
    let failure = match catch_unwind(AssertUnwindSafe(|| {
        let thread_end = ThreadEnd;
        let outcome = body(&mut done);
        thread_end.passed();
        outcome
    })) {
        Ok(Ok(())) => return abi::OK,
        Ok(Err(failure)) => failure,
        Err(payload) => Failure::Error(from_panic(payload)),
    };
    // SAFETY: the caller's promise.
    failure.write(unsafe { &mut *report }, shared.name(), done)
}

/// Where a thread waits for the end of the process, if the interpreter ends it in a call.
///
/// When Python shuts down, CPython before 3.14 ends every other thread that asks for the GIL, with
/// `pthread_exit`: that unwinds, and a frame that catches panics aborts the process. A client's
/// conversion may run Python code, so its frame must not see that. The thread is left hanging
/// instead, without the GIL, as CPython does from 3.14 on
/// (<https://github.com/python/cpython/issues/87135>).
struct ThreadEnd;

impl ThreadEnd {
    /// The body has returned: nothing unwinds.
    #[inline(always)]
    fn passed(self) {
        std::mem::forget(self);
    }
}

impl Drop for ThreadEnd {
    #[cold]
    fn drop(&mut self) {
        // What unwinds without a panic is not Rust's.
        while !std::thread::panicking() {
            std::thread::park();
        }
    }
}

/// The error that a panic becomes.
#[cold]
pub(super) fn from_panic(payload: Box<dyn Any + Send>) -> Error {
    let payload = match payload.downcast::<Error>() {
        Ok(error) => return *error,
        Err(payload) => payload,
    };
    let text = if let Some(text) = payload.downcast_ref::<&'static str>() {
        (*text).to_owned()
    } else if let Some(text) = payload.downcast_ref::<String>() {
        text.clone()
    } else {
        "a panic without a message".to_owned()
    };
    // A payload's own destructor may panic as well; its second payload is given up.
    if let Err(second) = catch_unwind(AssertUnwindSafe(move || drop(payload))) {
        std::mem::forget(second);
    }
    // Big number crates panic where an allocation fails, and so does `Vec` for a size that no
    // address space has.
    let kind = match text.as_str() {
        "out of memory" | "try to allocate too much memory" | "capacity overflow" => {
            super::ErrorKind::Memory
        }
        _ => super::ErrorKind::Runtime,
    };
    Error::new(kind, text)
}
