//! Why an operation on elements failed.

use crate::abi::{self, ErrorKind, ErrorOut, Status};
use std::ops::{Deref, DerefMut};

/// A failed batch operation: what happened, and how many elements were done before it.
///
/// One word: a call that copies one element hands its outcome through half a dozen functions, and
/// nearly always the outcome is that nothing failed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Failure(Box<Details>);

/// What a [`Failure`] says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Details {
    /// Which Python exception this becomes.
    pub kind: ErrorKind,
    /// What happened.
    pub message: String,
    /// Elements completed before the failure.
    pub done: usize,
    /// A Python exception is already set on this thread; `kind` and `message` say nothing.
    pub raised: bool,
}

impl Failure {
    /// A failure before the first element.
    pub fn new(kind: ErrorKind, message: impl Into<String>) -> Self {
        Failure(Box::new(Details { kind, message: message.into(), done: 0, raised: false }))
    }

    /// The same failure, with or without a Python exception set.
    pub fn with_raised(mut self, raised: bool) -> Self {
        self.raised = raised;
        self
    }

    /// The same failure, at element `done` of the batch.
    pub fn at(mut self, done: usize) -> Self {
        self.done = done;
        self
    }

    /// The same failure, `count` elements later in the batch.
    pub fn after(mut self, count: usize) -> Self {
        self.done += count;
        self
    }

    /// Takes a client's answer apart.
    #[inline]
    pub fn check(status: Status, error_out: &ErrorOut) -> Result<(), Failure> {
        match status {
            abi::OK => Ok(()),
            status => Err(Self::from_report(status, error_out)),
        }
    }

    #[cold]
    fn from_report(status: Status, error_out: &ErrorOut) -> Failure {
        Failure::new(error_out.kind, error_out.text())
            .at(error_out.done)
            .with_raised(status == abi::RAISED)
    }
}

impl Deref for Failure {
    type Target = Details;

    fn deref(&self) -> &Details {
        &self.0
    }
}

impl DerefMut for Failure {
    fn deref_mut(&mut self) -> &mut Details {
        &mut self.0
    }
}

impl std::fmt::Display for Failure {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for Failure {}
