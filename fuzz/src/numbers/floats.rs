//! NumPy's own numbers as bytes, and rounding by its definition.

use super::oracle::{Long, Value};
use super::seeds::FloatSeed;
use num_bigint::{BigInt, Sign};
use num_rational::BigRational;
use num_traits::{One, Signed, ToPrimitive, Zero};

/// A built-in type of NumPy that casts and loops of the bundled types have as operands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scalar {
    Bool,
    Int64,
    Uint64,
    Float(Format),
}

/// A binary floating-point format.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Format {
    /// Bytes.
    size: usize,
    /// Significant bits.
    precision: i64,
    /// The exponent of the largest numbers.
    highest: i64,
    /// Whether the leading bit is stored.
    leading: bool,
}

const HALF: Format = Format { size: 2, precision: 11, highest: 15, leading: false };
const SINGLE: Format = Format { size: 4, precision: 24, highest: 127, leading: false };
const DOUBLE: Format = Format { size: 8, precision: 53, highest: 1023, leading: false };
const LONG: Format = if cfg!(target_arch = "x86_64") {
    Format { size: 16, precision: 64, highest: 16383, leading: true }
} else {
    Format { size: 16, precision: 113, highest: 16383, leading: false }
};

/// `2 ** exponent`.
fn power_of_two(exponent: i64) -> BigRational {
    let power = BigInt::one() << exponent.unsigned_abs();
    if exponent < 0 { BigRational::new(BigInt::one(), power) } else { power.into() }
}

impl Format {
    fn lowest(self) -> i64 {
        1 - self.highest
    }

    /// Bits of the fraction as stored, and of the exponent.
    fn fields(self) -> (u32, u32) {
        let fraction = self.precision as u32 - u32::from(!self.leading);
        (fraction, 64 - (self.highest as u64).leading_zeros() + 1)
    }

    /// The value of some bytes.
    pub fn decode(self, bytes: &[u8]) -> Long {
        let mut all = [0; 16];
        all[..self.size].copy_from_slice(bytes);
        let all = u128::from_le_bytes(all);
        let (fraction_bits, exponent_bits) = self.fields();
        let fraction = all & ((1 << fraction_bits) - 1);
        let stored = (all >> fraction_bits) & ((1 << exponent_bits) - 1);
        let negative = all >> (fraction_bits + exponent_bits) & 1 != 0;
        let hidden = 1u128 << (self.precision - 1);
        if stored + 1 == 1 << exponent_bits {
            let payload = fraction & (hidden - 1);
            return if payload == 0 { Long::Infinite { negative } } else { Long::NotANumber };
        }
        let digits = if stored == 0 { fraction } else { fraction | hidden };
        let exponent = stored.max(1) as i64 - 1 + self.lowest() - (self.precision - 1);
        let magnitude = power_of_two(exponent) * BigInt::from(digits);
        Long::Finite(if negative { -magnitude } else { magnitude })
    }

    /// The nearest number of the format, ties to even; `None` where it would be beyond the largest.
    fn nearest(self, exact: &BigRational) -> Option<BigRational> {
        if exact.is_zero() {
            return Some(exact.clone());
        }
        let magnitude = exact.abs();
        // The exponent of the first bit; the difference of lengths is that or one more.
        let mut top = magnitude.numer().bits() as i64 - magnitude.denom().bits() as i64;
        if magnitude < power_of_two(top) {
            top -= 1;
        }
        let step = power_of_two(top.max(self.lowest()) - (self.precision - 1));
        let steps = super::oracle::rounded(&(&magnitude / &step));
        let nearest = steps * step;
        if nearest >= power_of_two(self.highest + 1) {
            return None;
        }
        Some(if exact.is_negative() { -nearest } else { nearest })
    }
}

impl Scalar {
    /// The type of a number of NumPy's.
    pub fn of(type_number: i32) -> Option<Scalar> {
        Some(match type_number {
            0 => Scalar::Bool,
            7 => Scalar::Int64,
            8 => Scalar::Uint64,
            11 => Scalar::Float(SINGLE),
            12 => Scalar::Float(DOUBLE),
            13 => Scalar::Float(LONG),
            23 => Scalar::Float(HALF),
            _ => return None,
        })
    }

    /// Bytes of one.
    pub fn size(self) -> usize {
        match self {
            Scalar::Bool => 1,
            Scalar::Int64 | Scalar::Uint64 => 8,
            Scalar::Float(format) => format.size,
        }
    }

    /// Bytes of a number made of a seed; `near` is what to be near to.
    pub fn make(self, seed: &FloatSeed, near: impl Fn(u8) -> BigRational) -> Vec<u8> {
        let bits = match seed {
            FloatSeed::Bits(low, high) => u128::from(*low) | u128::from(*high) << 64,
            FloatSeed::Near { which, steps } => {
                let near = near(*which);
                let near = match self {
                    Scalar::Float(HALF | SINGLE | DOUBLE) => {
                        let float = near.to_f64().unwrap_or(f64::MAX);
                        match self {
                            Scalar::Float(DOUBLE) => float.to_bits().into(),
                            Scalar::Float(SINGLE) => (float as f32).to_bits().into(),
                            _ => u128::from(float.to_bits() >> 48),
                        }
                    }
                    Scalar::Float(_) => long_near(&near),
                    _ => near.trunc().numer().iter_u64_digits().next().unwrap_or(0).into(),
                };
                near.wrapping_add_signed((*steps).into())
            }
            FloatSeed::Tiny(value) => match self {
                Scalar::Float(SINGLE) => f32::from(*value).to_bits().into(),
                Scalar::Float(DOUBLE) => f64::from(*value).to_bits().into(),
                Scalar::Float(LONG) => long_near(&BigInt::from(*value).into()),
                _ => *value as u128,
            },
        };
        let mut bytes = bits.to_le_bytes()[..self.size()].to_vec();
        if self == Scalar::Bool {
            bytes[0] &= 1;
        }
        if self == Scalar::Float(LONG) && LONG.leading {
            // The bytes behind the number are nobody's, and the stored leading bit is what the
            // exponent says: others are encodings that no processor makes.
            bytes[10..].fill(0);
            let stored = u16::from_le_bytes([bytes[8], bytes[9]]) & 0x7fff;
            bytes[7] = bytes[7] & 0x7f | u8::from(stored != 0) << 7;
        }
        bytes
    }

    /// What bytes mean as the input of a cast: `Err` for what is no number.
    pub fn read(self, bytes: &[u8]) -> Long {
        let word = |bytes: &[u8]| u64::from_le_bytes(bytes.try_into().expect("eight bytes"));
        Long::Finite(match self {
            Scalar::Bool => BigInt::from(bytes[0]).into(),
            Scalar::Int64 => BigInt::from(word(bytes) as i64).into(),
            Scalar::Uint64 => BigInt::from(word(bytes)).into(),
            Scalar::Float(format) => return format.decode(bytes),
        })
    }

    /// The operand of a loop that bytes are.
    pub fn operand(self, bytes: &[u8]) -> Value {
        match self {
            Scalar::Bool => Value::Bool(bytes[0] != 0),
            Scalar::Float(DOUBLE) => {
                Value::Double(f64::from_le_bytes(bytes.try_into().expect("eight bytes")))
            }
            Scalar::Float(LONG) => Value::Long(LONG.decode(bytes)),
            _ => Value::Exact(match self.read(bytes) {
                Long::Finite(value) => value,
                other => panic!("{other:?} of {self:?}"),
            }),
        }
    }

    /// What a cast of an exact number gives; `None` where it does not fit.
    pub fn cast(self, exact: &BigRational) -> Option<BigRational> {
        let within = |low: BigInt, high: BigInt| {
            (exact.numer() >= &low && exact.numer() <= &high).then(|| exact.clone())
        };
        match self {
            Scalar::Bool => Some(BigInt::from(u8::from(!exact.is_zero())).into()),
            Scalar::Int64 => within(i64::MIN.into(), i64::MAX.into()),
            Scalar::Uint64 => within(0.into(), u64::MAX.into()),
            Scalar::Float(format) => format.nearest(exact),
        }
    }

    /// Whether a cast refuses fractions.
    pub fn is_integral(self) -> bool {
        matches!(self, Scalar::Int64 | Scalar::Uint64)
    }
}

/// Bits of a long double near a value.
fn long_near(value: &BigRational) -> u128 {
    let whole = value.trunc();
    let magnitude = whole.numer().magnitude().clone();
    let length = magnitude.bits() as i64;
    if length == 0 {
        return 0;
    }
    let shift = length - LONG.precision;
    let digits = if shift > 0 { magnitude >> shift } else { magnitude << -shift };
    let digits = digits.to_u128().unwrap_or(0);
    let (fraction_bits, exponent_bits) = LONG.fields();
    let fraction = digits & ((1 << fraction_bits) - 1);
    let negative = u128::from(whole.numer().sign() == Sign::Minus);
    let stored = (length - 1 + LONG.highest) as u128;
    fraction | stored << fraction_bits | negative << (fraction_bits + exponent_bits)
}
