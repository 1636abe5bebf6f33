//! Bytes that a client writes piece by piece.

use crate::{
    abi::{self, ErrorOut, Sink, Status},
    dtype::handle::trampoline,
    erased::Failure,
};

/// Appends what a client writes to the vector that is the sink's context.
///
/// # Safety
/// `(*sink).context` is a `Vec<u8>` that lives through the call; `size` readable bytes.
pub unsafe extern "C" fn append(sink: *mut Sink, bytes: *const u8, size: usize) -> Status {
    trampoline::failing(abi::FAILED, || {
        // SAFETY: the caller's promise.
        unsafe {
            let collected = &mut *(*sink).context.cast::<Vec<u8>>();
            if size == 0 {
                return abi::OK;
            }
            if collected.try_reserve(size).is_err() {
                return abi::FAILED;
            }
            collected.extend_from_slice(std::slice::from_raw_parts(bytes, size));
        }
        abi::OK
    })
}

/// Collects what a client writes to a sink.
///
/// # Errors
/// What `write` fails with.
pub fn collect(write: impl FnOnce(*mut Sink, *mut ErrorOut) -> Status) -> Result<Vec<u8>, Failure> {
    let mut collected: Vec<u8> = Vec::new();
    let mut sink = Sink { write: append, context: (&raw mut collected).cast() };
    let mut report = ErrorOut::new();
    let status = write(&mut sink, &mut report);
    Failure::check(status, &report).map(|()| collected)
}
