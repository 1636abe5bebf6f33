//! Rounding to integers.

use super::Rational;
use super::value::Parts;
use crate::elements::Integer;
use crate::elements::integer::div_floor;
use dashu_int::IBig;
use std::cmp::Ordering;

impl Rational {
    /// The integer below or equal, and how the rest compares with one half.
    fn floor_and_rest(&self) -> (Integer, Ordering) {
        match self.parts() {
            Parts::Small(numerator, denominator) => {
                // The denominator is at most 2^63 - 1.
                let denominator = denominator as i64;
                let rest = numerator.rem_euclid(denominator);
                let half = (rest as u64 * 2).cmp(&(denominator as u64));
                (numerator.div_euclid(denominator).into(), half)
            }
            Parts::Big(value) => {
                let denominator = IBig::from(value.denominator().clone());
                let (floor, rest) = div_floor(value.numerator(), &denominator);
                (floor.into(), IBig::cmp(&(rest * 2), &denominator))
            }
        }
    }

    /// The largest integer not above the value.
    pub fn floor(&self) -> Integer {
        self.floor_and_rest().0
    }

    /// The smallest integer not below the value.
    pub fn ceil(&self) -> Integer {
        let floor = self.floor_and_rest().0;
        if self.is_integer() { floor } else { floor.add(&Integer::ONE) }
    }

    /// The integer part: rounded toward 0.
    pub fn trunc(&self) -> Integer {
        if self.is_negative() { self.ceil() } else { self.floor() }
    }

    /// The nearest integer, ties to even, as Python's `round`.
    pub fn round(&self) -> Integer {
        let (floor, half) = self.floor_and_rest();
        let up = match half {
            Ordering::Less => false,
            Ordering::Equal => floor.is_odd(),
            Ordering::Greater => true,
        };
        if up { floor.add(&Integer::ONE) } else { floor }
    }
}
