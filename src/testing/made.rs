//! What a closure that makes values may return.

use arbitrary::Unstructured;

/// Makes a value of T, or none of these bytes.
pub type Make<T> = fn(&mut Unstructured<'_>) -> Option<T>;

/// A value of T, or a `Result` or `Option` of one.
pub trait Made<T> {
    /// The value, if there is one.
    fn made(self) -> Option<T>;
}

impl<T> Made<T> for T {
    fn made(self) -> Option<T> {
        Some(self)
    }
}

impl<T> Made<T> for Option<T> {
    fn made(self) -> Option<T> {
        self
    }
}

impl<T> Made<T> for arbitrary::Result<T> {
    fn made(self) -> Option<T> {
        self.ok()
    }
}
