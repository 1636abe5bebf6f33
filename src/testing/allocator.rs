//! Another allocator, upstream of segments, and checks and counts what it is asked.

use crate::segment::{Source, Upstream};
use std::{
    alloc::{Layout, alloc, alloc_zeroed, dealloc},
    collections::HashMap,
    ffi::c_void,
    ptr::{self, NonNull},
    sync::{Mutex, MutexGuard, PoisonError},
};

/// An allocator whose memory is aligned to 8 and never to 16, filled with garbage where no caller asked
/// for zeros. Lives for ever, and serves one test after the other.
pub struct Allocator {
    /// Sizes by address.
    given: Mutex<HashMap<usize, usize>>,
    upstream: Upstream,
}

// SAFETY: the upstream's context is the allocator itself, which is behind a lock.
unsafe impl Send for Allocator {}
// SAFETY: as above.
unsafe impl Sync for Allocator {}

const SHIFT: usize = 8;
/// More than any machine has; not asked for, as sanitizers stop at it.
const TOO_MUCH: usize = 1 << 40;
/// Allocators not in use at present.
static IDLE: Mutex<Vec<&'static Allocator>> = Mutex::new(Vec::new());

impl Allocator {
    /// One that no other test uses until it is given back.
    pub fn borrow() -> &'static Allocator {
        if let Some(idle) = IDLE.lock().unwrap_or_else(PoisonError::into_inner).pop() {
            return idle;
        }
        let allocator = Box::leak(Box::new(Allocator {
            given: Mutex::default(),
            upstream: Upstream { context: ptr::null_mut(), malloc, calloc, free },
        }));
        allocator.upstream.context = ptr::from_mut(allocator).cast();
        allocator
    }

    /// Segments of its memory.
    pub fn source(&'static self) -> Source {
        // SAFETY: the upstream allocator lives for ever; the functions below are malloc, calloc and free.
        unsafe { Source::of_upstream(NonNull::from(&self.upstream)) }
    }

    /// The same as a handler's context.
    pub fn context(&'static self) -> *mut c_void {
        (&raw const self.upstream).cast_mut().cast()
    }

    /// Gives a borrowed allocator back.
    ///
    /// # Panics
    /// A block of it was not freed.
    pub fn give_back(&'static self) {
        assert_eq!(self.live(), 0, "blocks that were not freed");
        IDLE.lock().unwrap_or_else(PoisonError::into_inner).push(self);
    }

    /// How many blocks are given out.
    pub fn live(&self) -> usize {
        self.given().len()
    }

    fn given(&self) -> MutexGuard<'_, HashMap<usize, usize>> {
        self.given.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn give(&self, size: usize, zeroed: bool) -> *mut c_void {
        if size >= TOO_MUCH {
            return ptr::null_mut();
        }
        let Ok(layout) = Layout::from_size_align(size + SHIFT, 16) else {
            return ptr::null_mut();
        };
        // SAFETY: the layout has at least eight bytes; the shift stays inside.
        unsafe {
            let start = if zeroed { alloc_zeroed(layout) } else { alloc(layout) };
            if start.is_null() {
                return ptr::null_mut();
            }
            let start = start.add(SHIFT);
            if !zeroed {
                start.write_bytes(0xab, size);
            }
            self.given().insert(start.addr(), size);
            start.cast()
        }
    }
}

unsafe extern "C" fn malloc(context: *mut c_void, size: usize) -> *mut c_void {
    // SAFETY: the context of an upstream made here.
    unsafe { &*context.cast::<Allocator>() }.give(size, false)
}

unsafe extern "C" fn calloc(context: *mut c_void, count: usize, size: usize) -> *mut c_void {
    // SAFETY: as for `malloc`.
    unsafe { &*context.cast::<Allocator>() }.give(count * size, true)
}

unsafe extern "C" fn free(context: *mut c_void, pointer: *mut c_void, size: usize) {
    // SAFETY: as for `malloc`.
    let given = unsafe { &*context.cast::<Allocator>() }.given().remove(&pointer.addr());
    // Unwinding out of here ends the process, which fails the test all the same.
    assert_eq!(given, Some(size), "freed with the size and at the address that were given");
    if let Ok(layout) = Layout::from_size_align(size + SHIFT, 16) {
        // SAFETY: allocated in `give` with this layout.
        unsafe {
            pointer.cast::<u8>().write_bytes(0xdb, size);
            dealloc(pointer.cast::<u8>().sub(SHIFT), layout);
        }
    }
}
