//! Text: `3/4`, read as Python's `Fraction(text)` reads it.

use super::Rational;
use super::value::Parts;
use crate::elements::integer::parse_digits;
use crate::elements::{Integer, MAX_BITS, NumberError, text};
use std::fmt;
use std::str::FromStr;

const NAME: &str = "Rational";

impl fmt::Display for Rational {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.parts() {
            Parts::Small(numerator, 1) => f.pad(&numerator.to_string()),
            Parts::Small(numerator, denominator) => f.pad(&format!("{numerator}/{denominator}")),
            Parts::Big(value) => f.pad(&value.to_string()),
        }
    }
}

impl fmt::Debug for Rational {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// Splits off the digits and underscores at the start.
fn take_digits(text: &str) -> (&str, &str) {
    let end = text.find(|c: char| !c.is_ascii_digit() && c != '_').unwrap_or(text.len());
    text.split_at(end)
}

/// Splits off a sign.
fn take_sign(text: &str) -> (bool, &str) {
    match text.as_bytes().first() {
        Some(b'-') => (true, &text[1..]),
        Some(b'+') => (false, &text[1..]),
        _ => (false, text),
    }
}

/// The parts of a number before they are numbers.
struct Literal<'a> {
    negative: bool,
    whole: &'a str,
    decimals: &'a str,
    exponent: Option<(bool, &'a str)>,
    denominator: Option<&'a str>,
}

/// `None` where the text, [`text::plain`] already, has another form.
fn split(text: &str) -> Option<Literal<'_>> {
    let (negative, rest) = take_sign(text);
    let (whole, mut rest) = take_digits(rest);
    let mut literal = Literal { negative, whole, decimals: "", exponent: None, denominator: None };
    if let Some(denominator) = rest.trim_start().strip_prefix('/') {
        let (digits, end) = take_digits(denominator.trim_start());
        literal.denominator = Some(digits);
        return (!whole.is_empty() && end.is_empty()).then_some(literal);
    }
    if let Some(decimals) = rest.strip_prefix('.') {
        (literal.decimals, rest) = take_digits(decimals);
    }
    if let Some(exponent) = rest.strip_prefix(['e', 'E']) {
        let (negative, digits) = take_sign(exponent);
        let (digits, end) = take_digits(digits);
        literal.exponent = Some((negative, digits));
        rest = end;
    }
    let any_digit = !(whole.is_empty() && literal.decimals.is_empty());
    (any_digit && rest.is_empty()).then_some(literal)
}

impl FromStr for Rational {
    type Err = NumberError;

    /// `3/4`, `3`, `0.75`, `7.5e-1`, with sign, single underscores between decimal digits of any
    /// script, and white space around.
    fn from_str(text: &str) -> Result<Self, NumberError> {
        let refused = || NumberError::text(NAME, text);
        let plain = text::plain(text);
        let literal = split(&plain).ok_or_else(refused)?;
        let digits = |part: &str| parse_digits(part.as_bytes())?.ok_or_else(refused);
        let optional = |part: &str| if part.is_empty() { Ok(Integer::ZERO) } else { digits(part) };

        let mut numerator = optional(literal.whole)?;
        let mut denominator = match literal.denominator {
            Some(part) => digits(part)?,
            None => Integer::ONE,
        };
        let ten = Integer::from(10);
        if !literal.decimals.is_empty() {
            let places = literal.decimals.bytes().filter(u8::is_ascii_digit).count();
            let scale = ten.pow(&Integer::from(places as i64))?;
            numerator = numerator.mul(&scale)?.add(&digits(literal.decimals)?);
            denominator = scale;
        }
        if let Some((negative, part)) = literal.exponent {
            let exponent = digits(part)?;
            // 0e999999999999 needs no power; nothing else survives one beyond the limit.
            if !numerator.is_zero() {
                if exponent > Integer::from(MAX_BITS as i64) {
                    return Err(NumberError::TooLarge);
                }
                let scale = ten.pow(&exponent)?;
                if negative {
                    denominator = denominator.mul(&scale)?;
                } else {
                    numerator = numerator.mul(&scale)?;
                }
            }
        }
        if literal.negative {
            numerator = numerator.neg();
        }
        Rational::from_integers(&numerator, &denominator)
    }
}
