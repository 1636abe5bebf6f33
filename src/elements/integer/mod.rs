//! `Integer`: exact, unbounded integers in one word, with the semantics of Python's `int`.

mod arithmetic;
mod bits;
mod convert;
mod dot;
mod loops;
mod order;
mod python;
mod table;
#[cfg(test)]
mod tests;
mod text;
mod value;

pub(crate) use arithmetic::{div_floor, gcd_u64};
pub(crate) use order::{HASH_MODULUS, compare_word, reduce_words, signed_hash};
pub(crate) use python::IntegerHelpers;
pub(crate) use table::describe;
pub(crate) use text::parse_digits;
pub use value::Integer;
