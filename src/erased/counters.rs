//! Counters of one element type: exact, and cheap enough for a loop call of one element.
//!
//! Each thread writes its own slot with plain loads and stores; a reader adds the slots up.

use crate::{
    abi::Stats,
    sync::{
        AtomicI64, AtomicU32, AtomicU64,
        Ordering::{AcqRel, Acquire, Relaxed},
        thread_local,
    },
};

/// What one operation did to objects.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CountDelta {
    /// Objects constructed, copies included.
    pub constructed: u64,
    /// Objects destroyed.
    pub destroyed: u64,
    /// Objects moved to another cell.
    pub relocated: u64,
    /// Of `constructed`: in foreign memory.
    pub foreign: u64,
    /// Bits of init bitmaps found wrong and corrected.
    pub reconciled: u64,
}

impl std::ops::AddAssign for CountDelta {
    fn add_assign(&mut self, other: CountDelta) {
        self.constructed += other.constructed;
        self.destroyed += other.destroyed;
        self.relocated += other.relocated;
        self.foreign += other.foreign;
        self.reconciled += other.reconciled;
    }
}

#[cfg(not(loom))]
const SLOTS: usize = 32;
// So few that threads hand one on, and some find none.
#[cfg(loom)]
const SLOTS: usize = 2;
/// The slot of all threads that found no slot of their own.
const SHARED: usize = SLOTS - 1;

#[derive(Default)]
#[repr(align(64))]
struct Slot([AtomicU64; 5]);

/// The counters of one element type.
#[derive(Default)]
pub struct Counters {
    slots: [Slot; SLOTS],
    lent: AtomicI64,
    stale: AtomicU64,
}

impl Counters {
    /// Adds what an operation did.
    #[inline]
    pub fn add(&self, delta: CountDelta) {
        // A thread that is ending has given its slot back.
        self.add_in(THREAD_SLOT.try_with(|slot| slot.0).unwrap_or(SHARED), delta);
    }

    /// Adds to a slot that this thread has taken, or to the shared one.
    #[inline]
    fn add_in(&self, index: usize, delta: CountDelta) {
        let CountDelta { constructed, destroyed, relocated, foreign, reconciled } = delta;
        let amounts = [constructed, destroyed, relocated, foreign, reconciled];
        for (counter, amount) in self.slots[index].0.iter().zip(amounts) {
            if amount == 0 {
                continue;
            }
            if index == SHARED {
                counter.fetch_add(amount, Relaxed);
            } else {
                // Only this thread writes the slot.
                counter.store(counter.load(Relaxed).wrapping_add(amount), Relaxed);
            }
        }
    }

    /// So many more objects are lent to foreign memory in handler mode.
    pub fn lent(&self, more: i64) {
        self.lent.fetch_add(more, Relaxed);
    }

    /// A raw copy was read whose original is gone.
    pub fn note_stale(&self) {
        self.stale.fetch_add(1, Relaxed);
    }

    /// The sums over all threads.
    pub fn read(&self) -> Stats {
        let mut sums = [0u64; 5];
        for slot in &self.slots {
            for (sum, counter) in sums.iter_mut().zip(&slot.0) {
                *sum = sum.wrapping_add(counter.load(Relaxed));
            }
        }
        let [constructed, destroyed, relocated, foreign, reconciled] = sums;
        Stats {
            struct_size: size_of::<Stats>(),
            live: constructed.wrapping_sub(destroyed) as i64,
            constructed,
            destroyed,
            relocated,
            foreign,
            reconciled,
            lent: self.lent.load(Relaxed).max(0) as u64,
            stale: self.stale.load(Relaxed),
        }
    }
}

/// Slots in use, one bit each. A slot's counts pass from one thread to the next with it.
struct SlotTable(AtomicU32);

#[cfg(not(loom))]
static SLOT_TABLE: SlotTable = SlotTable(AtomicU32::new(0));

#[cfg_attr(all(loom, not(test)), expect(dead_code, reason = "loom's tests use the protocol alone"))]
impl SlotTable {
    /// A slot that no other thread has, or the shared one.
    fn take(&self) -> usize {
        let mut taken = self.0.load(Relaxed);
        loop {
            let index = taken.trailing_ones() as usize;
            if index >= SHARED {
                return SHARED;
            }
            match self.0.compare_exchange_weak(taken, taken | (1 << index), Acquire, Relaxed) {
                Ok(_) => return index,
                Err(current) => taken = current,
            }
        }
    }

    fn give_back(&self, index: usize) {
        if index != SHARED {
            // What was counted there goes on to the thread that takes the slot next.
            self.0.fetch_and(!(1 << index), AcqRel);
        }
    }
}

struct ThreadSlot(usize);

impl ThreadSlot {
    #[cfg(not(loom))]
    fn take() -> ThreadSlot {
        ThreadSlot(SLOT_TABLE.take())
    }

    /// Loom ends its statics before its thread-locals; the tests have tables of their own.
    #[cfg(loom)]
    fn take() -> ThreadSlot {
        ThreadSlot(SHARED)
    }
}

#[cfg(not(loom))]
impl Drop for ThreadSlot {
    fn drop(&mut self) {
        SLOT_TABLE.give_back(self.0);
    }
}

thread_local! {
    static THREAD_SLOT: ThreadSlot = ThreadSlot::take();
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn sums_are_exact_over_more_threads_than_slots() {
        let counters = Counters::default();
        std::thread::scope(|scope| {
            for _ in 0..48 {
                scope.spawn(|| {
                    for _ in 0..1000 {
                        counters.add(CountDelta {
                            constructed: 3,
                            destroyed: 2,
                            ..CountDelta::default()
                        });
                    }
                });
            }
        });
        let stats = counters.read();
        assert_eq!((stats.constructed, stats.destroyed, stats.live), (144_000, 96_000, 48_000));
    }
}

#[cfg(all(test, loom))]
mod loom_tests {
    use super::*;
    use crate::sync::{Arc, thread};

    /// Threads that come and go: one slot of their own, which passes from hand to hand, and the
    /// shared one. Every count is there in the end.
    fn explore(threads: usize, preemptions: Option<usize>) {
        let mut model = loom::model::Builder::new();
        model.preemption_bound = preemptions;
        model.check(move || {
            let shared = Arc::new((SlotTable(AtomicU32::new(0)), Counters::default()));
            let count = |(table, counters): &(SlotTable, Counters)| {
                let index = table.take();
                counters.add_in(index, CountDelta { constructed: 3, ..CountDelta::default() });
                counters.add_in(index, CountDelta { destroyed: 1, ..CountDelta::default() });
                table.give_back(index);
            };
            let others: Vec<_> = (1..threads)
                .map(|_| {
                    let shared = shared.clone();
                    thread::spawn(move || count(&shared))
                })
                .collect();
            count(&shared);
            others.into_iter().for_each(|thread| thread.join().unwrap());
            let stats = shared.1.read();
            let expected = (3 * threads as u64, threads as u64, 2 * threads as i64);
            assert_eq!((stats.constructed, stats.destroyed, stats.live), expected);
            assert_eq!(shared.0.take(), 0, "all slots were given back");
        });
    }

    #[test]
    fn loom_two_threads_lose_no_count() {
        explore(2, None);
    }

    #[test]
    fn loom_threads_that_hand_their_slot_on_lose_no_count() {
        explore(3, Some(2));
    }
}
