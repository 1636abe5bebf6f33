//! What a closure that generates values may return.

use arbitrary::Unstructured;

/// Generates a value of T, or none from these bytes.
pub type Generator<T> = fn(&mut Unstructured<'_>) -> Option<T>;

/// A value of T, or a `Result` or `Option` of one.
pub trait Generate<T> {
    /// The value, if there is one.
    fn generate(self) -> Option<T>;
}

impl<T> Generate<T> for T {
    fn generate(self) -> Option<T> {
        Some(self)
    }
}

impl<T> Generate<T> for Option<T> {
    fn generate(self) -> Option<T> {
        self
    }
}

impl<T> Generate<T> for arbitrary::Result<T> {
    fn generate(self) -> Option<T> {
        self.ok()
    }
}
