//! What every loop does around the work: find the segments of its operands, lock them, keep the
//! ledger and the init bitmaps.

use crate::{
    abi,
    erased::{CellsMut, ElementType, Failure, Tally},
    lock::{self, LockError, Request, SegmentLock},
    segment::{Ledger, Segment},
};
use std::{ops::Range, sync::OnceLock};

/// Most cells between two looks at the ledger: one block's cells stay in the cache.
pub const BLOCK: usize = 4096;

/// A run of cells as a loop meets it.
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

    /// Nothing: an operand of a built-in type.
    pub const NONE: Run = Run { data: std::ptr::null_mut(), stride: 0, count: 0, write: false };

    /// The bytes of `segment`'s cells that cells of `size` bytes touch.
    #[inline]
    fn bytes_in(&self, segment: Segment, size: usize) -> Range<usize> {
        let base = segment.cells().as_ptr() as isize;
        let first = self.data as isize - base;
        let last = first + self.stride * (self.count as isize - 1);
        first.min(last).max(0) as usize..(first.max(last).max(0) as usize + size)
    }
}

/// Runs `body` with the operands' segments found and, where the type's loops run without the GIL,
/// locked. `body` gets one entry a run; `None` is foreign memory.
///
/// # Errors
/// What `body` fails with; a lock that cannot be had ([`LockError`]). No lock is held any more
/// when this returns.
#[inline]
pub fn with_segments<const N: usize>(
    element: &'static ElementType,
    runs: [Run; N],
    body: impl FnOnce([Option<Segment>; N]) -> Result<(), Failure>,
) -> Result<(), Failure> {
    let segments = runs.map(|run| {
        if run.count == 0 { None } else { segment_of(run.data, element) }
    });
    if !element.is_thread_safe() {
        return body(segments);
    }
    let mut managed = 0;
    let mut requests: [Request<'_>; N] =
        std::array::from_fn(|_| Request::new(idle_lock(), 0..0, false));
    for (run, segment) in runs.iter().zip(&segments) {
        if let Some(segment) = segment {
            requests[managed] = Request::new(
                segment.lock(),
                run.bytes_in(*segment, element.size()),
                run.write,
            );
            managed += 1;
        }
    }
    let guard = lock::acquire_all(&mut requests[..managed]).map_err(refused)?;
    let outcome = body(segments);
    drop(guard);
    outcome
}

/// As [`with_segments`], for any number of runs.
pub fn with_segments_of(
    element: &'static ElementType,
    runs: &[Run],
    body: impl FnOnce(&[Option<Segment>]) -> Result<(), Failure>,
) -> Result<(), Failure> {
    let segments: Vec<_> = runs
        .iter()
        .map(|run| if run.count == 0 { None } else { segment_of(run.data, element) })
        .collect();
    if !element.is_thread_safe() {
        return body(&segments);
    }
    let mut requests: Vec<Request<'_>> = runs
        .iter()
        .zip(&segments)
        .filter_map(|(run, segment)| {
            let segment = segment.as_ref()?;
            let bytes = run.bytes_in(*segment, element.size());
            Some(Request::new(segment.lock(), bytes, run.write))
        })
        .collect();
    let guard = lock::acquire_all(&mut requests).map_err(refused)?;
    let outcome = body(&segments);
    drop(guard);
    outcome
}

/// The managed segment around an address, bound to the type. A segment that belongs to another
/// type is as good as foreign: its cells live by their own bytes.
#[inline]
pub fn segment_of(address: *const u8, element: &'static ElementType) -> Option<Segment> {
    let segment = Segment::find(address)?;
    segment.bind(element).ok()?;
    Some(segment)
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
    // A reduction writes one cell again and again.
    let count = if run.stride == 0 { run.count.min(1) } else { run.count };
    debug_assert!(count <= BLOCK);
    // SAFETY: the caller's promise.
    let cells = unsafe { CellsMut::new(run.data, run.stride, count) };
    let ledger = Ledger::open(element, segment, &cells);
    let result = work();
    let _: Tally = ledger.close(&cells);
    result
}

/// The failure that a refused lock is.
#[cold]
fn refused(error: LockError) -> Failure {
    let kind = match error {
        LockError::Borrowed | LockError::Busy => abi::ERROR_BORROW,
        LockError::Reentrant | LockError::TooMany => abi::ERROR_RUNTIME,
    };
    Failure::new(kind, error.to_string())
}

/// A lock that nobody asks for, to fill arrays of requests.
fn idle_lock() -> &'static SegmentLock {
    static IDLE: OnceLock<SegmentLock> = OnceLock::new();
    IDLE.get_or_init(SegmentLock::new)
}
