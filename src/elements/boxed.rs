//! Heap cells of the values that do not fit their words, counted in tests.

use std::alloc::Layout;

#[cfg(any(test, feature = "testing"))]
thread_local! {
    static LIVE: std::cell::Cell<i64> = const { std::cell::Cell::new(0) };
}

/// Boxes alive that this thread made, less those it dropped.
#[cfg(any(test, feature = "testing"))]
pub fn live() -> i64 {
    LIVE.with(std::cell::Cell::get)
}

/// Moves `value` to the heap. Where memory runs out it panics with `out of memory`, as dashu
/// does, which the loop boundary turns into `MemoryError`; `Box::new` would abort.
pub fn into_heap<T>(value: T) -> *mut T {
    const { assert!(size_of::<T>() > 0) };
    // SAFETY: the layout has a size, asserted above.
    let pointer = unsafe { std::alloc::alloc(Layout::new::<T>()) }.cast::<T>();
    assert!(!pointer.is_null(), "out of memory");
    // SAFETY: just allocated with T's layout, so valid and aligned for a write.
    unsafe { pointer.write(value) };
    #[cfg(any(test, feature = "testing"))]
    LIVE.with(|live| live.set(live.get() + 1));
    pointer
}

/// Moves a value back from the heap.
///
/// # Safety
/// `pointer` is from [`into_heap`] and not used again.
pub unsafe fn from_heap<T>(pointer: *mut T) -> T {
    #[cfg(any(test, feature = "testing"))]
    LIVE.with(|live| live.set(live.get() - 1));
    // SAFETY: `into_heap` used the global allocator and T's layout, as a box does; the caller
    // gives up the pointer.
    *unsafe { Box::from_raw(pointer) }
}
