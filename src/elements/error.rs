//! Why an operation on the bundled numbers has no result.

use crate::abi::{
    self, ERROR_MEMORY, ERROR_OVERFLOW, ERROR_RUNTIME, ERROR_TYPE, ERROR_VALUE, ERROR_ZERO_DIVISION,
};
use crate::client::{Error, ErrorKind, Failure};
use std::fmt;

/// A failed operation on [`super::Integer`] or [`super::Rational`]; the texts are Python's where
/// Python has one.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum NumberError {
    /// Division or modulo by zero, or a negative power of zero.
    DivisionByZero,
    /// The result would have more than [`super::MAX_BITS`] bits.
    TooLarge,
    /// An integer to a negative power.
    NegativeExponent,
    /// A rational to a power that is no integer.
    FractionalExponent,
    /// A shift by a negative count.
    NegativeShift,
    /// A conversion to an integer of something with a fractional part; the value, shortened.
    NotIntegral(String),
    /// A conversion of an infinity.
    Infinite,
    /// A conversion of a NaN.
    NotANumber,
    /// The value, shortened, does not fit the named type.
    DoesNotFit(String, &'static str),
    /// Text that is no number of the named type; the text, shortened.
    Text(&'static str, String),
    /// Bytes that the codec did not write.
    Codec(&'static str),
    /// A Python object of a type that does not convert; a sentence.
    Object(String),
    /// Memory ran out.
    Memory,
    /// A panic inside an operation: a bug.
    Panic(String),
}

impl NumberError {
    /// The Python exception for it.
    pub fn kind(&self) -> abi::ErrorKind {
        match self {
            NumberError::DivisionByZero => ERROR_ZERO_DIVISION,
            NumberError::TooLarge | NumberError::Infinite | NumberError::DoesNotFit(..) => {
                ERROR_OVERFLOW
            }
            NumberError::NegativeExponent
            | NumberError::FractionalExponent
            | NumberError::NegativeShift
            | NumberError::NotIntegral(_)
            | NumberError::NotANumber
            | NumberError::Text(..)
            | NumberError::Codec(_) => ERROR_VALUE,
            NumberError::Object(_) => ERROR_TYPE,
            NumberError::Memory => ERROR_MEMORY,
            NumberError::Panic(_) => ERROR_RUNTIME,
        }
    }

    /// For text that could not be read: keeps the start of it.
    pub(crate) fn text(type_name: &'static str, text: &str) -> Self {
        const SHOWN: usize = 60;
        let mut shown: String = text.chars().take(SHOWN).collect();
        if shown.len() < text.len() {
            shown.push('…');
        }
        NumberError::Text(type_name, shown)
    }

    /// What a caught panic was: memory ran out (dashu and the heap cells say so by panicking),
    /// or a bug.
    pub(crate) fn from_panic(payload: &(dyn std::any::Any + Send)) -> Self {
        let text = payload
            .downcast_ref::<&'static str>()
            .copied()
            .or_else(|| payload.downcast_ref::<String>().map(String::as_str))
            .unwrap_or("panic without a message");
        match text {
            "out of memory" | "try to allocate too much memory" => NumberError::Memory,
            _ => NumberError::Panic(text.to_owned()),
        }
    }
}

impl fmt::Display for NumberError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            NumberError::DivisionByZero => f.write_str("division by zero"),
            NumberError::TooLarge => {
                write!(f, "the result would have more than {} bits", super::MAX_BITS)
            }
            NumberError::NegativeExponent => {
                f.write_str("integers to negative integer powers are not allowed")
            }
            NumberError::FractionalExponent => {
                f.write_str("a rational to a fractional power is not rational")
            }
            NumberError::NegativeShift => f.write_str("negative shift count"),
            NumberError::NotIntegral(value) => write!(f, "{value} is not an integer"),
            NumberError::Infinite => f.write_str("cannot convert infinity to an exact number"),
            NumberError::NotANumber => f.write_str("cannot convert NaN to an exact number"),
            NumberError::DoesNotFit(value, target) => write!(f, "{value} does not fit {target}"),
            NumberError::Text(name, text) => write!(f, "invalid literal for {name}: {text:?}"),
            NumberError::Codec(name) => write!(f, "damaged bytes of {name}"),
            NumberError::Object(text) => f.write_str(text),
            NumberError::Memory => f.write_str("out of memory"),
            NumberError::Panic(text) => write!(f, "internal error: {text}"),
        }
    }
}

impl std::error::Error for NumberError {}

impl From<NumberError> for Error {
    fn from(error: NumberError) -> Self {
        let kind = match error.kind() {
            ERROR_ZERO_DIVISION => ErrorKind::ZeroDivision,
            ERROR_OVERFLOW => ErrorKind::Overflow,
            ERROR_VALUE => ErrorKind::Value,
            ERROR_TYPE => ErrorKind::Type,
            ERROR_MEMORY => ErrorKind::Memory,
            _ => ErrorKind::Runtime,
        };
        Error::new(kind, error.to_string())
    }
}

impl From<NumberError> for Failure {
    fn from(error: NumberError) -> Self {
        Failure::Error(error.into())
    }
}
