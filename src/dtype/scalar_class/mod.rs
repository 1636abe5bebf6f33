//! The scalar class that the runtime makes for a type that brings none: immutable Python objects
//! that hold one element.
//!
//! * [`class`]: the class itself, and how a scalar is made;
//! * [`values`]: text, hash, truth; [`pickle`]: bytes and back;
//! * [`operators`]: NumPy's ufuncs, so that a scalar follows the same loops and promotion as an array;
//! * [`subscript`]: that of a 0-d array;
//! * [`proxy_array`]: ufuncs and casts on objects where they are, of types without copies.

pub mod class;
mod operators;
pub mod pickle;
mod proxy_array;
pub mod subscript;
mod values;
