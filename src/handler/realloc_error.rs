//! Why the last `realloc` on this thread was refused though there was memory. NumPy knows one reason
//! only, and says `MemoryError`; who wraps its `resize` asks here.

use crate::erased::Failure;
use std::cell::{Cell, RefCell};

thread_local! {
    static REALLOC_ERROR: RefCell<Option<Failure>> = const { RefCell::new(None) };
    /// How many calls at work on this thread will ask.
    static ASKING: Cell<usize> = const { Cell::new(0) };
}

/// A call at work that asks for the reason at its end.
#[derive(Debug)]
pub struct Asking(Option<Failure>);

impl Asking {
    /// From here on reasons are kept, the first of them.
    pub fn begin() -> Asking {
        let _ending = ASKING.try_with(|asking| asking.set(asking.get() + 1));
        Asking(replace(None))
    }

    /// The reason, where there is one.
    pub fn end(self) -> Option<Failure> {
        replace(None)
    }
}

impl Drop for Asking {
    fn drop(&mut self) {
        let _ending = ASKING.try_with(|asking| asking.set(asking.get() - 1));
        replace(self.0.take());
    }
}

fn replace(reason: Option<Failure>) -> Option<Failure> {
    REALLOC_ERROR.try_with(|error| error.replace(reason)).ok().flatten()
}

/// Keeps a reason, unless there is an earlier one. Gives it back where no call will ask.
///
/// # Errors
/// No call asks.
#[cold]
pub fn leave(reason: Failure) -> Result<(), Failure> {
    // A thread that ends has no caller to tell.
    if ASKING.try_with(Cell::get).unwrap_or_default() == 0 {
        return Err(reason);
    }
    let _ending = REALLOC_ERROR.try_with(|error| {
        error.borrow_mut().get_or_insert(reason);
    });
    Ok(())
}
