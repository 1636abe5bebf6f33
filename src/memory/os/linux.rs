//! `mmap`, `munmap`, `mremap`, `madvise`.

use std::ptr::{self, NonNull};

use libc::{
    MADV_DONTNEED, MADV_HUGEPAGE, MAP_ANONYMOUS, MAP_FAILED, MAP_PRIVATE, MREMAP_FIXED,
    MREMAP_MAYMOVE, PROT_NONE, PROT_READ, PROT_WRITE, c_int, c_void,
};

use crate::sync::{AtomicUsize, Ordering};

/// Where the last mapping began. The next one is asked for directly below it, so that aligned
/// mappings follow each other without a trimmed gap. Only a hint: the kernel decides.
static LAST: AtomicUsize = AtomicUsize::new(0);

/// `size` fresh zero bytes at a multiple of `align`.
pub(in crate::memory) fn map(size: usize, align: usize) -> Option<NonNull<u8>> {
    map_with(size, align, PROT_READ | PROT_WRITE)
}

fn map_with(size: usize, align: usize, protection: c_int) -> Option<NonNull<u8>> {
    let last = LAST.load(Ordering::Relaxed);
    let hint = last.saturating_sub(size) & !(align - 1);
    let first = map_anywhere(hint, size, protection)?;
    let start = if first.addr().get() % align == 0 {
        first
    } else {
        // SAFETY: mapped just now, known to no other code.
        unsafe { unmap(first, size) };
        map_trimmed(size, align, protection)?
    };
    LAST.store(start.addr().get(), Ordering::Relaxed);
    Some(start)
}

fn map_anywhere(hint: usize, size: usize, protection: c_int) -> Option<NonNull<u8>> {
    let hint = ptr::without_provenance_mut(hint);
    // SAFETY: an anonymous private mapping without MAP_FIXED touches no mapping that exists.
    let start = unsafe { libc::mmap(hint, size, protection, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) };
    if start == MAP_FAILED { None } else { NonNull::new(start.cast()) }
}

/// Maps `align` bytes too many and gives back what lies outside the aligned part.
fn map_trimmed(size: usize, align: usize, protection: c_int) -> Option<NonNull<u8>> {
    let all = map_anywhere(0, size.checked_add(align)?, protection)?;
    let before = all.addr().get().wrapping_neg() & (align - 1);
    let after = align - before;
    // SAFETY: `before + size + after` bytes were mapped just now; the two ends are whole pages
    // because `size` and `align` are, and no code knows them.
    unsafe {
        let start = all.add(before);
        if before > 0 {
            unmap(all, before);
        }
        if after > 0 {
            unmap(start.add(size), after);
        }
        Some(start)
    }
}

/// # Safety
/// The range was mapped by this module, and no code uses it from here on.
pub(in crate::memory) unsafe fn unmap(start: NonNull<u8>, size: usize) {
    // SAFETY: the caller's range is a mapping of ours. A failure (the kernel cannot split a mapping
    // any further) leaves the pages mapped: lost, and harmless.
    unsafe { libc::munmap(start.as_ptr().cast::<c_void>(), size) };
}

/// Unmaps all but the first `new` bytes. False where only whole mappings can go.
///
/// # Safety
/// `start..start + old` was mapped by this module, and no code uses its end from here on.
pub(in crate::memory) unsafe fn shrink(start: NonNull<u8>, old: usize, new: usize) -> bool {
    // SAFETY: `new` is at most `old`, so this is the end of the caller's mapping.
    unsafe { unmap(start.add(new), old - new) };
    true
}

/// Gives the pages back and keeps the addresses: all bytes read as zero afterwards. False where
/// that failed.
///
/// # Safety
/// The range was mapped by this module and holds nothing that is still needed.
pub(in crate::memory) unsafe fn discard(start: NonNull<u8>, size: usize) -> bool {
    // SAFETY: the caller gives the contents up; private anonymous pages come back as zero.
    unsafe { libc::madvise(start.as_ptr().cast(), size, MADV_DONTNEED) == 0 }
}

/// Asks for huge pages, which the kernel may ignore.
///
/// # Safety
/// The range was mapped by this module.
pub(in crate::memory) unsafe fn advise_huge(start: NonNull<u8>, size: usize) {
    // SAFETY: advice changes no contents.
    unsafe { libc::madvise(start.as_ptr().cast(), size, MADV_HUGEPAGE) };
}

/// Extends a mapping where the addresses behind it are unused; the new bytes are zero.
///
/// # Safety
/// `start..start + old` was mapped by this module.
pub(in crate::memory) unsafe fn grow_in_place(start: NonNull<u8>, old: usize, new: usize) -> bool {
    // SAFETY: without MREMAP_MAYMOVE the call extends the mapping or fails.
    unsafe { libc::mremap(start.as_ptr().cast(), old, new, 0) != MAP_FAILED }
}

/// Moves the pages of a mapping to a new, larger one at a multiple of `align`; the new bytes are
/// zero. `accept` is asked about the new start first. `None`, and nothing changed, where it refuses
/// or the move fails.
///
/// # Safety
/// * `start..start + old` was mapped by this module.
/// * No code uses it during the call, nor after success.
pub(in crate::memory) unsafe fn move_pages(
    start: NonNull<u8>,
    old: usize,
    new: usize,
    align: usize,
    accept: impl FnOnce(NonNull<u8>) -> bool,
) -> Option<NonNull<u8>> {
    let target = map_with(new, align, PROT_NONE)?;
    if !accept(target) {
        // SAFETY: mapped just now, known to no other code.
        unsafe { unmap(target, new) };
        return None;
    }
    let flags = MREMAP_MAYMOVE | MREMAP_FIXED;
    // SAFETY: the target was mapped just now for this, so MREMAP_FIXED replaces nothing else.
    let moved = unsafe {
        libc::mremap(start.as_ptr().cast(), old, new, flags, target.as_ptr().cast::<c_void>())
    };
    if moved == MAP_FAILED {
        // The target stays reserved, at the price of addresses alone: on some failures the kernel
        // has unmapped it already, and by now another thread may have been given its addresses.
        return None;
    }
    NonNull::new(moved.cast())
}
