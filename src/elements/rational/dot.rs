//! Sums of products.

use super::Rational;
use crate::elements::NumberError;
use crate::elements::products::{Cells, Dot};

/// Rational's sums of products.
pub struct RationalDot;

impl Dot for RationalDot {
    type Element = Rational;

    unsafe fn dot(left: Cells, right: Cells, count: usize) -> Result<Rational, NumberError> {
        let mut sum = Rational::ZERO;
        for index in 0..count {
            // SAFETY: aligned cells, valid at any bytes that cells hold.
            let (a, b) = unsafe {
                (&*left.at(index).cast::<Rational>(), &*right.at(index).cast::<Rational>())
            };
            if !a.is_zero() && !b.is_zero() {
                sum = sum.add(&a.mul(b)?)?;
            }
        }
        Ok(sum)
    }

    unsafe fn gather(_cells: Cells, _count: usize, _buffer: &mut Vec<i64>) -> Option<Cells> {
        // The arithmetic outweighs the way to the cells.
        None
    }
}
