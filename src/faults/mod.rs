//! Steps that fail on request: what an operation does then is tried with each of them.
//!
//! A plan names a kind of step and how many of them go well first; the next one fails, once. Rust
//! tests plan for their own thread, the fault runs of `denizen check` for the process, whose
//! threads all count. Without a plan a step costs one relaxed load.

#[doc(hidden)]
pub mod elements;
pub(crate) mod interpose;
#[cfg(feature = "testing")]
pub(crate) mod type_code;

use std::cell::Cell;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};

/// A kind of step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum FaultKind {
    /// A block of memory for a segment, or what is allocated beside one.
    Allocation = 1,
    /// A request to the Rust heap of the runtime: scratch space, ledgers, messages, large numbers.
    Heap = 2,
    /// One element in an operation of its type: constructed, copied, compared, cast, ..
    Element = 4,
    /// A call of NumPy's or CPython's into the runtime, which panics.
    Slot = 16,
}

/// Bit in [`ARMED`]: a thread has planned for itself, now or earlier.
const THREADS: u64 = 8;

/// Which kinds of step must look for a plan: their bits, and [`THREADS`].
static ARMED: AtomicU64 = AtomicU64::new(0);

/// Steps of the planned kind that the process made since.
static SEEN: AtomicU64 = AtomicU64::new(0);
/// How many go well before one fails.
static AFTER: AtomicU64 = AtomicU64::new(u64::MAX);
static HAPPENED: AtomicBool = AtomicBool::new(false);

thread_local! {
    /// Allocations of this thread until one fails.
    static COUNTDOWN: Cell<Option<u32>> = const { Cell::new(None) };
}

/// Has the allocation of this thread after `allocations` more fail, once.
pub fn plan_failure(allocations: u32) {
    COUNTDOWN.set(Some(allocations));
    ARMED.fetch_or(THREADS, Relaxed);
}

/// Takes the plan of this thread back; says whether the planned failure had not happened yet.
pub fn cancel() -> bool {
    COUNTDOWN.take().is_some()
}

/// Has one step of the process fail after `after` more of its kind, once; `None` only counts them.
/// Replaces any other plan of the process.
pub fn plan(kind: FaultKind, after: Option<u64>) {
    end();
    AFTER.store(after.unwrap_or(u64::MAX), Relaxed);
    ARMED.fetch_or(kind as u64, Relaxed);
}

/// Ends the plan of the process: how many steps were made under it, and whether one failed.
pub fn end() -> (u64, bool) {
    ARMED.fetch_and(THREADS, Relaxed);
    (SEEN.swap(0, Relaxed), HAPPENED.swap(false, Relaxed))
}

/// Whether allocations must ask [`is_due`].
#[inline]
pub(crate) fn allocations_are_watched() -> bool {
    ARMED.load(Relaxed) & (THREADS | FaultKind::Allocation as u64) != 0
}

/// Counts an allocation, which may be the one that fails.
#[inline]
pub(crate) fn is_due() -> bool {
    allocations_are_watched() && allocation_is_due()
}

/// Whether requests to the heap must ask [`heap_is_due`].
#[cfg(any(feature = "runtime", all(test, not(loom))))]
#[inline]
pub(crate) fn heap_is_watched() -> bool {
    ARMED.load(Relaxed) & FaultKind::Heap as u64 != 0
}

/// Counts a request to the heap under a plan for it; it may be the one that fails.
#[cfg(any(feature = "runtime", all(test, not(loom))))]
pub(crate) fn heap_is_due() -> bool {
    next(1).is_some()
}

/// Counts `count` elements; the index of the one that fails, if one does.
pub(crate) fn failing_element(count: usize) -> Option<usize> {
    (ARMED.load(Relaxed) & FaultKind::Element as u64 != 0).then(|| next(count))?
}

/// Counts a call into the runtime.
///
/// # Panics
/// On request.
#[inline(always)]
pub(crate) fn slot() {
    if ARMED.load(Relaxed) & FaultKind::Slot as u64 != 0 {
        slot_under_plan();
    }
}

#[cold]
#[inline(never)]
fn slot_under_plan() {
    assert!(next(1).is_none(), "as a plan of faults wants it");
}

#[cold]
fn allocation_is_due() -> bool {
    let planned = ARMED.load(Relaxed) & FaultKind::Allocation as u64 != 0;
    let of_process = planned && next(1).is_some();
    // A thread that is ending has no plan any more.
    let of_thread = COUNTDOWN.try_with(|countdown| match countdown.get() {
        None => false,
        Some(0) => {
            countdown.set(None);
            true
        }
        Some(left) => {
            countdown.set(Some(left - 1));
            false
        }
    });
    of_process || of_thread.unwrap_or(false)
}

/// Counts steps of the process; which of them fails, if one does.
#[cold]
fn next(count: usize) -> Option<usize> {
    let due = AFTER.load(Relaxed).checked_sub(SEEN.fetch_add(count as u64, Relaxed))?;
    let within = due < count as u64 && !HAPPENED.swap(true, Relaxed);
    within.then_some(due as usize)
}

/// Whether the process was started with `DENIZEN_FAULTS=1`: element types that are registered then
/// count their elements ([`elements`]).
#[cfg(feature = "runtime")]
pub(crate) fn elements_can_fail() -> bool {
    static ASKED: std::sync::LazyLock<bool> = std::sync::LazyLock::new(|| {
        std::env::var_os("DENIZEN_FAULTS").is_some_and(|value| value == "1")
    });
    *ASKED
}
