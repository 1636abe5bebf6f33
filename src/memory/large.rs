//! Large blocks: whole slabs of their own, mapped one by one.
//!
//! Blocks of up to [`CACHED_MAX`] are kept for a while after their release, [`super::released::CACHE_BYTES`] in all,
//! so that temporaries do not pay for mapping and page faults each time.

use std::{alloc::Layout, ptr::NonNull};

use super::{
    block::Resized,
    directory::{self, Record},
    fork,
    large_block::Large,
    metadata, os,
    page_map::SLAB,
    released::{Cached, LARGE},
};
use crate::sync::Ordering;

/// Blocks from this size on ask for huge pages, and are aligned to them.
const HUGE_FROM: usize = 4 << 20;
const HUGE_PAGE: usize = 2 << 20;

/// The largest block that is kept after its release.
const CACHED_MAX: usize = 32 << 20;

/// Bytes of the slabs that hold `size` bytes, and what they are aligned to.
fn footprint(size: usize) -> (usize, usize) {
    (size.next_multiple_of(SLAB), if size >= HUGE_FROM { HUGE_PAGE } else { SLAB })
}

/// A block of at least `size` bytes; whether they are zero.
pub(super) fn allocate(size: usize) -> Option<(NonNull<u8>, usize, bool)> {
    fork::arm();
    let (size, align) = footprint(size);
    let (cached, record) = {
        let mut released = LARGE.lock();
        match released.take(size) {
            Some(cached) => (Some(cached), None),
            None => (None, released.take_record()),
        }
    };
    if let Some(Cached { block, size, zero }) = cached {
        let start = block.pointer()?;
        block.revive();
        return Some((start, size, zero));
    }
    let record = record.or_else(new_record)?;
    let mapped = os::map(size, align).or_else(|| {
        trim();
        os::map(size, align)
    });
    let placed = mapped.filter(|&start| {
        let range = start.as_ptr().addr()..start.as_ptr().addr() + size;
        let reserved = directory::reserve(range);
        if !reserved {
            // SAFETY: mapped just now, known to no other code.
            unsafe { os::unmap(start, size) };
        }
        reserved
    });
    let Some(start) = placed else {
        LARGE.lock().keep_record(record);
        return None;
    };
    advise(start, size);
    record.place(start, size);
    record.revive();
    directory::insert(record.range(), Record::Large(record));
    Some((start, size, true))
}

fn advise(start: NonNull<u8>, size: usize) {
    if size >= HUGE_FROM {
        // SAFETY: the block was mapped by us.
        unsafe { os::advise_huge(start, size) };
    }
}

fn new_record() -> Option<&'static Large> {
    let memory = metadata::allocate(Layout::new::<Large>())?.cast::<Large>();
    let record = Large::new();
    // SAFETY: the memory has the layout of a record, is ours alone, and is never freed.
    unsafe {
        memory.write(record);
        Some(memory.as_ref())
    }
}

/// Takes a live block back. No code uses it from here on.
pub(super) fn release(block: &'static Large, zero: bool) {
    block.retire();
    let size = block.range().len();
    if size > CACHED_MAX {
        return unmap(block);
    }
    let mut released = LARGE.lock();
    while released.is_full_for(size) {
        let oldest = released.remove(0);
        drop(released);
        if let Some(oldest) = oldest {
            unmap(oldest.block);
        }
        released = LARGE.lock();
    }
    released.keep(Cached { block, size, zero });
}

/// Gives back to the system what is kept of released blocks.
pub(super) fn trim() {
    loop {
        let mut released = LARGE.lock();
        if released.len == 0 {
            return;
        }
        let oldest = released.remove(0);
        drop(released);
        if let Some(oldest) = oldest {
            unmap(oldest.block);
        }
    }
}

/// Bytes of released blocks that are kept.
#[cfg(test)]
pub(super) fn kept() -> usize {
    LARGE.lock().bytes
}

/// Ends a retired block.
fn unmap(block: &'static Large) {
    let range = block.range();
    directory::remove(range.clone());
    if let Some(start) = block.pointer() {
        // SAFETY: the block was mapped with this size, is retired, and the page map has forgotten
        // it: no code uses it.
        unsafe { os::unmap(start, range.len()) };
    }
    LARGE.lock().keep_record(block);
}

/// Extends a live block without moving it.
pub(super) fn grow_in_place(block: &'static Large, new_size: usize) -> Option<Resized> {
    let (start, old) = (block.pointer()?, block.range().len());
    let (new, _) = footprint(new_size);
    if new > old {
        let end = block.range().end;
        if !directory::reserve(end..end.checked_add(new - old)?) {
            return None;
        }
        // SAFETY: the block was mapped by us with `old` bytes.
        if !unsafe { os::grow_in_place(start, old, new) } {
            return None;
        }
        advise(start, new);
        directory::insert(end..end + (new - old), Record::Large(block));
        // Readers of the old part get either size.
        block.size.store(new, Ordering::Release);
    }
    Some(Resized { start, size: new.max(old), zeroed_from: old })
}

/// Unmaps the end of a live block where a good part of it is not needed; its size afterwards.
pub(super) fn shrink(block: &'static Large, new_size: usize) -> usize {
    let (range, (new, _)) = (block.range(), footprint(new_size));
    let Some(start) = block.pointer().filter(|_| new <= range.len() / 2) else {
        return range.len();
    };
    block.size.store(new, Ordering::Relaxed);
    let tail = range.start + new..range.end;
    directory::remove(tail.clone());
    // SAFETY: the block was mapped by us; its owner gives the tail up, which is now a miss.
    if !unsafe { os::shrink(start, range.len(), new) } {
        directory::insert(tail, Record::Large(block));
        block.size.store(range.len(), Ordering::Relaxed);
        return range.len();
    }
    new
}

/// Moves the pages of a live block to a larger range.
pub(super) fn move_pages(block: &'static Large, new_size: usize) -> Option<Resized> {
    let (new, align) = footprint(new_size);
    let (old, start) = (block.range(), block.pointer()?);
    // The page map forgets the old addresses before the system can give them to another caller.
    block.retire();
    directory::remove(old.clone());
    // SAFETY: the block was mapped by us; its owner lets no code use it during the call.
    let moved = unsafe {
        os::move_pages(start, old.len(), new, align, |target| {
            let target = target.as_ptr().addr();
            directory::reserve(target..target + new)
        })
    };
    if let Some(moved) = moved {
        advise(moved, new);
        block.place(moved, new);
    }
    block.revive();
    directory::insert(block.range(), Record::Large(block));
    Some(Resized { start: moved?, size: new, zeroed_from: old.len() })
}
