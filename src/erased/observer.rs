//! Who is told what happens to objects and segments while an audit runs.
//!
//! Usually there is no observer: [`is_watching`] is one relaxed load and a branch that the processor
//! predicts, and it stands where objects appeared, went or were copied, or memory was allocated.

use super::{Cells, CountDelta, ElementType};
use std::{
    ops::Range,
    ptr::{self, NonNull},
    sync::atomic::{
        AtomicPtr,
        Ordering::{Acquire, Relaxed, Release},
    },
};

/// Where the objects of a delta are, or were.
#[derive(Clone, Copy, Debug)]
pub enum Location<'a> {
    /// In a run of cells, as they are after the operation.
    Cells(Cells<'a>),
    /// In the first run of cells; they came from the second.
    Moved {
        /// Where they are.
        to: Cells<'a>,
        /// Where they were.
        from: Cells<'a>,
    },
    /// In a Python scalar, at this address.
    Scalar(*const u8),
    /// In no place that lasts: objects on their way.
    Passing,
}

/// The functions of an observer. They are called on every thread, with or without the GIL, perhaps
/// with locks of segments held; so they take no lock under which a function of denizen is called.
pub struct Observer {
    /// An operation was recorded.
    pub recorded: fn(element: &ElementType, delta: CountDelta, location: Location<'_>),
    /// So many objects were given the value of another one by the type's own copy.
    pub copied: fn(element: &ElementType, count: u64),
    /// There is a new segment with these cells.
    pub segment_made: fn(cells: NonNull<u8>),
    /// The segment with these cells goes: no code may look at it once this has returned.
    pub segment_gone: fn(cells: NonNull<u8>),
    /// The segment may move: no code may look at it until it arrives under the number returned.
    pub segment_leaves: fn(cells: NonNull<u8>) -> u64,
    /// The segment that left is here.
    pub segment_arrives: fn(number: u64, cells: NonNull<u8>),
    /// The segment's memory was found corrupted.
    pub corrupted: fn(&Corrupted<'_>),
}

/// A segment whose memory was found corrupted: it is a segment no more.
#[derive(Clone, Debug)]
pub struct Corrupted<'a> {
    /// Addresses of its block.
    pub block: Range<usize>,
    /// Addresses of its cells; an empty range at the start of the block where that is not known.
    pub cells: Range<usize>,
    /// What is wrong, in words.
    pub what: &'a str,
}

static OBSERVER: AtomicPtr<Observer> = AtomicPtr::new(ptr::null_mut());

/// Whether there is an observer.
#[inline(always)]
pub fn is_watching() -> bool {
    !OBSERVER.load(Relaxed).is_null()
}

/// Sets the observer, or none. One that was taken away may be called a last time by a thread that
/// had found it there.
pub fn set_observer(observer: Option<&'static Observer>) {
    let pointer = observer.map_or(ptr::null_mut(), |observer| ptr::from_ref(observer).cast_mut());
    OBSERVER.store(pointer, Release);
}

/// The observer. `None` where it went since [`is_watching`] said that it is there.
#[cold]
pub fn get() -> Option<&'static Observer> {
    // SAFETY: NULL or a reference that is valid for ever (`set_observer`).
    unsafe { OBSERVER.load(Acquire).as_ref() }
}

/// Tells the observer, if there is one, that the memory of a segment was found corrupted.
pub fn corrupted(corrupted: &Corrupted<'_>) {
    if let Some(observer) = get() {
        (observer.corrupted)(corrupted);
    }
}

/// Tells the observer, if there is one, of a new segment.
#[inline(always)]
pub fn segment_made(cells: impl FnOnce() -> NonNull<u8>) {
    #[cold]
    #[inline(never)]
    fn tell(cells: NonNull<u8>) {
        if let Some(observer) = get() {
            (observer.segment_made)(cells);
        }
    }
    if is_watching() {
        tell(cells());
    }
}

/// Tells the observer, if there is one, that a segment goes.
#[inline(always)]
pub fn segment_gone(cells: impl FnOnce() -> NonNull<u8>) {
    #[cold]
    #[inline(never)]
    fn tell(cells: NonNull<u8>) {
        if let Some(observer) = get() {
            (observer.segment_gone)(cells);
        }
    }
    if is_watching() {
        tell(cells());
    }
}

// What follows hands its arguments to the cold functions one by one: whatever is passed by address
// has to lie in memory, where the loops would keep it in registers, and that costs many times what
// the load and the branch do.
impl ElementType {
    /// Adds what an operation did to the counters, and tells the observer.
    #[inline(always)]
    pub fn record(&self, delta: CountDelta, location: Location<'_>) {
        self.counters().add(delta);
        if !is_watching() {
            return;
        }
        let CountDelta { constructed, destroyed, relocated, foreign, reconciled } = delta;
        match location {
            Location::Cells(cells) => {
                let (data, stride, count) = (cells.address(0), cells.stride(), cells.len());
                // SAFETY: the parts of a run.
                unsafe {
                    self.tell_of_cells(
                        constructed,
                        destroyed,
                        relocated,
                        foreign,
                        reconciled,
                        data,
                        stride,
                        count,
                    );
                }
            }
            Location::Moved { to, from } => {
                debug_assert_eq!(constructed + foreign, 0);
                // A run of stride 0 may be given as its one cell.
                let count = to.len().max(from.len());
                let (data, stride) = (to.address(0), to.stride());
                // SAFETY: the parts of two runs of one length, or of one cell again and again.
                unsafe {
                    self.tell_of_moved(
                        destroyed,
                        relocated,
                        reconciled,
                        data,
                        stride,
                        from.address(0),
                        from.stride(),
                        count,
                    );
                }
            }
            Location::Scalar(cell) => self.tell_of_scalar(constructed, destroyed, foreign, cell),
            Location::Passing => self.tell_of_passing(constructed, destroyed, foreign),
        }
    }

    /// # Safety
    /// `data`, `stride` and `count` are those of a run of cells.
    #[cold]
    #[inline(never)]
    #[expect(clippy::too_many_arguments, reason = "one by one, so that they stay in registers")]
    unsafe fn tell_of_cells(
        &self,
        constructed: u64,
        destroyed: u64,
        relocated: u64,
        foreign: u64,
        reconciled: u64,
        data: *const u8,
        stride: isize,
        count: usize,
    ) {
        let delta = CountDelta { constructed, destroyed, relocated, foreign, reconciled };
        // SAFETY: the caller's promise.
        self.tell(delta, Location::Cells(unsafe { Cells::new(data, stride, count) }));
    }

    /// # Safety
    /// The pointers and strides are those of two runs of `count` cells.
    #[cold]
    #[inline(never)]
    #[expect(clippy::too_many_arguments, reason = "one by one, so that they stay in registers")]
    unsafe fn tell_of_moved(
        &self,
        destroyed: u64,
        relocated: u64,
        reconciled: u64,
        to: *const u8,
        to_stride: isize,
        from: *const u8,
        from_stride: isize,
        count: usize,
    ) {
        let delta = CountDelta { destroyed, relocated, reconciled, ..CountDelta::default() };
        // SAFETY: the caller's promise.
        let location = unsafe {
            Location::Moved {
                to: Cells::new(to, to_stride, count),
                from: Cells::new(from, from_stride, count),
            }
        };
        self.tell(delta, location);
    }

    #[cold]
    #[inline(never)]
    fn tell_of_scalar(&self, constructed: u64, destroyed: u64, foreign: u64, cell: *const u8) {
        let delta = CountDelta { constructed, destroyed, foreign, ..CountDelta::default() };
        self.tell(delta, Location::Scalar(cell));
    }

    #[cold]
    #[inline(never)]
    fn tell_of_passing(&self, constructed: u64, destroyed: u64, foreign: u64) {
        let delta = CountDelta { constructed, destroyed, foreign, ..CountDelta::default() };
        self.tell(delta, Location::Passing);
    }

    fn tell(&self, delta: CountDelta, location: Location<'_>) {
        if delta != CountDelta::default()
            && let Some(observer) = get()
        {
            (observer.recorded)(self, delta, location);
        }
    }

    /// Tells the observer, if there is one, that the live ones among the first `done` of these cells
    /// were copied here; of a type without a zero promise all are live.
    #[inline(always)]
    pub(super) fn record_copies(&self, cells: Cells<'_>, done: usize) {
        if is_watching() {
            // SAFETY: the parts of a run.
            unsafe {
                self.tell_of_copies(cells.address(0), cells.stride(), done.min(cells.len()));
            }
        }
    }

    /// # Safety
    /// `data`, `stride` and `count` are those of a run of cells.
    #[cold]
    #[inline(never)]
    unsafe fn tell_of_copies(&self, data: *const u8, stride: isize, count: usize) {
        // SAFETY: the caller's promise.
        let cells = unsafe { Cells::new(data, stride, count) };
        let count =
            if self.has_zero_promise() { self.vacancy().count_live(cells) } else { cells.len() };
        if let Some(observer) = get().filter(|_| count > 0) {
            (observer.copied)(self, count as u64);
        }
    }
}
