//! Types whose text shows where they are.

use std::fmt;
use std::mem::ManuallyDrop;

/// A number somewhere. It is not equal to itself where it is NaN.
#[derive(Clone, PartialEq)]
pub struct Placed(Box<f64>);

impl Placed {
    pub fn new(number: f64) -> Self {
        Placed(Box::new(number))
    }
}

impl fmt::Debug for Placed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} at {:p}", self.0, self.0)
    }
}

/// The same, and cannot be compared.
#[derive(Clone, Debug)]
pub struct Incomparable(pub Placed);

/// The same, and forgets its number.
#[derive(Clone, Debug)]
pub struct Forgetful(pub ManuallyDrop<Placed>);
