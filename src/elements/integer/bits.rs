//! Shifts and bit operations; negative values are two's complement of endless width, as in
//! Python.

use super::Integer;
use super::value::Parts;
use crate::elements::{MAX_BITS, NumberError};
use dashu_base::BitTest;
use std::cmp::Ordering;

type Result<T> = std::result::Result<T, NumberError>;

macro_rules! bit_operation {
    ($(#[$doc:meta] $name:ident $operator:tt;)*) => {$(
        #[$doc]
        #[inline]
        pub fn $name(&self, other: &Self) -> Self {
            match (self.parts(), other.parts()) {
                (Parts::Small(left), Parts::Small(right)) => Integer::from(left $operator right),
                _ => Integer::from(&*self.wide() $operator &*other.wide()),
            }
        }
    )*};
}

impl Integer {
    bit_operation! {
        /// `self & other`.
        bit_and &;
        /// `self | other`.
        bit_or |;
        /// `self ^ other`.
        bit_xor ^;
    }

    /// `~self`.
    #[inline]
    pub fn bit_not(&self) -> Self {
        match self.parts() {
            Parts::Small(value) => Integer::from(!value),
            Parts::Big(value) => Integer::from(!value),
        }
    }

    /// `self << count`.
    pub fn shift_left(&self, count: &Self) -> Result<Self> {
        if count.sign() == Ordering::Less {
            return Err(NumberError::NegativeShift);
        }
        if self.is_zero() {
            return Ok(Integer::ZERO);
        }
        let count = count
            .as_small()
            .and_then(|count| usize::try_from(count).ok())
            .filter(|count| count + self.bit_length() <= MAX_BITS)
            .ok_or(NumberError::TooLarge)?;
        if let Some(value) = self.as_small()
            && count < 64
        {
            return Ok(Integer::from(i128::from(value) << count));
        }
        Ok(Integer::from(&*self.wide() << count))
    }

    /// `self >> count`, rounded down.
    pub fn shift_right(&self, count: &Self) -> Result<Self> {
        if count.sign() == Ordering::Less {
            return Err(NumberError::NegativeShift);
        }
        let nothing_left = || Integer::from(if self.is_negative() { -1 } else { 0 });
        let Some(count) = count.as_small().map(|count| count as usize) else {
            return Ok(nothing_left());
        };
        Ok(match self.parts() {
            Parts::Small(value) => Integer::from(value >> count.min(63)),
            Parts::Big(value) if count >= value.bit_len() => nothing_left(),
            Parts::Big(value) => Integer::from(value >> count),
        })
    }

    /// Bits of the magnitude: Python's `int.bit_length`.
    #[inline]
    pub fn bit_length(&self) -> usize {
        match self.parts() {
            Parts::Small(value) => (64 - value.unsigned_abs().leading_zeros()) as usize,
            Parts::Big(value) => value.bit_len(),
        }
    }

    /// Ones in the magnitude: Python's `int.bit_count`.
    pub fn bit_count(&self) -> usize {
        match self.parts() {
            Parts::Small(value) => value.unsigned_abs().count_ones() as usize,
            Parts::Big(value) => {
                value.as_sign_words().1.iter().map(|word| word.count_ones() as usize).sum()
            }
        }
    }
}
