//! Arithmetic with Python's rules: `//` and `%` round down, `**` is exact.

use super::Integer;
use super::value::Parts;
use crate::elements::{MAX_BITS, NumberError};
use dashu_base::{Abs, BitTest, DivRem, Gcd, Sign, Signed};
use dashu_int::IBig;
use std::cmp::Ordering;

type Result<T> = std::result::Result<T, NumberError>;

/// Refuses a product that would be too large.
pub(crate) fn check_product(left: &IBig, right: &IBig) -> Result<()> {
    if left.bit_len() + right.bit_len() > MAX_BITS { Err(NumberError::TooLarge) } else { Ok(()) }
}

/// Quotient and remainder, the quotient rounded down. The divisor is not 0.
pub(crate) fn div_floor(left: &IBig, right: &IBig) -> (IBig, IBig) {
    let (mut quotient, mut remainder) = left.div_rem(right);
    if !remainder.is_zero() && remainder.sign() != right.sign() {
        quotient -= 1;
        remainder += right;
    }
    (quotient, remainder)
}

/// As [`div_floor`], for words. The divisor is not 0 and not -1 with the smallest word.
#[inline]
fn div_floor_small(left: i64, right: i64) -> (i64, i64) {
    let (quotient, remainder) = (left / right, left % right);
    if remainder != 0 && (remainder ^ right) < 0 {
        (quotient - 1, remainder + right)
    } else {
        (quotient, remainder)
    }
}

impl Integer {
    /// The sum.
    #[inline]
    pub fn add(&self, other: &Self) -> Self {
        match (self.parts(), other.parts()) {
            // Small values are below 2^62: their sum fits.
            (Parts::Small(left), Parts::Small(right)) => Integer::from(left + right),
            _ => Integer::from(&*self.wide() + &*other.wide()),
        }
    }

    /// The difference.
    #[inline]
    pub fn sub(&self, other: &Self) -> Self {
        match (self.parts(), other.parts()) {
            (Parts::Small(left), Parts::Small(right)) => Integer::from(left - right),
            _ => Integer::from(&*self.wide() - &*other.wide()),
        }
    }

    /// The product.
    #[inline]
    pub fn mul(&self, other: &Self) -> Result<Self> {
        if let (Parts::Small(left), Parts::Small(right)) = (self.parts(), other.parts()) {
            return Ok(Integer::from(i128::from(left) * i128::from(right)));
        }
        let (left, right) = (self.wide(), other.wide());
        check_product(&left, &right)?;
        Ok(Integer::from(&*left * &*right))
    }

    /// The negative value.
    #[inline]
    pub fn neg(&self) -> Self {
        match self.parts() {
            Parts::Small(value) => Integer::from(-value),
            Parts::Big(value) => Integer::from(-value),
        }
    }

    /// The magnitude.
    #[inline]
    pub fn abs(&self) -> Self {
        match self.parts() {
            Parts::Small(value) => Integer::from(value.abs()),
            Parts::Big(value) => Integer::from(value.abs()),
        }
    }

    /// -1, 0 or 1.
    #[inline]
    pub fn signum(&self) -> Self {
        Integer::from(match self.sign() {
            Ordering::Less => -1,
            Ordering::Equal => 0,
            Ordering::Greater => 1,
        })
    }

    /// How the value compares with 0.
    #[inline]
    pub fn sign(&self) -> Ordering {
        match self.parts() {
            Parts::Small(value) => value.cmp(&0),
            Parts::Big(value) if value.is_negative() => Ordering::Less,
            Parts::Big(_) => Ordering::Greater,
        }
    }

    /// Whether the value is 0.
    #[inline]
    pub fn is_zero(&self) -> bool {
        self.word() == 0
    }

    /// `self // other` and `self % other`: the quotient rounded down, the remainder with the
    /// sign of `other`.
    pub fn div_mod(&self, other: &Self) -> Result<(Self, Self)> {
        if other.is_zero() {
            return Err(NumberError::DivisionByZero);
        }
        if let (Parts::Small(left), Parts::Small(right)) = (self.parts(), other.parts()) {
            let (quotient, remainder) = div_floor_small(left, right);
            return Ok((quotient.into(), remainder.into()));
        }
        let (quotient, remainder) = div_floor(&self.wide(), &other.wide());
        Ok((quotient.into(), remainder.into()))
    }

    /// `self // other`.
    #[inline]
    pub fn floor_div(&self, other: &Self) -> Result<Self> {
        Ok(self.div_mod(other)?.0)
    }

    /// `self % other`.
    #[inline]
    pub fn modulo(&self, other: &Self) -> Result<Self> {
        Ok(self.div_mod(other)?.1)
    }

    /// The remainder with the sign of `self`, as C's `fmod`.
    pub fn fmod(&self, other: &Self) -> Result<Self> {
        if other.is_zero() {
            return Err(NumberError::DivisionByZero);
        }
        Ok(match (self.parts(), other.parts()) {
            (Parts::Small(left), Parts::Small(right)) => Integer::from(left % right),
            _ => Integer::from(&*self.wide() % &*other.wide()),
        })
    }

    /// `self ** exponent` for an exponent of at least 0.
    pub fn pow(&self, exponent: &Self) -> Result<Self> {
        if exponent.sign() == Ordering::Less {
            return Err(NumberError::NegativeExponent);
        }
        // Bases whose powers do not grow take any exponent.
        match self.as_small() {
            Some(1) => return Ok(Integer::ONE),
            Some(0) => return Ok(Integer::from(i64::from(exponent.is_zero()))),
            Some(-1) => return Ok(Integer::from(if exponent.is_odd() { -1 } else { 1 })),
            _ => {}
        }
        let exponent = exponent.as_small().ok_or(NumberError::TooLarge)? as u64;
        if self.log2_magnitude() * exponent as f64 > MAX_BITS as f64 {
            return Err(NumberError::TooLarge);
        }
        if let (Some(base), Ok(exponent)) = (self.as_small(), u32::try_from(exponent))
            && let Some(power) = base.checked_pow(exponent)
        {
            return Ok(Integer::from(power));
        }
        Ok(Integer::from(self.wide().pow(exponent as usize)))
    }

    /// The base-2 logarithm of the magnitude, rounded down for big values. Not for 0.
    fn log2_magnitude(&self) -> f64 {
        match self.parts() {
            Parts::Small(value) => (value.unsigned_abs() as f64).log2(),
            Parts::Big(value) => (value.bit_len() - 1) as f64,
        }
    }

    /// Whether the value is odd.
    #[inline]
    pub fn is_odd(&self) -> bool {
        match self.parts() {
            Parts::Small(value) => value & 1 != 0,
            Parts::Big(value) => value.bit(0),
        }
    }

    /// The square.
    pub fn square(&self) -> Result<Self> {
        self.mul(self)
    }

    /// The greatest common divisor, at least 0.
    pub fn gcd(&self, other: &Self) -> Self {
        match (self.parts(), other.parts()) {
            (Parts::Small(left), Parts::Small(right)) => {
                Integer::from(gcd_u64(left.unsigned_abs(), right.unsigned_abs()))
            }
            // dashu panics where both are 0, which is the case above.
            _ => Integer::from(IBig::from((&*self.wide()).gcd(&*other.wide()))),
        }
    }

    /// The least common multiple, at least 0.
    pub fn lcm(&self, other: &Self) -> Result<Self> {
        if self.is_zero() || other.is_zero() {
            return Ok(Integer::ZERO);
        }
        let reduced = self.floor_div(&self.gcd(other))?;
        Ok(reduced.mul(other)?.abs())
    }

    /// Adds in place, reusing the heap cell of a big value.
    pub(crate) fn add_assign(&mut self, other: &Self) {
        match (self.big_mut(), other.parts()) {
            (Some(sum), Parts::Small(value)) => *sum += value,
            (Some(sum), Parts::Big(value)) => *sum += value,
            _ => {
                *self = self.add(other);
                return;
            }
        }
        self.normalise();
    }

    /// The magnitude's sign and the magnitude of a big value's parts, for callers outside.
    pub(crate) fn is_negative(&self) -> bool {
        match self.parts() {
            Parts::Small(value) => value < 0,
            Parts::Big(value) => value.sign() == Sign::Negative,
        }
    }
}

/// Binary greatest common divisor; 0 with 0 gives 0.
#[inline]
pub(crate) fn gcd_u64(mut left: u64, mut right: u64) -> u64 {
    if left == 0 || right == 0 {
        return left | right;
    }
    let shift = (left | right).trailing_zeros();
    left >>= left.trailing_zeros();
    right >>= right.trailing_zeros();
    while left != right {
        let (low, high) = (left.min(right), left.max(right));
        left = low;
        right = high - low;
        right >>= right.trailing_zeros();
    }
    left << shift
}
