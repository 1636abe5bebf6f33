//! NumPy's built-in number types: the table of them, and runs of their values widened to and
//! narrowed from the three types that clients convert (`int64`, `uint64`, `float64`).
//!
//! Nothing is lost silently on the way. An integer that does not fit, and a float that would
//! become infinite, is an `OverflowError`; a value that has no exact integer is a `ValueError`.
//! Only a float rounds to a narrower float.

use crate::{
    abi,
    client::{Half, LongDouble},
    erased::Failure,
    numpy_abi::flags::*,
};
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

    /// Of a complex type the type of its two parts.
    pub fn part(&self) -> Option<&'static Number> {
        let wanted = (Family::Float, self.size / 2);
        let parts = NUMBERS.iter().find(|number| (number.family, number.size) == wanted);
        parts.filter(|_| self.family == Family::Complex)
    }
}

const fn row(type_number: i32, name: &'static str, family: Family, size: usize) -> Number {
    Number { type_number, name, family, size }
}

/// Bytes of a `long double`.
const LONG_DOUBLE: usize = size_of::<LongDouble>();

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
            let half = unsafe { source.at(index).cast::<Half>().read_unaligned() };
            float(wide, half.into())
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
            let number = unsafe { source.at(index).cast::<LongDouble>().read_unaligned() };
            let value = number.to_f64().ok_or_else(|| {
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
            unsafe { write_float(number, target.at(index), as_float(wide, bits)) }
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
/// `target` is room for a value of `number`.
unsafe fn write_float(number: &Number, target: *mut u8, value: f64) -> Result<(), Failure> {
    // SAFETY: the caller's promise, for each size.
    unsafe {
        match number.size {
            2 => {
                let half = Half::nearest(value);
                if value.is_finite() && !half.is_finite() {
                    return Err(does_not_fit(value, number));
                }
                target.cast::<Half>().write_unaligned(half);
            }
            4 => {
                let narrowed = value as f32;
                if value.is_finite() && !narrowed.is_finite() {
                    return Err(does_not_fit(value, number));
                }
                target.cast::<f32>().write_unaligned(narrowed);
            }
            8 => target.cast::<f64>().write_unaligned(value),
            LONG_DOUBLE => target.cast::<LongDouble>().write_unaligned(value.into()),
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

/// How many complex numbers at the start of a run have no imaginary part (a negative zero is none).
///
/// # Safety
/// `source` is `count` readable values, `number` a complex type.
pub unsafe fn count_real(number: &Number, source: Values, count: usize) -> usize {
    let size = number.size / 2;
    (0..count)
        .position(|index| {
            let part = source.at(index).wrapping_add(size);
            // SAFETY: the caller's promise: the second half of a value.
            unsafe {
                match size {
                    4 => part.cast::<f32>().read_unaligned() != 0.0,
                    8 => part.cast::<f64>().read_unaligned() != 0.0,
                    // A value without an exact float64 is not 0.
                    _ => part.cast::<LongDouble>().read_unaligned().to_f64() != Some(0.0),
                }
            }
        })
        .unwrap_or(count)
}

/// The failure of a complex number with an imaginary part.
#[cold]
pub fn is_not_real(number: &Number) -> Failure {
    let name = number.name;
    Failure::new(abi::ERROR_VALUE, format!("a {name} with an imaginary part is no real number"))
}

/// Gives complex numbers no imaginary part.
///
/// # Safety
/// `target` is `count` writable values, `number` a complex type.
pub unsafe fn clear_imaginary(number: &Number, target: Values, count: usize) {
    let size = number.size / 2;
    for index in 0..count {
        // SAFETY: the caller's promise: the second half of a value. Zero bytes are the number 0.
        unsafe { target.at(index).add(size).write_bytes(0, size) };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

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
