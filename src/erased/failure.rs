//! Why an operation on elements failed.

use crate::abi::{self, ErrorKind, Report, Status};

/// A failed batch operation: what happened, and how many elements were done before it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Failure {
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
        Failure { kind, message: message.into(), done: 0, raised: false }
    }

    /// The same failure, `count` elements later in the batch.
    pub fn after(mut self, count: usize) -> Self {
        self.done += count;
        self
    }

    /// Takes a client's answer apart.
    #[inline]
    pub fn check(status: Status, report: &Report) -> Result<(), Failure> {
        match status {
            abi::OK => Ok(()),
            status => Err(Self::from_report(status, report)),
        }
    }

    #[cold]
    fn from_report(status: Status, report: &Report) -> Failure {
        Failure {
            kind: report.kind,
            message: report.text(),
            done: report.done,
            raised: status == abi::RAISED,
        }
    }
}

impl std::fmt::Display for Failure {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for Failure {}
