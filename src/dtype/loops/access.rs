//! What every loop does around the work: find the segments of its operands, lock them, keep the
//! ledger and the init bitmaps.

use crate::{
    abi,
    dtype::{handle::errors, loops::alone::is_alone},
    erased::{CellsMut, ElementType, Exclusive, Failure, Staging},
    lock::{Guard, LockError, Operation, Pin, Request, Requests, SegmentLock},
    owner_map,
    segment::{self, Ledger, Segment},
};
use pyo3::ffi;
use std::{
    ops::Range,
    sync::{Mutex, PoisonError},
};

/// Most cells between two looks at the ledger: one block's cells stay in the cache.
pub const BLOCK: usize = segment::RUN;

/// A run of cells as a loop meets it.
///
/// Invariant (`run-alive`): the memory of the cells is allocated, and stays so while the run is in
/// use. NumPy keeps it for its loops, an array for its own cells.
#[derive(Clone, Copy)]
pub struct Run {
    /// First cell.
    pub data: *mut u8,
    /// Bytes from one cell to the next.
    pub stride: isize,
    /// How many.
    pub count: usize,
    /// Whether the loop changes them.
    pub write: bool,
}

impl Run {
    /// A run that is only read.
    #[inline]
    pub fn read(data: *const u8, stride: isize, count: usize) -> Run {
        Run { data: data.cast_mut(), stride, count, write: false }
    }

    /// A run that is changed.
    #[inline]
    pub fn write(data: *mut u8, stride: isize, count: usize) -> Run {
        Run { data, stride, count, write: true }
    }

    /// `count` cells from cell `start` on.
    #[inline]
    pub fn part(&self, start: usize, count: usize) -> Run {
        Run { data: self.data.wrapping_offset(self.stride * start as isize), count, ..*self }
    }

    /// Whether some byte is a cell's of this run, of cells of `size` bytes, and of another's.
    pub fn shares_bytes(&self, size: usize, other: &Run, other_size: usize) -> bool {
        let (own, others) = (self.bytes_from(0, size), other.bytes_from(0, other_size));
        self.count > 0 && other.count > 0 && own.start < others.end && others.start < own.end
    }

    /// The bytes, counted from address `base`, that cells of `size` bytes touch.
    #[inline]
    fn bytes_from(&self, base: usize, size: usize) -> Range<usize> {
        let first = self.data as isize - base as isize;
        let last = first + self.stride * (self.count as isize - 1);
        first.min(last).max(0) as usize..(first.max(last).max(0) as usize + size)
    }
}

/// The lock of the memory that some cells are in, and the address that its ranges count from.
#[derive(Clone, Copy)]
pub struct LockRange<'a> {
    /// The lock.
    pub lock: &'a SegmentLock,
    /// Where byte 0 of its ranges is.
    pub base: usize,
}

/// The place of a run: its segment, or the adopted range around it. Foreign memory has none.
///
/// # Safety
/// The memory of the run stays allocated, and adopted, for `'a`.
#[inline]
pub unsafe fn lock_range_of<'a>(
    segment: Option<&'a Segment>,
    data: *const u8,
) -> Option<LockRange<'a>> {
    if let Some(segment) = segment {
        return Some(LockRange { lock: segment.lock(), base: segment.cells().as_ptr().addr() });
    }
    let adopted = owner_map::adopted_at(data)?;
    // SAFETY: the payload is an `AdoptedRange` (`c_api::arrays`), which lives as long as the range
    // is adopted.
    let range = unsafe { adopted.payload.cast::<AdoptedRange>().as_ref() };
    Some(LockRange { lock: &range.lock, base: adopted.range.start })
}

/// The payload of an adopted range.
#[derive(Default)]
pub struct AdoptedRange {
    /// The lock of the range.
    pub lock: SegmentLock,
    /// Addresses of the Python objects that keep the owners of the range alive, one an adoption.
    bases: Mutex<Vec<usize>>,
}

impl AdoptedRange {
    /// Adds an object that keeps the memory alive, and says so until it goes. GIL held.
    pub fn add_base(&self, object: *mut ffi::PyObject) {
        self.bases().push(object.expose_provenance());
    }

    /// The object goes.
    pub fn remove_base(&self, object: *mut ffi::PyObject) {
        self.bases().retain(|base| *base != object.addr());
    }

    /// An object that keeps the memory alive, borrowed. GIL held.
    pub fn base(&self) -> Option<*mut ffi::PyObject> {
        self.bases().last().map(|base| std::ptr::with_exposed_provenance_mut(*base))
    }

    fn bases(&self) -> std::sync::MutexGuard<'_, Vec<usize>> {
        self.bases.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// An operand of an element type, or `None` for one of a built-in type.
pub type Operand = Option<(&'static ElementType, Run)>;

/// Finds the segments of the operands, locks them, and runs `body`: readers share, a writer
/// excludes. `body` gets one segment an operand (`None` is foreign memory, or a built-in type), and
/// the locks.
///
/// # Errors
/// A lock that cannot be had ([`LockError`]).
#[inline(always)]
fn locked<const N: usize, R>(
    operands: &[Operand; N],
    body: impl FnOnce([Option<Segment>; N], Guard<'_, '_>) -> R,
) -> Result<R, Failure> {
    // Loops over references: copies of the operands would be written in parts and read at once,
    // for which a processor waits longer than for the rest of this function.
    let mut segments = [None; N];
    for (operand, segment) in operands.iter().zip(&mut segments) {
        if let Some((_, run)) = operand
            && run.count > 0
        {
            // SAFETY: `run-alive`.
            *segment = unsafe { segment_of(run.data) };
        }
    }
    let mut requests = Requests::<N>::new();
    for (operand, segment) in operands.iter().zip(&segments) {
        let Some((element, run)) = operand else { continue };
        if run.count == 0 {
            continue;
        }
        // SAFETY: `run-alive`.
        let Some(place) = (unsafe { lock_range_of(segment.as_ref(), run.data) }) else { continue };
        let bytes = run.bytes_from(place.base, element.size());
        requests.push(Request::new(place.lock, bytes, run.write));
    }
    // SAFETY: `alone`.
    let guard = unsafe { requests.acquire(is_alone) }.map_err(refused)?;
    Ok(body(segments, guard))
}

/// Runs `body` with the operands' segments found and locked. `body` gets one segment an operand;
/// `None` is foreign memory (or a built-in type).
///
/// # Errors
/// What `body` fails with; a lock that cannot be had ([`LockError`]). No lock is held any more
/// when this returns.
#[inline(always)]
pub fn with_operands<const N: usize>(
    operands: [Operand; N],
    body: impl FnOnce([Option<Segment>; N], Exclusive<'_>) -> Result<(), Failure>,
) -> Result<(), Failure> {
    locked(&operands, |segments, guard| body(segments, Exclusive::locked(&guard)))?
}

/// As [`with_operands`], for operations that replace objects whose destructors may run Python code:
/// `body` leaves them in `staging`, where they end when no lock is held any more. Meanwhile the
/// operands' memory stays where it is, for NumPy's loop goes on.
///
/// # Errors
/// As for [`with_operands`]; a destructor failed, after everything was done.
#[inline(always)]
pub fn replacing<const N: usize>(
    operands: [Operand; N],
    staging: &mut Staging<'static>,
    body: impl FnOnce([Option<Segment>; N], Exclusive<'_>, &mut Staging<'static>) -> Result<(), Failure>,
) -> Result<(), Failure> {
    locked(&operands, |segments, guard| {
        let outcome = body(segments, Exclusive::locked(&guard), staging);
        end_unlocked(guard, std::slice::from_mut(staging).iter_mut(), outcome)
    })?
}

/// As [`replacing`], with a staging for each operand that has one.
///
/// # Errors
/// As for [`replacing`].
#[inline(always)]
pub fn replacing_all<const N: usize>(
    operands: [Operand; N],
    staging: &mut [Option<Staging<'static>>; N],
    body: impl FnOnce(
        [Option<Segment>; N],
        Exclusive<'_>,
        &mut [Option<Staging<'static>>; N],
    ) -> Result<(), Failure>,
) -> Result<(), Failure> {
    locked(&operands, |segments, guard| {
        let outcome = body(segments, Exclusive::locked(&guard), staging);
        end_unlocked(guard, staging.iter_mut().flatten(), outcome)
    })?
}

/// Releases the locks and ends what is staged, while the memory stays in its place.
#[inline(always)]
fn end_unlocked<'s>(
    guard: Guard<'_, '_>,
    staging: impl Iterator<Item = &'s mut Staging<'static>>,
    outcome: Result<(), Failure>,
) -> Result<(), Failure> {
    let (mut guard, mut pins) = (Some(guard), None);
    let mut outcome = outcome;
    for staging in staging {
        if !staging.is_empty() {
            if let Some(guard) = guard.take() {
                pins = Some(guard.into_pins());
            }
            let ended = end_staged(staging, outcome.is_err());
            outcome = outcome.and(ended);
        }
    }
    drop((guard, pins));
    outcome
}

/// Ends what is staged. No lock is held. A destructor that fails beside a failure, or an exception,
/// that is on its way goes to the hook for unraisable exceptions.
///
/// # Errors
/// A destructor failed; every object is gone all the same.
#[cold]
#[inline(never)]
pub fn end_staged(staging: &mut Staging<'static>, has_failed: bool) -> Result<(), Failure> {
    // SAFETY: types whose objects are staged hold the GIL in loops, casts and traversals.
    if !has_failed && unsafe { ffi::PyErr_Occurred() }.is_null() {
        return staging.end();
    }
    // SAFETY: as above.
    unsafe {
        errors::keeping_exception(|| {
            if let Err(failure) = staging.end() {
                errors::write_unraisable(&failure, errors::DESTRUCTOR);
            }
        });
    }
    Ok(())
}

/// As [`with_operands`], for runs of one element type.
///
/// # Errors
/// As for [`with_operands`].
#[inline(always)]
pub fn with_segments<const N: usize>(
    element: &'static ElementType,
    runs: [Run; N],
    body: impl FnOnce([Option<Segment>; N], Exclusive<'_>) -> Result<(), Failure>,
) -> Result<(), Failure> {
    with_operands(runs.map(|run| Some((element, run))), body)
}

/// Keeps the memory around some cells where it is while `work` runs client code: it may not be
/// resized, nor given back, before NumPy has done what it does at this address.
///
/// # Errors
/// What `work` fails with; an operation that is nested too deeply.
///
/// # Safety
/// `run-alive` for the cells.
#[inline]
pub unsafe fn pinned<R>(
    data: *const u8,
    work: impl FnOnce() -> Result<R, Failure>,
) -> Result<R, Failure> {
    // SAFETY: the caller's promise; memory that is pinned is not given back.
    let segment = unsafe { segment_of(data) };
    // SAFETY: as above.
    let place = unsafe { lock_range_of(segment.as_ref(), data) };
    // SAFETY: `alone`.
    let pin = place.map(|place| unsafe { Pin::new(place.lock, is_alone) });
    let pin = pin.transpose().map_err(refused)?;
    let _operation = pin.is_none().then(Operation::begin);
    work()
}

/// The managed segment around an address. The segment of another type (a structured array, memory
/// of handler mode) has a lock, but no bits for these cells: the ledger sees to that.
///
/// # Safety
/// If the address lies in a segment, no thread frees or resizes it meanwhile.
#[inline]
pub unsafe fn segment_of(address: *const u8) -> Option<Segment> {
    // SAFETY: the caller's promise.
    unsafe { Segment::find(address) }
}

/// From as many elements on NumPy itself lets the GIL go.
pub const WORTHWHILE: usize = 500;

/// Runs `work` without the GIL, where that pays and this thread holds it.
///
/// Casts are called with it: an error in a cast out of or into NumPy's iteration buffers makes
/// NumPy (2.5 and the development branch of 2.6 included, `npyiter_clear_buffers`) use the
/// interpreter without asking whether it has it.
#[inline]
pub fn without_gil<R>(count: usize, work: impl FnOnce() -> R) -> R {
    // SAFETY: callable in any thread.
    let pays = count >= WORTHWHILE && unsafe { ffi::PyGILState_Check() } != 0;
    // SAFETY: this thread holds the GIL, and takes it again below, however `work` ends.
    let _taken_again = pays.then(|| TakenAgain(unsafe { ffi::PyEval_SaveThread() }));
    // The only call, so that it can be inlined.
    work()
}

struct TakenAgain(*mut ffi::PyThreadState);

impl Drop for TakenAgain {
    fn drop(&mut self) {
        // SAFETY: the state that `PyEval_SaveThread` gave to this thread.
        unsafe { ffi::PyEval_RestoreThread(self.0) };
    }
}

/// Runs `work` on output cells with the ledger open: what it constructs and destroys is counted,
/// the bits of the segment follow the cells.
///
/// # Safety
/// The run is cells of `element` under rule 1, exclusively this thread's for the reason given, and
/// `segment` is theirs.
#[inline]
pub unsafe fn with_ledger<R>(
    element: &'static ElementType,
    segment: Option<Segment>,
    run: Run,
    right: Exclusive<'_>,
    work: impl FnOnce() -> R,
) -> R {
    // SAFETY: the caller's promise.
    let cells = unsafe { cells_of(run, right) };
    Ledger::during(element, segment, &cells, work)
}

/// The cells that a run writes: a reduction writes one cell again and again.
///
/// # Safety
/// The run is cells under rule 1, exclusively this thread's for the reason given.
#[inline]
pub unsafe fn cells_of(run: Run, right: Exclusive<'_>) -> CellsMut<'_> {
    let count = if run.stride == 0 { run.count.min(1) } else { run.count };
    debug_assert!(count <= BLOCK);
    // SAFETY: the caller's promise.
    unsafe { CellsMut::new(run.data, run.stride, count, right) }
}

/// The failure that a refused lock is.
#[cold]
pub(crate) fn refused(error: LockError) -> Failure {
    let kind = match error {
        LockError::TooMany => abi::ERROR_RUNTIME,
        _ => abi::ERROR_BORROW,
    };
    Failure::new(kind, error.to_string())
}
