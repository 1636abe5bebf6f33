//! `Rational`: exact fractions in two words, with the semantics of Python's
//! `fractions.Fraction`.

mod arithmetic;
mod convert;
mod dot;
mod order;
mod python;
mod round;
mod table;
#[cfg(test)]
mod tests;
mod text;
mod value;

pub(crate) use python::RationalHelpers;
pub(crate) use table::describe;
pub use value::Rational;
