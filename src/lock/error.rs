//! Why a lock was not given.

use std::fmt;

/// Why a request for cells was refused. Nothing is held after an error.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LockError {
    /// This thread is in the middle of an operation on the cells, and would have waited for itself.
    Reentrant,
    /// The cells are lent to client code.
    Borrowed,
    /// Another thread is at work on the cells, or queued for them, and the caller does not wait:
    /// because it asked not to, or because it is in the middle of an operation, where a thread
    /// never waits.
    Busy,
    /// An operation that is in the middle of something keeps the memory where it is.
    Pinned,
    /// This thread holds as many locks as it can keep track of.
    TooMany,
}

impl fmt::Display for LockError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            LockError::Reentrant => {
                "these cells are in use by an operation that this thread is in the middle of; let \
                 that operation end first, or work on a copy of the array"
            }
            LockError::Borrowed => {
                "the cells are lent to a view in client code; release the view first, or work on a \
                 copy of the array"
            }
            LockError::Busy => {
                "an operation of another thread is at work on these cells, and who is in the middle \
                 of an operation does not wait; try again when it has ended, or work on a copy of \
                 the array"
            }
            LockError::Pinned => {
                "an operation is in the middle of these cells, whose memory must stay where it is \
                 until that ends; resize a copy of the array, or wait"
            }
            LockError::TooMany => {
                "this thread is at work on too many arrays at once; use fewer operands, or nest \
                 fewer operations"
            }
        })
    }
}

impl std::error::Error for LockError {}
