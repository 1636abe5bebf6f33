//! The one place where panics stop: nothing unwinds out of a function that the runtime calls.

use super::attachment::attached;
use super::error::{Error, Failure};
use super::shared::Shared;
use crate::abi::{self, ErrorOut, Status};
use crate::boundary::{self, Payload, catch};

/// Runs one batch. `body` counts finished elements in its argument; a failure or a panic is
/// written to `error_out` with that count.
///
/// # Safety
/// `error_out` points to a writable [`ErrorOut`].
#[inline(always)]
pub(super) unsafe fn batch<T>(
    shared: &Shared<T>,
    error_out: *mut ErrorOut,
    body: impl FnOnce(&mut usize) -> Result<(), Failure>,
) -> Status {
    attached(shared.is_attached(), || {
        let mut done = 0;
        let failure = match catch(|| body(&mut done)) {
            Ok(Ok(())) => return abi::OK,
            Ok(Err(failure)) => failure,
            Err(payload) => Failure::Error(from_panic(payload)),
        };
        // SAFETY: the caller's promise.
        failure.write(unsafe { &mut *error_out }, shared.name(), done)
    })
}

/// The error that a panic becomes.
#[cold]
pub(super) fn from_panic(payload: Payload) -> Error {
    let payload = match payload.downcast::<Error>() {
        Ok(error) => return *error,
        Err(payload) => payload,
    };
    let text = boundary::text(&payload).unwrap_or("a panic without a message").to_owned();
    boundary::discard(payload);
    let kind = if boundary::is_lack_of_memory(&text) {
        super::ErrorKind::Memory
    } else {
        super::ErrorKind::Runtime
    };
    Error::new(kind, text)
}
