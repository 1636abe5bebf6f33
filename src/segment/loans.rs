//! Loans: cells that somebody outside the array shows, and who takes the object over before its
//! cell goes.
//!
//! An object that only moves cannot be handed out as a copy. Who reads such a cell gets a loan
//! instead: the cell, in place, for as long as it is there. The loans are recorded in a
//! higher layer (`dtype::loan`); here is what a segment does for them. Types with copies are never
//! lent, and pay nothing.

use super::Segment;
use crate::erased::{ElementType, Failure};
use std::{
    ops::Range,
    ptr::NonNull,
    sync::{
        OnceLock,
        // Statics, which loom's types cannot be; nothing is published through them.
        atomic::{AtomicUsize, Ordering::Relaxed},
    },
};

/// What a segment tells those who show its cells.
#[derive(Clone, Copy)]
pub struct LoanHooks {
    /// The cells that begin in this range of addresses are about to go. Whoever shows one takes its
    /// object over, or the vacancy. Returns how many could not, because somebody uses them.
    ///
    /// Called without any lock held, with or without the GIL.
    pub take_back: fn(cells: Range<usize>) -> usize,
    /// The cells that began in this range of addresses are at `new_start` now, as they were.
    pub moved: fn(cells: Range<usize>, new_start: NonNull<u8>),
}

static HOOKS: OnceLock<LoanHooks> = OnceLock::new();
static LOANS: AtomicUsize = AtomicUsize::new(0);

/// Sets the hooks; the first ones stay.
pub fn set_loan_hooks(hooks: LoanHooks) {
    let _ = HOOKS.set(hooks);
}

/// Counts a loan that begins.
pub fn loan_begins() {
    LOANS.fetch_add(1, Relaxed);
}

/// Counts a loan that ends.
pub fn loan_ends() {
    let before = LOANS.fetch_sub(1, Relaxed);
    debug_assert!(before > 0, "a loan ends once");
}

/// Whether any cell of such a type may be lent. For types with copies no memory is looked at.
///
/// A thread that may end cells has seen all loans of them: NumPy's reference counts, and the GIL,
/// stand between.
#[inline]
pub fn may_be_lent(element: &ElementType) -> bool {
    !element.is_copyable() && LOANS.load(Relaxed) != 0
}

impl Segment {
    /// Has the cells from byte `from` on taken back by those who show them.
    ///
    /// # Errors
    /// Some of them are in use: their memory must stay where it is.
    pub(super) fn end_loans(self, from: usize) -> Result<(), Failure> {
        match self.lent_type().zip(HOOKS.get()) {
            Some((element, hooks)) => self.call_take_back(element, hooks, from),
            None => Ok(()),
        }
    }

    #[cold]
    fn call_take_back(
        self,
        element: &ElementType,
        hooks: &LoanHooks,
        from: usize,
    ) -> Result<(), Failure> {
        let start = self.cells().as_ptr().addr();
        let first = start + from / element.size() * element.size();
        let used = (hooks.take_back)(first..start + self.byte_len());
        if used == 0 {
            return Ok(());
        }
        Err(Failure::new(
            crate::abi::ERROR_BORROW,
            format!(
                "memory of {used} {} was freed while somebody used them through a scalar; it is \
                 leaked",
                element.name()
            ),
        ))
    }

    /// Tells those who show cells that these moved, with all before byte `len`.
    pub(super) fn loans_moved(self, old_start: usize, len: usize) {
        let start = self.cells();
        if start.as_ptr().addr() != old_start
            && let Some((_, hooks)) = self.lent_type().zip(HOOKS.get())
        {
            (hooks.moved)(old_start..old_start + len, start);
        }
    }

    /// The type that the segment is hinted at or bound to, where cells of it may be lent.
    #[inline]
    fn lent_type(self) -> Option<&'static ElementType> {
        self.header().type_word().0.filter(|element| may_be_lent(element))
    }
}
