//! Arithmetic. Small operands work in 128 bits with 64-bit greatest common divisors only.

use super::Rational;
use super::value::Parts;
use crate::elements::integer::{div_floor, gcd_u64};
use crate::elements::{Integer, MAX_BITS, NumberError};
use dashu_base::Signed;
use dashu_int::IBig;
use dashu_ratio::RBig;
use std::cmp::Ordering;

type Result<T> = std::result::Result<T, NumberError>;

/// `value % modulus` without 128-bit division where it can be avoided.
#[inline]
fn remainder(value: u128, modulus: u64) -> u64 {
    match u64::try_from(value) {
        Ok(value) => value % modulus,
        Err(_) => (value % u128::from(modulus)) as u64,
    }
}

/// `value / divisor`, as [`remainder`].
#[inline]
fn divide(value: i128, divisor: u64) -> i128 {
    if divisor == 1 {
        return value;
    }
    match (i64::try_from(value), i64::try_from(divisor)) {
        (Ok(value), Ok(divisor)) => (value / divisor).into(),
        _ => value / i128::from(divisor),
    }
}

/// `a/b + c/d` (Knuth, The Art of Computer Programming, 4.5.1): reduced operands give a reduced
/// result with no gcd of more than a denominator's size.
#[inline]
fn add_small((a, b): (i128, u64), (c, d): (i128, u64)) -> Rational {
    if b == 1 && d == 1 {
        return Rational::reduced(a + c, 1);
    }
    let common = if b == d { b } else { gcd_u64(b, d) };
    if common == 1 {
        let numerator = a * i128::from(d) + c * i128::from(b);
        return Rational::reduced(numerator, u128::from(b) * u128::from(d));
    }
    let (b, d_rest) = (b / common, d / common);
    let sum = a * i128::from(d_rest) + c * i128::from(b);
    let again = gcd_u64(remainder(sum.unsigned_abs(), common), common);
    Rational::reduced(divide(sum, again), u128::from(b) * u128::from(d / again))
}

/// `a/b * c/d` with magnitudes and a sign.
#[inline]
fn mul_small(negative: bool, (a, b): (u64, u64), (c, d): (u64, u64)) -> Rational {
    let reduce = |numerator, denominator| {
        if denominator == 1 {
            return (numerator, 1);
        }
        let common = gcd_u64(numerator, denominator);
        if common == 1 {
            (numerator, denominator)
        } else {
            (numerator / common, denominator / common)
        }
    };
    let ((a, d), (c, b)) = (reduce(a, d), reduce(c, b));
    // Magnitudes are at most 2^63: the product fits.
    let numerator = (u128::from(a) * u128::from(c)) as i128;
    let numerator = if negative { -numerator } else { numerator };
    Rational::reduced(numerator, u128::from(b) * u128::from(d))
}

/// Floor division of wide numbers; the divisor is positive.
#[inline]
fn floor_small(value: i128, divisor: i128) -> (i128, i128) {
    match (i64::try_from(value), i64::try_from(divisor)) {
        (Ok(value), Ok(divisor)) => {
            (value.div_euclid(divisor).into(), value.rem_euclid(divisor).into())
        }
        _ => (value.div_euclid(divisor), value.rem_euclid(divisor)),
    }
}

/// Reduces by a gcd of 128 bits.
fn reduce_wide(numerator: i128, denominator: u128) -> Rational {
    let (mut a, mut b) = (numerator.unsigned_abs(), denominator);
    if let (Ok(a), Ok(b)) = (u64::try_from(a), u64::try_from(b)) {
        let common = gcd_u64(a, b);
        return Rational::reduced(divide(numerator, common), (b / common).into());
    }
    while b != 0 {
        (a, b) = (b, a % b);
    }
    Rational::reduced(numerator / a as i128, denominator / a)
}

impl Rational {
    /// Refuses a result that could be too large: numerators and denominators of sums, products
    /// and quotients have at most the bits of both operands, and one.
    #[inline]
    fn check_size(&self, other: &Self) -> Result<()> {
        if self.bits() + other.bits() > MAX_BITS { Err(NumberError::TooLarge) } else { Ok(()) }
    }

    /// The sum.
    #[inline]
    pub fn add(&self, other: &Self) -> Result<Self> {
        if let (Parts::Small(a, b), Parts::Small(c, d)) = (self.parts(), other.parts()) {
            return Ok(add_small((a.into(), b), (c.into(), d)));
        }
        self.check_size(other)?;
        Ok((&*self.wide() + &*other.wide()).into())
    }

    /// The difference.
    #[inline]
    pub fn sub(&self, other: &Self) -> Result<Self> {
        if let (Parts::Small(a, b), Parts::Small(c, d)) = (self.parts(), other.parts()) {
            return Ok(add_small((a.into(), b), (-i128::from(c), d)));
        }
        self.check_size(other)?;
        Ok((&*self.wide() - &*other.wide()).into())
    }

    /// The product.
    #[inline]
    pub fn mul(&self, other: &Self) -> Result<Self> {
        if let (Parts::Small(a, b), Parts::Small(c, d)) = (self.parts(), other.parts()) {
            return Ok(mul_small((a ^ c) < 0, (a.unsigned_abs(), b), (c.unsigned_abs(), d)));
        }
        self.check_size(other)?;
        Ok((&*self.wide() * &*other.wide()).into())
    }

    /// The quotient.
    #[inline]
    pub fn div(&self, other: &Self) -> Result<Self> {
        if other.is_zero() {
            return Err(NumberError::DivisionByZero);
        }
        if let (Parts::Small(a, b), Parts::Small(c, d)) = (self.parts(), other.parts()) {
            return Ok(mul_small((a ^ c) < 0, (a.unsigned_abs(), b), (d, c.unsigned_abs())));
        }
        self.check_size(other)?;
        Ok((&*self.wide() / &*other.wide()).into())
    }

    /// `1 / self`.
    pub fn reciprocal(&self) -> Result<Self> {
        Rational::ONE.div(self)
    }

    /// `self // other`, an integer, and `self % other`, with the sign of `other`.
    pub fn div_mod(&self, other: &Self) -> Result<(Self, Self)> {
        if other.is_zero() {
            return Err(NumberError::DivisionByZero);
        }
        if let (Parts::Small(a, b), Parts::Small(c, d)) = (self.parts(), other.parts()) {
            // With both over the denominator b * d; signs turned so that the divisor is
            // positive, which turns the remainder's sign too.
            let (value, divisor) = (i128::from(a) * i128::from(d), i128::from(c) * i128::from(b));
            let sign = if divisor < 0 { -1 } else { 1 };
            let (quotient, rest) = floor_small(value * sign, divisor * sign);
            let quotient = Rational::reduced(quotient, 1);
            return Ok((quotient, reduce_wide(rest * sign, u128::from(b) * u128::from(d))));
        }
        self.check_size(other)?;
        let (left, right) = (self.wide(), other.wide());
        let value = left.numerator() * IBig::from(right.denominator().clone());
        let divisor = right.numerator() * IBig::from(left.denominator().clone());
        let (quotient, rest) = div_floor(&value, &divisor);
        let rest = RBig::from_parts(rest, left.denominator() * right.denominator());
        Ok((quotient.into(), rest.into()))
    }

    /// `self // other`.
    pub fn floor_div(&self, other: &Self) -> Result<Self> {
        Ok(self.div_mod(other)?.0)
    }

    /// `self % other`.
    pub fn modulo(&self, other: &Self) -> Result<Self> {
        Ok(self.div_mod(other)?.1)
    }

    /// The remainder with the sign of `self`, as C's `fmod`.
    pub fn fmod(&self, other: &Self) -> Result<Self> {
        let rest = self.abs().modulo(&other.abs())?;
        Ok(if self.is_negative() { rest.neg() } else { rest })
    }

    /// `self ** exponent` for an integral exponent.
    pub fn pow(&self, exponent: &Self) -> Result<Self> {
        if !exponent.is_integer() {
            return Err(NumberError::FractionalExponent);
        }
        self.pow_integer(&exponent.numerator())
    }

    /// `self ** exponent`.
    pub fn pow_integer(&self, exponent: &Integer) -> Result<Self> {
        let negative = exponent.sign() == Ordering::Less;
        if negative && self.is_zero() {
            return Err(NumberError::DivisionByZero);
        }
        let exponent = exponent.abs();
        let numerator = self.numerator().pow(&exponent)?;
        let denominator = self.denominator().pow(&exponent)?;
        // Powers of reduced parts are reduced.
        let (numerator, denominator) =
            if negative { (denominator, numerator) } else { (numerator, denominator) };
        match (i64::try_from(&numerator), i64::try_from(&denominator)) {
            (Ok(numerator), Ok(denominator)) => {
                let negative = (numerator < 0) != (denominator < 0);
                let magnitude = i128::from(numerator.unsigned_abs());
                let numerator = if negative { -magnitude } else { magnitude };
                Ok(Rational::reduced(numerator, denominator.unsigned_abs().into()))
            }
            _ => Rational::new(numerator.to_ibig(), denominator.to_ibig()),
        }
    }

    /// The square.
    pub fn square(&self) -> Result<Self> {
        self.mul(self)
    }

    /// The negative value.
    #[inline]
    pub fn neg(&self) -> Self {
        match self.parts() {
            Parts::Small(numerator, denominator) => {
                Rational::reduced(-i128::from(numerator), denominator.into())
            }
            Parts::Big(value) => (-value).into(),
        }
    }

    /// The magnitude.
    #[inline]
    pub fn abs(&self) -> Self {
        if self.is_negative() { self.neg() } else { self.clone() }
    }

    /// -1, 0 or 1.
    #[inline]
    pub fn signum(&self) -> Self {
        Rational::from(match self.sign() {
            Ordering::Less => -1,
            Ordering::Equal => 0,
            Ordering::Greater => 1,
        })
    }

    /// How the value compares with 0.
    #[inline]
    pub fn sign(&self) -> Ordering {
        match self.parts() {
            Parts::Small(numerator, _) => numerator.cmp(&0),
            Parts::Big(value) if value.is_negative() => Ordering::Less,
            Parts::Big(_) => Ordering::Greater,
        }
    }

    /// Whether the value is below 0.
    #[inline]
    pub fn is_negative(&self) -> bool {
        self.sign() == Ordering::Less
    }

    /// Whether the value is 0.
    #[inline]
    pub fn is_zero(&self) -> bool {
        self.sign() == Ordering::Equal
    }
}
