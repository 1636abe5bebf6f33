//! Allocations that fail on request, for tests of what happens then.

use std::cell::Cell;

thread_local! {
    /// Allocations of this thread until one fails.
    static COUNTDOWN: Cell<Option<u32>> = const { Cell::new(None) };
}

/// Has the allocation of this thread after `allocations` more fail, once.
pub fn plan_failure(allocations: u32) {
    COUNTDOWN.set(Some(allocations));
}

/// Takes the plan back; says whether the planned failure had not happened yet.
pub fn cancel() -> bool {
    COUNTDOWN.take().is_some()
}

/// Counts one allocation, which may be the one that fails.
pub(crate) fn is_due() -> bool {
    match COUNTDOWN.get() {
        None => false,
        Some(0) => {
            COUNTDOWN.set(None);
            true
        }
        Some(left) => {
            COUNTDOWN.set(Some(left - 1));
            false
        }
    }
}
