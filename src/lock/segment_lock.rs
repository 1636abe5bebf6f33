//! The lock word with its slots, and the way from the fast path to the range table.

use super::{
    borrow::Borrow,
    error::LockError,
    fork,
    held::HeldHere,
    parking::{self, Shard, Signal, Tables},
    ranges::{Admission, Ticket},
    span::{PackedRange, Span},
};
use crate::sync::{AtomicU64, Ordering, hint};
use std::ops::Range;

/// How many can hold a lock by its word.
const SLOT_COUNT: usize = 6;

// The lower half of the word; the upper half is the generation in which it was written.
/// One bit a slot, set while it is taken.
const SLOTS: u32 = (1 << SLOT_COUNT) - 1;
/// The bits that count pins: holders of nothing but the memory's place. They are counted twice, so
/// that a word that something else wrote does not pass for one with pins.
const PINS: u32 = PIN_COUNT | PIN_COUNT << PIN_BITS;
const PIN_BITS: u32 = 11;
const PIN_COUNT: u32 = ((1 << PIN_BITS) - 1) << 8;
/// One pin.
const PIN: u32 = 1 << 8 | 1 << (8 + PIN_BITS);
const _: () = assert!(PINS & (SLOTS | WRITER | SLOW) == 0 && PINS + PIN_COUNT < SLOW);
/// The holder of slot 0, then the only one, writes.
const WRITER: u32 = 1 << 30;
/// The lock has a range table; the word admits no thread.
const SLOW: u32 = 1 << 31;

/// How long to look at a slot that is taken but has no range yet: its holder is between two
/// instructions, unless it was interrupted there.
const LOOKS: u32 = if cfg!(loom) { 1 } else { 50 };

#[inline]
fn word(generation: u32, state: u32) -> u64 {
    u64::from(generation) << 32 | u64::from(state)
}

#[inline]
fn state_of(word: u64) -> u32 {
    word as u32
}

#[inline]
fn generation_of(word: u64) -> u32 {
    (word >> 32) as u32
}

/// What a request does when it would have to wait.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Patience {
    Wait,
    Refuse,
    /// It refuses, because this thread holds locks already: it is in the middle of an operation,
    /// and a thread that waits while others wait for it may wait for ever. For the same reason it
    /// does not queue behind those who wait.
    Nested,
}

/// Says whether this thread is alone: no other thread can be inside an operation on any lock, or
/// begin one, before this thread lets it (see `docs/architecture.md`, `alone`).
pub type AloneCheck = fn() -> bool;

/// Where a lock was taken.
#[derive(Clone, Copy, Debug)]
pub(super) struct Hold {
    /// Of the process. In another one, the lock counts as released since the fork.
    pub generation: u32,
    /// The slot, or `IN_TABLE`.
    slot: u32,
    /// In the range table.
    ticket: Ticket,
}

/// Instead of a slot: the lock was taken by the range table.
const IN_TABLE: u32 = u32::MAX;

impl Hold {
    /// Of a request that was not granted yet. No process has its generation.
    pub const NOWHERE: Hold = Hold { generation: 0, slot: 0, ticket: 0 };
}

/// The lock of one segment. All-zero bytes are a valid lock that no thread holds.
///
/// While it is held, awaited or lent it must stay where it is; [`SegmentLock::retire`] it before
/// its memory goes.
#[repr(C)]
pub struct SegmentLock {
    /// Generation, slots taken, pins, `WRITER`, `SLOW`. A lower half of nothing but pins is a free
    /// lock, whatever the generation; otherwise another generation than the process's means a free
    /// lock that has to be cleaned. Pins of another generation count for nothing.
    word: AtomicU64,
    /// The [`PackedRange`] of the holder of each slot; `UNKNOWN` in slots that are free, and while
    /// their holder has not written it yet.
    slots: [AtomicU64; SLOT_COUNT],
}

#[cfg(not(loom))]
const _: () = assert!(size_of::<SegmentLock>() <= 64 && align_of::<SegmentLock>() == 8);

impl Default for SegmentLock {
    fn default() -> Self {
        SegmentLock::new()
    }
}

impl SegmentLock {
    /// A lock that no thread holds.
    pub fn new() -> SegmentLock {
        SegmentLock {
            word: AtomicU64::new(0),
            slots: std::array::from_fn(|_| AtomicU64::new(PackedRange::UNKNOWN.0)),
        }
    }

    /// What the order of locks and the shards go by.
    #[inline]
    pub(super) fn address(&self) -> usize {
        std::ptr::from_ref(self).addr()
    }

    /// Takes `span` and notes in `hold` where. `generation` is the process's; `alone` says that
    /// this thread is alone ([`AloneCheck`]).
    #[inline(always)]
    pub(super) fn acquire(
        &self,
        span: &Span,
        hold: &mut Hold,
        generation: u32,
        patience: Patience,
        alone: bool,
    ) -> Result<(), LockError> {
        match self.acquire_fast(span, generation, alone) {
            Some(slot) => {
                hold.slot = slot;
                hold.generation = generation;
            }
            None => *hold = self.acquire_slow(*span, patience)?,
        }
        Ok(())
    }

    /// Takes a slot: a reader if there is no writer, a writer if there is no holder.
    #[inline(always)]
    fn acquire_fast(&self, span: &Span, generation: u32, alone: bool) -> Option<u32> {
        let mut current = self.word.load(Ordering::Relaxed);
        loop {
            let state = state_of(current);
            let users = state & !PINS;
            let slot;
            let next;
            if users == 0 {
                slot = 0;
                let taken = if span.write { 1 | WRITER } else { 1 };
                // Pins of another generation are those of a parent process.
                next = if generation_of(current) == generation { state | taken } else { taken };
            } else if !span.write && users < SLOTS && generation_of(current) == generation {
                slot = users.trailing_ones();
                next = state | 1 << slot;
            } else {
                return None;
            }
            let next = word(generation, next);
            if alone {
                // `alone`: no other thread touches the word before this thread lets others run, which
                // publishes what it did; a load and a store make one step.
                self.word.store(next, Ordering::Relaxed);
            } else if let Err(changed) = {
                // Acquire: see what earlier holders wrote, and that they emptied the slot.
                self.word.compare_exchange_weak(current, next, Ordering::Acquire, Ordering::Relaxed)
            } {
                current = changed;
                continue;
            }
            self.slots[slot as usize].store(PackedRange::new(span).0, Ordering::Relaxed);
            return Some(slot);
        }
    }

    /// Releases what `acquire` gave, in the same generation.
    #[inline]
    pub(super) fn release(&self, write: bool, hold: &Hold, alone: bool) {
        let Some(place) = self.slots.get(hold.slot as usize) else {
            return self.leave_table(hold.ticket);
        };
        let bits = if write { 1 << hold.slot | WRITER } else { 1 << hold.slot };
        place.store(PackedRange::UNKNOWN.0, Ordering::Relaxed);
        let before = if alone {
            let before = self.word.load(Ordering::Relaxed);
            // `alone`: as in `acquire_fast`. Release all the same, which costs nothing more.
            self.word.store(before - u64::from(bits), Ordering::Release);
            before
        } else {
            // Release: the next holder sees our writes, and the emptied slot. The bits are set, so
            // subtracting clears them; x86 has an instruction for that, none for AND with a result.
            self.word.fetch_sub(u64::from(bits), Ordering::Release)
        };
        if state_of(before) & SLOW != 0 {
            self.leave_slot();
        }
    }

    /// Keeps the memory where it is: [`Self::is_idle`] is false, and nothing else is excluded. By a
    /// thread that holds the lock in this generation. False where there are as many pins as can be
    /// counted.
    #[inline]
    pub(super) fn pin_held(&self) -> bool {
        let mut current = self.word.load(Ordering::Relaxed);
        while state_of(current) & PIN_COUNT != PIN_COUNT {
            let next = current + u64::from(PIN);
            match self.word.compare_exchange_weak(
                current,
                next,
                Ordering::Relaxed,
                Ordering::Relaxed,
            ) {
                Ok(_) => return true,
                Err(changed) => current = changed,
            }
        }
        false
    }

    /// Takes a pin back, in the generation in which it was made.
    #[inline]
    pub(super) fn unpin(&self, alone: bool) {
        if alone {
            // `alone`: as in `release`.
            let before = self.word.load(Ordering::Relaxed);
            self.word.store(before - u64::from(PIN), Ordering::Release);
        } else {
            self.word.fetch_sub(u64::from(PIN), Ordering::Release);
        }
    }

    /// Pins the memory while a resize is at work on it, or takes that pin back, perhaps where the lock
    /// was moved to. By a thread that is alone with the lock, but for code that it runs itself.
    pub fn set_resizing(&self, at_work: bool) {
        if !at_work {
            self.unpin_if_pinned();
        } else {
            // The lock is idle, so that there is room for a pin.
            let _pinned = self.pin(fork::generation(), false);
        }
    }

    /// A lock that was made anew has no pin to take back.
    fn unpin_if_pinned(&self) {
        if state_of(self.word.load(Ordering::Relaxed)) & PINS != 0 {
            self.unpin(false);
        }
    }

    /// As [`Self::pin_held`], by a thread that need not hold the lock.
    #[inline]
    pub(super) fn pin(&self, generation: u32, alone: bool) -> Result<(), LockError> {
        let mut current = self.word.load(Ordering::Relaxed);
        loop {
            let state = state_of(current);
            if generation_of(current) != generation && state & !PINS != 0 {
                self.clean();
                current = self.word.load(Ordering::Relaxed);
                continue;
            }
            let kept = if generation_of(current) == generation { state } else { 0 };
            if kept & PIN_COUNT == PIN_COUNT {
                return Err(LockError::TooMany);
            }
            let next = word(generation, kept + PIN);
            if alone {
                // `alone`: as in `acquire_fast`.
                self.word.store(next, Ordering::Relaxed);
                return Ok(());
            }
            match self.word.compare_exchange_weak(
                current,
                next,
                Ordering::Relaxed,
                Ordering::Relaxed,
            ) {
                Ok(_) => return Ok(()),
                Err(changed) => current = changed,
            }
        }
    }

    /// Cleans a word that another generation left.
    #[cold]
    #[inline(never)]
    fn clean(&self) {
        let mut tables = Shard::of(self.address()).lock();
        self.raise();
        self.lower_if_unused(&mut tables);
    }

    /// Whether no thread in this process holds the lock, waits for it, was lent cells or keeps the
    /// memory in its place. Borrows survive a fork.
    #[inline]
    pub fn is_idle(&self) -> bool {
        let current = self.word.load(Ordering::Acquire);
        state_of(current) == 0
            || (generation_of(current) != fork::generation()
                && state_of(current) & SLOW == 0
                && !HeldHere::new().inherits(self.address())
                && !HeldHere::pins().inherits(self.address()))
    }

    /// Takes `span` by the range table.
    #[cold]
    #[inline(never)]
    fn acquire_slow(&self, span: Span, patience: Patience) -> Result<Hold, LockError> {
        let shard = Shard::of(self.address());
        loop {
            let generation = fork::generation();
            let nested = patience == Patience::Nested;
            let mut tables = shard.lock();
            self.raise();
            let fast = self.fast_holders(&span);
            let table = tables.entry(self.address()).or_default();
            let refusal = match table.admit(span, fast.spans(), nested) {
                Admission::Granted(ticket) => {
                    return Ok(Hold { generation, slot: IN_TABLE, ticket });
                }
                Admission::Borrowed => LockError::Borrowed,
                Admission::Blocked if nested && HeldHere::new().contains(self.address()) => {
                    LockError::Reentrant
                }
                Admission::Blocked if patience != Patience::Wait || !parking::may_wait() => {
                    LockError::Busy
                }
                Admission::Blocked => {
                    let signal = Signal::new();
                    let ticket = table.enqueue(span, signal.clone());
                    drop(tables);
                    let queued = Queued { lock: self, ticket, generation };
                    if shard.wait(&signal) {
                        std::mem::forget(queued);
                        return Ok(Hold { generation, slot: IN_TABLE, ticket });
                    }
                    // A fork in the middle: no table knows this ticket here.
                    continue;
                }
            };
            self.lower_if_unused(&mut tables);
            return Err(refusal);
        }
    }

    /// Lends the cells of `range` to client code, without waiting. While the borrow lasts, loops
    /// that conflict with it get [`LockError::Borrowed`] at once. Shared borrows and readers
    /// coexist, as do borrows and loops on disjoint ranges. An empty range conflicts with nothing.
    ///
    /// # Errors
    /// [`LockError::Borrowed`] if another borrow conflicts, [`LockError::Busy`] if a loop does,
    /// at work or waiting.
    pub fn try_borrow(&self, range: Range<usize>, write: bool) -> Result<Borrow<'_>, LockError> {
        let Some(span) = Span::new(&range, write) else {
            return Ok(Borrow::new(self, None));
        };
        // Install the fork handlers before there is something for them to keep.
        fork::generation();
        if HeldHere::new().inherits(self.address()) {
            return Err(LockError::Busy);
        }
        let mut tables = Shard::of(self.address()).lock();
        self.raise();
        let fast = self.fast_holders(&span);
        let lent = tables.entry(self.address()).or_default().lend(span, fast.spans());
        self.lower_if_unused(&mut tables);
        lent.map(|()| Borrow::new(self, Some(span)))
    }

    /// Takes a borrow back.
    pub(super) fn give_back(&self, span: &Span) {
        let mut tables = Shard::of(self.address()).lock();
        if let Some(table) = tables.get_mut(&self.address()) {
            let known = table.give_back(span);
            debug_assert!(known, "a borrow is given back once");
            self.lower_if_unused(&mut tables);
        }
    }

    /// As [`Self::is_idle`], and why not.
    ///
    /// # Errors
    /// [`LockError::Reentrant`] where this thread holds the lock, [`LockError::Borrowed`] where cells
    /// are lent, [`LockError::Busy`] where others work on them, else [`LockError::Pinned`].
    pub fn check_idle(&self) -> Result<(), LockError> {
        if self.is_idle() {
            return Ok(());
        }
        if HeldHere::new().contains(self.address()) {
            return Err(LockError::Reentrant);
        }
        if HeldHere::pins().contains(self.address()) {
            return Err(LockError::Pinned);
        }
        let everything = Span { start: 0, end: usize::MAX, write: true };
        let tables = Shard::of(self.address()).lock();
        match tables.get(&self.address()) {
            Some(table) if table.is_borrowed(&everything) => Err(LockError::Borrowed),
            Some(_) => Err(LockError::Busy),
            None if state_of(self.word.load(Ordering::Relaxed)) & !PINS != 0 => {
                Err(LockError::Busy)
            }
            None => Err(LockError::Pinned),
        }
    }

    /// Forgets all that is registered for this lock, before its memory is freed or used for
    /// something else. Costs a load where there is nothing.
    pub fn retire(&mut self) {
        if state_of(self.word.load(Ordering::Relaxed)) & SLOW != 0 {
            // Only leaked guards and borrows can be left: no other code has a reference.
            Shard::of(self.address()).lock().remove(&self.address());
        }
        self.word.store(0, Ordering::Relaxed);
        for slot in &self.slots {
            slot.store(PackedRange::UNKNOWN.0, Ordering::Relaxed);
        }
    }

    /// Whether the bytes can be a lock at all: one that no thread holds has empty slots, any other has
    /// known bits only, and a writer has no company. Exact for a caller who is alone with it.
    #[inline]
    pub fn is_well_formed(&self) -> bool {
        let looks_well = || {
            let state = state_of(self.word.load(Ordering::Relaxed));
            if (state & PIN_COUNT) << PIN_BITS != state & (PIN_COUNT << PIN_BITS) {
                return false;
            }
            let state = state & !PINS;
            if state == 0 {
                return self.slots.iter().all(|slot| slot.load(Ordering::Relaxed) == 0);
            }
            state & !(SLOTS | WRITER | SLOW) == 0 && (state & WRITER == 0 || state & SLOTS == 1)
        };
        // A thread may take the lock between word and slots; hardly thrice.
        looks_well() || looks_well() || looks_well()
    }

    /// Whether no thread holds, awaits or lends anything, and the fast path is open.
    #[cfg(test)]
    pub(super) fn is_at_rest(&self) -> bool {
        let known = Shard::of(self.address()).lock().contains_key(&self.address());
        let slots = self.slots.iter().all(|slot| slot.load(Ordering::Relaxed) == 0);
        state_of(self.word.load(Ordering::Relaxed)) == 0 && slots && !known
    }

    /// A holder left its slot while the lock had a range table: its waiters may enter now.
    #[cold]
    #[inline(never)]
    fn leave_slot(&self) {
        let shard = Shard::of(self.address());
        self.let_waiters_in(shard, &mut shard.lock());
    }

    /// Removes a holder or waiter from the range table.
    #[cold]
    #[inline(never)]
    fn leave_table(&self, ticket: Ticket) {
        let shard = Shard::of(self.address());
        let mut tables = shard.lock();
        if let Some(table) = tables.get_mut(&self.address()) {
            table.remove(ticket);
        }
        self.let_waiters_in(shard, &mut tables);
        self.lower_if_unused(&mut tables);
    }

    fn let_waiters_in(&self, shard: &Shard, tables: &mut Tables) {
        let Some(table) = tables.get_mut(&self.address()) else { return };
        if !table.has_waiters() {
            return;
        }
        let fast = self.fast_holders(&Span { start: 0, end: usize::MAX, write: true });
        if table.grant(fast.spans(), |signal| signal.grant()) > 0 {
            shard.notify();
        }
    }

    /// Closes the fast path, and cleans a word that another generation left. Under the mutex.
    fn raise(&self) {
        let generation = fork::generation();
        let mut current = self.word.load(Ordering::Relaxed);
        loop {
            let mut state = state_of(current) | SLOW;
            if generation_of(current) != generation {
                // Taken slots belong to the parent process. No thread takes one meanwhile: the fast
                // path leaves such a word alone, unless it is free and its slots are empty.
                if state != SLOW {
                    for slot in &self.slots {
                        slot.store(PackedRange::UNKNOWN.0, Ordering::Relaxed);
                    }
                }
                state = SLOW;
            }
            // Release: those who take the emptied slots later see them emptied.
            match self.word.compare_exchange(
                current,
                word(generation, state),
                Ordering::AcqRel,
                Ordering::Relaxed,
            ) {
                Ok(_) => return,
                Err(changed) => current = changed,
            }
        }
    }

    /// Opens the fast path if the range table is empty or gone. Under the mutex.
    fn lower_if_unused(&self, tables: &mut Tables) {
        if tables.get(&self.address()).is_none_or(|table| table.is_empty()) {
            tables.remove(&self.address());
            // Release: the next holder by the word sees what holders by the table wrote.
            self.word.fetch_and(!u64::from(SLOW), Ordering::Release);
        }
    }

    /// Who holds the lock by its word, for a thread that wants `span`. While `SLOW` is up they can
    /// only become fewer, so this may name one who has just left, but misses none.
    fn fast_holders(&self, span: &Span) -> FastHolders {
        let mut looks = 0;
        loop {
            let mut holders = FastHolders {
                spans: [Span { start: 0, end: 0, write: false }; SLOT_COUNT],
                count: 0,
            };
            let mut unknown = false;
            // Acquire: see what those wrote who left.
            let state = state_of(self.word.load(Ordering::Acquire));
            let write = state & WRITER != 0;
            for (index, slot) in self.slots.iter().enumerate() {
                if state & 1 << index != 0 {
                    let range = PackedRange(slot.load(Ordering::Relaxed));
                    unknown |= range == PackedRange::UNKNOWN && (write || span.write);
                    holders.spans[holders.count] = range.span(write);
                    holders.count += 1;
                }
            }
            looks += 1;
            if !unknown || looks >= LOOKS {
                return holders;
            }
            hint::spin_loop();
        }
    }
}

/// The holders of slots, at one time.
struct FastHolders {
    spans: [Span; SLOT_COUNT],
    count: usize,
}

impl FastHolders {
    fn spans(&self) -> &[Span] {
        &self.spans[..self.count]
    }
}

/// A place in the queue, given up if the wait unwinds.
struct Queued<'a> {
    lock: &'a SegmentLock,
    ticket: Ticket,
    generation: u32,
}

impl Drop for Queued<'_> {
    fn drop(&mut self) {
        if self.generation == fork::generation() {
            self.lock.leave_table(self.ticket);
        }
    }
}
