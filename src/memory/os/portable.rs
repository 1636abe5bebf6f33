//! The same functions over the global allocator, for systems without `mremap`.
//!
//! Nothing grows in place, no pages move, nothing is given back early, and a process that forks
//! while another of its threads allocates is on its own.

use std::{
    alloc::{self, Layout},
    ptr::NonNull,
};

use super::PAGE;

/// Alignment of every mapping: the allocator wants to know it again when the range goes, and no
/// caller asks for more than this.
const ALIGN: usize = 2 << 20;

/// `size` fresh zero bytes at a multiple of `align`.
pub(in crate::memory) fn map(size: usize, align: usize) -> Option<NonNull<u8>> {
    debug_assert!(size.is_multiple_of(PAGE) && align <= ALIGN);
    let layout = layout(size)?;
    // SAFETY: mappings are never empty.
    NonNull::new(unsafe { alloc::alloc_zeroed(layout) })
}

/// Small mappings, of which there are few, pay with alignment as well: one rule for all.
fn layout(size: usize) -> Option<Layout> {
    Layout::from_size_align(size, ALIGN).ok()
}

/// # Safety
/// The range is exactly one that [`map`] gave, and no code uses it from here on.
pub(in crate::memory) unsafe fn unmap(start: NonNull<u8>, size: usize) {
    if let Some(layout) = layout(size) {
        // SAFETY: allocated by `map` with this layout.
        unsafe { alloc::dealloc(start.as_ptr(), layout) };
    }
}

/// Only whole mappings go.
///
/// # Safety
/// None: nothing is done.
pub(in crate::memory) unsafe fn shrink(_start: NonNull<u8>, _old: usize, _new: usize) -> bool {
    false
}

/// Nothing is given back early.
///
/// # Safety
/// None: nothing is done.
pub(in crate::memory) unsafe fn discard(_start: NonNull<u8>, _size: usize) -> bool {
    false
}

/// The allocator takes no advice.
///
/// # Safety
/// None: nothing is done.
pub(in crate::memory) unsafe fn advise_huge(_start: NonNull<u8>, _size: usize) {}

/// The allocator cannot be asked for a neighbour.
///
/// # Safety
/// None: nothing is done.
pub(in crate::memory) unsafe fn grow_in_place(_: NonNull<u8>, _: usize, _: usize) -> bool {
    false
}

/// Pages do not move.
///
/// # Safety
/// None: nothing is done.
pub(in crate::memory) unsafe fn move_pages(
    _start: NonNull<u8>,
    _old: usize,
    _new: usize,
    _align: usize,
    _accept: impl FnOnce(NonNull<u8>) -> bool,
) -> Option<NonNull<u8>> {
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn portable_mappings_are_aligned_and_zero() {
        let size = 5 * PAGE;
        let start = map(size, 64 << 10).unwrap();
        assert_eq!(start.addr().get() % (64 << 10), 0);
        // SAFETY: `size` bytes were mapped, and are unmapped once.
        unsafe {
            let bytes = std::slice::from_raw_parts(start.as_ptr(), size);
            assert!(bytes.iter().all(|&byte| byte == 0));
            advise_huge(start, size);
            assert!(!discard(start, size) && !shrink(start, size, PAGE));
            assert!(!grow_in_place(start, size, 2 * size));
            assert_eq!(move_pages(start, size, 2 * size, PAGE, |_| true), None);
            unmap(start, size);
        }
    }
}
