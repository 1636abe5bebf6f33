//! Large blocks: whole slabs of their own, mapped one by one.
//!
//! Blocks of up to [`CACHED_MAX`] are kept for a while after their release, [`CACHE_BYTES`] in all,
//! so that temporaries do not pay for mapping and page faults each time.

use std::{alloc::Layout, cell::UnsafeCell, ops::Range, ptr::NonNull};

use super::{
    BlockInfo, Resized,
    directory::{self, Record},
    fork,
    lock::Lock,
    metadata, os,
    page_map::SLAB,
};
use crate::sync::{AtomicU64, AtomicUsize, Ordering, atomic::fence};

/// Blocks from this size on ask for huge pages, and are aligned to them.
const HUGE_FROM: usize = 4 << 20;
const HUGE_PAGE: usize = 2 << 20;

/// The largest block that is kept after its release.
const CACHED_MAX: usize = 32 << 20;

/// Bytes of all blocks that are kept.
const CACHE_BYTES: usize = 64 << 20;

/// How many are kept.
const CACHE_BLOCKS: usize = 128;

/// The record of a large block. Records are reused but never freed, so a reader that found one in
/// the page map may read it at any time; `version` tells it whether what it read belongs together.
#[repr(align(64))]
pub(super) struct Large {
    /// Odd while the block is live; each allocation and each release adds one.
    version: AtomicU64,
    start: AtomicUsize,
    size: AtomicUsize,
    /// The next spare record; reached only under the lock of [`LARGE`].
    next: UnsafeCell<Option<&'static Large>>,
}

impl std::fmt::Debug for Large {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Large").field("start", &self.start).field("size", &self.size).finish()
    }
}

// SAFETY: `next` is reached only under the lock; the rest is atomic.
unsafe impl Sync for Large {}

impl Large {
    /// The block, if it is live and contains `address`.
    #[inline]
    pub(super) fn block_at(&self, address: usize) -> Option<BlockInfo> {
        loop {
            let version = self.version.load(Ordering::Acquire);
            if version & 1 == 0 {
                return None;
            }
            let start = self.start.load(Ordering::Relaxed);
            let size = self.size.load(Ordering::Relaxed);
            fence(Ordering::Acquire);
            if self.version.load(Ordering::Relaxed) == version {
                let inside = address.wrapping_sub(start) < size;
                let start = NonNull::new(std::ptr::with_exposed_provenance_mut(start))?;
                return inside.then_some(BlockInfo { start, size });
            }
        }
    }

    fn range(&self) -> Range<usize> {
        let start = self.start.load(Ordering::Relaxed);
        start..start + self.size.load(Ordering::Relaxed)
    }

    /// Bytes of a live block.
    pub(super) fn size(&self) -> usize {
        self.size.load(Ordering::Relaxed)
    }

    fn pointer(&self) -> Option<NonNull<u8>> {
        NonNull::new(std::ptr::with_exposed_provenance_mut(self.range().start))
    }

    /// From here on the block is a miss, and its fields may be written.
    fn retire(&self) {
        self.version.fetch_add(1, Ordering::Relaxed);
        // No later write to the fields is seen by a reader that still sees the old version.
        fence(Ordering::Release);
    }

    /// From here on the block is a hit.
    fn revive(&self) {
        self.version.fetch_add(1, Ordering::Release);
    }

    fn place(&self, start: NonNull<u8>, size: usize) {
        self.start.store(start.as_ptr().expose_provenance(), Ordering::Relaxed);
        self.size.store(size, Ordering::Relaxed);
    }
}

/// Blocks that were released, and records without a block.
pub(super) struct Released {
    /// The oldest first.
    cached: [Option<Cached>; CACHE_BLOCKS],
    len: usize,
    bytes: usize,
    spare: Option<&'static Large>,
}

#[derive(Clone, Copy)]
struct Cached {
    block: &'static Large,
    size: usize,
    zero: bool,
}

pub(super) static LARGE: Lock<Released> =
    Lock::new(Released { cached: [None; CACHE_BLOCKS], len: 0, bytes: 0, spare: None });

impl Released {
    /// The block that wastes least, and at most a quarter of its size.
    fn take(&mut self, size: usize) -> Option<Cached> {
        let fits =
            |cached: &Cached| cached.size >= size && cached.size - size <= (size / 4).max(SLAB - 1);
        let entries = self.cached[..self.len].iter().enumerate();
        let (index, _) = entries
            .filter_map(|(index, entry)| entry.filter(fits).map(|cached| (index, cached.size)))
            // Of equal ones the last, whose bytes are most likely to be in a processor's cache.
            .rev()
            .min_by_key(|&(_, size)| size)?;
        self.remove(index)
    }

    fn remove(&mut self, index: usize) -> Option<Cached> {
        let cached = self.cached[index].take()?;
        self.cached[index..self.len].rotate_left(1);
        self.len -= 1;
        self.bytes -= cached.size;
        Some(cached)
    }

    fn is_full_for(&self, size: usize) -> bool {
        self.len > 0 && (self.len == CACHE_BLOCKS || self.bytes + size > CACHE_BYTES)
    }

    fn keep(&mut self, cached: Cached) {
        self.cached[self.len] = Some(cached);
        self.len += 1;
        self.bytes += cached.size;
    }

    fn take_record(&mut self) -> Option<&'static Large> {
        let record = self.spare?;
        // SAFETY: the lock is held: `self` is borrowed mutably.
        self.spare = unsafe { *record.next.get() };
        Some(record)
    }

    fn keep_record(&mut self, record: &'static Large) {
        // SAFETY: as above; the record has no block, so no other code reaches it here.
        unsafe { *record.next.get() = self.spare };
        self.spare = Some(record);
    }
}

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
    let record = Large {
        version: AtomicU64::new(0),
        start: AtomicUsize::new(0),
        size: AtomicUsize::new(0),
        next: UnsafeCell::new(None),
    };
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
