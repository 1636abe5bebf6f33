//! NumPy's allocator functions, called through their pointers with NumPy's odd sizes, against a
//! list of what each array should hold.
#![no_main]

use arbitrary::Arbitrary;
use denizen::{
    erased::{CellsMut, Exclusive, Failure},
    faults,
    handler::{allocation_hint, calloc, free, malloc, realloc, realloc_error, set_unraisable_hook},
    segment::Segment,
    testing::{Allocator, Fault, Storage, TracerType},
};
use libfuzzer_sys::fuzz_target;
use std::{cell::Cell, ffi::c_void, ptr, sync::Once};

const SLOTS: usize = 4;
const MOST: usize = 6000;
/// As many bytes of an array are compared.
const KNOWN: usize = 1 << 14;

/// A size as NumPy computes it, or none that it would.
#[derive(Arbitrary, Clone, Copy, Debug)]
enum Size {
    /// Any number of bytes.
    Bytes(u16),
    /// That many cells of the type.
    Cells(u8),
    /// That many cells, and some bytes.
    Between(u8, u8),
    /// Of an array without elements.
    One,
    Nothing,
    /// Beyond what a small allocation is: a huge page and some bytes.
    Large(u8),
    /// More than there is; shifted down.
    Absurd(u8),
}

#[derive(Arbitrary, Clone, Copy, Debug)]
enum Hint {
    None,
    /// Of the type.
    Right,
    /// Of another type.
    Other,
    /// Of another type, and amended.
    Amended,
}

#[derive(Arbitrary, Clone, Copy, Debug)]
enum Step {
    Malloc {
        slot: u8,
        upstream: bool,
        size: Size,
        hint: Hint,
    },
    /// `calloc(size, 1)`, as NumPy calls it.
    Calloc {
        slot: u8,
        upstream: bool,
        size: Size,
        hint: Hint,
    },
    /// `calloc(count, size)`; the product may overflow.
    CallocProduct {
        slot: u8,
        count: u32,
        size: u32,
        shift: u8,
    },
    Realloc {
        slot: u8,
        size: Size,
        hint: Hint,
    },
    /// `realloc(NULL, size)`.
    ReallocNothing {
        slot: u8,
        upstream: bool,
        size: Size,
        hint: Hint,
    },
    /// `free` with whatever size.
    Free {
        slot: u8,
        claimed: usize,
    },
    FreeNothing {
        upstream: bool,
        claimed: usize,
    },
    /// `realloc` and `free` of memory that is not the handler's.
    Foreign {
        address: u32,
        shift: u8,
        own: bool,
        size: u16,
    },
    /// What a loop of the type does: binds, fills, and writes a value.
    Fill {
        slot: u8,
        start: u8,
        count: u8,
        value: i64,
    },
    /// As bytes, where no loop of ours is known to work.
    Write {
        slot: u8,
        at: u16,
        byte: u8,
    },
    FailAllocation {
        after: u8,
    },
    FailElement {
        after: u8,
        panic: bool,
    },
    FailDestructor {
        after: u8,
    },
}

#[derive(Arbitrary, Debug)]
struct Input {
    storage: u8,
    steps: Vec<Step>,
}

thread_local! {
    static UNRAISABLE: Cell<usize> = const { Cell::new(0) };
    static DISARMED: Cell<usize> = const { Cell::new(0) };
}

fn unraisable(failure: &Failure) {
    assert!(!failure.to_string().is_empty());
    UNRAISABLE.set(UNRAISABLE.get() + 1);
}

fn disarm() {
    DISARMED.set(DISARMED.get() + 1);
}

enum Content {
    /// The first [`KNOWN`] bytes.
    Bytes(Vec<u8>),
    Cells(Vec<Option<i64>>),
}

struct Array {
    start: *mut c_void,
    upstream: bool,
    hinted: bool,
    content: Content,
}

struct Model {
    tracer: TracerType,
    other: TracerType,
    allocator: &'static Allocator,
    slots: [Option<Array>; SLOTS],
    allocation_fails: bool,
    element_fails: bool,
    destructor_fails: bool,
}

impl Model {
    fn context(&self, upstream: bool) -> *mut c_void {
        if upstream { self.allocator.context() } else { ptr::null_mut() }
    }

    fn bytes(&self, size: Size) -> usize {
        let cell = self.tracer.element.size();
        match size {
            Size::Bytes(bytes) => usize::from(bytes) % MOST,
            Size::Cells(count) => usize::from(count) * cell,
            Size::Between(count, bytes) => usize::from(count) * cell + usize::from(bytes) % cell,
            Size::One => 1,
            Size::Nothing => 0,
            Size::Large(bytes) => (4 << 20) + usize::from(bytes),
            Size::Absurd(shift) => usize::MAX >> (shift % 6),
        }
    }

    /// Leaves a hint, and says whether it is one of the type.
    fn leave(&self, hint: Hint) -> Option<bool> {
        let (tracer, other) = (self.tracer.element, self.other.element);
        match hint {
            Hint::None => return None,
            Hint::Right => allocation_hint::leave(allocation_hint::Content::Cells(tracer), disarm),
            Hint::Other => allocation_hint::leave(allocation_hint::Content::Cells(other), disarm),
            Hint::Amended => {
                allocation_hint::leave(allocation_hint::Content::Cells(other), disarm);
                allocation_hint::amend(allocation_hint::Content::Cells(tracer));
            }
        }
        assert!(allocation_hint::is_armed());
        Some(!matches!(hint, Hint::Other))
    }

    /// What an allocation gave, of `bytes` bytes; zeros if it said so.
    fn allocated(
        &mut self,
        slot: u8,
        upstream: bool,
        bytes: usize,
        left: Option<bool>,
        start: *mut c_void,
        zeroed: bool,
    ) {
        assert!(!allocation_hint::is_armed(), "an allocation takes the hint");
        if start.is_null() {
            assert!(self.allocation_fails || bytes > isize::MAX as usize / 64, "{bytes} bytes");
            return;
        }
        assert!(start.addr().is_multiple_of(64), "cells begin at a cache line");
        let size = bytes.max(1);
        // SAFETY: just allocated.
        let segment = unsafe { Segment::find(start.cast()) }.expect("a segment of ours");
        assert_eq!((segment.byte_len(), segment.cells().as_ptr().cast()), (size, start));
        assert_eq!(segment.source().is_upstream(), upstream);
        assert!(segment.element().is_none() && segment.untouched());
        let cell = |right| if right { self.tracer.element } else { self.other.element };
        let hint = left.map(cell).filter(|element| bytes <= 1 || bytes % element.size() == 0);
        assert_eq!(segment.intended().map(ptr::from_ref), hint.map(ptr::from_ref));
        let zeroed = zeroed || left.is_some();
        let byte = if zeroed { 0 } else { 0xcd };
        if !zeroed {
            // SAFETY: just allocated, with that many bytes.
            unsafe { start.cast::<u8>().write_bytes(byte, size) };
        }
        let content = Content::Bytes(vec![byte; size.min(KNOWN)]);
        let hinted = hint.is_some_and(|hint| ptr::eq(hint, self.tracer.element));
        self.slots[usize::from(slot) % SLOTS] = Some(Array { start, upstream, hinted, content });
    }

    fn step(&mut self, step: Step) {
        match step {
            Step::FailAllocation { after } => {
                faults::plan_failure((after % 6).into());
                self.allocation_fails = true;
                return;
            }
            Step::FailElement { after, panic } => {
                let fault = if panic { Fault::Panic } else { Fault::Fail };
                self.tracer.plan_fault(after.into(), fault);
                self.element_fails = true;
                return;
            }
            Step::FailDestructor { after } => {
                self.tracer.plan_destructor_failure(after.into());
                self.destructor_fails = true;
                return;
            }
            Step::Malloc { slot, upstream, size, hint } => {
                self.free(slot, 0);
                let (bytes, hint) = (self.bytes(size), self.leave(hint));
                // SAFETY: any size.
                let start = unsafe { malloc(self.context(upstream), bytes) };
                self.allocated(slot, upstream, bytes, hint, start, false);
            }
            Step::Calloc { slot, upstream, size, hint } => {
                self.free(slot, 0);
                let (bytes, hint) = (self.bytes(size), self.leave(hint));
                // SAFETY: any size.
                let start = unsafe { calloc(self.context(upstream), bytes, 1) };
                self.allocated(slot, upstream, bytes, hint, start, true);
            }
            Step::CallocProduct { slot, count, size, shift } => {
                self.free(slot, 0);
                let (count, size) = ((count as usize) << (shift % 33), size as usize);
                let product = count.checked_mul(size);
                // Not what the machine might have, or almost.
                if product.is_some_and(|p| p > 8 << 20 && p < isize::MAX as usize / 32) {
                    return;
                }
                // SAFETY: any size.
                let start = unsafe { calloc(ptr::null_mut(), count, size) };
                self.allocated(slot, false, product.unwrap_or(usize::MAX), None, start, true);
            }
            Step::Realloc { slot, size, hint } => self.realloc(slot, size, hint),
            Step::ReallocNothing { slot, upstream, size, hint } => {
                self.free(slot, 0);
                let (bytes, _) = (self.bytes(size), self.leave(hint));
                // SAFETY: any size; NULL is an allocation.
                let start = unsafe { realloc(self.context(upstream), ptr::null_mut(), bytes) };
                // `realloc` is no creation: a hint that waits was for something else.
                self.allocated(slot, upstream, bytes, None, start, false);
            }
            Step::Free { slot, claimed } => self.free(slot, claimed),
            // SAFETY: NULL is nothing.
            Step::FreeNothing { upstream, claimed } => unsafe {
                free(self.context(upstream), ptr::null_mut(), claimed);
            },
            Step::Foreign { address, shift, own, size } => self.foreign(address, shift, own, size),
            Step::Fill { slot, start, count, value } => self.fill(slot, start, count, value),
            Step::Write { slot, at, byte } => {
                let Some(Array { start, content: Content::Bytes(bytes), .. }) = self.slot(slot)
                else {
                    return;
                };
                let at = usize::from(at) % bytes.len();
                bytes[at] = byte;
                // SAFETY: inside the array.
                unsafe { start.cast::<u8>().add(at).write(byte) };
            }
        }
        self.tracer.cancel_plans();
        faults::cancel();
        (self.allocation_fails, self.element_fails, self.destructor_fails) = (false, false, false);
        assert_eq!(UNRAISABLE.take(), 0, "a failure that nobody expected");
        self.check();
    }

    fn slot(&mut self, slot: u8) -> &mut Option<Array> {
        &mut self.slots[usize::from(slot) % SLOTS]
    }

    fn realloc(&mut self, slot: u8, size: Size, hint: Hint) {
        let bytes = self.bytes(size);
        let Some(array) = &self.slots[usize::from(slot) % SLOTS] else { return };
        let (start, context) = (array.start, self.context(array.upstream));
        self.leave(hint);
        let asking = realloc_error::Asking::begin();
        // SAFETY: the array is the handler's, and nobody uses it meanwhile.
        let new = unsafe { realloc(context, start, bytes) };
        let reason = asking.end();
        assert!(!allocation_hint::is_armed(), "an arming ends");
        if self.destructor_fails {
            assert!(UNRAISABLE.take() <= 1);
        }
        let (cell, moves) =
            (self.tracer.element.size(), self.tracer.element.is_trivially_relocatable());
        let (may_fail, element_fails) = (self.allocation_fails, self.element_fails && !moves);
        let Some(array) = self.slot(slot) else { return };
        if new.is_null() {
            let absurd = bytes > isize::MAX as usize / 64;
            assert!(may_fail || absurd || element_fails, "realloc to {bytes} bytes");
            assert!(element_fails || reason.is_none());
            return;
        }
        let size = bytes.max(1);
        array.start = new;
        match &mut array.content {
            // A tail is vacant: zero.
            Content::Bytes(content) => content.resize(size.min(KNOWN), 0),
            Content::Cells(cells) => cells.resize(size / cell, None),
        }
        // SAFETY: as above.
        let segment = unsafe { Segment::find(new.cast()) }.expect("a segment of ours");
        assert_eq!((segment.byte_len(), segment.cells().as_ptr().cast()), (size, new));
        assert_eq!(segment.source().is_upstream(), array.upstream);
        assert!(new.addr().is_multiple_of(64), "cells begin at a cache line");
    }

    fn free(&mut self, slot: u8, claimed: usize) {
        let Some(array) = self.slot(slot).take() else { return };
        // SAFETY: the array is the handler's, and forgotten here. The size is a lie.
        unsafe { free(self.context(array.upstream), array.start, claimed) };
        // SAFETY: nobody else allocates.
        assert!(unsafe { Segment::find(array.start.cast()) }.is_none());
        if self.destructor_fails {
            assert!(UNRAISABLE.take() <= 1);
        }
    }

    fn foreign(&mut self, address: u32, shift: u8, own: bool, size: u16) {
        let mut block = [0x5a_u8; 64];
        let mut pointer: *mut u8 = if own {
            block.as_mut_ptr().wrapping_add(usize::from(shift) % 64)
        } else {
            ptr::without_provenance_mut((address as usize) << (shift % 33))
        };
        // SAFETY: nobody else allocates; only looked up.
        if pointer.is_null() || unsafe { Segment::find(pointer) }.is_some() {
            pointer = block.as_mut_ptr();
        }
        // SAFETY: what is not the handler's is left alone, as the two functions promise.
        unsafe {
            assert!(realloc(ptr::null_mut(), pointer.cast(), size.into()).is_null());
            assert_eq!(UNRAISABLE.take(), 1);
            free(ptr::null_mut(), pointer.cast(), size.into());
            assert_eq!(UNRAISABLE.take(), 1);
        }
        assert_eq!(block, [0x5a; 64]);
    }

    fn fill(&mut self, slot: u8, start: u8, count: u8, value: i64) {
        let tracer = self.tracer;
        let (element, may_fail) = (tracer.element, self.element_fails);
        let no_memory = self.allocation_fails;
        let canonical = |value: i64| {
            Some(value).filter(|v| tracer.storage() != Storage::ZeroDefault || *v != 0)
        };
        let Some(array) = self.slot(slot) else { return };
        // SAFETY: the array is the handler's.
        let segment = unsafe { Segment::find(array.start.cast()) }.expect("a segment of ours");
        if let Content::Bytes(bytes) = &mut array.content {
            // Whoever hints promises that cells are zero before the first loop.
            if array.hinted && bytes.iter().any(|byte| *byte != 0) {
                return;
            }
            if let Err(error) = segment.bind(element) {
                return assert!(no_memory, "{error}");
            }
            array.content = Content::Cells(vec![None; segment.byte_len() / element.size()]);
        }
        let Content::Cells(cells) = &mut array.content else { return };
        let start = usize::from(start).min(cells.len());
        let range = start..(start + usize::from(count)).min(cells.len());
        // SAFETY: this thread alone knows the segment.
        let outcome = unsafe { segment.materialise(range.clone()) };
        let done = match &outcome {
            Ok(()) => range.len(),
            Err(failure) => {
                assert!(may_fail, "{failure}");
                failure.done
            }
        };
        for index in range.start..range.start + done {
            let cell = segment.cell_address(index);
            if cells[index].is_none() {
                cells[index] = canonical(0);
            }
            // SAFETY: one live cell; a cell of zero bytes that is the default is one too.
            unsafe {
                let mut run =
                    CellsMut::new(cell.as_ptr(), element.size() as isize, 1, Exclusive::own());
                if element.has_zero_promise() {
                    let ledger = denizen::segment::Ledger::open(element, Some(segment), &run);
                    tracer.set(&mut run, value);
                    ledger.close(run.as_cells());
                } else {
                    tracer.set(&mut run, value);
                }
            }
            cells[index] = canonical(value);
        }
    }

    /// Bytes, values and counts against the model.
    fn check(&self) {
        let (element, mut live) = (self.tracer.element, 0);
        for array in self.slots.iter().flatten() {
            // SAFETY: the array is the handler's, and this thread's alone.
            unsafe {
                let segment = Segment::find(array.start.cast()).expect("a segment of ours");
                assert_eq!(segment.check_integrity(), Ok(0));
                match &array.content {
                    Content::Bytes(bytes) => {
                        let start = array.start.cast::<u8>();
                        let found = std::slice::from_raw_parts(start, bytes.len());
                        assert!(found == bytes, "bytes of an array");
                    }
                    Content::Cells(cells) => {
                        let snapshot = segment.snapshot();
                        for (index, expected) in cells.iter().enumerate() {
                            assert_eq!(snapshot.live[index], expected.is_some(), "cell {index}");
                            if let Some(expected) = expected {
                                let cell = segment.cell_address(index).as_ptr();
                                assert_eq!(self.tracer.value(cell), *expected, "cell {index}");
                                live += 1;
                            }
                        }
                    }
                }
            }
        }
        let ledger = element.counters().read().live;
        assert_eq!((self.tracer.counts().live, ledger), (live, live), "live objects and ledger");
    }
}

fuzz_target!(|input: Input| {
    static HOOK: Once = Once::new();
    HOOK.call_once(|| set_unraisable_hook(unraisable));
    let storage = Storage::ALL[usize::from(input.storage) % Storage::ALL.len()];
    let mut model = Model {
        tracer: TracerType::borrow(storage),
        other: TracerType::borrow(if storage == Storage::Tagged {
            Storage::Boxed
        } else {
            Storage::Tagged
        }),
        allocator: Allocator::borrow(),
        slots: [const { None }; SLOTS],
        allocation_fails: false,
        element_fails: false,
        destructor_fails: false,
    };
    for step in &input.steps {
        model.step(*step);
    }
    model.tracer.cancel_plans();
    faults::cancel();
    model.destructor_fails = false;
    for slot in 0..SLOTS as u8 {
        model.free(slot, 0);
    }
    assert_eq!(UNRAISABLE.take(), 0);
    model.check();
    model.tracer.give_back();
    model.other.give_back();
    model.allocator.give_back();
});
