//! The spans of one size class, shared by all threads under a lock.
//!
//! Threads take and give slots in batches; see `thread_cache` for their side. The pool allocates
//! nothing: free slots are noted in the spans' own records.

use super::span::{Slot, Span};

/// Spans of a class that may stay idle with their pages in place; the pages of others go back.
const IDLE: usize = 16;

/// A free slot on its way between pool and thread: its address, bit 0 set when its bytes are zero.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct FreeSlot(usize);

impl FreeSlot {
    /// Fills arrays.
    pub(crate) const NONE: Self = Self(0);

    #[inline]
    pub(crate) fn new(address: usize, zero: bool) -> Self {
        Self(address | usize::from(zero))
    }

    #[inline]
    pub(crate) fn address(self) -> usize {
        self.0 & !1
    }

    #[inline]
    pub(crate) fn zero(self) -> bool {
        self.0 & 1 != 0
    }
}

/// The spans of one class.
pub(crate) struct Pool {
    /// A list, through `FreeList::next`, of exactly the spans that have a slot to give.
    partial: Option<&'static Span>,
    /// How many of them are idle.
    idle: usize,
}

impl Pool {
    pub(crate) const EMPTY: Self = Self { partial: None, idle: 0 };

    /// Takes a new span, whose slots are all fresh.
    pub(crate) fn add(&mut self, span: &'static Span) {
        // SAFETY: the span is of this pool, which is locked: `self` is borrowed mutably.
        unsafe { (*span.list.get()).next = self.partial };
        self.partial = Some(span);
    }

    /// Fills `out` from its front; says how many there were.
    pub(crate) fn take(&mut self, out: &mut [FreeSlot]) -> usize {
        let mut taken = 0;
        while taken < out.len() {
            let Some(span) = self.partial else { break };
            // SAFETY: the span is of this pool, which is locked: `self` is borrowed mutably.
            let list = unsafe { &mut *span.list.get() };
            self.idle -= usize::from(list.is_idle());
            while taken < out.len() {
                let Some((number, zero)) = list.pop(span.slots()) else { break };
                out[taken] = FreeSlot::new(span.slot_start(number), zero);
                taken += 1;
            }
            if list.is_exhausted(span.slots()) {
                self.partial = list.next.take();
            }
        }
        taken
    }

    /// Takes a slot back. Gives the span where it is idle now and too many are: its pages can go,
    /// and [`Pool::refresh`] says so.
    pub(crate) fn give(&mut self, slot: Slot<'static>, zero: bool) -> Option<&'static Span> {
        let span = slot.span;
        // SAFETY: the span is of this pool, which is locked: `self` is borrowed mutably.
        let list = unsafe { &mut *span.list.get() };
        if list.take_back(slot, zero) {
            list.next = self.partial;
            self.partial = Some(span);
        }
        self.idle += usize::from(list.is_idle());
        (list.is_idle() && self.idle > IDLE).then_some(span)
    }

    /// All bytes of an idle span are zero again.
    pub(crate) fn refresh(&mut self, span: &'static Span) {
        // SAFETY: the span is of this pool, which is locked: `self` is borrowed mutably.
        let list = unsafe { &mut *span.list.get() };
        self.idle -= usize::from(list.is_idle());
        list.refresh();
    }
}

#[cfg(test)]
mod tests {
    use std::{alloc, ptr::NonNull};

    use super::*;

    /// A span of `slots` slots of 64 bytes at an address that is never read. Its record is leaked,
    /// as records are.
    pub(super) fn span(start: usize, slots: usize) -> &'static Span {
        let layout = Span::record_layout(slots).unwrap();
        // SAFETY: the layout is not empty, and is the one that the record wants.
        unsafe {
            let memory = NonNull::new(alloc::alloc(layout)).unwrap();
            Span::create(memory, start, 0, 64, slots).unwrap()
        }
    }

    #[cfg(not(loom))]
    #[test]
    fn every_slot_is_given_once_until_it_is_back() {
        let spans = [span(1 << 20, 3), span(2 << 20, 3)];
        let mut pool = Pool::EMPTY;
        spans.iter().for_each(|span| pool.add(span));
        let mut out = [FreeSlot::NONE; 8];
        assert_eq!(pool.take(&mut out), 6);
        assert!(out[..6].iter().all(|slot| slot.zero()));
        let mut addresses = out[..6].iter().map(|slot| slot.address()).collect::<Vec<_>>();
        addresses.sort_unstable();
        addresses.dedup();
        assert_eq!(addresses.len(), 6);
        assert_eq!(pool.take(&mut out), 0);

        let middle = spans[0].slot_of((1 << 20) + 64).unwrap();
        assert!(pool.give(middle, false).is_none());
        assert_eq!(pool.take(&mut out), 1);
        assert_eq!(out[0], FreeSlot::new((1 << 20) + 64, false));
    }

    #[cfg(not(loom))]
    #[test]
    fn only_idle_spans_above_the_bound_are_offered() {
        let spans = (1..=IDLE + 2).map(|k| span(k << 20, 2)).collect::<Vec<_>>();
        let mut pool = Pool::EMPTY;
        spans.iter().for_each(|span| pool.add(span));
        let mut out = [FreeSlot::NONE; 2 * (IDLE + 2)];
        assert_eq!(pool.take(&mut out), out.len());
        let mut offered = 0;
        for span in &spans {
            assert!(pool.give(span.slot_of(span.start()).unwrap(), false).is_none());
            if let Some(idle) = pool.give(span.slot_of(span.start() + 64).unwrap(), true) {
                pool.refresh(idle);
                offered += 1;
            }
        }
        assert_eq!((offered, pool.idle), (2, IDLE));
        assert_eq!(pool.take(&mut out), out.len());
        assert_eq!(pool.idle, 0);
        // Two refreshed spans, and the second slot of each other one, were zero.
        assert_eq!(out.iter().filter(|slot| slot.zero()).count(), 4 + IDLE);
    }
}

#[cfg(all(test, loom))]
mod loom_tests {
    use loom::{cell::UnsafeCell, sync::Arc, thread};

    use super::*;
    use crate::memory::{lock::Lock, thread_cache::Bin};

    /// One slot, which both threads want, and the bytes that go with it.
    struct Shared {
        pool: Lock<Pool>,
        span: &'static Span,
        contents: UnsafeCell<usize>,
    }

    /// Takes the slot through a thread's bin if it is there, writes to it, and hands it back.
    fn use_once(shared: &Shared, mark: usize) -> bool {
        let mut bin = Bin::EMPTY;
        let mut batch = [FreeSlot::NONE; 2];
        let taken = shared.pool.lock().take(&mut batch);
        batch[..taken].iter().for_each(|&slot| bin.push(slot));
        let Some(free) = bin.pop() else { return false };
        let slot = shared.span.slot_of(free.address()).unwrap();
        assert!(!slot.is_live(), "a slot has one owner");
        slot.set_live();
        shared.contents.with_mut(|bytes| {
            // SAFETY: loom checks that no other thread is in here.
            let bytes = unsafe { &mut *bytes };
            assert_eq!(free.zero(), *bytes == 0, "zero is said of zero bytes alone");
            *bytes = mark;
        });
        slot.set_free();
        bin.push(FreeSlot::new(free.address(), false));
        let mut pool = shared.pool.lock();
        bin.drain(usize::MAX, |free| {
            pool.give(shared.span.slot_of(free.address()).unwrap(), free.zero());
        });
        true
    }

    #[test]
    fn loom_a_slot_handed_over_brings_its_bytes_along() {
        loom::model(|| {
            let span = tests::span(1 << 20, 1);
            let mut pool = Pool::EMPTY;
            pool.add(span);
            let shared =
                Arc::new(Shared { pool: Lock::new(pool), span, contents: UnsafeCell::new(0) });
            let other = {
                let shared = shared.clone();
                thread::spawn(move || use_once(&shared, 1))
            };
            let here = use_once(&shared, 2);
            let there = other.join().unwrap();
            assert!(here || there);
            assert!(use_once(&shared, 3), "both gave it back");
        });
    }
}
