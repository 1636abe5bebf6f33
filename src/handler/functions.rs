//! The four functions of the handler.
//!
//! The handler's context is NULL, or the [`Upstream`] whose memory the segments are made of.
//!
//! NumPy's sizes are not trusted: `calloc(nbytes, 1)`, `realloc(ptr, 1)` and `free(NULL, ..)` are
//! usual, and the size that `free` gets may be wrong. The segment's header knows better. There is
//! no error channel but NULL; a destructor that fails during `free` goes to the hook.

use super::{
    allocation_hint::{self, Content},
    objects, realloc_error,
    unraisable::{guarded, unraisable},
};
use crate::{
    abi,
    erased::Failure,
    segment::{Lost, ResizeError, Segment, SegmentRequest, Source, Upstream},
};
use std::{
    ffi::c_void,
    ptr::{self, NonNull},
};

/// Cells of an array start at a cache line.
const CELL_ALIGN: usize = 64;

/// Cells for a new array, or NULL. The bytes are zero, which is what vacant cells are: NumPy asks
/// for uninitialised memory only where it fills all of it, and only for dtypes that need no
/// initialisation.
///
/// # Safety
/// Callable with any size; the result is freed with [`free`] or [`realloc`]. `context` is NULL or
/// points to an [`Upstream`], for which [`Source::of_upstream`] holds.
pub unsafe extern "C" fn malloc(context: *mut c_void, size: usize) -> *mut c_void {
    guarded("malloc", ptr::null_mut(), || {
        let content = allocation_hint::take();
        // SAFETY: the caller's promise.
        allocate(unsafe { source(context) }, size, content, content.is_some())
    })
}

/// Zeroed cells for a new array, or NULL.
///
/// # Safety
/// As for [`malloc`].
pub unsafe extern "C" fn calloc(context: *mut c_void, count: usize, size: usize) -> *mut c_void {
    guarded("calloc", ptr::null_mut(), || {
        let content = allocation_hint::take();
        match count.checked_mul(size) {
            // SAFETY: the caller's promise.
            Some(bytes) => allocate(unsafe { source(context) }, bytes, content, true),
            None => ptr::null_mut(),
        }
    })
}

/// Where a handler's segments come from.
///
/// # Safety
/// As for [`malloc`].
unsafe fn source(context: *mut c_void) -> Source {
    match NonNull::new(context.cast::<Upstream>()) {
        None => Source::MEMORY,
        // SAFETY: the caller's promise.
        Some(upstream) => unsafe { Source::of_upstream(upstream) },
    }
}

fn allocate(source: Source, bytes: usize, content: Option<Content>, zeroed: bool) -> *mut c_void {
    // A hint whose element does not fit the size was meant for another allocation. An array
    // without cells asks for one byte, and may grow.
    let element = content
        .and_then(Content::element)
        .filter(|element| bytes <= 1 || bytes.is_multiple_of(element.size()));
    match SegmentRequest::new(bytes.max(1), CELL_ALIGN)
        .from_source(source)
        .hint(element)
        .zeroed_if(zeroed)
        .allocate()
    {
        Ok(segment) => segment.cells().as_ptr().cast(),
        Err(_) => ptr::null_mut(),
    }
}

/// Allocate, move, drop. NULL leaves the old segment as it was.
///
/// # Safety
/// `pointer` is NULL or what this handler returned and was not freed; no other code uses the segment
/// meanwhile.
pub unsafe extern "C" fn realloc(
    context: *mut c_void,
    pointer: *mut c_void,
    size: usize,
) -> *mut c_void {
    guarded("realloc", ptr::null_mut(), || {
        // An arming whose allocation failed before it came here ends at the next call.
        allocation_hint::take();
        if pointer.is_null() {
            // SAFETY: any size.
            return unsafe { malloc(context, size) };
        }
        // SAFETY: the caller's promise.
        let segment = match unsafe { segment_at("reallocate", pointer) } {
            Ok(segment) => segment,
            Err(NoSegment { failure, is_new }) => {
                if is_new {
                    refuse(failure);
                } else {
                    let _ = realloc_error::leave(failure);
                }
                return ptr::null_mut();
            }
        };
        // SAFETY: the caller's promise.
        match unsafe { segment.resize(size.max(1)) } {
            Ok(resized) => {
                if let Some(failure) = &resized.destructor {
                    unraisable(failure);
                }
                // SAFETY: the caller's promise.
                unsafe { objects::resized(resized.segment) };
                resized.segment.cells().as_ptr().cast()
            }
            Err(error) => {
                match error {
                    ResizeError::InUse(_) | ResizeError::Element(_) => {
                        // Who does not ask hears that there is no memory.
                        let _ = realloc_error::leave(Failure::new(
                            abi::ERROR_BORROW,
                            error.to_string(),
                        ));
                    }
                    ResizeError::Corrupted(failure) => refuse(failure),
                    ResizeError::Memory(_) => {}
                }
                ptr::null_mut()
            }
        }
    })
}

/// Destroys what is still live, once, and gives the memory back. NULL is nothing.
///
/// # Safety
/// `pointer` is NULL or what this handler returned and was not freed, and no code uses it any more.
pub unsafe extern "C" fn free(_context: *mut c_void, pointer: *mut c_void, _size: usize) {
    guarded("free", (), || {
        if pointer.is_null() {
            return;
        }
        // SAFETY: the caller's promise.
        let failure = match unsafe { segment_at("free", pointer) } {
            // SAFETY: the caller's promise.
            Ok(segment) => unsafe { segment.free() }.err(),
            // `free` says it once; `realloc`, whose caller wants to go on, says it again.
            Err(NoSegment { failure, is_new }) => is_new.then_some(failure),
        };
        if let Some(failure) = failure {
            unraisable(&failure);
        }
    })
}

/// A refused `realloc`: the caller says why, or where none will ask, it is said at once.
#[cold]
fn refuse(failure: Failure) {
    if let Err(failure) = realloc_error::leave(failure) {
        unraisable(&failure);
    }
}

/// Why there is no segment.
struct NoSegment {
    failure: Failure,
    /// Whether it was not said before.
    is_new: bool,
}

/// The segment whose cells begin at `pointer`, which NumPy wants to `verb`.
///
/// # Errors
/// There is none, or not any more.
///
/// # Safety
/// As for [`free`].
#[inline]
unsafe fn segment_at(verb: &str, pointer: *mut c_void) -> Result<Segment, NoSegment> {
    // SAFETY: the caller's promise.
    match unsafe { Segment::find(pointer.cast()) } {
        Some(segment) if segment.cells().as_ptr() == pointer.cast() => Ok(segment),
        // SAFETY: the caller's promise.
        found => Err(unsafe { no_segment_at(verb, pointer, found) }),
    }
}

/// # Safety
/// As for [`segment_at`].
#[cold]
unsafe fn no_segment_at(verb: &str, pointer: *mut c_void, around: Option<Segment>) -> NoSegment {
    if let Some(segment) = around {
        let text = format!(
            "denizen's handler was asked to {verb} {pointer:p}, which is in the middle of the \
             segment at {:p}; the segment is left alone",
            segment.cells()
        );
        return NoSegment { failure: Failure::new(abi::ERROR_RUNTIME, text), is_new: true };
    }
    // SAFETY: the caller's promise.
    match unsafe { Segment::lost(pointer.cast()) } {
        Lost::Foreign => NoSegment { failure: not_ours(verb, pointer), is_new: true },
        Lost::Corrupted(corruption) => {
            NoSegment { failure: Failure::from(*corruption), is_new: true }
        }
        Lost::Quarantined => NoSegment {
            failure: Failure::new(
                abi::ERROR_INTEGRITY,
                "its memory was found to be corrupted before, and is left alone",
            ),
            is_new: false,
        },
    }
}

#[cold]
fn not_ours(function: &str, pointer: *mut c_void) -> Failure {
    Failure::new(
        abi::ERROR_RUNTIME,
        format!(
            "denizen's handler was asked to {function} {pointer:p}, which it did not allocate; \
             the memory is left alone"
        ),
    )
}
