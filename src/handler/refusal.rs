//! Why the last `realloc` on this thread was refused though there was memory. NumPy knows one reason
//! only, and says `MemoryError`; who wraps its `resize` asks here.

use std::cell::Cell;

thread_local! {
    static REFUSAL: Cell<Option<String>> = const { Cell::new(None) };
}

/// Notes a reason.
#[cold]
pub(super) fn leave(reason: String) {
    // A thread that ends has nobody to tell.
    let _ = REFUSAL.try_with(|refusal| refusal.set(Some(reason)));
}

/// Takes the reason, where there is one.
pub fn take() -> Option<String> {
    REFUSAL.try_with(Cell::take).ok().flatten()
}
