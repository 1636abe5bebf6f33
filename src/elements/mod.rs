//! Bundled element types, written on the client interface alone: what they can do, a type in any
//! extension crate can do.
//!
//! * [`Integer`]: exact, unbounded, Python's `int` in eight bytes.
//! * [`Rational`]: exact fractions, Python's `fractions.Fraction` in sixteen bytes.

mod boxed;
mod call;
mod error;
mod floats;
pub mod integer;
mod mixed;
mod products;
mod python;
pub mod rational;
mod raw_loops;
mod register;
mod rounding;
#[cfg(feature = "testing")]
pub mod testing;
#[cfg(test)]
mod tests;
mod text;

pub use error::NumberError;
pub use integer::Integer;
pub use rational::Rational;
pub use register::register;

/// Most bits that one integer may have: 2^32 (512 MiB). An operation whose result would be
/// larger is refused with [`NumberError::TooLarge`] before anything is allocated.
pub const MAX_BITS: usize = 1 << 32;
