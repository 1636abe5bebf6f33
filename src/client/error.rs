//! What can go wrong in a client's own code, and how it reaches Python.

use crate::abi::{self, ErrorOut, Status};
use std::borrow::Cow;
use std::fmt;

/// Which Python exception an [`Error`] becomes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ErrorKind {
    /// `RuntimeError`.
    Runtime,
    /// `ValueError`.
    Value,
    /// `TypeError`.
    Type,
    /// `OverflowError`.
    Overflow,
    /// `ZeroDivisionError`.
    ZeroDivision,
    /// `MemoryError`.
    Memory,
    /// `denizen.VacantError`.
    Vacant,
    /// `denizen.BorrowError`.
    Borrow,
    /// `IndexError`.
    Index,
    /// `NotImplementedError`.
    NotImplemented,
}

impl ErrorKind {
    const fn code(self) -> abi::ErrorKind {
        match self {
            ErrorKind::Runtime => abi::ERROR_RUNTIME,
            ErrorKind::Value => abi::ERROR_VALUE,
            ErrorKind::Type => abi::ERROR_TYPE,
            ErrorKind::Overflow => abi::ERROR_OVERFLOW,
            ErrorKind::ZeroDivision => abi::ERROR_ZERO_DIVISION,
            ErrorKind::Memory => abi::ERROR_MEMORY,
            ErrorKind::Vacant => abi::ERROR_VACANT,
            ErrorKind::Borrow => abi::ERROR_BORROW,
            ErrorKind::Index => abi::ERROR_INDEX,
            ErrorKind::NotImplemented => abi::ERROR_NOT_IMPLEMENTED,
        }
    }
}

/// A failure of an element operation: a kind and a message.
///
/// Strings convert into a [`ErrorKind::Value`] error, so a closure may return
/// `Result<T, &'static str>`. A closure may also leave with
/// `std::panic::panic_any(Error::..)`: the error keeps its kind.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Error {
    kind: ErrorKind,
    message: Cow<'static, str>,
}

impl Error {
    /// An error of `kind`.
    pub fn new(kind: ErrorKind, message: impl Into<Cow<'static, str>>) -> Self {
        Error { kind, message: message.into() }
    }

    /// A `ValueError`.
    pub fn value(message: impl Into<Cow<'static, str>>) -> Self {
        Self::new(ErrorKind::Value, message)
    }

    /// A `TypeError`.
    pub fn type_error(message: impl Into<Cow<'static, str>>) -> Self {
        Self::new(ErrorKind::Type, message)
    }

    /// An `OverflowError`.
    pub fn overflow(message: impl Into<Cow<'static, str>>) -> Self {
        Self::new(ErrorKind::Overflow, message)
    }

    /// A `ZeroDivisionError`.
    pub fn zero_division(message: impl Into<Cow<'static, str>>) -> Self {
        Self::new(ErrorKind::ZeroDivision, message)
    }

    /// Which Python exception it becomes.
    pub fn kind(&self) -> ErrorKind {
        self.kind
    }

    /// The message.
    pub fn message(&self) -> &str {
        &self.message
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for Error {}

impl From<&'static str> for Error {
    fn from(message: &'static str) -> Self {
        Error::value(message)
    }
}

impl From<String> for Error {
    fn from(message: String) -> Self {
        Error::value(message)
    }
}

impl From<std::convert::Infallible> for Error {
    fn from(never: std::convert::Infallible) -> Self {
        match never {}
    }
}

impl From<std::num::TryFromIntError> for Error {
    fn from(error: std::num::TryFromIntError) -> Self {
        Error::overflow(error.to_string())
    }
}

/// A Python exception is set in this thread; a function that gets this passes it on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Raised;

impl fmt::Display for Raised {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a Python exception is set")
    }
}

impl std::error::Error for Raised {}

/// How an operation with Python objects fails: with an exception that is already set, or with an
/// [`Error`] that becomes one.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Failure {
    /// The operation's own error.
    Error(Error),
    /// A Python exception is set.
    Raised,
    /// A vacant cell was read and the type has no default value.
    Vacant,
}

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        Failure::Error(error)
    }
}

impl From<Raised> for Failure {
    fn from(_: Raised) -> Self {
        Failure::Raised
    }
}

impl Failure {
    /// Writes the failure into `error_out`. `type_name` and `index` say where it happened.
    #[cold]
    pub(super) fn write(self, error_out: &mut ErrorOut, type_name: &str, index: usize) -> Status {
        error_out.done = index;
        match self {
            Failure::Error(error) => error_out.fail(error.kind.code(), &error.message),
            Failure::Raised => abi::RAISED,
            Failure::Vacant => error_out.fail(
                abi::ERROR_VACANT,
                &format!("cell {index} holds no object, and {type_name} has no default value"),
            ),
        }
    }
}

/// What a closure given to the builder may return for a value of type `V`: the value itself, a
/// `Result` with any error that converts into [`Error`], or an `Option` (`None` becomes a
/// `ValueError`).
pub trait Outcome<V> {
    /// The value or the failure.
    #[doc(hidden)]
    fn outcome(self) -> Result<V, Failure>;
}

impl<V> Outcome<V> for V {
    #[inline(always)]
    fn outcome(self) -> Result<V, Failure> {
        Ok(self)
    }
}

impl<V, E: Into<Error>> Outcome<V> for Result<V, E> {
    #[inline(always)]
    fn outcome(self) -> Result<V, Failure> {
        self.map_err(|error| Failure::Error(error.into()))
    }
}

impl<V> Outcome<V> for Option<V> {
    #[inline(always)]
    fn outcome(self) -> Result<V, Failure> {
        self.ok_or_else(|| Failure::Error(Error::value("the operation has no result here")))
    }
}
