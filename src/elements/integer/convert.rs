//! Conversions to and from machine numbers, and the compact bytes of the codec. None loses
//! anything: what does not fit is an error.

use super::Integer;
use super::value::{Parts, SMALL_MAX, SMALL_MIN};
use crate::client::{Decoded, Half, LongDouble};
use crate::elements::rounding::{Float, fitting, nearest_integer};
use crate::elements::{NumberError, Rational};
use dashu_base::{BitTest, Sign};
use dashu_int::IBig;

impl From<i128> for Integer {
    #[inline]
    fn from(value: i128) -> Self {
        match i64::try_from(value) {
            Ok(value) => Integer::from(value),
            Err(_) => Integer::from(IBig::from(value)),
        }
    }
}

impl From<i32> for Integer {
    #[inline]
    fn from(value: i32) -> Self {
        Integer::from(i64::from(value))
    }
}

impl From<u64> for Integer {
    #[inline]
    fn from(value: u64) -> Self {
        Integer::from(i128::from(value))
    }
}

impl TryFrom<&Integer> for i64 {
    type Error = NumberError;

    #[inline]
    fn try_from(value: &Integer) -> Result<i64, NumberError> {
        match value.parts() {
            Parts::Small(value) => Ok(value),
            Parts::Big(value) => i64::try_from(value).map_err(|_| big_does_not_fit(value, "int64")),
        }
    }
}

impl TryFrom<&Integer> for u64 {
    type Error = NumberError;

    #[inline]
    fn try_from(value: &Integer) -> Result<u64, NumberError> {
        match value.parts() {
            Parts::Small(value) => u64::try_from(value)
                .map_err(|_| NumberError::DoesNotFit(value.to_string(), "uint64")),
            Parts::Big(value) => {
                u64::try_from(value).map_err(|_| big_does_not_fit(value, "uint64"))
            }
        }
    }
}

impl TryFrom<&Integer> for i128 {
    type Error = NumberError;

    fn try_from(value: &Integer) -> Result<i128, NumberError> {
        match value.parts() {
            Parts::Small(value) => Ok(value.into()),
            Parts::Big(value) => {
                i128::try_from(value).map_err(|_| big_does_not_fit(value, "128 bits"))
            }
        }
    }
}

/// Exact, so only for a float that is integral.
impl TryFrom<f64> for Integer {
    type Error = NumberError;

    #[inline]
    fn try_from(value: f64) -> Result<Self, NumberError> {
        // Both limits are powers of two, so exact as floats.
        if value >= SMALL_MIN as f64 && value < -(SMALL_MIN as f64) {
            let small = value as i64;
            return if small as f64 == value {
                debug_assert!((SMALL_MIN..=SMALL_MAX).contains(&small));
                Ok(Integer::from(small))
            } else {
                Err(NumberError::NotIntegral(value.to_string()))
            };
        }
        if value.is_nan() {
            return Err(NumberError::NotANumber);
        }
        // A finite float this large is integral.
        IBig::try_from(value).map(Integer::from).map_err(|_| NumberError::Infinite)
    }
}

/// Exact, so only for a number that is integral.
impl TryFrom<LongDouble> for Integer {
    type Error = NumberError;

    fn try_from(value: LongDouble) -> Result<Self, NumberError> {
        match value.decode() {
            Decoded::NotANumber => Err(NumberError::NotANumber),
            Decoded::Infinite { .. } => Err(NumberError::Infinite),
            // The mantissa is odd.
            Decoded::Finite { exponent: ..0, .. } => {
                Err(NumberError::NotIntegral(Rational::try_from(value)?.shown()))
            }
            Decoded::Finite { negative, mantissa, exponent } => {
                let magnitude = IBig::from(mantissa) << exponent as usize;
                Ok(if negative { -magnitude } else { magnitude }.into())
            }
        }
    }
}

/// The nearest float, ties to even; an error where the value rounds beyond the largest one.
impl TryFrom<&Integer> for f64 {
    type Error = NumberError;

    #[inline]
    fn try_from(value: &Integer) -> Result<f64, NumberError> {
        match value.parts() {
            Parts::Small(value) => Ok(value as f64),
            Parts::Big(big) => nearest_of(big),
        }
    }
}

/// As for `f64`, rounded once.
impl TryFrom<&Integer> for f32 {
    type Error = NumberError;

    fn try_from(value: &Integer) -> Result<f32, NumberError> {
        match value.parts() {
            Parts::Small(value) => Ok(value as f32),
            Parts::Big(big) => nearest_of(big),
        }
    }
}

/// As for `f64`, rounded once.
impl TryFrom<&Integer> for Half {
    type Error = NumberError;

    fn try_from(value: &Integer) -> Result<Half, NumberError> {
        // Integers beyond the exact ones of a `f64` are beyond the range here.
        let half = f64::try_from(value).ok().map(Half::nearest);
        fitting(half.filter(|half| half.is_finite()), || value.shown())
    }
}

/// As for `f64`, rounded once.
impl TryFrom<&Integer> for LongDouble {
    type Error = NumberError;

    fn try_from(value: &Integer) -> Result<LongDouble, NumberError> {
        match value.parts() {
            Parts::Small(small) => {
                // 63 bits fit the type.
                let magnitude = small.unsigned_abs().into();
                fitting(LongDouble::exact(small < 0, magnitude, 0), || value.shown())
            }
            Parts::Big(big) => nearest_of(big),
        }
    }
}

fn nearest_of<F: Float>(value: &IBig) -> Result<F, NumberError> {
    let (sign, magnitude) = value.clone().into_parts();
    fitting(nearest_integer(sign == Sign::Negative, &magnitude), || shown(value))
}

#[cold]
fn big_does_not_fit(value: &IBig, target: &'static str) -> NumberError {
    NumberError::DoesNotFit(shown(value), target)
}

/// The digits, where they are few.
fn shown(value: &IBig) -> String {
    /// About 60 digits.
    const SHOWN_BITS: usize = 200;
    match value.bit_len() {
        ..=SHOWN_BITS => value.to_string(),
        bits => format!("an integer of {bits} bits"),
    }
}

impl Integer {
    /// The value for a message: its digits, where they are few.
    pub(crate) fn shown(&self) -> String {
        match self.parts() {
            Parts::Small(value) => value.to_string(),
            Parts::Big(value) => shown(value),
        }
    }
}

impl Integer {
    /// Two's complement, least byte first, as short as the value allows; 0 is no byte.
    pub fn to_bytes(&self) -> Vec<u8> {
        match self.parts() {
            Parts::Small(0) => Vec::new(),
            Parts::Small(value) => {
                let bits = 64 - value.unsigned_abs().leading_zeros() as usize;
                // One bit more for the sign; at most a byte too many for -128 and its like.
                let mut size = bits / 8 + 1;
                let bytes = value.to_le_bytes();
                if size > 1 && value < 0 && bytes[size - 1] == 0xff && bytes[size - 2] >= 0x80 {
                    size -= 1;
                }
                bytes[..size].to_vec()
            }
            Parts::Big(value) => value.to_le_bytes().into_vec(),
        }
    }

    /// The value of [`Integer::to_bytes`]; any two's complement is taken.
    pub fn from_bytes(bytes: &[u8]) -> Self {
        if bytes.is_empty() {
            return Integer::ZERO;
        }
        if bytes.len() <= 8 {
            let fill = if bytes[bytes.len() - 1] >= 0x80 { 0xff } else { 0 };
            let mut all = [fill; 8];
            all[..bytes.len()].copy_from_slice(bytes);
            return Integer::from(i64::from_le_bytes(all));
        }
        Integer::from(IBig::from_le_bytes(bytes))
    }

    /// The value as a dashu integer.
    pub fn to_ibig(&self) -> IBig {
        match self.parts() {
            Parts::Small(value) => IBig::from(value),
            Parts::Big(value) => value.clone(),
        }
    }
}
