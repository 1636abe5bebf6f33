//! Cells lent to client code, for as long as it likes.

use super::{segment_lock::SegmentLock, span::Span};
use std::mem::ManuallyDrop;

/// Cells of a segment that a view in client code reads or writes. Given back on drop.
///
/// It belongs to no thread: it may be given back anywhere.
#[must_use = "a borrow that is dropped is given back at once"]
pub struct Borrow<'a> {
    lock: &'a SegmentLock,
    span: Option<Span>,
}

/// A [`Borrow`] as plain data, to be kept where there are no lifetimes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(C)]
pub struct RawBorrow {
    /// First cell.
    pub start: usize,
    /// One past the last cell. Equal to `start` where no cell was asked for.
    pub end: usize,
    /// Whether the borrow excludes all others.
    pub write: bool,
}

impl<'a> Borrow<'a> {
    /// `span` is registered with `lock`, or `None` where the range was empty.
    pub(super) fn new(lock: &'a SegmentLock, span: Option<Span>) -> Borrow<'a> {
        Borrow { lock, span }
    }

    /// Keeps the cells lent and returns what [`Borrow::from_raw`] needs to give them back.
    pub fn into_raw(self) -> RawBorrow {
        match ManuallyDrop::new(self).span {
            Some(Span { start, end, write }) => RawBorrow { start, end, write },
            None => RawBorrow { start: 0, end: 0, write: false },
        }
    }

    /// Makes a borrow of its raw form, once.
    ///
    /// # Safety
    /// `raw` comes from [`Borrow::into_raw`] of a borrow of this `lock`, and this function was not
    /// called with it before.
    pub unsafe fn from_raw(lock: &'a SegmentLock, raw: RawBorrow) -> Borrow<'a> {
        Borrow { lock, span: Span::new(&(raw.start..raw.end), raw.write) }
    }
}

impl Drop for Borrow<'_> {
    fn drop(&mut self) {
        if let Some(span) = &self.span {
            self.lock.give_back(span);
        }
    }
}
