//! Conversions to and from other numbers, and the compact bytes of the codec. None loses
//! anything but the one to float, which rounds to nearest.

use super::Rational;
use super::value::Parts;
use crate::elements::integer::gcd_u64;
use crate::elements::{Integer, NumberError};
use dashu_base::{BitTest, DivRem, Sign};
use dashu_int::{IBig, UBig};
use dashu_ratio::RBig;

impl From<&Integer> for Rational {
    #[inline]
    fn from(value: &Integer) -> Self {
        match i64::try_from(value) {
            Ok(value) => value.into(),
            Err(_) => value.to_ibig().into(),
        }
    }
}

impl TryFrom<&Rational> for Integer {
    type Error = NumberError;

    #[inline]
    fn try_from(value: &Rational) -> Result<Self, NumberError> {
        if value.is_integer() { Ok(value.numerator()) } else { Err(NumberError::NotIntegral) }
    }
}

impl From<u64> for Rational {
    #[inline]
    fn from(value: u64) -> Self {
        Rational::reduced(value.into(), 1)
    }
}

/// Every finite float is a fraction.
impl TryFrom<f64> for Rational {
    type Error = NumberError;

    fn try_from(value: f64) -> Result<Self, NumberError> {
        const MANTISSA_BITS: u32 = 52;
        if value.is_nan() {
            return Err(NumberError::NotANumber);
        }
        if value.is_infinite() {
            return Err(NumberError::Infinite);
        }
        if value == 0.0 {
            return Ok(Rational::ZERO);
        }
        let bits = value.to_bits();
        let biased = (bits >> MANTISSA_BITS & 0x7ff) as i32;
        let fraction = bits & ((1 << MANTISSA_BITS) - 1);
        // Subnormal numbers have no hidden bit and the exponent of the smallest normal ones.
        let mantissa = if biased == 0 { fraction } else { fraction | 1 << MANTISSA_BITS };
        let zeros = mantissa.trailing_zeros();
        let exponent = biased.max(1) - 1075 + zeros as i32;
        let mantissa = (mantissa >> zeros) as i64;
        let mantissa = if value < 0.0 { -mantissa } else { mantissa };
        let shift = exponent.unsigned_abs();
        Ok(match exponent {
            ..=-63 => RBig::from_parts(mantissa.into(), UBig::ONE << shift as usize).into(),
            -62..=0 => Rational::small(mantissa, 1 << shift),
            _ => (IBig::from(mantissa) << shift as usize).into(),
        })
    }
}

impl TryFrom<&Rational> for f64 {
    type Error = NumberError;

    /// The nearest float, ties to even; an error where the value rounds beyond the largest one.
    #[inline]
    fn try_from(value: &Rational) -> Result<f64, NumberError> {
        /// Integers up to here are exact as floats.
        const EXACT: u64 = 1 << 53;
        match value.parts() {
            Parts::Small(numerator, denominator)
                if numerator.unsigned_abs() <= EXACT && denominator <= EXACT =>
            {
                // One division of exact operands rounds once.
                Ok(numerator as f64 / denominator as f64)
            }
            _ => nearest_float(&value.wide()).ok_or(NumberError::FloatOverflow),
        }
    }
}

/// The nearest float of a fraction that is not 0; `None` beyond the largest.
fn nearest_float(value: &RBig) -> Option<f64> {
    /// More bits than a float keeps, so that a bit below them can stand for the rest.
    const QUOTIENT_BITS: isize = 66;
    let (sign, numerator) = value.numerator().clone().into_parts();
    let denominator = value.denominator();
    // quotient = numerator * 2^shift / denominator, with 66 or 67 bits.
    let shift = QUOTIENT_BITS - numerator.bit_len() as isize + denominator.bit_len() as isize;
    let distance = shift.unsigned_abs();
    let (quotient, rest) = if shift >= 0 {
        (numerator << distance).div_rem(denominator)
    } else {
        numerator.div_rem(denominator << distance)
    };
    // The lowest bit tells that something follows.
    let quotient = u128::try_from(quotient).ok()? | u128::from(!rest.is_zero());
    // The value is quotient * 2^-shift; its leading bit has this exponent.
    let top = 127 - quotient.leading_zeros() as isize - shift;
    if top > 1023 {
        return None;
    }
    // Below the normal range the last bit stays at 2^-1074.
    let last = (top - 52).max(-1074);
    let drop = (last + shift) as u32;
    let mantissa = if drop > 127 { 0 } else { round_shift(quotient, drop) };
    // At most 2^53: exact. The power may be subnormal, so in two steps, each exact.
    let half = last / 2;
    let float = mantissa as f64 * power_of_two(half) * power_of_two(last - half);
    let float = if sign == Sign::Negative { -float } else { float };
    float.is_finite().then_some(float)
}

/// `value >> count`, to nearest, ties to even. The count is from 1 to 127.
fn round_shift(value: u128, count: u32) -> u128 {
    let floor = value >> count;
    let rest = value & ((1 << count) - 1);
    let half = 1 << (count - 1);
    floor + u128::from(rest > half || (rest == half && floor & 1 == 1))
}

/// `2 ** exponent` for an exponent of a normal float.
fn power_of_two(exponent: isize) -> f64 {
    f64::from_bits(((exponent + 1023) as u64) << 52)
}

impl Rational {
    /// `numerator / denominator`, reduced; a denominator of 0 is an error.
    pub fn from_integers(numerator: &Integer, denominator: &Integer) -> Result<Self, NumberError> {
        match (i64::try_from(numerator), i64::try_from(denominator)) {
            (Ok(_), Ok(0)) => Err(NumberError::DivisionByZero),
            (Ok(numerator), Ok(denominator)) => {
                let negative = (numerator < 0) != (denominator < 0);
                let (numerator, denominator) =
                    (numerator.unsigned_abs(), denominator.unsigned_abs());
                let common = gcd_u64(numerator, denominator);
                let numerator = i128::from(numerator / common);
                let numerator = if negative { -numerator } else { numerator };
                Ok(Rational::reduced(numerator, (denominator / common).into()))
            }
            _ => Rational::new(numerator.to_ibig(), denominator.to_ibig()),
        }
    }

    /// The codec: the length of the numerator's bytes (seven bits a byte, lowest first, the top
    /// bit says that more follow), those bytes, then the bytes of the denominator less one, both
    /// as [`Integer::to_bytes`].
    pub fn to_bytes(&self) -> Vec<u8> {
        let numerator = self.numerator().to_bytes();
        let denominator = self.denominator().sub(&Integer::ONE).to_bytes();
        let mut bytes = Vec::with_capacity(numerator.len() + denominator.len() + 2);
        let mut length = numerator.len();
        while length >= 0x80 {
            bytes.push(length as u8 | 0x80);
            length >>= 7;
        }
        bytes.push(length as u8);
        bytes.extend(numerator);
        bytes.extend(denominator);
        bytes
    }

    /// The value of [`Rational::to_bytes`]; anything that is no fraction is an error.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, NumberError> {
        let damaged = NumberError::Codec("Rational");
        let mut length = 0usize;
        let mut used = 0;
        loop {
            let Some(&byte) = bytes.get(used).filter(|_| used < 9) else {
                return Err(damaged);
            };
            length |= usize::from(byte & 0x7f) << (7 * used);
            used += 1;
            if byte < 0x80 {
                break;
            }
        }
        let rest = &bytes[used..];
        if length > rest.len() {
            return Err(damaged);
        }
        let (numerator, denominator) = rest.split_at(length);
        let denominator = Integer::from_bytes(denominator).add(&Integer::ONE);
        if denominator <= Integer::ZERO {
            return Err(damaged);
        }
        Rational::from_integers(&Integer::from_bytes(numerator), &denominator)
    }
}
