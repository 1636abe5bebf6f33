//! A span: an address range cut into equal slots, and the record of which of them are live.
//!
//! The record lies apart from the slots, so that nothing about a block is ever read from or written
//! to its own bytes. Records are never freed or reused for another range: a reader that found one
//! in the page map may read it for ever.

use std::{alloc::Layout, cell::UnsafeCell, ptr::NonNull};

use crate::sync::{AtomicU8, Ordering};

/// The slot is not in use: fresh, free, or kept by a thread.
const FREE: u8 = 0;
/// The slot is a block in use.
const LIVE: u8 = 1;

/// What all slots are multiples of, as a power of two.
const UNIT_SHIFT: u32 = 6;

/// The record of one address range.
#[repr(align(64))]
pub(crate) struct Span {
    start: usize,
    slot_size: u32,
    /// 2^32 / (slot size / 64), rounded up: multiplication instead of division. Exact, because
    /// offset and slot size count at most 2^12 and 2^9 units: the error stays below 2^-11.
    reciprocal: u64,
    slots: u32,
    class: u32,
    states: NonNull<AtomicU8>,
    /// Reached only by the pool of the class, which is locked.
    pub(super) list: UnsafeCell<FreeList>,
}

// SAFETY: `list` is reached only under the lock of the pool (its field says so); the rest is
// constant or atomic.
unsafe impl Sync for Span {}

/// Which slots can be handed out.
pub(super) struct FreeList {
    /// Room for every slot number.
    entries: NonNull<u16>,
    len: u32,
    /// Slots from here on have never been handed out: their bytes are zero.
    fresh: u32,
    /// The next span of the class that has a slot to give.
    pub(super) next: Option<&'static Span>,
}

/// Set in a free-list entry when all bytes of the slot are zero.
const ZERO: u16 = 1 << 15;

impl Span {
    /// Where states and free list lie in the memory of a record.
    fn layout(slots: usize) -> Option<(Layout, usize, usize)> {
        let (layout, states) =
            Layout::new::<Self>().extend(Layout::array::<AtomicU8>(slots).ok()?).ok()?;
        let (layout, entries) = layout.extend(Layout::array::<u16>(slots).ok()?).ok()?;
        Some((layout.pad_to_align(), states, entries))
    }

    /// Memory that the record of a span of `slots` takes.
    pub(crate) fn record_layout(slots: usize) -> Option<Layout> {
        Self::layout(slots).map(|(layout, ..)| layout)
    }

    /// Writes the record of a span of zero bytes at `start`, all of whose slots are free.
    ///
    /// # Safety
    /// * `memory` has [`Span::record_layout`] of `slots`, belongs to the record from here on, and is
    ///   never freed.
    /// * `slot_size` is a multiple of 64 of at most 2^15; `slots` is at most 1024; both multiplied
    ///   are at most 2^18.
    pub(crate) unsafe fn create(
        memory: NonNull<u8>,
        start: usize,
        class: usize,
        slot_size: usize,
        slots: usize,
    ) -> Option<&'static Self> {
        let (_, states, entries) = Self::layout(slots)?;
        let units = (slot_size >> UNIT_SHIFT) as u64;
        // SAFETY: the memory has room for the three parts at these offsets (first point), and every
        // state is written before any thread sees the record.
        unsafe {
            let states: NonNull<AtomicU8> = memory.add(states).cast();
            for slot in 0..slots {
                states.add(slot).write(AtomicU8::new(FREE));
            }
            memory.cast::<Self>().write(Self {
                start,
                slot_size: slot_size as u32,
                reciprocal: (1_u64 << 32).div_ceil(units),
                slots: slots as u32,
                class: class as u32,
                states,
                list: UnsafeCell::new(FreeList {
                    entries: memory.add(entries).cast(),
                    len: 0,
                    fresh: 0,
                    next: None,
                }),
            });
            Some(memory.cast::<Self>().as_ref())
        }
    }

    /// The slot that contains `address`, which lies at or behind the span's start.
    #[inline]
    pub(crate) fn slot_of(&self, address: usize) -> Option<Slot<'_>> {
        let units = ((address - self.start) >> UNIT_SHIFT) as u64;
        let slot = (units * self.reciprocal) >> 32;
        (slot < u64::from(self.slots)).then_some(Slot { span: self, number: slot as u32 })
    }

    /// Bytes of each slot.
    #[inline]
    pub(crate) fn slot_size(&self) -> usize {
        self.slot_size as usize
    }

    /// The size class whose pool owns the span.
    #[inline]
    pub(crate) fn class(&self) -> usize {
        self.class as usize
    }

    /// First byte of the range.
    pub(crate) fn start(&self) -> usize {
        self.start
    }
}

/// A slot of a span.
#[derive(Clone, Copy)]
pub(crate) struct Slot<'a> {
    pub(super) span: &'a Span,
    number: u32,
}

impl<'a> Slot<'a> {
    /// Address of the first byte.
    #[inline]
    pub(crate) fn start(self) -> usize {
        self.span.start + self.number as usize * self.span.slot_size as usize
    }

    #[inline]
    pub(crate) fn state(self) -> &'a AtomicU8 {
        // SAFETY: a slot's number is below the number of states, all of which `create` wrote, and a
        // record is never freed.
        unsafe { self.span.states.add(self.number as usize).as_ref() }
    }

    /// The slot is in use.
    #[inline]
    pub(crate) fn is_live(self) -> bool {
        is_live(self.state())
    }

    /// Hands the slot to an owner.
    #[inline]
    pub(crate) fn set_live(self) {
        self.state().store(LIVE, Ordering::Release);
    }

    /// Takes the slot from its owner.
    #[inline]
    pub(crate) fn set_free(self) {
        self.state().store(FREE, Ordering::Release);
    }
}

/// What [`Slot::state`] says.
#[inline]
pub(crate) fn is_live(state: &AtomicU8) -> bool {
    state.load(Ordering::Acquire) == LIVE
}

impl FreeList {
    /// A free slot's number, and whether its bytes are zero.
    pub(super) fn pop(&mut self, slots: u32) -> Option<(u32, bool)> {
        if self.len > 0 {
            self.len -= 1;
            // SAFETY: the entries below the old length were written by `push`.
            let entry = unsafe { self.entries.add(self.len as usize).read() };
            Some((u32::from(entry & !ZERO), entry & ZERO != 0))
        } else if self.fresh < slots {
            self.fresh += 1;
            Some((self.fresh - 1, true))
        } else {
            None
        }
    }

    fn push(&mut self, number: u32, zero: bool) {
        let entry = number as u16 | if zero { ZERO } else { 0 };
        // SAFETY: each slot is in the list at most once, and there is room for all of them.
        unsafe { self.entries.add(self.len as usize).write(entry) };
        self.len += 1;
    }

    pub(super) fn is_exhausted(&self, slots: u32) -> bool {
        self.len == 0 && self.fresh == slots
    }

    /// Every slot that was ever handed out is back.
    pub(super) fn is_idle(&self) -> bool {
        self.fresh > 0 && self.len == self.fresh
    }

    /// All slots become fresh.
    pub(super) fn refresh(&mut self) {
        (self.len, self.fresh) = (0, 0);
    }

    /// Takes a slot back; true when the span had none to give before.
    pub(super) fn take_back(&mut self, slot: Slot<'_>, zero: bool) -> bool {
        let exhausted = self.is_exhausted(slot.span.slots);
        self.push(slot.number, zero);
        exhausted
    }
}

impl Span {
    pub(super) fn slots(&self) -> u32 {
        self.slots
    }

    /// The slots in use.
    pub(super) fn live_slots(&self) -> impl Iterator<Item = Slot<'_>> {
        (0..self.slots).map(|number| Slot { span: self, number }).filter(|slot| slot.is_live())
    }

    /// Address of a slot.
    pub(super) fn slot_start(&self, number: u32) -> usize {
        Slot { span: self, number }.start()
    }
}
