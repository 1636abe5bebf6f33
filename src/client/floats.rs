//! The two floating-point types of NumPy that Rust has no name for: `float16` and `longdouble`.

/// A number of NumPy's `float16`: its bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(transparent)]
pub struct Half(pub u16);

/// A number of NumPy's `longdouble`, which is C's `long double`: 80 bits in 16 bytes on x86-64,
/// 128 bits elsewhere on Linux. The bytes in memory order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(transparent)]
pub struct LongDouble(pub [u8; 16]);

/// The exact value of a floating-point number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Decoded {
    /// `mantissa * 2^exponent`; the mantissa is odd, or all is 0.
    Finite {
        /// The sign, of zeros as well.
        negative: bool,
        /// The digits.
        mantissa: u128,
        /// What the last of them counts.
        exponent: i32,
    },
    /// An infinity.
    Infinite {
        /// Whether it is the negative one.
        negative: bool,
    },
    /// No number.
    NotANumber,
}

/// `2 ** exponent`, for exponents of normal floats.
fn power_of_two(exponent: i32) -> f64 {
    f64::from_bits(((exponent + 1023) as u64) << 52)
}

impl From<Half> for f64 {
    fn from(Half(bits): Half) -> f64 {
        let fraction = f64::from(bits & 0x3ff);
        let magnitude = match i32::from((bits >> 10) & 0x1f) {
            0 => fraction * power_of_two(-24),
            0x1f if fraction == 0.0 => f64::INFINITY,
            0x1f => f64::NAN,
            exponent => (1024.0 + fraction) * power_of_two(exponent - 25),
        };
        magnitude.copysign(if bits & 0x8000 == 0 { 1.0 } else { -1.0 })
    }
}

impl Half {
    /// The nearest number, ties to even; an infinity from 65520 on.
    pub fn nearest(value: f64) -> Half {
        let sign = if value.is_sign_negative() { 0x8000 } else { 0 };
        let magnitude = value.abs();
        if magnitude.is_nan() {
            return Half(sign | 0x7e00);
        }
        // Halfway between the largest finite value and the next power of two.
        if magnitude >= 65520.0 {
            return Half(sign | 0x7c00);
        }
        if magnitude < power_of_two(-14) {
            // Below the normal range all values are multiples of 2^-24; rounding up to 1024 of
            // them gives the bits of the smallest normal value.
            return Half(sign | (magnitude * power_of_two(24)).round_ties_even() as u16);
        }
        let exponent = ((magnitude.to_bits() >> 52) & 0x7ff) as i32 - 1023;
        let steps = (magnitude * power_of_two(10 - exponent)).round_ties_even() as u16;
        // 2048 steps carry into the exponent, which is the next value's bits.
        Half(sign | ((((exponent + 15) as u16) << 10) + (steps - 1024)))
    }

    /// Whether the number is neither infinite nor NaN.
    pub fn is_finite(self) -> bool {
        self.0 & 0x7c00 != 0x7c00
    }
}

impl LongDouble {
    /// Significant bits.
    pub const PRECISION: u32 = if cfg!(target_arch = "x86_64") { 64 } else { 113 };
    /// The exponent of the last bit of the smallest numbers: all are multiples of 2 to this.
    pub const LOWEST_EXPONENT: i32 = Self::LOWEST_NORMAL - (Self::PRECISION as i32 - 1);
    /// The exponent of the first bit of the largest numbers.
    pub const HIGHEST_EXPONENT: i32 = Self::BIAS;

    const LOWEST_NORMAL: i32 = 1 - Self::BIAS;
    const BIAS: i32 = 16383;
    /// The stored exponent of infinities and NaNs.
    const SPECIAL: u32 = 0x7fff;
    /// Bits of the fraction as stored; x87 stores the leading one, IEEE binary128 does not.
    const FRACTION: u32 = if cfg!(target_arch = "x86_64") { 64 } else { 112 };

    fn pack(negative: bool, exponent: u32, fraction: u128) -> LongDouble {
        let high = (u128::from(negative) << 15) | u128::from(exponent);
        LongDouble((fraction | (high << Self::FRACTION)).to_le_bytes())
    }

    /// The number `mantissa * 2^exponent`; `None` where it has more bits than the type keeps, or
    /// lies beyond its range.
    pub fn exact(negative: bool, mantissa: u128, exponent: i32) -> Option<LongDouble> {
        if mantissa == 0 {
            return Some(Self::pack(negative, 0, 0));
        }
        let top = exponent.checked_add(127 - mantissa.leading_zeros() as i32)?;
        if top > Self::HIGHEST_EXPONENT {
            return None;
        }
        // The exponent of the last bit that is kept.
        let last = top.saturating_sub(Self::PRECISION as i32 - 1).max(Self::LOWEST_EXPONENT);
        let shift = exponent.checked_sub(last)?;
        let digits = if shift >= 0 {
            // At most the precision above the last bit.
            mantissa << shift
        } else if mantissa.trailing_zeros() as i32 >= -shift {
            mantissa >> -shift
        } else {
            return None;
        };
        let is_normal = digits >> (Self::PRECISION - 1) != 0;
        let stored = if is_normal { (top + Self::BIAS) as u32 } else { 0 };
        Some(Self::pack(negative, stored, digits & ((1 << Self::FRACTION) - 1)))
    }

    /// Its exact value.
    pub fn decode(self) -> Decoded {
        let all = u128::from_le_bytes(self.0);
        let high = (all >> Self::FRACTION) as u32 & 0xffff;
        let (negative, stored) = (high & 0x8000 != 0, high & 0x7fff);
        let mut mantissa = all & ((1 << Self::FRACTION) - 1);
        if stored == Self::SPECIAL {
            // Without the bit that x87 stores before the point.
            let payload = mantissa & ((1 << (Self::PRECISION - 1)) - 1);
            return if payload == 0 { Decoded::Infinite { negative } } else { Decoded::NotANumber };
        }
        if stored > 0 {
            // Stored already on x87.
            mantissa |= 1 << (Self::PRECISION - 1);
        }
        if mantissa == 0 {
            return Decoded::Finite { negative, mantissa: 0, exponent: 0 };
        }
        let zeros = mantissa.trailing_zeros();
        let exponent = Self::LOWEST_EXPONENT + stored.max(1) as i32 - 1 + zeros as i32;
        Decoded::Finite { negative, mantissa: mantissa >> zeros, exponent }
    }

    /// The same value as a `f64`; `None` where it has none. NaN stays NaN.
    pub fn to_f64(self) -> Option<f64> {
        let (negative, magnitude) = match self.decode() {
            Decoded::NotANumber => return Some(f64::NAN),
            Decoded::Infinite { negative } => (negative, f64::INFINITY),
            Decoded::Finite { negative, mantissa: 0, .. } => (negative, 0.0),
            Decoded::Finite { negative, mantissa, exponent } => {
                let width = 128 - mantissa.leading_zeros() as i32;
                if width > 53 || exponent < -1074 || exponent + width > 1024 {
                    return None;
                }
                // In two steps, so that neither leaves the range; both are exact.
                let half = exponent / 2;
                let value = mantissa as f64 * power_of_two(half) * power_of_two(exponent - half);
                (negative, value)
            }
        };
        Some(if negative { -magnitude } else { magnitude })
    }
}

/// Every `f64` is a `long double`.
impl From<f64> for LongDouble {
    fn from(value: f64) -> LongDouble {
        let negative = value.is_sign_negative();
        if !value.is_finite() {
            // The bit before the point, where it is stored, and the quiet one of a NaN.
            let whole = if cfg!(target_arch = "x86_64") { 1 << 63 } else { 0 };
            let quiet = 1 << (Self::PRECISION - 2);
            let fraction = if value.is_nan() { whole | quiet } else { whole };
            return Self::pack(negative, Self::SPECIAL, fraction);
        }
        let bits = value.to_bits();
        let stored = ((bits >> 52) & 0x7ff) as i32;
        let fraction = u128::from(bits & ((1 << 52) - 1));
        let mantissa = if stored > 0 { fraction | 1 << 52 } else { fraction };
        // 53 bits within a smaller range always fit.
        Self::exact(negative, mantissa, stored.max(1) - 1075).unwrap_or(Self::pack(negative, 0, 0))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_half_survives_the_way_to_f64_and_back() {
        for bits in 0..=u16::MAX {
            let value = f64::from(Half(bits));
            assert_eq!(value.is_finite(), Half(bits).is_finite());
            if value.is_nan() {
                assert!(f64::from(Half::nearest(value)).is_nan());
            } else {
                assert_eq!(Half::nearest(value).0, bits, "{value}");
            }
        }
    }

    #[test]
    fn values_between_two_halves_round_to_the_even_one() {
        for bits in (0..0x7bff).filter(|bits| bits & 0x7c00 != 0x7c00) {
            let (low, high) = (f64::from(Half(bits)), f64::from(Half(bits + 1)));
            let middle = (low + high) / 2.0;
            let even = if bits & 1 == 0 { bits } else { bits + 1 };
            assert_eq!(Half::nearest(middle).0, even);
            assert_eq!(Half::nearest(middle.next_down()).0, bits);
            assert_eq!(Half::nearest(middle.next_up()).0, bits + 1);
        }
        assert_eq!(Half::nearest(65519.99).0, 0x7bff);
        assert_eq!(Half::nearest(65520.0).0, 0x7c00);
    }

    #[test]
    fn long_doubles_hold_every_f64() {
        for value in [
            0.0,
            1.0,
            -1.5,
            0.1,
            f64::MAX,
            f64::MIN_POSITIVE,
            5e-324,
            -1e-310,
            f64::INFINITY,
            f64::NEG_INFINITY,
            1e300,
            -0.0,
        ] {
            let back = LongDouble::from(value).to_f64();
            assert_eq!(back.map(f64::to_bits), Some(value.to_bits()), "{value}");
        }
        assert!(LongDouble::from(f64::NAN).to_f64().is_some_and(f64::is_nan));
    }

    #[cfg(target_arch = "x86_64")]
    #[test]
    fn a_long_double_with_more_bits_than_an_f64_is_no_f64() {
        // 1 + 2^-63
        let mut number = LongDouble::from(1.0);
        assert_eq!(number.0[..10], [0, 0, 0, 0, 0, 0, 0, 0x80, 0xff, 0x3f]);
        number.0[0] = 1;
        assert_eq!(number.to_f64(), None);
        let decoded = Decoded::Finite { negative: false, mantissa: (1 << 63) + 1, exponent: -63 };
        assert_eq!(number.decode(), decoded);
        assert_eq!(LongDouble::exact(false, (1 << 63) + 1, -63), Some(number));
        // 2^1024
        let number = LongDouble::exact(false, 1, 1024);
        assert_eq!(number.and_then(LongDouble::to_f64), None);
        assert!(number.is_some());
    }

    #[test]
    fn long_doubles_end_where_they_end() {
        let (lowest, highest) = (LongDouble::LOWEST_EXPONENT, LongDouble::HIGHEST_EXPONENT);
        for (mantissa, exponent, fits) in [
            (1, lowest, true),
            (1, lowest - 1, false),
            (2, lowest - 1, true),
            (3, lowest, true),
            (3, lowest - 1, false),
            (1, highest, true),
            (1, highest + 1, false),
            ((1u128 << LongDouble::PRECISION) - 1, 0, true),
            ((1u128 << LongDouble::PRECISION) + 1, 0, false),
            (1u128 << 127, highest - 127, true),
            (1u128 << 127, highest - 126, false),
            (1, i32::MAX, false),
            (1, i32::MIN, false),
        ] {
            for negative in [false, true] {
                let number = LongDouble::exact(negative, mantissa, exponent);
                assert_eq!(number.is_some(), fits, "{mantissa} * 2^{exponent}");
                let Some(number) = number else { continue };
                let zeros = mantissa.trailing_zeros();
                let (mantissa, exponent) = (mantissa >> zeros, exponent + zeros as i32);
                assert_eq!(number.decode(), Decoded::Finite { negative, mantissa, exponent });
            }
        }
    }
}
