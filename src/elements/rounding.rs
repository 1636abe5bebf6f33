//! The nearest floating-point number of an exact one: rounded once, ties to even, whatever the
//! format. Through a wider format it would be rounded twice.

use super::NumberError;
use crate::client::{Half, LongDouble};
use dashu_base::{BitTest, DivRem};
use dashu_int::UBig;

/// A floating-point type of NumPy's.
pub trait Float: Sized {
    /// Its name, for messages.
    const NAME: &'static str;
    /// Significant bits.
    const PRECISION: u32;
    /// Every finite number is a multiple of 2 to this.
    const LOWEST_EXPONENT: i32;
    /// The exponent of the first bit of the largest numbers.
    const HIGHEST_EXPONENT: i32;

    /// The number `mantissa * 2^exponent`, which the type has.
    fn exact(negative: bool, mantissa: u128, exponent: i32) -> Self;
}

/// As `f64`, where no narrower type has more bits or range.
fn double(negative: bool, mantissa: u128, exponent: i32) -> f64 {
    let power = |exponent: i32| f64::from_bits(((exponent + 1023) as u64) << 52);
    // The power may be subnormal, so in two steps, each exact.
    let half = exponent / 2;
    let magnitude = mantissa as f64 * power(half) * power(exponent - half);
    if negative { -magnitude } else { magnitude }
}

impl Float for f64 {
    const NAME: &'static str = "float64";
    const PRECISION: u32 = 53;
    const LOWEST_EXPONENT: i32 = -1074;
    const HIGHEST_EXPONENT: i32 = 1023;

    fn exact(negative: bool, mantissa: u128, exponent: i32) -> Self {
        double(negative, mantissa, exponent)
    }
}

impl Float for f32 {
    const NAME: &'static str = "float32";
    const PRECISION: u32 = 24;
    const LOWEST_EXPONENT: i32 = -149;
    const HIGHEST_EXPONENT: i32 = 127;

    fn exact(negative: bool, mantissa: u128, exponent: i32) -> Self {
        double(negative, mantissa, exponent) as f32
    }
}

impl Float for Half {
    const NAME: &'static str = "float16";
    const PRECISION: u32 = 11;
    const LOWEST_EXPONENT: i32 = -24;
    const HIGHEST_EXPONENT: i32 = 15;

    fn exact(negative: bool, mantissa: u128, exponent: i32) -> Self {
        Half::nearest(double(negative, mantissa, exponent))
    }
}

impl Float for LongDouble {
    const NAME: &'static str = "longdouble";
    const PRECISION: u32 = LongDouble::PRECISION;
    const LOWEST_EXPONENT: i32 = LongDouble::LOWEST_EXPONENT;
    const HIGHEST_EXPONENT: i32 = LongDouble::HIGHEST_EXPONENT;

    fn exact(negative: bool, mantissa: u128, exponent: i32) -> Self {
        // The two names of the type agree on what it has.
        LongDouble::exact(negative, mantissa, exponent).unwrap_or(LongDouble([0; 16]))
    }
}

/// Bits that are kept before the last rounding: more than any format has, so that the lowest can
/// stand for all that follow.
const DIGITS: isize = 120;

/// The nearest number of a magnitude and a sign; `None` beyond the largest.
pub fn nearest_integer<F: Float>(negative: bool, magnitude: &UBig) -> Option<F> {
    let drop = magnitude.bit_len() as isize - DIGITS;
    if drop <= 0 {
        return round(negative, u128::try_from(magnitude).ok()?, 0);
    }
    let lost = magnitude.trailing_zeros().is_some_and(|zeros| (zeros as isize) < drop);
    let digits = u128::try_from(magnitude >> drop as usize).ok()?;
    round(negative, digits | u128::from(lost), drop)
}

/// The nearest number of a fraction's magnitude and a sign; `None` beyond the largest.
pub fn nearest_fraction<F: Float>(
    negative: bool,
    numerator: &UBig,
    denominator: &UBig,
) -> Option<F> {
    // quotient = numerator * 2^shift / denominator, with 120 or 121 bits.
    let shift = DIGITS - numerator.bit_len() as isize + denominator.bit_len() as isize;
    let distance = shift.unsigned_abs();
    let (quotient, rest) = if shift >= 0 {
        (numerator << distance).div_rem(denominator)
    } else {
        numerator.div_rem(denominator << distance)
    };
    let digits = u128::try_from(quotient).ok()?;
    round(negative, digits | u128::from(!rest.is_zero()), -shift)
}

/// The nearest number of `digits * 2^exponent`. Where the digits stand for more that follow, they
/// are at least 120 bits and odd.
fn round<F: Float>(negative: bool, digits: u128, exponent: isize) -> Option<F> {
    if digits == 0 {
        return Some(F::exact(negative, 0, 0));
    }
    let highest = F::HIGHEST_EXPONENT as isize;
    let top = 127 - digits.leading_zeros() as isize + exponent;
    if top > highest {
        return None;
    }
    // Below the normal range the last bit stays where it is.
    let last = (top + 1 - F::PRECISION as isize).max(F::LOWEST_EXPONENT as isize);
    let drop = last - exponent;
    if drop <= 0 {
        return Some(F::exact(negative, digits, exponent as i32));
    }
    let mantissa = if drop > 127 { 0 } else { round_shift(digits, drop as u32) };
    // Rounding up may carry into the next power of two.
    let carried = 127 - mantissa.leading_zeros() as isize + last > highest;
    (mantissa == 0 || !carried).then(|| F::exact(negative, mantissa, last as i32))
}

/// `value >> count`, to nearest, ties to even. The count is from 1 to 127.
fn round_shift(value: u128, count: u32) -> u128 {
    let floor = value >> count;
    let rest = value & ((1 << count) - 1);
    let half = 1 << (count - 1);
    floor + u128::from(rest > half || (rest == half && floor & 1 == 1))
}

/// A float that an exact number rounds to, or the error that says that there is none.
pub fn fitting<F: Float>(
    float: Option<F>,
    value: impl FnOnce() -> String,
) -> Result<F, NumberError> {
    float.ok_or_else(|| NumberError::DoesNotFit(value(), F::NAME))
}
