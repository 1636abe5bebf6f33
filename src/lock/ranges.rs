//! The range table of one contended lock: who is in, who waits, which cells are lent.
//!
//! Plain data. Its users hold the mutex of the lock's shard.

use super::{error::LockError, span::Span};
use std::collections::VecDeque;

/// Names a holder or waiter of one range table.
pub(super) type Ticket = u64;

/// What became of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Admission {
    /// It is in, as a holder.
    Granted(Ticket),
    /// It would have to wait.
    Blocked,
    /// It conflicts with a borrow, for which no thread waits.
    Borrowed,
}

struct Waiter<S> {
    ticket: Ticket,
    span: Span,
    signal: S,
}

/// Holders, waiters and borrows of one lock. `S` is how a waiter is told.
///
/// Between calls: no two of the holders and borrows conflict, no waiter conflicts with a borrow.
pub(super) struct Ranges<S> {
    last_ticket: Ticket,
    holders: Vec<(Ticket, Span)>,
    waiters: VecDeque<Waiter<S>>,
    borrows: Vec<Span>,
}

impl<S> Default for Ranges<S> {
    fn default() -> Self {
        Ranges {
            last_ticket: 0,
            holders: Vec::new(),
            waiters: VecDeque::new(),
            borrows: Vec::new(),
        }
    }
}

fn any_conflicts<'a>(span: &Span, others: impl IntoIterator<Item = &'a Span>) -> bool {
    others.into_iter().any(|other| span.conflicts(other))
}

impl<S> Ranges<S> {
    /// Whether nothing is registered, so that the table can go.
    pub fn is_empty(&self) -> bool {
        self.holders.is_empty() && self.waiters.is_empty() && self.borrows.is_empty()
    }

    pub fn has_waiters(&self) -> bool {
        !self.waiters.is_empty()
    }

    /// Lets `span` in if it conflicts with no holder (`fast` are those that came in by the lock
    /// word), no borrow and, unless it may `overtake`, no waiter.
    pub fn admit(&mut self, span: Span, fast: &[Span], overtake: bool) -> Admission {
        if any_conflicts(&span, &self.borrows) {
            return Admission::Borrowed;
        }
        if self.is_held(&span, fast) || (!overtake && self.is_awaited(&span)) {
            return Admission::Blocked;
        }
        let ticket = self.next_ticket();
        self.holders.push((ticket, span));
        Admission::Granted(ticket)
    }

    /// Queues a blocked `span`, behind all others.
    pub fn enqueue(&mut self, span: Span, signal: S) -> Ticket {
        let ticket = self.next_ticket();
        self.waiters.push_back(Waiter { ticket, span, signal });
        ticket
    }

    /// Removes a holder, or a waiter that gave up.
    pub fn remove(&mut self, ticket: Ticket) {
        if let Some(index) = self.holders.iter().position(|(holder, _)| *holder == ticket) {
            self.holders.swap_remove(index);
        } else {
            self.waiters.retain(|waiter| waiter.ticket != ticket);
        }
    }

    /// Lets in, in their order, all waiters that conflict neither with a holder nor with a waiter
    /// that stays in front of them; tells each by `wake`. Returns how many.
    pub fn grant(&mut self, fast: &[Span], mut wake: impl FnMut(&S)) -> usize {
        let mut granted = 0;
        let mut index = 0;
        while let Some(waiter) = self.waiters.get(index) {
            let span = waiter.span;
            let staying = self.waiters.iter().take(index).map(|earlier| &earlier.span);
            if self.is_held(&span, fast) || any_conflicts(&span, staying) {
                index += 1;
                continue;
            }
            if let Some(waiter) = self.waiters.remove(index) {
                self.holders.push((waiter.ticket, span));
                wake(&waiter.signal);
                granted += 1;
            }
        }
        granted
    }

    /// Lends `span` if no thread uses or awaits it. Never overtakes a waiter: it would have to be
    /// refused after having been told to wait.
    pub fn lend(&mut self, span: Span, fast: &[Span]) -> Result<(), LockError> {
        if any_conflicts(&span, &self.borrows) {
            return Err(LockError::Borrowed);
        }
        if self.is_held(&span, fast) || self.is_awaited(&span) {
            return Err(LockError::Busy);
        }
        self.borrows.push(span);
        Ok(())
    }

    /// Whether a borrow conflicts with `span`.
    pub fn is_borrowed(&self, span: &Span) -> bool {
        any_conflicts(span, &self.borrows)
    }

    /// Takes back one borrow of exactly this span. Borrows of equal spans are interchangeable.
    pub fn give_back(&mut self, span: &Span) -> bool {
        let index = self.borrows.iter().position(|borrow| borrow == span);
        if let Some(index) = index {
            self.borrows.swap_remove(index);
        }
        index.is_some()
    }

    /// Forgets holders and waiters; borrows stay. Tells each waiter by `orphan`.
    #[cfg(not(loom))]
    pub fn abandon(&mut self, mut orphan: impl FnMut(&S)) {
        self.holders.clear();
        self.waiters.drain(..).for_each(|waiter| orphan(&waiter.signal));
    }

    fn is_held(&self, span: &Span, fast: &[Span]) -> bool {
        any_conflicts(span, fast) || any_conflicts(span, self.holders.iter().map(|(_, held)| held))
    }

    fn is_awaited(&self, span: &Span) -> bool {
        any_conflicts(span, self.waiters.iter().map(|waiter| &waiter.span))
    }

    fn next_ticket(&mut self) -> Ticket {
        self.last_ticket += 1;
        self.last_ticket
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    //! The table against a model that knows nothing of ranges: per cell, who reads and who writes.

    use super::*;
    use proptest::prelude::*;
    use std::cell::RefCell;

    const CELLS: usize = 12;

    #[derive(Clone, Debug)]
    enum Operation {
        /// Ask for cells, and queue if blocked.
        Acquire {
            start: usize,
            length: usize,
            write: bool,
        },
        TryAcquire {
            start: usize,
            length: usize,
            write: bool,
        },
        Lend {
            start: usize,
            length: usize,
            write: bool,
        },
        /// Remove the holder at this position, if there is one, and let waiters in.
        Release(usize),
        /// A waiter gives up.
        Cancel(usize),
        GiveBack(usize),
    }

    fn operation() -> impl Strategy<Value = Operation> {
        let cells = || (0..CELLS, 1..6_usize, any::<bool>());
        prop_oneof![
            4 => cells().prop_map(|(start, length, write)| Operation::Acquire { start, length, write }),
            2 => cells().prop_map(|(start, length, write)| Operation::TryAcquire { start, length, write }),
            1 => cells().prop_map(|(start, length, write)| Operation::Lend { start, length, write }),
            5 => (0..8_usize).prop_map(Operation::Release),
            1 => (0..8_usize).prop_map(Operation::Cancel),
            2 => (0..8_usize).prop_map(Operation::GiveBack),
        ]
    }

    fn span(start: usize, length: usize, write: bool) -> Span {
        Span { start, end: (start + length).min(CELLS), write }
    }

    /// Readers and writers of each cell, counted.
    #[derive(Default)]
    struct Cells([(usize, usize); CELLS]);

    impl Cells {
        fn of<'a>(spans: impl IntoIterator<Item = &'a Span>) -> Cells {
            let mut cells = Cells::default();
            spans.into_iter().for_each(|span| cells.add(span));
            cells
        }

        fn add(&mut self, span: &Span) {
            for cell in &mut self.0[span.start..span.end] {
                if span.write { cell.1 += 1 } else { cell.0 += 1 }
            }
        }

        fn admits(&self, span: &Span) -> bool {
            self.0[span.start..span.end]
                .iter()
                .all(|&(readers, writers)| writers == 0 && (!span.write || readers == 0))
        }
    }

    /// The same state, in plain lists in order of arrival.
    #[derive(Default)]
    struct Model {
        holders: Vec<(Ticket, Span)>,
        waiters: Vec<(Ticket, Span)>,
        borrows: Vec<Span>,
    }

    impl Model {
        fn in_use(&self) -> Cells {
            Cells::of(self.holders.iter().map(|(_, span)| span).chain(&self.borrows))
        }

        fn blocked(&self, span: &Span) -> bool {
            let awaited = Cells::of(self.waiters.iter().map(|(_, span)| span));
            !self.in_use().admits(span) || !awaited.admits(span)
        }

        /// Lets waiters in, in order; returns their tickets.
        fn grant(&mut self) -> Vec<Ticket> {
            let mut granted = Vec::new();
            let mut in_use = self.in_use();
            let mut staying = Vec::new();
            let mut passed = Cells::default();
            for (ticket, span) in std::mem::take(&mut self.waiters) {
                if in_use.admits(&span) && passed.admits(&span) {
                    in_use.add(&span);
                    self.holders.push((ticket, span));
                    granted.push(ticket);
                } else {
                    passed.add(&span);
                    staying.push((ticket, span));
                }
            }
            self.waiters = staying;
            granted
        }
    }

    proptest! {
        #[test]
        fn the_table_admits_what_a_per_cell_model_admits(
            operations in prop::collection::vec(operation(), 1..80)
        ) {
            let mut table: Ranges<RefCell<usize>> = Ranges::default();
            let mut model = Model::default();
            for operation in operations {
                match operation {
                    Operation::Acquire { start, length, write }
                    | Operation::TryAcquire { start, length, write } => {
                        let span = span(start, length, write);
                        let lent = !Cells::of(&model.borrows).admits(&span);
                        match table.admit(span, &[], false) {
                            Admission::Borrowed => prop_assert!(lent),
                            Admission::Granted(ticket) => {
                                prop_assert!(!model.blocked(&span));
                                model.holders.push((ticket, span));
                            }
                            Admission::Blocked => {
                                prop_assert!(!lent && model.blocked(&span));
                                if matches!(operation, Operation::Acquire { .. }) {
                                    let ticket = table.enqueue(span, RefCell::new(0));
                                    model.waiters.push((ticket, span));
                                }
                            }
                        }
                    }
                    Operation::Lend { start, length, write } => {
                        let span = span(start, length, write);
                        let lent = !Cells::of(&model.borrows).admits(&span);
                        let expected = match (lent, model.blocked(&span)) {
                            (true, _) => Err(LockError::Borrowed),
                            (false, true) => Err(LockError::Busy),
                            (false, false) => Ok(()),
                        };
                        prop_assert_eq!(table.lend(span, &[]), expected);
                        if expected.is_ok() {
                            model.borrows.push(span);
                        }
                    }
                    Operation::Release(index) => {
                        if index < model.holders.len() {
                            table.remove(model.holders.remove(index).0);
                        }
                    }
                    Operation::Cancel(index) => {
                        if index < model.waiters.len() {
                            table.remove(model.waiters.remove(index).0);
                        }
                    }
                    Operation::GiveBack(index) => {
                        if index < model.borrows.len() {
                            prop_assert!(table.give_back(&model.borrows.remove(index)));
                        } else {
                            let never_borrowed = Span { start: 90, end: 91, write: true };
                            prop_assert!(!table.give_back(&never_borrowed));
                        }
                    }
                }
                let mut told = 0;
                let granted = table.grant(&[], |_| told += 1);
                let expected = model.grant();
                prop_assert_eq!((granted, told), (expected.len(), expected.len()));
                let mut held: Vec<_> = table.holders.iter().map(|(ticket, _)| *ticket).collect();
                let mut modelled: Vec<_> = model.holders.iter().map(|(ticket, _)| *ticket).collect();
                held.sort_unstable();
                modelled.sort_unstable();
                prop_assert_eq!(held, modelled);
                prop_assert_eq!(table.waiters.len(), model.waiters.len());
                prop_assert_eq!(
                    table.is_empty(),
                    model.holders.is_empty() && model.waiters.is_empty() && model.borrows.is_empty()
                );
            }
        }
    }

    #[test]
    fn holders_of_the_word_count_by_their_ranges() {
        let mut table: Ranges<()> = Ranges::default();
        let fast = [span(0, 4, true)];
        assert_eq!(table.admit(span(3, 2, false), &fast, false), Admission::Blocked);
        assert!(matches!(table.admit(span(4, 4, true), &fast, false), Admission::Granted(_)));
        assert_eq!(table.lend(span(0, 1, false), &fast), Err(LockError::Busy));
    }

    #[test]
    fn a_reader_does_not_pass_a_waiting_writer_unless_it_may_overtake() {
        let mut table: Ranges<()> = Ranges::default();
        assert!(matches!(table.admit(span(0, 4, false), &[], false), Admission::Granted(_)));
        assert_eq!(table.admit(span(0, 4, true), &[], false), Admission::Blocked);
        table.enqueue(span(0, 4, true), ());
        assert_eq!(table.admit(span(0, 4, false), &[], false), Admission::Blocked);
        assert!(matches!(table.admit(span(0, 4, false), &[], true), Admission::Granted(_)));
    }
}
