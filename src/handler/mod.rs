//! The NEP 49 handler: NumPy's `malloc`, `calloc`, `realloc` and `free` over managed segments.
//!
//! The functions here are what NumPy calls; the capsule around them and the variable that makes
//! them current are Python's business (`dtype::arming` for our own dtypes, `python::handler` for
//! handler mode, whose dtypes keep objects by way of [`objects`]). What the creator of an array knows about it arrives as a [`allocation_hint`].

pub mod allocation_hint;
mod functions;
pub mod objects;
pub mod realloc_error;
#[cfg(test)]
mod tests;
mod unraisable;

pub use functions::{calloc, free, malloc, realloc};
pub use unraisable::set_unraisable_hook;
