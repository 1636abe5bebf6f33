//! The Rust heap of the extension module: the system's, with an emergency heap for reporting that it
//! is exhausted.
//!
//! Number crates panic where an allocation fails, and that panic becomes a `MemoryError`. But a
//! panic allocates, as do the texts of errors, and Rust aborts the process where such a request
//! fails. So small requests that the system refuses are served from 32 KiB set aside: half of it
//! for any, all of it for those of a thread whose request has failed, until [`over`] says that
//! Python has its exception.

use crate::faults;
use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::{Cell, UnsafeCell};
use std::sync::atomic::{AtomicU64, Ordering};

const SLOT_BYTES: usize = 512;
const SLOTS: usize = 64;
const EMERGENCY_BYTES: usize = SLOT_BYTES * SLOTS;

/// The memory set aside; a slot belongs to who set its bit in [`TAKEN`].
#[repr(C, align(64))]
struct EmergencySlots(UnsafeCell<[u8; EMERGENCY_BYTES]>);

// SAFETY: only addresses are taken of it here; a slot is used by one owner at a time.
unsafe impl Sync for EmergencySlots {}

static EMERGENCY: EmergencySlots = EmergencySlots(UnsafeCell::new([0; EMERGENCY_BYTES]));
static TAKEN: AtomicU64 = AtomicU64::new(0);

thread_local! {
    /// Whether a request of this thread failed and no caller was told yet.
    static EXHAUSTED: Cell<bool> = const { Cell::new(false) };
}

/// The failure has been told: requests fail again.
pub fn over() {
    // A thread that is ending has no caller to tell.
    let _ = EXHAUSTED.try_with(|exhausted| exhausted.set(false));
}

/// The system's heap and the emergency heap.
#[derive(Debug)]
pub struct Heap;

/// The index of the slot that starts at an address.
fn slot_of(pointer: *mut u8) -> Option<usize> {
    let offset = pointer.addr().wrapping_sub(EMERGENCY.0.get().addr());
    (offset < EMERGENCY_BYTES).then_some(offset / SLOT_BYTES)
}

/// What a request gets that the system refused: a slot, or NULL, and then more slots the next time.
#[cold]
#[inline(never)]
fn refused(layout: Layout) -> *mut u8 {
    let exhausted = EXHAUSTED.try_with(Cell::get).unwrap_or(false);
    let most = if exhausted { SLOTS } else { SLOTS / 2 };
    let small = layout.size() <= SLOT_BYTES && layout.align() <= 64;
    let mut taken = TAKEN.load(Ordering::Relaxed);
    while small && (taken.count_ones() as usize) < most {
        let slot = taken.trailing_ones() as usize;
        match TAKEN.compare_exchange_weak(
            taken,
            taken | 1 << slot,
            Ordering::Acquire,
            Ordering::Relaxed,
        ) {
            Ok(_) => return EMERGENCY.0.get().cast::<u8>().wrapping_add(slot * SLOT_BYTES),
            Err(now) => taken = now,
        }
    }
    // A thread that is ending has no caller to tell.
    let _ = EXHAUSTED.try_with(|exhausted| exhausted.set(true));
    std::ptr::null_mut()
}

// SAFETY: memory is the system's or a slot that no other code has, large and aligned enough; which of
// the two is told by its address. Nothing here unwinds.
unsafe impl GlobalAlloc for Heap {
    #[inline]
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        if faults::heap_is_watched() {
            // SAFETY: the caller's promise.
            return unsafe { alloc_watched(layout, false) };
        }
        // SAFETY: the caller's promise.
        let pointer = unsafe { System.alloc(layout) };
        if pointer.is_null() { refused(layout) } else { pointer }
    }

    #[inline]
    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        if faults::heap_is_watched() {
            // SAFETY: the caller's promise.
            return unsafe { alloc_watched(layout, true) };
        }
        // SAFETY: the caller's promise.
        let pointer = unsafe { System.alloc_zeroed(layout) };
        if pointer.is_null() { zeroed_slot(layout) } else { pointer }
    }

    #[inline]
    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        match slot_of(pointer) {
            // SAFETY: the caller's promise, and the pointer is the system's.
            None => unsafe { System.dealloc(pointer, layout) },
            Some(slot) => {
                TAKEN.fetch_and(!(1 << slot), Ordering::Release);
            }
        }
    }

    #[inline]
    unsafe fn realloc(&self, pointer: *mut u8, layout: Layout, new_size: usize) -> *mut u8 {
        if !faults::heap_is_watched() && slot_of(pointer).is_none() {
            // SAFETY: the caller's promise, and the pointer is the system's.
            let moved = unsafe { System.realloc(pointer, layout, new_size) };
            if !moved.is_null() {
                return moved;
            }
        }
        // SAFETY: the caller's promise.
        unsafe { realloc_apart(pointer, layout, new_size) }
    }
}

/// [`Heap::alloc`] or [`Heap::alloc_zeroed`] where requests are made to fail; apart, so that the
/// usual ones keep nothing for it.
///
/// # Safety
/// As for these.
#[cold]
#[inline(never)]
unsafe fn alloc_watched(layout: Layout, zeroed: bool) -> *mut u8 {
    if faults::heap_is_due() {
        return if zeroed { zeroed_slot(layout) } else { refused(layout) };
    }
    // SAFETY: the caller's promise.
    unsafe { if zeroed { System.alloc_zeroed(layout) } else { System.alloc(layout) } }
}

/// [`refused`], of zeros.
#[cold]
#[inline(never)]
fn zeroed_slot(layout: Layout) -> *mut u8 {
    let pointer = refused(layout);
    if !pointer.is_null() {
        // SAFETY: a slot of ours of that size.
        unsafe { pointer.write_bytes(0, layout.size()) };
    }
    pointer
}

/// Resizes what is in a slot, what the system would not resize, and where requests are made to
/// fail.
///
/// # Safety
/// As for [`Heap::realloc`].
#[cold]
#[inline(never)]
unsafe fn realloc_apart(pointer: *mut u8, layout: Layout, new_size: usize) -> *mut u8 {
    let in_slot = slot_of(pointer).is_some();
    if in_slot && new_size <= SLOT_BYTES {
        return pointer;
    }
    // SAFETY: the caller's promise: the new size is not 0 and fits the alignment; both blocks are
    // live and distinct, and the old one is given up only where the new one exists.
    unsafe {
        let new = Layout::from_size_align_unchecked(new_size, layout.align());
        let watched = faults::heap_is_watched();
        let tries = if watched { !faults::heap_is_due() } else { in_slot };
        let given = if tries { System.alloc(new) } else { std::ptr::null_mut() };
        let moved = if given.is_null() { refused(new) } else { given };
        if !moved.is_null() {
            moved.copy_from_nonoverlapping(pointer, layout.size().min(new_size));
            Heap.dealloc(pointer, layout);
        }
        moved
    }
}

/// Keeps panics quiet that stand for failed requests: they become a `MemoryError`. A hook that
/// reports a panic allocates, and that can fail while memory is exhausted.
#[cfg(feature = "runtime")]
pub fn quiet_panics() {
    static ONCE: std::sync::Once = std::sync::Once::new();
    ONCE.call_once(|| {
        let report = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |panic| {
            let texts = ["out of memory", "try to allocate too much memory", "capacity overflow"];
            if !panic.payload().downcast_ref::<&str>().is_some_and(|text| texts.contains(text)) {
                report(panic);
            }
        }));
    });
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;

    #[test]
    fn small_requests_are_served_and_those_of_a_thread_whose_request_failed_longer() {
        let small = Layout::from_size_align(SLOT_BYTES, 64).unwrap();
        let mut slots: HashSet<_> = (0..SLOTS / 2).map(|_| refused(small)).collect();
        assert!(refused(small).is_null(), "the rest is for telling of a failure");
        assert!(refused(Layout::from_size_align(SLOT_BYTES + 1, 1).unwrap()).is_null());
        slots.extend((0..SLOTS / 2).map(|_| refused(small)));
        assert_eq!(slots.len(), SLOTS);
        assert!(slots.iter().all(|slot| !slot.is_null() && slot.addr() % 64 == 0));
        assert!(refused(small).is_null(), "the emergency heap is used up");
        for &slot in &slots {
            // SAFETY: a slot that is ours, given back once.
            unsafe { Heap.dealloc(slot, small) };
        }
        // SAFETY: the slot is ours until it is given back; the layouts are those it was made with.
        unsafe {
            let slot = refused(small);
            slot.write_bytes(7, SLOT_BYTES);
            let moved = Heap.realloc(slot, small, 4 * SLOT_BYTES);
            assert!(slot_of(moved).is_none() && *moved.add(SLOT_BYTES - 1) == 7);
            Heap.dealloc(moved, Layout::from_size_align(4 * SLOT_BYTES, 64).unwrap());
        }
        assert_eq!(TAKEN.load(Ordering::Relaxed), 0);
        over();
    }
}
