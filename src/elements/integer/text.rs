//! Text: decimal digits, read as Python's `int(text)` reads them.

use super::Integer;
use super::value::Parts;
use crate::elements::{MAX_BITS, NumberError, text};
use dashu_int::UBig;
use std::fmt;
use std::str::FromStr;

const NAME: &str = "Integer";

impl fmt::Display for Integer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.parts() {
            Parts::Small(value) => fmt::Display::fmt(&value, f),
            Parts::Big(value) => fmt::Display::fmt(value, f),
        }
    }
}

impl fmt::Debug for Integer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl FromStr for Integer {
    type Err = NumberError;

    /// Decimal digits of any script with an optional sign, single underscores between digits, and
    /// white space around.
    fn from_str(text: &str) -> Result<Self, NumberError> {
        let refused = || NumberError::text(NAME, text);
        let plain = text::plain(text);
        let (negative, digits) = match plain.as_bytes().first() {
            Some(b'-') => (true, &plain[1..]),
            Some(b'+') => (false, &plain[1..]),
            _ => (false, &*plain),
        };
        let value = parse_digits(digits.as_bytes())?.ok_or_else(refused)?;
        Ok(if negative { value.neg() } else { value })
    }
}

/// Reads decimal digits with single underscores between them; `None` where it is something else.
pub(crate) fn parse_digits(text: &[u8]) -> Result<Option<Integer>, NumberError> {
    /// As many digits always fit 64 bits.
    const SHORT: usize = 18;
    /// More digits than this have more than [`MAX_BITS`] bits (one digit is 3.32 of them).
    const LONGEST: usize = MAX_BITS / 3;

    if text.is_empty() {
        return Ok(None);
    }
    let mut previous = b'_';
    for &byte in text {
        if !(byte.is_ascii_digit() || (byte == b'_' && previous != b'_')) {
            return Ok(None);
        }
        previous = byte;
    }
    if previous == b'_' {
        return Ok(None);
    }
    if text.len() <= SHORT {
        let digits = text.iter().filter(|byte| byte.is_ascii_digit());
        let value = digits.fold(0i64, |value, digit| value * 10 + i64::from(digit - b'0'));
        return Ok(Some(value.into()));
    }
    if text.len() > LONGEST {
        return Err(NumberError::TooLarge);
    }
    let digits: Vec<u8> = text.iter().copied().filter(u8::is_ascii_digit).collect();
    let Ok(digits) = std::str::from_utf8(&digits) else {
        return Ok(None);
    };
    let value = UBig::from_str_radix(digits, 10).ok();
    Ok(value.map(|value| Integer::from(dashu_int::IBig::from(value))))
}
