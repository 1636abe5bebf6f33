//! NumPy's built-in number types: the table of them, and runs of their values widened to and
//! narrowed from the three types that clients convert (`int64`, `uint64`, `float64`).
//!
//! Nothing is lost silently on the way. An integer that does not fit, and a float that would
//! become infinite, is an `OverflowError`; a value that has no exact integer is a `ValueError`.
//! Only a float rounds to a narrower float.

use crate::{abi, erased::Failure, numpy_abi::flags::*};
use std::{
    ffi::{c_int, c_long, c_longlong, c_short},
    fmt::Display,
};

/// Values that pass through the stack at once.
pub const CHUNK: usize = 128;

/// What kind of number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Family {
    /// One byte, 0 or not.
    Bool,
    /// Two's complement.
    Signed,
    /// Not negative.
    Unsigned,
    /// Binary floating point.
    Float,
    /// Two floats.
    Complex,
}

/// One of NumPy's number types.
#[derive(Debug, PartialEq, Eq)]
pub struct Number {
    /// `NPY_TYPES`.
    pub type_number: i32,
    /// For messages.
    pub name: &'static str,
    /// What kind.
    pub family: Family,
    /// Bytes of one value.
    pub size: usize,
}

impl Number {
    /// Whether the values have the same bytes: `long` and `long long` do.
    pub fn is_same_as(&self, other: &Number) -> bool {
        (self.family, self.size) == (other.family, other.size)
    }
}

const fn row(type_number: i32, name: &'static str, family: Family, size: usize) -> Number {
    Number { type_number, name, family, size }
}

/// `long double`: 80 bits in 16 bytes on x86-64, 128 bits on aarch64.
const LONG_DOUBLE: usize = 16;

/// All of them.
pub static NUMBERS: [Number; 18] = [
    row(NPY_BOOL, "bool", Family::Bool, 1),
    row(NPY_BYTE, "int8", Family::Signed, 1),
    row(NPY_SHORT, "int16", Family::Signed, size_of::<c_short>()),
    row(NPY_INT, "int32", Family::Signed, size_of::<c_int>()),
    row(NPY_LONG, "int64", Family::Signed, size_of::<c_long>()),
    row(NPY_LONGLONG, "longlong", Family::Signed, size_of::<c_longlong>()),
    row(NPY_UBYTE, "uint8", Family::Unsigned, 1),
    row(NPY_USHORT, "uint16", Family::Unsigned, size_of::<c_short>()),
    row(NPY_UINT, "uint32", Family::Unsigned, size_of::<c_int>()),
    row(NPY_ULONG, "uint64", Family::Unsigned, size_of::<c_long>()),
    row(NPY_ULONGLONG, "ulonglong", Family::Unsigned, size_of::<c_longlong>()),
    row(NPY_HALF, "float16", Family::Float, 2),
    row(NPY_FLOAT, "float32", Family::Float, 4),
    row(NPY_DOUBLE, "float64", Family::Float, 8),
    row(NPY_LONGDOUBLE, "longdouble", Family::Float, LONG_DOUBLE),
    row(NPY_CFLOAT, "complex64", Family::Complex, 8),
    row(NPY_CDOUBLE, "complex128", Family::Complex, 16),
    row(NPY_CLONGDOUBLE, "clongdouble", Family::Complex, 2 * LONG_DOUBLE),
];

/// The number type of that type number.
pub fn number(type_number: i32) -> Option<&'static Number> {
    NUMBERS.iter().find(|number| number.type_number == type_number)
}

/// The three types that other widths go through.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wide {
    /// `int64`.
    I64,
    /// `uint64`.
    U64,
    /// `float64`.
    F64,
}

/// Values of one of the three types, on the stack.
#[repr(C, align(16))]
pub struct Chunk(pub [u64; CHUNK]);

impl Chunk {
    /// Its first byte.
    pub fn as_mut_ptr(&mut self) -> *mut u8 {
        self.0.as_mut_ptr().cast()
    }
}

/// A run of values of a built-in type: start and stride. Values may be unaligned.
#[derive(Clone, Copy)]
pub struct Values {
    /// The first value.
    pub data: *mut u8,
    /// Bytes from one to the next.
    pub stride: isize,
}

impl Values {
    fn at(&self, index: usize) -> *mut u8 {
        self.data.wrapping_offset(self.stride * index as isize)
    }
}

/// Calls `$body` with `$type` standing for the integer type of a number.
macro_rules! with_integer {
    ($number:expr, $type:ident => $body:expr, else $other:expr) => {
        match ($number.family, $number.size) {
            (Family::Signed, 1) => {
                type $type = i8;
                $body
            }
            (Family::Signed, 2) => {
                type $type = i16;
                $body
            }
            (Family::Signed, 4) => {
                type $type = i32;
                $body
            }
            (Family::Signed, 8) => {
                type $type = i64;
                $body
            }
            (Family::Unsigned, 1) => {
                type $type = u8;
                $body
            }
            (Family::Unsigned, 2) => {
                type $type = u16;
                $body
            }
            (Family::Unsigned, 4) => {
                type $type = u32;
                $body
            }
            (Family::Unsigned, 8) => {
                type $type = u64;
                $body
            }
            _ => $other,
        }
    };
}

/// Reads `count` values into the chunk as `wide`.
///
/// # Errors
/// A value that `wide` cannot hold exactly; `done` says which.
///
/// # Safety
/// `source` is `count` readable values of `number`, `count` at most [`CHUNK`].
pub unsafe fn widen(
    number: &Number,
    wide: Wide,
    source: Values,
    count: usize,
    chunk: &mut Chunk,
) -> Result<(), Failure> {
    let target = &mut chunk.0[..count];
    // SAFETY of the reads below: the caller's promise, value by value.
    match (number.family, number.size) {
        (Family::Bool, _) => fill(target, |index| {
            // SAFETY: as above.
            integer(wide, i128::from(unsafe { source.at(index).read() } != 0))
        }),
        (Family::Float, 2) => fill(target, |index| {
            // SAFETY: as above.
            let bits = unsafe { source.at(index).cast::<u16>().read_unaligned() };
            float(wide, half_to_f64(bits))
        }),
        (Family::Float, 4) => fill(target, |index| {
            // SAFETY: as above.
            let value = unsafe { source.at(index).cast::<f32>().read_unaligned() };
            float(wide, f64::from(value))
        }),
        (Family::Float, 8) => fill(target, |index| {
            // SAFETY: as above.
            float(wide, unsafe { source.at(index).cast::<f64>().read_unaligned() })
        }),
        (Family::Float, LONG_DOUBLE) => fill(target, |index| {
            // SAFETY: as above.
            let bytes = unsafe { source.at(index).cast::<[u8; LONG_DOUBLE]>().read_unaligned() };
            let value = long_double::to_f64(bytes).ok_or_else(|| {
                Failure::new(abi::ERROR_VALUE, "a longdouble has no exact float64")
            })?;
            float(wide, value)
        }),
        _ => with_integer!(number, T => fill(target, |index| {
            // SAFETY: as above.
            integer(wide, i128::from(unsafe { source.at(index).cast::<T>().read_unaligned() }))
        }), else Err(unsupported(number))),
    }
}

/// Writes `count` values of `wide` from the chunk.
///
/// # Errors
/// A value that `number` cannot hold; `done` values before it are written.
///
/// # Safety
/// `target` is room for `count` values of `number`, `count` at most [`CHUNK`].
pub unsafe fn narrow(
    number: &Number,
    wide: Wide,
    target: Values,
    count: usize,
    chunk: &Chunk,
) -> Result<(), Failure> {
    let source = &chunk.0[..count];
    // SAFETY of the writes below: the caller's promise, value by value.
    match (number.family, number.size) {
        (Family::Float, _) => drain(source, |index, bits| {
            // SAFETY: as above.
            unsafe { write_float(number, number.size, target.at(index), as_float(wide, bits)) }
        }),
        (Family::Complex, size) => drain(source, |index, bits| {
            // SAFETY: as above; the second half is the imaginary part.
            unsafe {
                write_float(number, size / 2, target.at(index), as_float(wide, bits))?;
                target.at(index).add(size / 2).write_bytes(0, size / 2);
            }
            Ok(())
        }),
        _ => with_integer!(number, T => drain(source, |index, bits| {
            let value = as_integer(number, wide, bits)?;
            let value = T::try_from(value).map_err(|_| does_not_fit(value, number))?;
            // SAFETY: as above.
            unsafe { target.at(index).cast::<T>().write_unaligned(value) };
            Ok(())
        }), else Err(unsupported(number))),
    }
}

fn fill(
    target: &mut [u64],
    mut read: impl FnMut(usize) -> Result<u64, Failure>,
) -> Result<(), Failure> {
    for (index, value) in target.iter_mut().enumerate() {
        *value = read(index).map_err(|failure| failure.after(index))?;
    }
    Ok(())
}

fn drain(
    source: &[u64],
    mut write: impl FnMut(usize, u64) -> Result<(), Failure>,
) -> Result<(), Failure> {
    for (index, &value) in source.iter().enumerate() {
        write(index, value).map_err(|failure| failure.after(index))?;
    }
    Ok(())
}

/// The bits of an integer in one of the three types.
#[inline]
fn integer(wide: Wide, value: i128) -> Result<u64, Failure> {
    let refused = || Failure::new(abi::ERROR_OVERFLOW, format!("{value} is out of range"));
    match wide {
        Wide::I64 => i64::try_from(value).map(i64::cast_unsigned).map_err(|_| refused()),
        Wide::U64 => u64::try_from(value).map_err(|_| refused()),
        Wide::F64 => {
            let float = value as f64;
            if float as i128 == value {
                Ok(float.to_bits())
            } else {
                Err(Failure::new(
                    abi::ERROR_OVERFLOW,
                    format!("{value} has no exact float64, through which it would pass"),
                ))
            }
        }
    }
}

/// The bits of a float in one of the three types.
#[inline]
fn float(wide: Wide, value: f64) -> Result<u64, Failure> {
    match wide {
        Wide::F64 => Ok(value.to_bits()),
        Wide::I64 | Wide::U64 => integer(wide, integral(value)?),
    }
}

/// A float as an exact integer.
fn integral(value: f64) -> Result<i128, Failure> {
    if value.fract() == 0.0 && value.abs() < i128::MAX as f64 {
        return Ok(value as i128);
    }
    let kind = if value.is_finite() && value.fract() != 0.0 {
        abi::ERROR_VALUE
    } else {
        abi::ERROR_OVERFLOW
    };
    Err(Failure::new(kind, format!("{value} has no exact integer")))
}

#[inline]
fn as_float(wide: Wide, bits: u64) -> f64 {
    match wide {
        Wide::I64 => bits.cast_signed() as f64,
        Wide::U64 => bits as f64,
        Wide::F64 => f64::from_bits(bits),
    }
}

#[inline]
fn as_integer(number: &Number, wide: Wide, bits: u64) -> Result<i128, Failure> {
    match wide {
        Wide::I64 => Ok(bits.cast_signed().into()),
        Wide::U64 => Ok(bits.into()),
        Wide::F64 => {
            let value = f64::from_bits(bits);
            integral(value).map_err(|mut failure| {
                failure.message = format!("{value} has no exact {}", number.name);
                failure
            })
        }
    }
}

/// # Safety
/// `target` is `size` writable bytes.
unsafe fn write_float(
    number: &Number,
    size: usize,
    target: *mut u8,
    value: f64,
) -> Result<(), Failure> {
    // SAFETY: the caller's promise, for each size.
    unsafe {
        match size {
            2 => {
                let bits = half_from_f64(value);
                if value.is_finite() && bits & 0x7c00 == 0x7c00 {
                    return Err(does_not_fit(value, number));
                }
                target.cast::<u16>().write_unaligned(bits);
            }
            4 => {
                let narrowed = value as f32;
                if value.is_finite() && !narrowed.is_finite() {
                    return Err(does_not_fit(value, number));
                }
                target.cast::<f32>().write_unaligned(narrowed);
            }
            8 => target.cast::<f64>().write_unaligned(value),
            LONG_DOUBLE => {
                target.cast::<[u8; LONG_DOUBLE]>().write_unaligned(long_double::from_f64(value));
            }
            _ => return Err(unsupported(number)),
        }
    }
    Ok(())
}

#[cold]
fn does_not_fit(value: impl Display, number: &Number) -> Failure {
    Failure::new(abi::ERROR_OVERFLOW, format!("{value} does not fit {}", number.name))
}

#[cold]
fn unsupported(number: &Number) -> Failure {
    Failure::new(abi::ERROR_TYPE, format!("no conversion with {}", number.name))
}

/// `2 ** exponent`, for exponents of normal floats.
fn power_of_two(exponent: i32) -> f64 {
    f64::from_bits(((exponent + 1023) as u64) << 52)
}

/// The value of the bits of a `float16`.
fn half_to_f64(bits: u16) -> f64 {
    let fraction = f64::from(bits & 0x3ff);
    let magnitude = match i32::from((bits >> 10) & 0x1f) {
        0 => fraction * power_of_two(-24),
        0x1f if fraction == 0.0 => f64::INFINITY,
        0x1f => f64::NAN,
        exponent => (1024.0 + fraction) * power_of_two(exponent - 25),
    };
    magnitude.copysign(if bits & 0x8000 == 0 { 1.0 } else { -1.0 })
}

/// The bits of the nearest `float16`, ties to even.
fn half_from_f64(value: f64) -> u16 {
    let sign = if value.is_sign_negative() { 0x8000 } else { 0 };
    let magnitude = value.abs();
    if magnitude.is_nan() {
        return sign | 0x7e00;
    }
    // Halfway between the largest finite value and the next power of two.
    if magnitude >= 65520.0 {
        return sign | 0x7c00;
    }
    if magnitude < power_of_two(-14) {
        // Below the normal range all values are multiples of 2^-24; rounding up to 1024 of them
        // gives the bits of the smallest normal value.
        return sign | (magnitude * power_of_two(24)).round_ties_even() as u16;
    }
    let exponent = ((magnitude.to_bits() >> 52) & 0x7ff) as i32 - 1023;
    let steps = (magnitude * power_of_two(10 - exponent)).round_ties_even() as u16;
    // 2048 steps carry into the exponent, which is the next value's bits.
    sign | ((((exponent + 15) as u16) << 10) + (steps - 1024))
}

/// `long double` of the platform, from and to `f64`.
mod long_double {
    use super::{LONG_DOUBLE, power_of_two};

    /// Bits of the fraction as stored, the leading one included where it is.
    #[cfg(target_arch = "x86_64")]
    const FRACTION: u32 = 64;
    #[cfg(not(target_arch = "x86_64"))]
    const FRACTION: u32 = 112;
    const BIAS: i32 = 16383;
    const SPECIAL: i32 = 0x7fff;

    /// Puts together sign, exponent and significand (leading one at bit 127, or all zero).
    fn pack(negative: bool, exponent: i32, significand: u128) -> [u8; LONG_DOUBLE] {
        // x87 stores the leading one, IEEE binary128 does not.
        let fraction = if cfg!(target_arch = "x86_64") {
            significand >> 64
        } else {
            (significand << 1) >> (128 - FRACTION)
        };
        let high = (u128::from(negative) << 15) | exponent as u128;
        (fraction | (high << FRACTION)).to_le_bytes()
    }

    /// Exact: every `f64` is a `long double`.
    pub fn from_f64(value: f64) -> [u8; LONG_DOUBLE] {
        let negative = value.is_sign_negative();
        if !value.is_finite() {
            let significand = if value.is_nan() { 3 << 126 } else { 1 << 127 };
            return pack(negative, SPECIAL, significand);
        }
        let bits = value.to_bits();
        let stored = ((bits >> 52) & 0x7ff) as i32;
        let mut fraction = u128::from(bits & ((1 << 52) - 1));
        let mut scale = -1074;
        if stored > 0 {
            fraction |= 1 << 52;
            scale += stored - 1;
        }
        if fraction == 0 {
            return pack(negative, 0, 0);
        }
        let shift = fraction.leading_zeros();
        let exponent = scale + 127 - shift as i32;
        pack(negative, exponent + BIAS, fraction << shift)
    }

    /// The same value as an `f64`; `None` where it has none. NaN stays NaN.
    pub fn to_f64(bytes: [u8; LONG_DOUBLE]) -> Option<f64> {
        let all = u128::from_le_bytes(bytes);
        let high = (all >> FRACTION) as u32 & 0xffff;
        let (negative, stored) = (high & 0x8000 != 0, (high & 0x7fff) as i32);
        let sign = if negative { -1.0 } else { 1.0 };
        let mut fraction = all & ((1 << FRACTION) - 1);
        // The value is fraction * 2^scale.
        let mut scale = stored.max(1) - BIAS - FRACTION as i32;
        if cfg!(target_arch = "x86_64") {
            scale += 1;
        }
        if stored == SPECIAL {
            // Without the bit that x87 calls the integer bit.
            let payload =
                if cfg!(target_arch = "x86_64") { fraction & !(1 << 63) } else { fraction };
            return Some(if payload == 0 { f64::INFINITY * sign } else { f64::NAN });
        }
        if stored > 0 && !cfg!(target_arch = "x86_64") {
            fraction |= 1 << FRACTION;
        }
        if fraction == 0 {
            return Some(0.0 * sign);
        }
        let trailing = fraction.trailing_zeros();
        let odd = fraction >> trailing;
        scale += trailing as i32;
        let width = 128 - odd.leading_zeros() as i32;
        if width > 53 || scale < -1074 || scale + width > 1024 {
            return None;
        }
        // In two steps, so that neither leaves the range; both are exact.
        Some(sign * odd as f64 * power_of_two(scale / 2) * power_of_two(scale - scale / 2))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_half_survives_the_way_to_f64_and_back() {
        for bits in 0..=u16::MAX {
            let value = half_to_f64(bits);
            if value.is_nan() {
                assert!(half_to_f64(half_from_f64(value)).is_nan());
            } else {
                assert_eq!(half_from_f64(value), bits, "{value}");
            }
        }
    }

    #[test]
    fn values_between_two_halves_round_to_the_even_one() {
        for bits in (0..0x7bff).filter(|bits| bits & 0x7c00 != 0x7c00) {
            let (low, high) = (half_to_f64(bits), half_to_f64(bits + 1));
            let middle = (low + high) / 2.0;
            let even = if bits & 1 == 0 { bits } else { bits + 1 };
            assert_eq!(half_from_f64(middle), even);
            assert_eq!(half_from_f64(middle.next_down()), bits);
            assert_eq!(half_from_f64(middle.next_up()), bits + 1);
        }
        assert_eq!(half_from_f64(65519.99), 0x7bff);
        assert_eq!(half_from_f64(65520.0), 0x7c00);
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
        ] {
            let back = long_double::to_f64(long_double::from_f64(value));
            assert_eq!(back.map(f64::to_bits), Some(value.to_bits()), "{value}");
        }
        assert!(long_double::to_f64(long_double::from_f64(f64::NAN)).is_some_and(f64::is_nan));
        assert_eq!(
            long_double::to_f64(long_double::from_f64(-0.0)).map(f64::to_bits),
            Some((-0.0f64).to_bits())
        );
    }

    #[cfg(target_arch = "x86_64")]
    #[test]
    fn a_long_double_with_more_bits_than_an_f64_is_refused() {
        // 1 + 2^-63
        let mut bytes = long_double::from_f64(1.0);
        assert_eq!(bytes[..10], [0, 0, 0, 0, 0, 0, 0, 0x80, 0xff, 0x3f]);
        bytes[0] = 1;
        assert_eq!(long_double::to_f64(bytes), None);
        // 2^1024
        let mut bytes = long_double::from_f64(1.0);
        bytes[8..10].copy_from_slice(&(1024u16 + 16383).to_le_bytes());
        assert_eq!(long_double::to_f64(bytes), None);
    }

    #[test]
    fn integers_that_do_not_fit_are_named_and_the_ones_before_are_written() {
        let mut chunk = Chunk([0; CHUNK]);
        chunk.0[..3].copy_from_slice(&[127, (-128i64).cast_unsigned(), 128]);
        let mut bytes = [0u8; 3];
        let target = Values { data: bytes.as_mut_ptr(), stride: 1 };
        let int8 = number(NPY_BYTE).expect("int8 is in the table");
        // SAFETY: room for three values.
        let failure = unsafe { narrow(int8, Wide::I64, target, 3, &chunk) }.expect_err("128");
        assert_eq!((failure.kind, failure.done), (abi::ERROR_OVERFLOW, 2));
        assert_eq!(failure.message, "128 does not fit int8");
        assert_eq!(bytes, [127, 128, 0]);
    }
}
