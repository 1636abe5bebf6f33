//! What NumPy cannot be told in a result: who hears of it, and what a hint does to which allocation.
#![cfg(all(feature = "testing", not(loom)))]
#![expect(
    clippy::undocumented_unsafe_blocks,
    reason = "every block works on memory that the test owns alone"
)]

use super::*;
use crate::{
    abi,
    erased::Failure,
    lock::{Request, acquire_all},
    segment::Segment,
    testing::{Fault, Storage, TracerType},
};
use std::{
    cell::{Cell, RefCell},
    ffi::c_void,
    ptr,
};

const MEMORY: *mut c_void = ptr::null_mut();

thread_local! {
    static UNRAISABLE: RefCell<Vec<Failure>> = const { RefCell::new(Vec::new()) };
    static DISARMED: Cell<usize> = const { Cell::new(0) };
}

fn segment_at(pointer: *mut c_void) -> Segment {
    unsafe { Segment::find(pointer.cast()).unwrap() }
}

/// Cells that the handler gave, each with an object.
fn filled(tracer: TracerType, count: usize) -> (*mut c_void, Segment) {
    let cells = unsafe { calloc(MEMORY, count, tracer.element.size()) };
    let segment = segment_at(cells);
    segment.bind(tracer.element).unwrap();
    unsafe { segment.materialise(0..count).unwrap() };
    (cells, segment)
}

#[test]
fn a_hint_guesses_at_cells_that_fit_and_is_for_one_allocation() {
    let element = TracerType::new(Storage::Tagged).element;
    let size = element.size();
    // An array without cells asks for one byte.
    for (bytes, fits) in [(0, true), (1, true), (size, true), (7 * size, true)].into_iter().chain([
        (2, false),
        (size - 1, false),
        (size + 1, false),
        (7 * size + 8, false),
    ]) {
        for function in ["malloc", "calloc", "realloc(NULL)", "realloc"] {
            let old = if function == "realloc" { unsafe { malloc(MEMORY, 1) } } else { MEMORY };
            DISARMED.set(0);
            allocation_hint::leave(allocation_hint::Content::Cells(element), || {
                DISARMED.set(DISARMED.get() + 1)
            });
            let cells = unsafe {
                match function {
                    "malloc" => malloc(MEMORY, bytes),
                    "calloc" => calloc(MEMORY, 1, bytes),
                    _ => realloc(MEMORY, old, bytes),
                }
            };
            // What grows was not made for the hint.
            let hinted = fits && !function.starts_with("realloc");
            let segment = segment_at(cells);
            assert_eq!(segment.is_for(element), hinted, "{function} of {bytes}");
            assert_eq!(
                (DISARMED.get(), allocation_hint::is_armed()),
                (1, false),
                "{function} of {bytes}"
            );
            let next = unsafe { malloc(MEMORY, size) };
            assert!(!segment_at(next).is_for(element), "{function} of {bytes}");
            unsafe { free(MEMORY, cells, bytes) };
            unsafe { free(MEMORY, next, size) };
        }
    }
}

#[test]
fn a_segment_of_structures_is_zero_and_of_no_type_and_moves_as_bytes() {
    for function in ["malloc", "calloc"] {
        // Memory that was used before.
        unsafe {
            let dirt = malloc(MEMORY, 64);
            dirt.cast::<u8>().write_bytes(0xcd, 64);
            free(MEMORY, dirt, 64);
        }
        allocation_hint::leave(allocation_hint::Content::Structures, || ());
        allocation_hint::amend(allocation_hint::Content::Structures);
        let cells = unsafe {
            if function == "malloc" { malloc(MEMORY, 64) } else { calloc(MEMORY, 2, 32) }
        };
        let bytes = |cells: *mut c_void, count: usize| unsafe {
            std::slice::from_raw_parts(cells.cast::<u8>(), count).to_vec()
        };
        assert_eq!(bytes(cells, 64), [0; 64], "{function}");
        assert!(segment_at(cells).intended().is_none(), "{function}");
        unsafe { cells.cast::<u8>().write_bytes(7, 64) };
        // What NumPy cleared is gone, the rest moves; a tail is zero whatever was there before.
        let smaller = unsafe { realloc(MEMORY, cells, 32) };
        let larger = unsafe { realloc(MEMORY, smaller, 100_000) };
        assert_eq!(bytes(larger, 32), [7; 32], "{function}");
        assert!(bytes(larger, 100_000)[32..].iter().all(|byte| *byte == 0), "{function}");
        assert!(segment_at(larger).intended().is_none(), "{function}");
        unsafe { free(MEMORY, larger, 100_000) };
    }
}

#[test]
fn a_refused_realloc_says_why_and_leaves_all_as_it_was() {
    for storage in [Storage::SelfPointing, Storage::SelfPointingNoPromise] {
        let tracer = TracerType::new(storage);
        let (cells, segment) = filled(tracer, 10);
        let refused = |bytes: usize| {
            let asking = realloc_error::Asking::begin();
            assert!(unsafe { realloc(MEMORY, cells, bytes) }.is_null(), "{storage:?}");
            assert_eq!((tracer.counts().live, segment_at(cells)), (10, segment), "{storage:?}");
            assert_eq!(unsafe { segment.check_integrity() }, Ok(0), "{storage:?}");
            asking.end()
        };
        tracer.plan_fault(4, Fault::Fail);
        assert_eq!(refused(8000).unwrap().kind, abi::ERROR_BORROW, "{storage:?}");
        let mut reading = [Request::new(segment.lock(), 0..8, false)];
        let guard = acquire_all(&mut reading).unwrap();
        assert_eq!(refused(8000).unwrap().kind, abi::ERROR_BORROW, "{storage:?}");
        drop(guard);
        // There NumPy's own `MemoryError` says it all.
        assert_eq!(refused(1 << 50), None, "{storage:?}");
        unsafe { free(MEMORY, cells, 1) };
        assert_eq!(tracer.counts().live, 0, "{storage:?}");
    }
}

#[test]
fn the_first_reason_is_kept_for_who_asks_and_given_back_where_nobody_does() {
    let reason = |text: &str| Failure::new(abi::ERROR_RUNTIME, text);
    assert_eq!(realloc_error::leave(reason("unheard")), Err(reason("unheard")));
    let outer = realloc_error::Asking::begin();
    realloc_error::leave(reason("first")).unwrap();
    realloc_error::leave(reason("second")).unwrap();
    let inner = realloc_error::Asking::begin();
    assert_eq!(realloc_error::Asking::begin().end(), None);
    realloc_error::leave(reason("inner")).unwrap();
    assert_eq!(inner.end(), Some(reason("inner")));
    assert_eq!(outer.end(), Some(reason("first")));
    assert_eq!(realloc_error::leave(reason("late")), Err(reason("late")));
}

#[test]
fn destructors_that_fail_are_told_to_the_hook() {
    set_unraisable_hook(|failure| UNRAISABLE.with_borrow_mut(|heard| heard.push(failure.clone())));
    for storage in Storage::ALL {
        let tracer = TracerType::new(storage);
        // A default of zero bytes has nothing to destroy.
        let (cells, _) = filled(tracer, 10);
        let ended = segment_at(cells).bitmap().unwrap().count(0, 10) > 0;
        let heard = || {
            let heard = UNRAISABLE.take();
            assert!(heard.iter().all(|failure| failure.message.contains("planned destructor")));
            heard.len()
        };
        tracer.plan_destructor_failure(1);
        let cells = unsafe { realloc(MEMORY, cells, 4 * tracer.element.size()) };
        assert_eq!((cells.is_null(), heard()), (false, usize::from(ended)), "{storage:?}");
        tracer.plan_destructor_failure(1);
        unsafe { free(MEMORY, cells, 1) };
        assert_eq!((heard(), tracer.counts().live), (usize::from(ended), 0), "{storage:?}");
    }
}
