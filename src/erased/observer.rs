//! Who is told what happens to objects and segments while an audit runs.
//!
//! Nobody is, usually: [`is_watching`] is one relaxed load and a branch that the processor
//! predicts, and it stands where objects appeared, went or were copied, or memory was allocated.

use super::{Cells, ElementType, Tally};
use std::{
    ptr::{self, NonNull},
    sync::atomic::{
        AtomicPtr,
        Ordering::{Acquire, Relaxed, Release},
    },
};

/// Where the objects of a tally are, or were.
#[derive(Clone, Copy, Debug)]
pub enum Place<'a> {
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
    /// An operation was booked.
    pub booked: fn(element: &ElementType, tally: Tally, place: Place<'_>),
    /// So many objects were given the value of another one by the type's own copy.
    pub copied: fn(element: &ElementType, count: u64),
    /// There is a new segment with these cells.
    pub segment_made: fn(cells: NonNull<u8>),
    /// The segment with these cells goes: nobody may look at it once this has returned.
    pub segment_gone: fn(cells: NonNull<u8>),
    /// The segment may move: nobody may look at it until it arrives under the number returned.
    pub segment_leaves: fn(cells: NonNull<u8>) -> u64,
    /// The segment that left is here.
    pub segment_arrives: fn(number: u64, cells: NonNull<u8>),
    /// The segment's memory was found damaged.
    pub damaged: fn(cells: NonNull<u8>, what: &str),
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

/// Tells the observer, if there is one, that the memory of a segment was found damaged.
pub fn damaged(cells: NonNull<u8>, what: &str) {
    if let Some(observer) = get() {
        (observer.damaged)(cells, what);
    }
}

impl ElementType {
    /// Adds what an operation did to the counters, and tells the observer.
    #[inline(always)]
    pub fn book(&self, tally: Tally, place: Place<'_>) {
        self.counters().add(tally);
        if is_watching() {
            self.tell(tally, place);
        }
    }

    #[cold]
    #[inline(never)]
    fn tell(&self, tally: Tally, place: Place<'_>) {
        if tally != Tally::default()
            && let Some(observer) = get()
        {
            (observer.booked)(self, tally, place);
        }
    }

    /// Tells the observer that the live ones of these cells were copied here; of a type without a
    /// zero promise all are live.
    #[cold]
    #[inline(never)]
    pub(super) fn tell_copied(&self, copies: Cells<'_>) {
        let count =
            if self.has_zero_promise() { self.vacancy().count_live(copies) } else { copies.len() };
        if let Some(observer) = get().filter(|_| count > 0) {
            (observer.copied)(self, count as u64);
        }
    }
}
