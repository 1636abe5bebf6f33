//! The bundled types for those who test them from outside: fuzz targets, without Python.

use super::{Integer, Rational, boxed, integer, rational};
use crate::client::{Definition, Error};

/// The description of [`Integer`], without what needs Python.
///
/// # Errors
/// A mistake in the description.
pub fn integer() -> Result<Definition<Integer>, Error> {
    integer::describe().define("denizen")
}

/// The description of [`Rational`], without what needs Python or `Integer`.
///
/// # Errors
/// A mistake in the description.
pub fn rational() -> Result<Definition<Rational>, Error> {
    rational::describe().define("denizen")
}

/// How many values of both types this thread has on the heap: made here, less those dropped here.
pub fn heap_values() -> i64 {
    boxed::live()
}
