//! Where failures of the handler go, and where its panics stop.

use crate::{
    abi,
    boundary::{self, catch},
    erased::Failure,
    faults,
};
use std::sync::OnceLock;

static UNRAISABLE: OnceLock<fn(&Failure)> = OnceLock::new();

/// Where failures go that no caller can be told of: the runtime makes unraisable exceptions of them.
pub fn set_unraisable_hook(hook: fn(&Failure)) {
    // The first hook stays: there is one runtime a process.
    let _ = UNRAISABLE.set(hook);
}

pub(super) fn unraisable(failure: &Failure) {
    if let Some(hook) = UNRAISABLE.get() {
        hook(failure);
    }
}

/// Runs one of the functions; a panic in it is reported, and the result `failed`. The report may take
/// the GIL, which is why the frame that caught the panic is left first.
#[inline(always)]
pub(super) fn guarded<R>(name: &str, failed: R, function: impl FnOnce() -> R) -> R {
    catch(|| {
        faults::slot();
        function()
    })
    .unwrap_or_else(|payload| {
        panicked(name, payload);
        failed
    })
}

#[cold]
fn panicked(name: &str, payload: boundary::Payload) {
    let text = boundary::text(&payload).unwrap_or("no message");
    let message = format!("denizen's handler panicked in {name}: {text}; please report it");
    boundary::discard(payload);
    unraisable(&Failure::new(abi::ERROR_RUNTIME, message));
}
