//! Text of elements, read and written, against the grammar of Python's `int` and `Fraction`.

use crate::numbers::{Number, Seed, balanced, bytes_of, check_element, failure};
use arbitrary::Arbitrary;
use denizen::{
    abi::{ERROR_OVERFLOW, ERROR_VALUE, ERROR_ZERO_DIVISION, ErrorKind, ErrorOut},
    elements::MAX_BITS,
};
use num_bigint::BigInt;
use num_rational::BigRational;
use num_traits::Zero;

/// Text for a cell that may hold something already.
#[derive(Arbitrary, Debug)]
pub struct Text<'a> {
    /// Which type.
    pub fraction: bool,
    before: Option<Seed>,
    bytes: Bytes<'a>,
}

/// Bytes that are shown as text.
#[derive(Arbitrary)]
struct Bytes<'a>(&'a [u8]);

impl std::fmt::Debug for Bytes<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{:?} = {:?}", String::from_utf8_lossy(self.0), self.0)
    }
}

/// What reading a text gives.
enum Reading {
    Value(BigRational),
    Error(ErrorKind),
    /// Digits of other scripts, or powers that take too long: whatever it is, it is printed again.
    Unknown,
    /// Not to be asked for.
    Skip,
}

/// Largest exponent that is computed.
const MOST_PLACES: usize = 3000;

/// Longest run of digits with single underscores between them; what is left.
fn digits(text: &str) -> (Option<BigInt>, &str) {
    let mut end = 0;
    let bytes = text.as_bytes();
    while end < bytes.len() {
        let here = bytes[end].is_ascii_digit();
        let joined = bytes[end] == b'_'
            && end > 0
            && bytes[end - 1].is_ascii_digit()
            && bytes.get(end + 1).is_some_and(u8::is_ascii_digit);
        if !here && !joined {
            break;
        }
        end += 1;
    }
    let plain: Vec<u8> = bytes[..end].iter().copied().filter(u8::is_ascii_digit).collect();
    (BigInt::parse_bytes(&plain, 10), &text[end..])
}

fn sign(text: &str) -> (bool, &str) {
    match text.strip_prefix('-') {
        Some(rest) => (true, rest),
        None => (false, text.strip_prefix('+').unwrap_or(text)),
    }
}

fn strip(text: &str) -> &str {
    text.trim()
}

/// `[-+]? digits`
fn integer(text: &str) -> Option<BigInt> {
    let (negative, rest) = sign(text);
    let (value, rest) = digits(rest);
    let value = value.filter(|_| rest.is_empty())?;
    Some(if negative { -value } else { value })
}

/// `10 ** exponent`, if that is to be had.
fn scale(exponent: &BigInt) -> Result<BigInt, Reading> {
    match usize::try_from(exponent) {
        Ok(places) if places <= MOST_PLACES => Ok(BigInt::from(10).pow(places as u32)),
        Ok(places) if places <= MAX_BITS => Err(Reading::Skip),
        _ => Err(Reading::Error(ERROR_OVERFLOW)),
    }
}

/// `[-+]? (digits / digits | digits? [. digits?] [e [-+]? digits])`, white space around the stroke.
fn fraction(text: &str) -> Reading {
    const REFUSED: Reading = Reading::Error(ERROR_VALUE);
    let (negative, rest) = sign(text);
    let (whole, mut rest) = digits(rest);
    let signed = |value: BigRational| Reading::Value(if negative { -value } else { value });
    if let Some(denominator) = rest.trim_start().strip_prefix('/') {
        let (denominator, rest) = digits(denominator.trim_start());
        return match (whole, denominator) {
            (Some(_), Some(_)) if !rest.is_empty() => REFUSED,
            (Some(_), Some(zero)) if zero.is_zero() => Reading::Error(ERROR_ZERO_DIVISION),
            (Some(numerator), Some(denominator)) => {
                signed(BigRational::new(numerator, denominator))
            }
            _ => REFUSED,
        };
    }
    let mut value = BigRational::from(whole.clone().unwrap_or_default());
    if let Some(decimals) = rest.strip_prefix('.') {
        let (fraction, after) = digits(decimals);
        let length = decimals.len() - after.len();
        let places = decimals[..length].bytes().filter(u8::is_ascii_digit).count();
        match (&whole, fraction) {
            (None, None) => return REFUSED,
            (_, None) => {}
            (_, Some(fraction)) => {
                value += BigRational::new(fraction, BigInt::from(10).pow(places as u32));
            }
        }
        rest = after;
    } else if whole.is_none() {
        return REFUSED;
    }
    if let Some(exponent) = rest.strip_prefix(['e', 'E']) {
        let (down, exponent) = sign(exponent);
        let (Some(exponent), "") = digits(exponent) else { return REFUSED };
        if !value.is_zero() {
            match scale(&exponent) {
                Err(reading) => return reading,
                Ok(scale) if down => value /= scale,
                Ok(scale) => value *= scale,
            }
        }
        rest = "";
    }
    if rest.is_empty() { signed(value) } else { REFUSED }
}

fn reading(fractions: bool, bytes: &[u8]) -> Reading {
    let Ok(text) = std::str::from_utf8(bytes) else { return Reading::Error(ERROR_VALUE) };
    let text = strip(text);
    if text.chars().any(|character| !character.is_ascii() && !character.is_whitespace()) {
        // The ASCII text that it stands for may have a long exponent.
        let long = text.contains(['e', 'E']) && fractions;
        return if long { Reading::Skip } else { Reading::Unknown };
    }
    if fractions {
        return fraction(text);
    }
    integer(text).map_or(Reading::Error(ERROR_VALUE), |value| Reading::Value(value.into()))
}

/// Reads the text; what was read is written and read again.
pub fn run<T: Number>(text: &Text<'_>) {
    let expected = reading(T::FRACTIONS, text.bytes.0);
    if let Reading::Skip = expected {
        return;
    }
    balanced(|| {
        let vtable = T::definition().vtable();
        let (print, parse) = vtable.to_text.zip(vtable.from_text).expect("both types have text");
        let old = text.before.as_ref().map_or_else(BigRational::zero, |s| s.value(T::FRACTIONS));
        let mut cell = T::make(&old);
        let read = |cell: &mut T, bytes: &[u8]| {
            let bytes = bytes.to_vec().into_boxed_slice();
            let mut error_out = ErrorOut::new();
            let pointer = std::ptr::from_mut(cell).cast();
            // SAFETY: a live cell of the type, and as many bytes as said.
            let status = unsafe {
                parse(vtable.context, pointer, bytes.as_ptr(), bytes.len(), &raw mut error_out)
            };
            failure(status, &error_out)
        };
        let failed = read(&mut cell, text.bytes.0);
        match expected {
            Reading::Error(kind) => {
                assert_eq!(failed, Some(kind), "{:?}", text.bytes);
                check_element(&cell, &old, "a cell whose text was refused");
            }
            Reading::Value(expected) => {
                assert_eq!(failed, None, "{:?}", text.bytes);
                check_element(&cell, &expected, "read");
            }
            Reading::Unknown | Reading::Skip => {}
        }
        let value = cell.read();
        let written = bytes_of(print, vtable.context, &cell);
        assert_eq!(written, value.to_string().into_bytes());
        let mut again = T::make(&BigRational::zero());
        assert_eq!(read(&mut again, &written), None);
        check_element(&again, &value, "written and read");
    });
}
