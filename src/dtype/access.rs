//! What every loop does around the work: find the segments of its operands, lock them, keep the
//! ledger and the init bitmaps.

use crate::{
    abi,
    erased::{CellsMut, ElementType, Failure},
    lock::{LockError, Request, Requests, SegmentLock},
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
pub struct Place<'a> {
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
pub unsafe fn place_of<'a>(segment: Option<&'a Segment>, data: *const u8) -> Option<Place<'a>> {
    if let Some(segment) = segment {
        return Some(Place { lock: segment.lock(), base: segment.cells().as_ptr().addr() });
    }
    let adopted = owner_map::adopted_at(data)?;
    // SAFETY: the payload of an adopted range is a `Lent` (`c_api::arrays`), which lives as long
    // as the range is adopted.
    let lent = unsafe { adopted.payload.cast::<Lent>().as_ref() };
    Some(Place { lock: &lent.lock, base: adopted.range.start })
}

/// The payload of an adopted range.
#[derive(Default)]
pub struct Lent {
    /// The lock of the range.
    pub lock: SegmentLock,
    /// Addresses of the Python objects that keep the owners of the range alive, one an adoption.
    keepers: Mutex<Vec<usize>>,
}

impl Lent {
    /// Adds an object that keeps the memory alive, and says so until it goes. GIL held.
    pub fn add_keeper(&self, object: *mut ffi::PyObject) {
        self.keepers().push(object.expose_provenance());
    }

    /// The object goes.
    pub fn remove_keeper(&self, object: *mut ffi::PyObject) {
        self.keepers().retain(|keeper| *keeper != object.addr());
    }

    /// An object that keeps the memory alive, borrowed. GIL held.
    pub fn keeper(&self) -> Option<*mut ffi::PyObject> {
        self.keepers().last().map(|keeper| std::ptr::with_exposed_provenance_mut(*keeper))
    }

    fn keepers(&self) -> std::sync::MutexGuard<'_, Vec<usize>> {
        self.keepers.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// An operand of an element type, or `None` for one of a built-in type.
pub type Operand = Option<(&'static ElementType, Run)>;

/// Runs `body` with the operands' segments found and, where all types' loops run without the GIL,
/// locked. `body` gets one entry an operand; `None` is foreign memory (or a built-in type).
///
/// # Errors
/// What `body` fails with; a lock that cannot be had ([`LockError`]). No lock is held any more
/// when this returns.
#[inline]
pub fn with_operands<const N: usize>(
    operands: [Operand; N],
    body: impl FnOnce([Option<Segment>; N]) -> Result<(), Failure>,
) -> Result<(), Failure> {
    // The GIL serves types whose loops hold it.
    let locking = operands.iter().flatten().all(|(element, _)| element.is_thread_safe());
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
        let Some(place) = (unsafe { place_of(segment.as_ref(), run.data) }) else { continue };
        let bytes = run.bytes_from(place.base, element.size());
        if locking {
            requests.push(Request::new(place.lock, bytes, run.write));
        } else if place.lock.is_contested() {
            // What client code was lent is not ours to touch.
            drop(place.lock.try_borrow(bytes, run.write).map_err(refused)?);
        }
    }
    let guard = requests.acquire().map_err(refused)?;
    let outcome = body(segments);
    drop(guard);
    outcome
}

/// As [`with_operands`], for runs of one element type.
///
/// # Errors
/// As for [`with_operands`].
#[inline]
pub fn with_segments<const N: usize>(
    element: &'static ElementType,
    runs: [Run; N],
    body: impl FnOnce([Option<Segment>; N]) -> Result<(), Failure>,
) -> Result<(), Failure> {
    with_operands(runs.map(|run| Some((element, run))), body)
}

/// The managed segment around an address. The segment of another type (a structured array, memory
/// of handler mode) has a lock, but no bits for these cells: the ledger sees to that.
///
/// # Safety
/// If the address lies in a segment, nobody frees or resizes it meanwhile.
#[inline]
pub unsafe fn segment_of(address: *const u8) -> Option<Segment> {
    // SAFETY: the caller's promise.
    unsafe { Segment::find(address) }
}

/// Runs `work` without the GIL, where that pays and this thread holds it.
///
/// Casts are called with it: an error in a cast out of or into NumPy's iteration buffers makes
/// NumPy (2.5 and the development branch of 2.6 included, `npyiter_clear_buffers`) use the
/// interpreter without asking whether it has it.
#[inline]
pub fn without_gil<R>(count: usize, work: impl FnOnce() -> R) -> R {
    /// From as many elements on NumPy itself lets the GIL go.
    const WORTHWHILE: usize = 500;
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
/// The run is cells of `element` under rule 1, exclusively this thread's for the call (locked or
/// GIL held), and `segment` is theirs.
#[inline]
pub unsafe fn with_ledger<R>(
    element: &'static ElementType,
    segment: Option<Segment>,
    run: Run,
    work: impl FnOnce() -> R,
) -> R {
    // SAFETY: the caller's promise.
    let cells = unsafe { cells_of(run) };
    Ledger::around(element, segment, &cells, work)
}

/// The cells that a run writes: a reduction writes one cell again and again.
///
/// # Safety
/// The run is cells under rule 1, exclusively this thread's.
pub unsafe fn cells_of<'a>(run: Run) -> CellsMut<'a> {
    let count = if run.stride == 0 { run.count.min(1) } else { run.count };
    debug_assert!(count <= BLOCK);
    // SAFETY: the caller's promise.
    unsafe { CellsMut::new(run.data, run.stride, count) }
}

/// The failure that a refused lock is.
#[cold]
pub(super) fn refused(error: LockError) -> Failure {
    let kind = match error {
        LockError::Borrowed | LockError::Busy => abi::ERROR_BORROW,
        LockError::Reentrant | LockError::TooMany => abi::ERROR_RUNTIME,
    };
    Failure::new(kind, error.to_string())
}
