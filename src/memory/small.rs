//! Small blocks: slots of spans, through the thread's cache.

use std::{cell::UnsafeCell, ptr::NonNull};

use super::{
    directory::{self, Record},
    fork, metadata, os,
    page_map::SLAB,
    pool::{FreeSlot, Pool},
    pools::{POOLS, SPANS, Unused},
    size_class::{CLASSES, cached_blocks, class_size, span_size},
    span::{Slot, Span},
    thread_cache::Bin,
};

/// Bytes mapped at a time for spans; no page is touched before a block there is used.
const SPAN_CHUNK: usize = 4 << 20;

/// The bins of a thread, given back when it ends.
struct Cache(UnsafeCell<[Bin; CLASSES]>);

thread_local! {
    static CACHE: Cache = const { Cache(UnsafeCell::new([const { Bin::EMPTY }; CLASSES])) };
}

impl Drop for Cache {
    fn drop(&mut self) {
        for (class, bin) in self.0.get_mut().iter_mut().enumerate() {
            flush(class, bin, usize::MAX);
        }
    }
}

/// Runs `f` with the thread's bin of a class; `None` when the thread has ended so far that it has
/// no cache any more.
#[inline]
fn with_bin<R>(class: usize, f: impl FnOnce(&mut Bin) -> R) -> Option<R> {
    CACHE
        .try_with(|cache| {
            // SAFETY: the cache is this thread's, and nothing that runs while a bin is borrowed
            // (this module's functions alone) comes back here.
            f(unsafe { &mut (*cache.0.get())[class] })
        })
        .ok()
}

/// A block of a class, and whether its bytes are zero.
#[inline]
pub(super) fn allocate(class: usize) -> Option<(NonNull<u8>, bool)> {
    let cached = with_bin(class, |bin| bin.pop().or_else(|| refill(class, bin)));
    let free = cached.unwrap_or_else(|| {
        let mut one = [FreeSlot::NONE];
        (take(class, &mut one) == 1).then_some(one[0])
    })?;
    slot_at(free.address())?.set_live();
    Some((NonNull::new(std::ptr::with_exposed_provenance_mut(free.address()))?, free.zero()))
}

/// Takes back a live slot.
#[inline]
pub(super) fn release(slot: Slot<'static>, zero: bool) {
    slot.set_free();
    let class = slot.span.class();
    let free = FreeSlot::new(slot.start(), zero);
    let kept = with_bin(class, |bin| {
        if bin.len() == cached_blocks(class) {
            flush(class, bin, cached_blocks(class) / 2);
        }
        bin.push(free);
    });
    if kept.is_none() {
        give(&mut POOLS[class].lock(), free);
    }
}

/// The slot of ours at an address that came from a pool.
#[inline]
fn slot_at(address: usize) -> Option<Slot<'static>> {
    match directory::find(address)? {
        Record::Span(span) => span.slot_of(address),
        Record::Large(_) => None,
    }
}

/// Takes half a bin from the pool, and one more to hand out.
#[cold]
fn refill(class: usize, bin: &mut Bin) -> Option<FreeSlot> {
    let mut batch = [FreeSlot::NONE; 64];
    let wanted = cached_blocks(class) / 2;
    let taken = take(class, &mut batch[..wanted]);
    // The first of the batch has the lowest address: hand out in that order.
    batch[..taken].iter().rev().for_each(|&slot| bin.push(slot));
    bin.pop()
}

/// Hands the `count` oldest blocks of a bin to the pool.
#[cold]
fn flush(class: usize, bin: &mut Bin, count: usize) {
    if bin.len() > 0 {
        let mut pool = POOLS[class].lock();
        bin.drain(count, |free| give(&mut pool, free));
    }
}

fn give(pool: &mut Pool, free: FreeSlot) {
    let idle = slot_at(free.address()).and_then(|slot| pool.give(slot, free.zero()));
    if let Some(span) = idle {
        let start = NonNull::new(std::ptr::with_exposed_provenance_mut(span.start()));
        // SAFETY: the span is ours, none of its slots is taken, and its pool is locked.
        let gone =
            start.is_some_and(|start| unsafe { os::discard(start, span_size(span.class())) });
        if gone {
            pool.refresh(span);
        }
    }
}

/// Takes free slots from the pool, from a new span if it has none.
fn take(class: usize, out: &mut [FreeSlot]) -> usize {
    fork::arm();
    let mut pool = POOLS[class].lock();
    let taken = pool.take(out);
    if taken > 0 {
        return taken;
    }
    let Some(span) = new_span(class) else { return 0 };
    pool.add(span);
    pool.take(out)
}

/// A span of zero bytes that the page map knows.
fn new_span(class: usize) -> Option<&'static Span> {
    let size = span_size(class);
    let slots = size / class_size(class);
    let record = metadata::allocate(Span::record_layout(slots)?)?;
    let mut unused = SPANS.lock();
    if unused.end - unused.start < size {
        let chunk =
            [SPAN_CHUNK, size].into_iter().find_map(|size| Some((os::map(size, SLAB)?, size)));
        let (start, mapped) = chunk?;
        let start = start.as_ptr().expose_provenance();
        *unused = Unused { start, end: start + mapped };
    }
    let range = unused.start..unused.start + size;
    if !directory::reserve(range.clone()) {
        return None;
    }
    unused.start = range.end;
    drop(unused);
    // SAFETY: the record has this layout and is never freed; a class's slots are multiples of 64 of
    // at most 2^15 bytes, and a span has at most 2^18.
    let span = unsafe { Span::create(record, range.start, class, class_size(class), slots) }?;
    directory::insert(range, Record::Span(span));
    Some(span)
}
