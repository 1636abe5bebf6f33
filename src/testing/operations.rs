//! Random sequences of every operation on segments, against a plain model.
//!
//! The property test and the fuzz target run the same [`run`]: after each step every value, every
//! bit and every counter must be what a `Vec<Option<i64>>` says.

use super::{Allocator, Kind, Mishap, Tracer};
use crate::{
    erased::{CellsMut, Failure, rules},
    memory::faults,
    segment::{Ledger, Segment, Source},
};

/// How many segments a sequence works on at once.
const SLOTS: usize = 4;
/// Most cells of a segment: more than two bitmap words, more than a page.
const MOST_CELLS: usize = 700;

/// One step. Slots, cells and sizes are taken modulo what exists, so that any numbers will do.
#[derive(Clone, Copy, Debug)]
pub enum Operation {
    /// Frees what is in the slot and allocates anew; untyped, hinted, or hinted wrongly; of our own
    /// memory or another allocator's.
    Allocate {
        /// Where, and in whose memory.
        slot: u8,
        /// Cells.
        count: u16,
        /// Picks alignment, hint, zeroing, and bytes beyond the last cell.
        flags: u8,
    },
    /// Settles the type; by binding it, or as the first loop does where it is hinted at.
    Bind {
        /// Which segment.
        slot: u8,
    },
    /// Resizes.
    Resize {
        /// Which segment.
        slot: u8,
        /// Cells.
        count: u16,
        /// Bytes beyond the last cell.
        extra: u8,
    },
    /// Builds default objects.
    Construct(Run),
    /// Fills vacant cells.
    Materialise(Run),
    /// Destroys.
    Destroy(Run),
    /// Gives live cells a value.
    Set(Run),
    /// A loop as NumPy runs it: a strided run, materialised and set, with a ledger around it.
    Loop(Run),
    /// Copies to another place or segment.
    Copy(Run),
    /// Moves to another place or segment.
    Relocate(Run),
    /// Swaps two ranges as bytes, where cells tell by themselves what they hold, and mends the
    /// bits.
    Permute(Run),
    /// Destroys everything.
    Clear {
        /// Which segment.
        slot: u8,
    },
    /// Frees.
    Free {
        /// Which segment.
        slot: u8,
    },
    /// Looks up an interior pointer, and its neighbourhood.
    Lookup {
        /// Which segment.
        slot: u8,
        /// Byte.
        offset: u16,
    },
    /// Looks up any address.
    Wild {
        /// Its leading bits.
        bits: u32,
        /// How far they are shifted up.
        shift: u8,
    },
    /// Has an allocation fail during the next step.
    FailAllocation {
        /// How many succeed before.
        after: u8,
    },
    /// Has a construction, copy, assignment or relocation fail during the next step.
    FailElement {
        /// How many succeed before.
        after: u8,
        /// Whether it panics.
        panic: bool,
    },
    /// Has a destructor fail during the next step.
    FailDestructor {
        /// How many succeed before.
        after: u8,
    },
}

/// Cells of one segment, and where to in another.
#[derive(Clone, Copy, Debug)]
pub struct Run {
    /// Which segment.
    pub slot: u8,
    /// First cell.
    pub start: u16,
    /// How many cells; for loops also the stride.
    pub count: u16,
    /// The other segment.
    pub to: u8,
    /// First cell there, or a value.
    pub offset: u16,
}

impl Operation {
    /// Any eight bytes are an operation.
    pub fn from_bytes(bytes: [u8; 8]) -> Operation {
        let [kind, slot, a, b, c, d, e, f] = bytes;
        let wide = |low, high| u16::from_le_bytes([low, high]);
        let run = Run { slot, start: wide(a, b), count: wide(c, d), to: e, offset: wide(f, e) };
        // Mostly soon, so that it happens while something has been done already.
        let after = if b & 2 == 0 { a % 8 } else { a };
        match kind % 48 {
            0..4 => Operation::Allocate { slot, count: wide(a, b), flags: c },
            4 => Operation::Bind { slot },
            5..10 => Operation::Resize { slot, count: wide(a, b), extra: c },
            10..12 => Operation::Construct(run),
            12..18 => Operation::Materialise(run),
            18..20 => Operation::Destroy(run),
            20..23 => Operation::Set(run),
            23..26 => Operation::Loop(run),
            26..29 => Operation::Copy(run),
            29..32 => Operation::Relocate(run),
            32 => Operation::Permute(run),
            33 => Operation::Clear { slot },
            34 => Operation::Free { slot },
            35 => Operation::Lookup { slot, offset: wide(a, b) },
            36 => Operation::Wild { bits: u32::from_le_bytes([a, b, c, d]), shift: e },
            37..40 => Operation::FailAllocation { after: a % 4 },
            40..46 => Operation::FailElement { after, panic: b & 1 == 1 },
            _ => Operation::FailDestructor { after },
        }
    }
}

/// What the model knows of one segment.
struct Modelled {
    segment: Segment,
    /// It was hinted at the right type.
    hinted: bool,
    /// The values, once the type is settled; the pattern of bytes before.
    content: Content,
}

enum Content {
    Untyped(Vec<u8>),
    /// A vacant cell is `None`, and so is a default of zero bytes.
    Cells(Vec<Option<i64>>),
}

struct Model {
    tracer: Tracer,
    /// A type that segments may be hinted at by mistake.
    other: Tracer,
    allocator: &'static Allocator,
    slots: [Option<Modelled>; SLOTS],
    /// What is planned for the coming step.
    allocation_fails: bool,
    element_fails: bool,
    destructor_fails: bool,
}

/// Runs `operations` on segments of one kind of Tracer, and frees everything at the end.
///
/// # Panics
/// A value, a bit or a counter is not what the model says.
pub fn run(kind: Kind, operations: &[Operation]) {
    let mut model = Model {
        tracer: Tracer::borrow(kind),
        other: Tracer::borrow(if kind == Kind::Tagged { Kind::Boxed } else { Kind::Tagged }),
        allocator: Allocator::borrow(),
        slots: [const { None }; SLOTS],
        allocation_fails: false,
        element_fails: false,
        destructor_fails: false,
    };
    for operation in operations {
        model.step(*operation);
        model.check();
    }
    model.tracer.cancel_plans();
    faults::cancel();
    for slot in 0..SLOTS as u8 {
        model.destructor_fails = false;
        model.free(slot);
    }
    model.check();
    assert_eq!(model.tracer.counts().live, 0, "objects outlive their segments");
    model.tracer.give_back();
    model.other.give_back();
    model.allocator.give_back();
}

impl Model {
    fn step(&mut self, operation: Operation) {
        match operation {
            Operation::FailAllocation { after } => {
                faults::plan_failure(after.into());
                self.allocation_fails = true;
                return;
            }
            Operation::FailElement { after, panic } => {
                let mishap = if panic { Mishap::Panic } else { Mishap::Fail };
                self.tracer.plan_mishap(after.into(), mishap);
                self.element_fails = true;
                return;
            }
            Operation::FailDestructor { after } => {
                self.tracer.plan_destructor_failure(after.into());
                self.destructor_fails = true;
                return;
            }
            Operation::Allocate { slot, count, flags } => self.allocate(slot, count, flags),
            Operation::Bind { slot } => self.bind(slot),
            Operation::Resize { slot, count, extra } => self.resize(slot, count, extra),
            Operation::Construct(run) => self.construct(run),
            Operation::Materialise(run) => self.materialise(run),
            Operation::Destroy(run) => self.destroy(run),
            Operation::Set(run) => self.set(run),
            Operation::Loop(run) => self.strided_loop(run),
            Operation::Copy(run) => self.copy(run),
            Operation::Relocate(run) => self.relocate(run),
            Operation::Permute(run) => self.permute(run),
            Operation::Clear { slot } => self.clear(slot),
            Operation::Free { slot } => self.free(slot),
            Operation::Lookup { slot, offset } => self.look_up(slot, offset),
            Operation::Wild { bits, shift } => self.look_up_wild(bits, shift),
        }
        // A plan is for one step.
        self.tracer.cancel_plans();
        faults::cancel();
        self.allocation_fails = false;
        self.element_fails = false;
        self.destructor_fails = false;
    }

    /// The value as the model keeps it.
    fn canonical(&self, value: Option<i64>) -> Option<i64> {
        if self.tracer.kind() == Kind::ZeroDefault { value.filter(|v| *v != 0) } else { value }
    }

    /// What is in the segment's cells.
    fn actual(&self, segment: Segment) -> Vec<Option<i64>> {
        // SAFETY: this thread alone knows the segment.
        let snapshot = unsafe { segment.snapshot() };
        let size = self.tracer.element.size();
        let read = |index: usize| {
            // SAFETY: a live cell inside the segment.
            unsafe { self.tracer.value(segment.cells().as_ptr().add(index * size)) }
        };
        snapshot.live.iter().enumerate().map(|(i, live)| live.then(|| read(i))).collect()
    }

    /// Values, bits and counters against the model.
    fn check(&self) {
        let mut live = 0;
        for modelled in self.slots.iter().flatten() {
            let segment = modelled.segment;
            // SAFETY: this thread alone knows the segment.
            assert_eq!(unsafe { segment.check_integrity() }, Ok(0), "bits and cells");
            match &modelled.content {
                Content::Untyped(bytes) => {
                    // SAFETY: the segment has that many bytes, and nobody writes to them.
                    let actual = unsafe {
                        std::slice::from_raw_parts(segment.cells().as_ptr(), segment.byte_len())
                    };
                    assert!(bytes == actual, "bytes of an untyped segment");
                }
                Content::Cells(cells) => {
                    assert_eq!(&self.actual(segment), cells, "values");
                    live += cells.iter().flatten().count() as i64;
                }
            }
        }
        let objects = self.tracer.counts();
        let ledger = self.tracer.element.counters().read();
        assert_eq!((objects.live, ledger.live), (live, live), "live objects and ledger");
        if self.tracer.kind() != Kind::Boxed {
            // A type without assignment builds and ends an object for each.
            assert_eq!(
                (ledger.constructed, ledger.destroyed),
                (objects.built, objects.ended),
                "the ledger's history"
            );
        }
    }

    /// The segment in a slot whose type is settled (now, if need be), and its cells.
    fn typed(&mut self, slot: u8) -> Option<(Segment, Vec<Option<i64>>)> {
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

    fn slot(&mut self, slot: u8) -> &mut Option<Modelled> {
        &mut self.slots[usize::from(slot) % SLOTS]
    }

    fn put(&mut self, slot: u8, segment: Segment, cells: Vec<Option<i64>>) {
        // An operation leaves what is known of the segment as it is.
        let hinted = self.slot(slot).as_ref().is_some_and(|modelled| modelled.hinted);
        *self.slot(slot) = Some(Modelled { segment, hinted, content: Content::Cells(cells) });
    }

    /// A range inside `length` cells.
    fn range(run: Run, length: usize) -> std::ops::Range<usize> {
        let start = usize::from(run.start) % (length + 1);
        let count = usize::from(run.count) % (length - start + 1);
        start..start + count
    }

    fn allocate(&mut self, slot: u8, count: u16, flags: u8) {
        self.free(slot);
        let element = self.tracer.element;
        let count = usize::from(count) % MOST_CELLS;
        let bytes = count * element.size() + usize::from(flags >> 5) % element.size();
        let align = [1, 64, 128, 4096][usize::from(flags & 3)];
        let zeroed = flags & 16 == 0;
        let hint = match (flags >> 2) & 3 {
            0 | 1 => Some(element),
            2 => Some(self.other.element),
            _ => None,
        };
        let source = if slot & 64 == 0 { Source::MEMORY } else { self.allocator.source() };
        let segment = match Segment::allocate_from(source, bytes, align, hint, zeroed) {
            Ok(segment) => segment,
            Err(error) => return assert!(self.allocation_fails, "{error}"),
        };
        assert_eq!((segment.element().is_none(), segment.byte_len()), (true, bytes));
        assert_eq!(segment.source(), source);
        let mut content = vec![0; bytes];
        let hinted = hint.is_some_and(|hint| std::ptr::eq(hint, element));
        if !zeroed {
            // Whoever hints and does not ask for zeros promises to zero the cells.
            content.fill(if hinted { 0 } else { 0xcd });
            // SAFETY: `bytes` bytes that this thread alone knows.
            unsafe { segment.cells().write_bytes(if hinted { 0 } else { 0xcd }, bytes) };
        }
        *self.slot(slot) = Some(Modelled { segment, hinted, content: Content::Untyped(content) });
    }

    fn bind(&mut self, slot: u8) {
        let element = self.tracer.element;
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
            Err(error) => return assert!(self.allocation_fails && untyped, "{error}"),
        }
        assert_eq!(segment.bind(element), Ok(()));
        assert!(segment.bind(self.other.element).is_err(), "one type a segment");
    }

    fn resize(&mut self, slot: u8, count: u16, extra: u8) {
        let element = self.tracer.element;
        let canonical_fails =
            self.allocation_fails || (self.element_fails && !element.is_trivially_relocatable());
        let destructor_fails = self.destructor_fails;
        let bytes =
            usize::from(count) % MOST_CELLS * element.size() + usize::from(extra) % element.size();
        let Some(modelled) = self.slot(slot) else { return };
        // SAFETY: this thread alone knows the segment.
        match unsafe { modelled.segment.resize(bytes) } {
            Ok(resized) => {
                assert!(destructor_fails || resized.destructor.is_none());
                modelled.segment = resized.segment;
                match &mut modelled.content {
                    Content::Untyped(content) => content.resize(bytes, 0),
                    Content::Cells(cells) => cells.resize(bytes / element.size(), None),
                }
                assert_eq!(modelled.segment.byte_len(), bytes);
            }
            Err(error) => assert!(canonical_fails, "{error}"),
        }
    }

    /// Checks the outcome of an operation that should have turned `old` cells into `new` ones, in
    /// order (or from the end), and takes over what is there now.
    fn settle(
        &mut self,
        slot: u8,
        segment: Segment,
        outcome: Result<(), Failure>,
        old: &[Option<i64>],
        new: &[Option<i64>],
        order: &[usize],
    ) {
        let actual = self.actual(segment);
        if let Err(failure) = &outcome {
            assert!(self.element_fails || self.destructor_fails, "{failure}");
            assert!(failure.done <= order.len(), "{failure:?} of {}", order.len());
        }
        let done = outcome.as_ref().map_or_else(|failure| failure.done, |()| order.len());
        for (position, &index) in order.iter().enumerate() {
            let (before, now, wanted) = (old[index], actual[index], new[index]);
            if position < done {
                assert_eq!(now, wanted, "cell {index}, done");
            } else if self.destructor_fails {
                assert!(now == before || now == wanted, "cell {index}");
            } else {
                assert_eq!(now, before, "cell {index}, after the failure");
            }
        }
        self.put(slot, segment, actual);
    }

    fn construct(&mut self, run: Run) {
        let Some((segment, old)) = self.typed(run.slot) else { return };
        let range = Self::range(run, old.len());
        // SAFETY: this thread alone knows the segment.
        let outcome = unsafe { segment.construct_default(range.clone()) };
        if old[range.clone()].iter().any(Option::is_some) {
            assert_eq!(outcome.map_err(|failure| failure.done), Err(0), "built over an object");
            return;
        }
        let mut new = old.clone();
        new[range.clone()].fill(self.canonical(Some(0)));
        self.settle(run.slot, segment, outcome, &old, &new, &range.collect::<Vec<_>>());
    }

    fn materialise(&mut self, run: Run) {
        let Some((segment, old)) = self.typed(run.slot) else { return };
        let range = Self::range(run, old.len());
        // SAFETY: this thread alone knows the segment.
        let outcome = unsafe { segment.materialise(range.clone()) };
        let mut new = old.clone();
        for cell in &mut new[range.clone()] {
            *cell = self.canonical(cell.or(Some(0)));
        }
        self.settle(run.slot, segment, outcome, &old, &new, &range.collect::<Vec<_>>());
    }

    fn destroy(&mut self, run: Run) {
        let Some((segment, mut cells)) = self.typed(run.slot) else { return };
        let range = Self::range(run, cells.len());
        // SAFETY: this thread alone knows the segment.
        let outcome = unsafe { segment.destroy(range.clone()) };
        assert!(self.destructor_fails || outcome.is_ok());
        cells[range].fill(None);
        self.put(run.slot, segment, cells);
    }

    fn set(&mut self, run: Run) {
        let Some((segment, mut cells)) = self.typed(run.slot) else { return };
        let element = self.tracer.element;
        for index in Self::range(run, cells.len()) {
            if cells[index].is_none() {
                continue;
            }
            // SAFETY: a live cell of a segment that this thread alone knows.
            let mut cell = unsafe {
                let first = segment.cells().as_ptr().add(index * element.size());
                CellsMut::new(first, element.size() as isize, 1)
            };
            let ledger =
                element.has_zero_promise().then(|| Ledger::open(element, Some(segment), &cell));
            // SAFETY: as above.
            unsafe { self.tracer.set(&mut cell, run.offset.into()) };
            if let Some(ledger) = ledger {
                ledger.close(cell.as_cells());
            }
            cells[index] = self.canonical(Some(run.offset.into()));
        }
        self.put(run.slot, segment, cells);
    }

    fn strided_loop(&mut self, run: Run) {
        let element = self.tracer.element;
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
            0 => MOST_CELLS,
            1.. => (old.len() - 1 - start) / stride as usize + 1,
            _ => start / stride.unsigned_abs() + 1,
        };
        let count = usize::from(run.count) % (room + 1);
        let value = i64::from(run.offset >> 8);
        let size = element.size();
        // SAFETY: cells of a segment that this thread alone knows.
        let mut cells = unsafe {
            CellsMut::new(segment.cells().as_ptr().add(start * size), stride * size as isize, count)
        };
        let found = Some(segment).filter(|_| count > 0);
        let ledger = Ledger::open(element, found, &cells);
        let mut outcome = Ok(());
        for index in 0..count {
            // SAFETY: as above; a materialised cell is live.
            unsafe {
                let mut cell = cells.part(index, 1);
                outcome = rules::materialise(element, cell.reborrow());
                if outcome.is_err() {
                    break;
                }
                self.tracer.set(&mut cell, value);
            }
        }
        let tally = ledger.close(cells.as_cells());
        assert_eq!(tally.reconciled, 0);
        let reached = |index: usize| start.wrapping_add_signed(stride * index as isize);
        let mut new = old.clone();
        for index in 0..count {
            new[reached(index)] = self.canonical(Some(value));
        }
        let mut order: Vec<usize> = (0..count).map(reached).collect();
        order.dedup();
        if let Err(failure) = &outcome {
            assert!(self.element_fails, "{failure}");
            // The cells before the failing one have their value: take over what is there.
            let actual = self.actual(segment);
            for index in order {
                assert!(actual[index] == old[index] || actual[index] == new[index]);
            }
            return self.put(run.slot, segment, actual);
        }
        self.settle(run.slot, segment, outcome, &old, &new, &order);
    }

    /// Source, destination and the order of copying for two ranges.
    fn pair(&mut self, run: Run) -> Option<Pair> {
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
        // SAFETY: this thread alone knows the segments.
        let outcome = unsafe { pair.from.copy(pair.range.clone(), pair.to, pair.offset) };
        let mut new = pair.old.clone();
        new[pair.offset..][..pair.range.len()].copy_from_slice(&pair.source[pair.range.clone()]);
        self.settle(run.to, pair.to, outcome, &pair.old, &new, &pair.order);
    }

    fn relocate(&mut self, run: Run) {
        let Some(pair) = self.pair(run) else { return };
        // SAFETY: this thread alone knows the segments.
        let outcome = unsafe { pair.from.relocate(pair.range.clone(), pair.to, pair.offset) };
        let same_place = pair.from == pair.to && pair.range.start == pair.offset;
        let (source, target) = (self.actual(pair.from), self.actual(pair.to));
        if let Err(failure) = &outcome {
            assert!(self.element_fails || self.destructor_fails, "{failure}");
        } else if !same_place {
            for (position, index) in pair.range.clone().enumerate() {
                assert_eq!(target[pair.offset + position], pair.source[index], "moved");
                let overwritten = pair.from == pair.to
                    && (pair.offset..pair.offset + pair.range.len()).contains(&index);
                assert!(overwritten || source[index].is_none(), "source cell {index}");
            }
        }
        // Each object that was in a source is now in exactly one of its two places, unless the
        // place was overwritten by a later move of the same call.
        for (position, index) in pair.range.clone().enumerate() {
            if pair.from != pair.to && pair.source[index].is_some() {
                let moved = target[pair.offset + position] == pair.source[index];
                assert!(source[index].is_none() == moved || source[index] == pair.source[index]);
            }
        }
        let outside =
            |index: &usize| !(pair.offset..pair.offset + pair.range.len()).contains(index);
        for index in (0..pair.old.len()).filter(outside) {
            let moved_out = pair.from == pair.to && pair.range.contains(&index);
            assert!(moved_out || target[index] == pair.old[index], "cell {index} outside");
        }
        self.put(run.slot, pair.from, source);
        self.put(run.to, pair.to, target);
    }

    fn permute(&mut self, run: Run) {
        let element = self.tracer.element;
        if !element.has_zero_promise() || !element.is_trivially_relocatable() {
            return;
        }
        let Some((segment, mut cells)) = self.typed(run.slot) else { return };
        let half = cells.len() / 2;
        let range = Self::range(run, half);
        let size = element.size();
        let wrong = range.clone().filter(|i| cells[*i].is_some() != cells[*i + half].is_some());
        let wrong = 2 * wrong.count() as u64;
        for index in range.clone() {
            cells.swap(index, index + half);
        }
        // SAFETY: two ranges of the segment's cells that do not overlap, known to this thread alone.
        let cells_of_all = unsafe {
            let first = segment.cells().as_ptr().add(range.start * size);
            std::ptr::swap_nonoverlapping(first, first.add(half * size), range.len() * size);
            CellsMut::new(segment.cells().as_ptr(), size as isize, cells.len())
        };
        let before = element.counters().read();
        let tally =
            Ledger::open(element, Some(segment), &cells_of_all).close(cells_of_all.as_cells());
        assert_eq!((tally.reconciled, tally.constructed, tally.destroyed), (wrong, 0, 0));
        assert_eq!(element.counters().read().reconciled - before.reconciled, wrong);
        self.put(run.slot, segment, cells);
    }

    fn clear(&mut self, slot: u8) {
        let Some((segment, cells)) = self.typed(slot) else { return };
        // SAFETY: this thread alone knows the segment.
        let outcome = unsafe { segment.clear_all() };
        assert!(self.destructor_fails || outcome.is_ok());
        self.put(slot, segment, vec![None; cells.len()]);
    }

    fn free(&mut self, slot: u8) {
        let Some(modelled) = self.slot(slot).take() else { return };
        let start = modelled.segment.cells().as_ptr();
        // SAFETY: this thread alone knows the segment, and forgets it.
        let outcome = unsafe { modelled.segment.free() };
        assert!(self.destructor_fails || outcome.is_ok());
        // SAFETY: no other thread frees segments of this model.
        assert_eq!(unsafe { Segment::find(start) }, None, "a freed segment is a miss");
    }

    fn look_up(&mut self, slot: u8, offset: u16) {
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
        let size = self.tracer.element.size();
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
struct Pair {
    from: Segment,
    source: Vec<Option<i64>>,
    to: Segment,
    old: Vec<Option<i64>>,
    range: std::ops::Range<usize>,
    offset: usize,
    /// Destination cells in the order in which they are written.
    order: Vec<usize>,
}
