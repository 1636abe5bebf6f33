//! Why a lock was not given.

use std::fmt;

/// Why a request for cells was refused. Nothing is held after an error.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LockError {
    /// This thread would have waited for itself: it already holds the lock, or one that other
    /// threads take after it.
    Reentrant,
    /// The cells are lent to client code.
    Borrowed,
    /// A loop is at work on the cells, or queued for them, and the caller does not wait.
    Busy,
    /// This thread holds as many locks as it can keep track of.
    TooMany,
}

impl fmt::Display for LockError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            LockError::Reentrant => {
                "this thread is in the middle of an operation on these cells, or on cells that come \
                 after them in the order of locking, and waiting could never end; an operation on \
                 elements must not operate on arrays of elements"
            }
            LockError::Borrowed => {
                "the cells are lent to a view in client code; release the view first, or work on a \
                 copy of the array"
            }
            LockError::Busy => {
                "another operation is at work on these cells; try again when it has ended, or work \
                 on a copy of the array"
            }
            LockError::TooMany => {
                "this thread is at work on too many arrays at once; use fewer operands, or nest \
                 fewer operations"
            }
        })
    }
}

impl std::error::Error for LockError {}
