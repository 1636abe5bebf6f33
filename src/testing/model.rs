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

    fn allocate(&mut self, slot: u8, count: u16, flags: u8) {
        self.free(slot);
        let element = self.element();
        let count = usize::from(count) % self.subject.most_cells();
        let bytes = count * element.size() + usize::from(flags >> 5) % element.size();
        let align = [1, 64, 128, 4096][usize::from(flags & 3)];
        let zeroed = flags & 16 == 0;
        let hint = match (flags >> 2) & 3 {
            0 | 1 => Some(element),
            2 => Some(self.other),
            _ => None,
        };
        let source = if slot & 64 == 0 { Source::MEMORY } else { self.allocator.source() };
        let segment = match SegmentRequest::new(bytes, align)
            .from_source(source)
            .hint(hint)
            .zeroed_if(zeroed)
            .allocate()
        {
            Ok(segment) => segment,
            Err(error) => {
                self.told = true;
                return assert!(self.allocation_fails, "{error}");
            }
        };
        assert_eq!((segment.element().is_none(), segment.byte_len()), (true, bytes));
        assert_eq!(segment.source(), source);
        let mut content = vec![0; bytes];
        let hinted = hint.is_some_and(|hint| std::ptr::eq(hint, element));
        if !zeroed {
            // A caller that hints and does not ask for zeros promises to zero the cells.
            content.fill(if hinted { 0 } else { 0xcd });
            // SAFETY: `bytes` bytes that this thread alone knows.
            unsafe { segment.cells().write_bytes(if hinted { 0 } else { 0xcd }, bytes) };
        }
        *self.slot(slot) = Some(Modelled { segment, hinted, content: Content::Untyped(content) });
    }

    fn bind(&mut self, slot: u8) {
        let element = self.element();
        let other = self.other;
        let allocation_fails = self.allocation_fails;
        let Some(Modelled { segment, hinted, content }) = self.slot(slot) else { return };
        let segment = *segment;
        let untyped = matches!(content, Content::Untyped(_));
        if untyped && *hinted && slot & 128 != 0 {
            segment.note_built();
        }
        match segment.bind(element) {
            Ok(()) if untyped => {
                *content = Content::Cells(vec![None; segment.byte_len() / element.size()]);
            }
            Ok(()) => {}
            Err(error) => {
                self.told = true;
                return assert!(allocation_fails && untyped, "{error}");
            }
        }
        assert_eq!(segment.bind(element), Ok(()));
        assert!(segment.bind(other).is_err(), "one type a segment");
    }

    fn resize(&mut self, slot: u8, count: u16, extra: u8) {
        let element = self.element();
        let may_fail =
            self.allocation_fails || (self.element_fails && !element.is_trivially_relocatable());
        let destructor_fails = self.destructor_fails;
        let mut told = false;
        let bytes = usize::from(count) % self.subject.most_cells() * element.size()
            + usize::from(extra) % element.size();
        let Some(modelled) = self.slot(slot) else { return };
        let shrinks = bytes < modelled.segment.byte_len();
        // SAFETY: this thread alone knows the segment.
        match unsafe { modelled.segment.resize(bytes) } {
            Ok(resized) => {
                if let Some(failure) = resized.destructor {
                    assert!(destructor_fails, "a destructor failed: {failure}");
                    told = true;
                }
                modelled.segment = resized.segment;
                match &mut modelled.content {
                    Content::Untyped(content) => content.resize(bytes, 0),
                    Content::Cells(cells) => cells.resize(bytes / element.size(), None),
                }
                assert_eq!(modelled.segment.byte_len(), bytes);
            }
            Err(error) => {
                assert!(may_fail, "{error}");
                told = true;
            }
        }
        self.told |= told;
        // A block that cannot shrink stays as large as it is.
        self.allocation_fails &= !shrinks || told;
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

    /// Source, destination and the order of copying for two ranges.
    fn pair(&mut self, run: Run) -> Option<Pair<S::Value>> {
        let (from, source) = self.typed(run.slot)?;
        let (to, old) = self.typed(run.to)?;
        let mut range = Self::range(run, source.len());
        let offset = usize::from(run.offset) % (old.len() + 1);
        range.end = range.end.min(range.start + old.len() - offset);
        let mut order: Vec<usize> = (offset..offset + range.len()).collect();
        if from == to && offset > range.start && offset - range.start < range.len() {
            order.reverse();
        }
        Some(Pair { from, source, to, old, range, offset, order })
    }

    fn copy(&mut self, run: Run) {
        let Some(pair) = self.pair(run) else { return };
        let same_place = pair.from == pair.to && pair.range.start == pair.offset;
        // SAFETY: this thread alone knows the segments.
        let outcome = unsafe { pair.from.copy(pair.range.clone(), pair.to, pair.offset) };
        if !self.element().is_copyable() && !pair.range.is_empty() && !same_place {
            let done = outcome.map_err(|failure| failure.done);
            return assert_eq!(done, Err(0), "copies of a type that has none");
        }
        let mut new = pair.old.clone();
        new[pair.offset..][..pair.range.len()].clone_from_slice(&pair.source[pair.range.clone()]);
        self.settle(run.to, pair.to, outcome, &pair.old, &new, &pair.order);
    }

    fn relocate(&mut self, run: Run) {
        let Some(pair) = self.pair(run) else { return };
        // SAFETY: this thread alone knows the segments.
        let outcome = unsafe { pair.from.relocate(pair.range.clone(), pair.to, pair.offset) };
        if let Err(failure) = &outcome {
            assert!(self.element_fails || self.destructor_fails, "it failed: {failure}");
            self.told = true;
        }
        let same = pair.from == pair.to;
        if same && pair.range.start == pair.offset {
            return;
        }
        let done = outcome.map_or_else(|failure| failure.done, |()| pair.order.len());
        // Where the segments are one, all is in `target`.
        let (mut source, mut target) = (pair.source, pair.old);
        for (position, &to) in pair.order.iter().enumerate() {
            let from = to - pair.offset + pair.range.start;
            if position < done {
                let moved = if same { target[from].take() } else { source[from].take() };
                target[to] = moved;
            }
        }
        let live = Self::live(pair.to);
        for &to in pair.order.iter().skip(done) {
            // Its object is destroyed already, or not yet.
            target[to] = self.found(pair.to, to, live[to], &[&target[to], &None]);
        }
        if !same {
            self.note(run.slot, pair.from, source);
        }
        self.note(run.to, pair.to, target);
    }

    fn compute(&mut self, run: Run) {
        let loops = self.subject.loop_count();
        let element = self.element();
        if loops == 0 {
            return;
        }
        let Some(mut pair) = self.pair(run) else { return };
        let (mut count, same) = (pair.range.len(), pair.from == pair.to);
        let apart = pair.range.start.abs_diff(pair.offset) >= count;
        // NumPy copies operands that overlap in any other way.
        if count == 0 || (same && !apart && pair.range.start != pair.offset) {
            return;
        }
        // From the first two cells on that hold something to compute with.
        let reads = |cell: &Option<S::Value>| cell.is_some() || element.has_default();
        let skipped = (0..count).find(|position| {
            reads(&pair.source[pair.range.start + position])
                && reads(&pair.old[pair.offset + position])
        });
        let Some(skipped) = skipped else { return };
        pair.range.start += skipped;
        pair.offset += skipped;
        pair.order.drain(..skipped);
        count -= skipped;
        let which = usize::from(run.to >> 2) % loops;
        let mut new = pair.old.clone();
        let mut fails = None;
        for position in 0..count {
            let (from, to) = (pair.range.start + position, pair.offset + position);
            match self.subject.apply(which, pair.source[from].as_ref(), pair.old[to].as_ref()) {
                // Up to the first cell that holds nothing to compute with.
                None => {
                    count = position;
                    break;
                }
                Some(Ok(value)) => new[to] = self.subject.canonical(value),
                Some(Err(message)) => {
                    fails = Some((position, message));
                    break;
                }
            }
        }
        if count == 0 {
            return;
        }
        let mut target = self.cells(pair.to, pair.offset, 1, count);
        let ledger = Ledger::open(element, Some(pair.to), &target);
        // SAFETY: cells of segments that this thread alone knows, the same or apart.
        let outcome = unsafe {
            let source = self.cells(pair.from, pair.range.start, 1, count);
            type_code::armed(|| self.subject.compute(which, target.reborrow(), source))
        };
        ledger.close(target.as_cells());
        let mut done = fails.as_ref().map_or(count, |(position, _)| *position);
        match outcome {
            // A planned panic in the middle of what the loop does with one element.
            Err(failure) if self.element_fails && type_code::fired_inside() => {
                assert!(failure.done <= done, "{failure:?} of {done}");
                done = failure.done;
                self.told = true;
            }
            outcome => {
                let outcome = outcome.map_err(|failure| (failure.done, failure.message.clone()));
                assert_eq!(
                    outcome.err(),
                    fails,
                    "a loop fails where it fails on one element alone"
                );
            }
        }
        self.settle(run.to, pair.to, Ok(()), &pair.old, &new, &pair.order[..done]);
    }

    fn sort(&mut self, run: Run) {
        let element = self.element();
        if !self.subject.sorts() {
            return;
        }
        let Some((segment, old)) = self.typed(run.slot) else { return };
        let range = Self::range(run, old.len());
        let vacant = Self::live(segment)[range.clone()].contains(&false);
        if range.is_empty() || (vacant && !element.has_default()) {
            return;
        }
        let mut cells = self.cells(segment, range.start, 1, range.len());
        let ledger = Ledger::open(element, Some(segment), &cells);
        // SAFETY: contiguous cells of a segment that this thread alone knows.
        let outcome = unsafe { self.subject.sort(cells.reborrow()) };
        ledger.close(cells.as_cells());
        let mut new = old.clone();
        let subject = self.subject;
        for pair in old[range.clone()].windows(2) {
            let (left, right) = (pair[0].as_ref(), pair[1].as_ref());
            let order = subject.order(left, right);
            let sane =
                order == subject.order(right, left).reverse() && subject.order(left, left).is_eq();
            assert!(
                sane,
                "no order: {left:?} and {right:?} compare as {order:?} one way round only"
            );
        }
        new[range.clone()].sort_by(|left, right| subject.order(left.as_ref(), right.as_ref()));
        for triple in new[range.clone()].windows(3) {
            let [first, middle, last] = triple else { continue };
            assert!(
                subject.order(first.as_ref(), last.as_ref()).is_le(),
                "no order: {first:?} is sorted before {middle:?}, and that before {last:?}, but the \
                 first is greater than the last"
            );
        }
        self.settle(run.slot, segment, outcome, &old, &new, &range.collect::<Vec<_>>());
    }

    fn permute(&mut self, run: Run) {
        let element = self.element();
        if !element.has_zero_promise() || !element.is_trivially_relocatable() {
            return;
        }
        let Some((segment, mut cells)) = self.typed(run.slot) else { return };
        let half = cells.len() / 2;
        let range = Self::range(run, half);
        let size = element.size();
        let live = Self::live(segment);
        let wrong = 2 * range.clone().filter(|i| live[*i] != live[*i + half]).count() as u64;
        for index in range.clone() {
            cells.swap(index, index + half);
        }
        // SAFETY: two ranges of the segment's cells that do not overlap, known to this thread alone.
        unsafe {
            let first = segment.cells().as_ptr().add(range.start * size);
            std::ptr::swap_nonoverlapping(first, first.add(half * size), range.len() * size);
        }
        let all = self.cells(segment, 0, 1, cells.len());
        let before = element.counters().read();
        let delta = Ledger::open(element, Some(segment), &all).close(all.as_cells());
        assert_eq!((delta.reconciled, delta.constructed, delta.destroyed), (wrong, 0, 0));
        assert_eq!(element.counters().read().reconciled - before.reconciled, wrong);
        self.note(run.slot, segment, cells);
    }

    fn clear(&mut self, slot: u8) {
        let Some((segment, cells)) = self.typed(slot) else { return };
        // SAFETY: this thread alone knows the segment.
        let outcome = unsafe { segment.clear_all() };
        self.expect_destructors(outcome);
        self.note(slot, segment, vec![None; cells.len()]);
    }

    fn free(&mut self, slot: u8) {
        let Some(modelled) = self.slot(slot).take() else { return };
        let start = modelled.segment.cells().as_ptr();
        // SAFETY: this thread alone knows the segment, and forgets it.
        let outcome = unsafe { modelled.segment.free() };
        self.expect_destructors(outcome);
        // SAFETY: no other thread frees segments of this model.
        assert_eq!(unsafe { Segment::find(start) }, None, "a freed segment is a miss");
    }

    fn look_up(&mut self, slot: u8, offset: u16) {
        let size = self.element().size();
        let Some(Modelled { segment, content, .. }) = self.slot(slot) else { return };
        let (segment, typed) = (*segment, matches!(content, Content::Cells(_)));
        let length = segment.byte_len().max(1);
        let offset = usize::from(offset) % length;
        let pointer = segment.cells().as_ptr().wrapping_add(offset).cast_const();
        // SAFETY: no other thread frees segments of this model.
        unsafe {
            assert_eq!(Segment::find(pointer), Some(segment));
            assert_ne!(Segment::find(segment.cells().as_ptr().wrapping_sub(1)), Some(segment));
            assert_ne!(Segment::find(segment.cells().as_ptr().wrapping_add(length)), Some(segment));
        }
        let inside = typed && offset / size < segment.byte_len() / size;
        assert_eq!(
            segment.cell_index(pointer),
            inside.then_some((offset / size, offset.is_multiple_of(size)))
        );
    }

    fn look_up_wild(&mut self, bits: u32, shift: u8) {
        let address = (bits as usize) << (shift % 64);
        let inside = self.slots.iter().flatten().find_map(|modelled| {
            let start = modelled.segment.cells().as_ptr().addr();
            let length = modelled.segment.byte_len().max(1);
            (address.wrapping_sub(start) < length).then_some(modelled.segment)
        });
        // SAFETY: no other thread frees segments of this model; another test's segment is found
        // with a chance of nothing, and only compared.
        assert_eq!(unsafe { Segment::find(std::ptr::without_provenance(address)) }, inside);
    }
}

/// Two ranges of equal length.
struct Pair<V> {
    from: Segment,
    source: Vec<Option<V>>,
    to: Segment,
    old: Vec<Option<V>>,
    range: std::ops::Range<usize>,
    offset: usize,
    /// Destination cells in the order in which they are written.
    order: Vec<usize>,
}
