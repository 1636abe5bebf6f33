//! Random sequences of every operation on segments, against a plain model.
//!
//! The property tests, the fuzz targets and `lifecheck!` run the same [`run_on`], each with its own
//! [`Subject`]: after each step every value and every bit must be what a `Vec<Option<value>>` says.

use super::{Allocator, Fault, Operation, Run, subject::Subject};
use crate::{
    erased::{CellsMut, ElementType, Exclusive, Failure},
    faults::{self, type_code},
    segment::{Ledger, Segment, SegmentRequest, Source},
};
use std::cell::Cell;

mod pairs;
mod segments;

/// How many segments a sequence works on at once.
pub(super) const SLOTS: usize = 4;

/// What the model knows of one segment.
struct Modelled<V> {
    segment: Segment,
    /// It was hinted at the right type.
    hinted: bool,
    /// The values, once the type is settled; the pattern of bytes before.
    content: Content<V>,
}

enum Content<V> {
    Untyped(Vec<u8>),
    /// A vacant cell is `None`, and so is a default of zero bytes.
    Cells(Vec<Option<V>>),
}

struct Model<'s, S: Subject> {
    subject: &'s S,
    /// A type that segments may be hinted at by mistake.
    other: &'static ElementType,
    allocator: &'static Allocator,
    slots: [Option<Modelled<S::Value>>; SLOTS],
    /// Objects that another sequence lost when it found something.
    lost_before: i64,
    /// What is planned for the coming step.
    allocation_fails: bool,
    element_fails: bool,
    destructor_fails: bool,
    /// The operation has said that something failed.
    told: bool,
}

thread_local! {
    /// Which operation is at work on this thread.
    static STEP: Cell<usize> = const { Cell::new(0) };
}

/// The index of the operation that this thread was at when it last ran a sequence; one past the
/// last while everything is freed, and the largest number before the first.
pub(super) fn step() -> usize {
    STEP.get()
}

/// Before the first operation.
pub(super) fn begin() {
    STEP.set(usize::MAX);
}

/// Runs `operations` on segments of a type, and frees everything at the end.
///
/// `other` is another type, with another size of cells.
///
/// # Panics
/// A value, a bit or a counter is not what the model says.
pub(super) fn run_on<S: Subject>(
    subject: &S,
    other: &'static ElementType,
    operations: &[Operation],
) {
    let mut model = Model {
        subject,
        other,
        allocator: Allocator::borrow(),
        slots: [const { None }; SLOTS],
        lost_before: subject.element().counters().read().live,
        allocation_fails: false,
        element_fails: false,
        destructor_fails: false,
        told: false,
    };
    for (index, operation) in operations.iter().enumerate() {
        STEP.set(index);
        model.step(*operation);
        model.check();
    }
    STEP.set(operations.len());
    subject.cancel_plans();
    faults::cancel();
    model.destructor_fails = false;
    for slot in 0..SLOTS as u8 {
        model.free(slot);
    }
    model.check();
    model.allocator.give_back();
}

impl<S: Subject> Model<'_, S> {
    fn step(&mut self, operation: Operation) {
        match operation {
            Operation::FailAllocation { after } => {
                faults::plan_failure(after.into());
                self.allocation_fails = true;
                return;
            }
            Operation::FailElement { after, panic } => {
                let fault = if panic { Fault::Panic } else { Fault::Fail };
                self.subject.plan_fault(after.into(), fault);
                self.element_fails = true;
                return;
            }
            Operation::FailDestructor { after } => {
                self.subject.plan_destructor_failure(after.into());
                self.destructor_fails = true;
                return;
            }
            Operation::Allocate { slot, count, flags } => self.allocate(slot, count, flags),
            Operation::Bind { slot } => self.bind(slot),
            Operation::Resize { slot, count, extra } => self.resize(slot, count, extra),
            Operation::Construct(run) => self.construct(run),
            Operation::Materialise(run) => self.materialise(run),
            Operation::Destroy(run) => self.destroy(run),
            Operation::Set(run) => self.put(run, |_| run.offset),
            Operation::Put(run) => self.put(run, |index| run.offset.wrapping_add(index as u16)),
            Operation::Loop(run) => self.strided_loop(run),
            Operation::Compute(run) => self.compute(run),
            Operation::Sort(run) => self.sort(run),
            Operation::Copy(run) => self.copy(run),
            Operation::Relocate(run) => self.relocate(run),
            Operation::Permute(run) => self.permute(run),
            Operation::Clear { slot } => self.clear(slot),
            Operation::Free { slot } => self.free(slot),
            Operation::Lookup { slot, offset } => self.look_up(slot, offset),
            Operation::Wild { bits, shift } => self.look_up_wild(bits, shift),
        }
        self.end_plans();
    }

    /// A plan is for one step. What happened in it must have been told.
    fn end_plans(&mut self) {
        let left = self.subject.cancel_plans();
        let allocation_left = faults::cancel();
        for (what, planned, left) in [
            ("an allocation", &mut self.allocation_fails, allocation_left),
            ("an object", &mut self.element_fails, left.fault),
            ("a destructor", &mut self.destructor_fails, left.destructor),
        ] {
            let happened = std::mem::take(planned) && !left;
            assert!(
                !happened || self.told,
                "{what} failed as planned, and the operation succeeded"
            );
        }
        self.told = false;
    }

    fn element(&self) -> &'static ElementType {
        self.subject.element()
    }

    /// Whether a cell of a segment holds what is expected, and what is wrong where it does not.
    fn holds(
        &self,
        segment: Segment,
        index: usize,
        live: bool,
        expected: &Option<S::Value>,
    ) -> Result<(), String> {
        let cell = segment.cell_address(index).as_ptr();
        // SAFETY: a cell of a segment that this thread alone knows, live as its snapshot says.
        unsafe { self.subject.check(cell, live, expected.as_ref()) }
    }

    /// Which cells are live.
    fn live(segment: Segment) -> Vec<bool> {
        // SAFETY: this thread alone knows the segment.
        unsafe { segment.snapshot() }.live.iter().by_vals().collect()
    }

    /// The first of some values that is what a cell holds.
    #[track_caller]
    fn found(
        &self,
        segment: Segment,
        index: usize,
        live: bool,
        candidates: &[&Option<S::Value>],
    ) -> Option<S::Value> {
        let mut complaint = String::new();
        for candidate in candidates {
            match self.holds(segment, index, live, candidate) {
                Ok(()) => return (*candidate).clone(),
                Err(what) if complaint.is_empty() => complaint = what,
                Err(_) => {}
            }
        }
        panic!("cell {index}: {complaint}");
    }

    /// Values, bits and counters against the model.
    fn check(&self) {
        let mut live_cells = 0;
        for (slot, modelled) in self.slots.iter().enumerate() {
            let Some(Modelled { segment, content, .. }) = modelled else { continue };
            // SAFETY: this thread alone knows the segment.
            assert_eq!(unsafe { segment.check_integrity() }, Ok(0), "bits and cells");
            match content {
                Content::Untyped(bytes) => {
                    // SAFETY: the segment has that many bytes, and no code writes to them.
                    let actual = unsafe {
                        std::slice::from_raw_parts(segment.cells().as_ptr(), segment.byte_len())
                    };
                    assert!(bytes == actual, "bytes of an untyped segment");
                }
                Content::Cells(cells) => {
                    let live = Self::live(*segment);
                    assert_eq!(live.len(), cells.len(), "cells of slot {slot}");
                    for (index, (live, expected)) in live.iter().zip(cells).enumerate() {
                        if let Err(what) = self.holds(*segment, index, *live, expected) {
                            panic!("slot {slot}, cell {index}: {what}");
                        }
                    }
                    live_cells += live.iter().filter(|live| **live).count() as i64;
                }
            }
        }
        let ledger = self.element().counters().read();
        let recorded = ledger.live - self.lost_before;
        assert_eq!(recorded, live_cells, "live objects by the ledger and in the cells");
        if let Err(what) = self.subject.audit(live_cells, ledger) {
            panic!("{what}");
        }
    }

    /// The segment in a slot whose type is settled (now, if need be), and its cells.
    fn typed(&mut self, slot: u8) -> Option<(Segment, Vec<Option<S::Value>>)> {
        if let Some(Modelled { content: Content::Untyped(_), .. }) = self.slot(slot) {
            self.bind(slot);
        }
        match self.slot(slot) {
            Some(Modelled { segment, content: Content::Cells(cells), .. }) => {
                Some((*segment, cells.clone()))
            }
            _ => None,
        }
    }

    fn slot(&mut self, slot: u8) -> &mut Option<Modelled<S::Value>> {
        &mut self.slots[usize::from(slot) % SLOTS]
    }

    fn note(&mut self, slot: u8, segment: Segment, cells: Vec<Option<S::Value>>) {
        // An operation leaves what is known of the segment as it is.
        let hinted = self.slot(slot).as_ref().is_some_and(|modelled| modelled.hinted);
        *self.slot(slot) = Some(Modelled { segment, hinted, content: Content::Cells(cells) });
    }

    /// What a default-constructed cell holds.
    fn default_cell(&self) -> Option<S::Value> {
        self.subject.canonical(self.subject.default_value())
    }

    /// What the model keeps of values with these numbers; nothing where one cannot be made.
    fn values(&self, numbers: &[u16]) -> Option<Vec<Option<S::Value>>> {
        let mut latest: Option<(u16, Option<S::Value>)> = None;
        let value = |number: &u16| {
            if latest.as_ref().is_none_or(|(known, _)| known != number) {
                let value = self.subject.value(*number)?;
                latest = Some((*number, self.subject.canonical(value)));
            }
            latest.as_ref().map(|(_, value)| value.clone())
        };
        numbers.iter().map(value).collect()
    }

    /// A range inside `length` cells.
    fn range(run: Run, length: usize) -> std::ops::Range<usize> {
        let start = usize::from(run.start) % (length + 1);
        let count = usize::from(run.count) % (length - start + 1);
        start..start + count
    }

    /// A strided run of the cells of a segment.
    fn cells<'a>(
        &self,
        segment: Segment,
        start: usize,
        stride: isize,
        count: usize,
    ) -> CellsMut<'a> {
        let size = self.element().size();
        // SAFETY: callers name cells of a segment that this thread alone knows.
        unsafe {
            CellsMut::new(
                segment.cells().as_ptr().add(start * size),
                stride * size as isize,
                count,
                Exclusive::own(),
            )
        }
    }

    /// Checks the outcome of an operation that should have turned `old` cells into `new` ones, in
    /// order (or from the end), and takes over what is there now.
    fn settle(
        &mut self,
        slot: u8,
        segment: Segment,
        outcome: Result<(), Failure>,
        old: &[Option<S::Value>],
        new: &[Option<S::Value>],
        order: &[usize],
    ) {
        if let Err(failure) = &outcome {
            assert!(self.element_fails || self.destructor_fails, "it failed: {failure}");
            self.told = true;
            assert!(failure.done <= order.len(), "{failure:?} of {}", order.len());
        }
        let done = outcome.as_ref().map_or_else(|failure| failure.done, |()| order.len());
        let live = Self::live(segment);
        let mut cells = old.to_vec();
        for (position, &index) in order.iter().enumerate() {
            let (before, wanted) = (&old[index], &new[index]);
            let candidates: &[&Option<S::Value>] = if position < done {
                &[wanted]
            } else if self.destructor_fails {
                &[before, wanted]
            } else {
                &[before]
            };
            if position == done
                && type_code::fired_inside()
                && live[index]
                && !candidates.iter().any(|known| self.holds(segment, index, true, known).is_ok())
            {
                // `clone_from` of its own: valid, but neither the old value nor the new one.
                // SAFETY: this thread alone knows the segment.
                let destroyed = unsafe { segment.destroy(index..index + 1) };
                self.expect_destructors(destroyed);
                cells[index] = None;
                continue;
            }
            cells[index] = self.found(segment, index, live[index], candidates);
        }
        self.note(slot, segment, cells);
    }

    fn construct(&mut self, run: Run) {
        if !self.element().has_default() {
            return;
        }
        let Some((segment, old)) = self.typed(run.slot) else { return };
        let range = Self::range(run, old.len());
        let occupied = Self::live(segment)[range.clone()].contains(&true);
        // SAFETY: this thread alone knows the segment.
        let outcome = unsafe { segment.construct_default(range.clone()) };
        if occupied {
            assert_eq!(outcome.map_err(|failure| failure.done), Err(0), "built over an object");
            return;
        }
        let mut new = old.clone();
        new[range.clone()].fill(self.default_cell());
        self.settle(run.slot, segment, outcome, &old, &new, &range.collect::<Vec<_>>());
    }

    fn materialise(&mut self, run: Run) {
        if !self.element().has_default() {
            return;
        }
        let Some((segment, old)) = self.typed(run.slot) else { return };
        let range = Self::range(run, old.len());
        // SAFETY: this thread alone knows the segment.
        let outcome = unsafe { segment.materialise(range.clone()) };
        let mut new = old.clone();
        if !self.element().zero_is_default() {
            let default = self.default_cell();
            for cell in new[range.clone()].iter_mut().filter(|cell| cell.is_none()) {
                cell.clone_from(&default);
            }
        }
        self.settle(run.slot, segment, outcome, &old, &new, &range.collect::<Vec<_>>());
    }

    fn destroy(&mut self, run: Run) {
        let Some((segment, mut cells)) = self.typed(run.slot) else { return };
        let range = Self::range(run, cells.len());
        // SAFETY: this thread alone knows the segment.
        let outcome = unsafe { segment.destroy(range.clone()) };
        self.expect_destructors(outcome);
        cells[range].fill(None);
        self.note(run.slot, segment, cells);
    }

    #[track_caller]
    fn expect_destructors(&mut self, outcome: Result<(), Failure>) {
        if let Err(failure) = outcome {
            assert!(self.destructor_fails, "a destructor failed: {failure}");
            self.told = true;
        }
    }

    /// Gives cells values, `number` says which one cell by cell.
    fn put(&mut self, run: Run, number: impl Fn(usize) -> u16) {
        let Some((segment, mut cells)) = self.typed(run.slot) else { return };
        let element = self.element();
        let range = Self::range(run, cells.len());
        let numbers: Vec<u16> = (0..range.len()).map(number).collect();
        let Some(values) = self.values(&numbers) else { return };
        let mut stretches = vec![(range.clone(), 0)];
        if !S::FILLS_VACANT {
            stretches = range.clone().enumerate().map(|(at, cell)| (cell..cell + 1, at)).collect();
            stretches.retain(|(cell, _)| cells[cell.start].is_some());
        }
        for (stretch, at) in stretches {
            let mut target = self.cells(segment, stretch.start, 1, stretch.len());
            let ledger =
                element.has_zero_promise().then(|| Ledger::open(element, Some(segment), &target));
            // SAFETY: cells of a segment that this thread alone knows; live, or any will do.
            let stored =
                unsafe { self.subject.store(target.reborrow(), &numbers[at..at + stretch.len()]) };
            if let Some(ledger) = ledger {
                ledger.close(target.as_cells());
            }
            if let Err(failure) = stored {
                panic!("a value could not be stored: {failure}");
            }
            cells[stretch.clone()].clone_from_slice(&values[at..at + stretch.len()]);
        }
        self.note(run.slot, segment, cells);
    }

    fn strided_loop(&mut self, run: Run) {
        let element = self.element();
        if !element.has_zero_promise() {
            return;
        }
        let Some((segment, old)) = self.typed(run.slot) else { return };
        if old.is_empty() {
            return;
        }
        // A start and a stride from -7 to 7 cells, and as many cells as fit.
        let start = usize::from(run.start) % old.len();
        let stride = isize::from(run.to as i8) % 8;
        let room = match stride {
            0 => self.subject.most_cells(),
            1.. => (old.len() - 1 - start) / stride as usize + 1,
            _ => start / stride.unsigned_abs() + 1,
        };
        let count = usize::from(run.count) % (room + 1);
        let number = run.offset >> 8;
        let Some(value) = self.values(&[number]).and_then(|mut values| values.pop()) else {
            return;
        };
        let mut cells = self.cells(segment, start, stride, count);
        let found = Some(segment).filter(|_| count > 0);
        let ledger = Ledger::open(element, found, &cells);
        // SAFETY: cells of a segment that this thread alone knows.
        let outcome = unsafe { self.subject.fill(cells.reborrow(), number) };
        let delta = ledger.close(cells.as_cells());
        assert_eq!(delta.reconciled, 0);
        let reached = |index: usize| start.wrapping_add_signed(stride * index as isize);
        let mut new = old.clone();
        for index in 0..count {
            new[reached(index)].clone_from(&value);
        }
        let mut order: Vec<usize> = (0..count).map(reached).collect();
        order.dedup();
        if let Err(failure) = &outcome {
            assert!(self.element_fails, "it failed: {failure}");
            self.told = true;
            // The cells before the failing one have their value: take over what is there.
            let live = Self::live(segment);
            let mut cells = old.clone();
            for index in order {
                let default = self.default_cell();
                let candidates = [&new[index], &old[index], &default];
                cells[index] = self.found(segment, index, live[index], &candidates);
            }
            return self.note(run.slot, segment, cells);
        }
        self.settle(run.slot, segment, outcome, &old, &new, &order);
    }
}
