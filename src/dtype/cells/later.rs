//! Objects of a tail that a resize gives up, and when they end: after the resize.
//!
//! NumPy clears the tail, then asks for less memory. A destructor that ran between could put new
//! objects into the tail, which would be lost with it.

use crate::{dtype::handle::errors, erased::Staging};
use std::cell::{Cell, RefCell};

thread_local! {
    /// How many resizes are at work on this thread.
    static RESIZES: Cell<usize> = const { Cell::new(0) };
    static KEPT: RefCell<Vec<Staging<'static>>> = const { RefCell::new(Vec::new()) };
}

/// A resize at work: at its end, the objects that were kept meanwhile end.
pub struct Resizing(());

impl Resizing {
    /// From here on objects are kept.
    pub fn begin() -> Resizing {
        RESIZES.set(RESIZES.get() + 1);
        Resizing(())
    }
}

impl Drop for Resizing {
    fn drop(&mut self) {
        RESIZES.set(RESIZES.get() - 1);
        if RESIZES.get() > 0 {
            return;
        }
        // Destructors may resize other arrays, or this one once more.
        for mut staging in KEPT.take() {
            // SAFETY: a resize holds the GIL.
            unsafe {
                errors::keeping_exception(|| {
                    if let Err(failure) = staging.end() {
                        errors::write_unraisable(&failure, errors::DESTRUCTOR);
                    }
                });
            }
        }
    }
}

/// Whether objects that a clear loop takes out of their cells are to be kept.
#[inline]
pub fn is_resizing() -> bool {
    RESIZES.try_with(Cell::get).unwrap_or_default() > 0
}

/// Keeps objects that left their cells.
pub fn keep(staging: Staging<'static>) {
    KEPT.with_borrow_mut(|kept| kept.push(staging));
}
