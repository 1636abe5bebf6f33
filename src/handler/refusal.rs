//! Why the last `realloc` on this thread was refused though there was memory. NumPy knows one reason
//! only, and says `MemoryError`; who wraps its `resize` asks here.

use crate::erased::Failure;
use std::cell::Cell;

thread_local! {
    static REFUSAL: Cell<Option<Failure>> = const { Cell::new(None) };
}

/// Notes a reason.
#[cold]
pub(super) fn leave(reason: Failure) {
    // A thread that ends has nobody to tell.
    let _ = REFUSAL.try_with(|refusal| refusal.set(Some(reason)));
}

/// Takes the reason, where there is one.
pub fn take() -> Option<Failure> {
    REFUSAL.try_with(Cell::take).ok().flatten()
}
