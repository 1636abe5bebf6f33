//! Conversions to and from other numbers, and the compact bytes of the codec. None loses
//! anything but the one to float, which rounds to nearest.

use super::Rational;
use super::value::Parts;
use crate::client::{Decoded, Half, LongDouble};
use crate::elements::integer::gcd_u64;
use crate::elements::rounding::{Float, fitting, nearest_fraction, nearest_integer};
use crate::elements::{Integer, NumberError};
use dashu_base::Sign;
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
        if value.is_integer() {
            Ok(value.numerator())
        } else {
            Err(NumberError::NotIntegral(value.shown()))
        }
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

/// Every finite number is a fraction.
impl TryFrom<LongDouble> for Rational {
    type Error = NumberError;

    fn try_from(value: LongDouble) -> Result<Self, NumberError> {
        match value.decode() {
            Decoded::NotANumber => Err(NumberError::NotANumber),
            Decoded::Infinite { .. } => Err(NumberError::Infinite),
            Decoded::Finite { negative, mantissa, exponent } => {
                let magnitude = IBig::from(mantissa);
                let numerator = if negative { -magnitude } else { magnitude };
                let distance = exponent.unsigned_abs() as usize;
                Ok(if exponent < 0 {
                    RBig::from_parts(numerator, UBig::ONE << distance).into()
                } else {
                    (numerator << distance).into()
                })
            }
        }
    }
}

/// The nearest float, ties to even; an error where the value rounds beyond the largest one.
impl TryFrom<&Rational> for f64 {
    type Error = NumberError;

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
            _ => nearest_of(value),
        }
    }
}

/// As for `f64`, rounded once.
impl TryFrom<&Rational> for f32 {
    type Error = NumberError;

    fn try_from(value: &Rational) -> Result<f32, NumberError> {
        /// Integers up to here are exact as floats.
        const EXACT: u64 = 1 << 24;
        match value.parts() {
            Parts::Small(numerator, denominator)
                if numerator.unsigned_abs() <= EXACT && denominator <= EXACT =>
            {
                Ok(numerator as f32 / denominator as f32)
            }
            _ => nearest_of(value),
        }
    }
}

/// As for `f64`, rounded once.
impl TryFrom<&Rational> for Half {
    type Error = NumberError;

    fn try_from(value: &Rational) -> Result<Half, NumberError> {
        nearest_of(value)
    }
}

/// As for `f64`, rounded once.
impl TryFrom<&Rational> for LongDouble {
    type Error = NumberError;

    fn try_from(value: &Rational) -> Result<LongDouble, NumberError> {
        nearest_of(value)
    }
}

fn nearest_of<F: Float>(value: &Rational) -> Result<F, NumberError> {
    let wide = value.wide();
    let (sign, numerator) = wide.numerator().clone().into_parts();
    let negative = sign == Sign::Negative;
    let float = if numerator.is_zero() {
        nearest_integer(negative, &numerator)
    } else {
        nearest_fraction(negative, &numerator, wide.denominator())
    };
    fitting(float, || value.shown())
}

impl Rational {
    /// The value for a message: its digits, where they are few.
    pub(crate) fn shown(&self) -> String {
        if self.is_integer() {
            return self.numerator().shown();
        }
        match (self.numerator().shown(), self.denominator().shown()) {
            (numerator, denominator) if numerator.contains(' ') || denominator.contains(' ') => {
                format!("a fraction of {} bits", self.bits())
            }
            (numerator, denominator) => format!("{numerator}/{denominator}"),
        }
    }
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
