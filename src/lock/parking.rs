//! Where the contended side of all locks lives: range tables by address, in shards, and how a
//! thread waits.

use super::ranges::Ranges;
use crate::sync::{Arc, AtomicU32, Condvar, Mutex, MutexGuard, Ordering, hint};
use std::{
    collections::BTreeMap,
    sync::{OnceLock, PoisonError},
};

#[cfg(not(loom))]
const SHARD_COUNT: usize = 64;
// One mutex for all locks: every test then explores sharing a shard as well.
#[cfg(loom)]
const SHARD_COUNT: usize = 1;

/// How often a waiter looks before it blocks: about as long as blocking and waking cost.
#[cfg(not(loom))]
const SPINS: u32 = 200;
#[cfg(loom)]
const SPINS: u32 = 0;

const WAITING: u32 = 0;
const GRANTED: u32 = 1;
#[cfg(not(loom))]
const ORPHANED: u32 = 2;

/// How a waiter is told what became of it.
pub(super) struct Signal(AtomicU32);

impl Signal {
    pub fn new() -> Arc<Signal> {
        Arc::new(Signal(AtomicU32::new(WAITING)))
    }

    /// The waiter is a holder now. Its shard is notified afterwards.
    pub fn grant(&self) {
        self.0.store(GRANTED, Ordering::Release);
    }

    /// The waiter is forgotten by a fork, and has to ask again.
    #[cfg(not(loom))]
    pub fn orphan(&self) {
        self.0.store(ORPHANED, Ordering::Release);
    }

    fn is_settled(&self) -> bool {
        self.0.load(Ordering::Acquire) != WAITING
    }

    fn is_granted(&self) -> bool {
        self.0.load(Ordering::Acquire) == GRANTED
    }
}

/// Range tables by the address of their lock. None of them is empty while the mutex is free.
pub(super) type Tables = BTreeMap<usize, Ranges<Arc<Signal>>>;

/// The range tables of some of the locks, and the waiters for them.
pub(super) struct Shard {
    tables: Mutex<Tables>,
    settled: Condvar,
}

#[cfg(not(loom))]
static SHARDS: [Shard; SHARD_COUNT] =
    [const { Shard { tables: Mutex::new(BTreeMap::new()), settled: Condvar::new() } }; SHARD_COUNT];

#[cfg(loom)]
loom::lazy_static! {
    static ref SHARDS: [Shard; SHARD_COUNT] =
        [Shard { tables: Mutex::new(BTreeMap::new()), settled: Condvar::new() }];
}

/// All shards, in the order in which more than one may be locked.
#[cfg(not(loom))]
pub(super) fn shards() -> &'static [Shard] {
    &SHARDS
}

impl Shard {
    /// The shard of the lock at this address.
    pub fn of(address: usize) -> &'static Shard {
        // Segments are at least 64 bytes apart; the multiplication spreads regular distances.
        let hash = (address as u64 >> 6).wrapping_mul(0x9E37_79B9_7F4A_7C15);
        &SHARDS[(hash >> 32) as usize % SHARD_COUNT]
    }

    pub fn lock(&self) -> MutexGuard<'_, Tables> {
        // A panic inside leaves no half-made state: each change is a push or a removal.
        self.tables.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Wakes those who block in this shard, after signals were set under its mutex.
    pub fn notify(&self) {
        self.settled.notify_all();
    }

    /// Waits until `signal` is set: spins, then blocks inside the wait hook. True when granted,
    /// false when orphaned.
    pub fn wait(&self, signal: &Signal) -> bool {
        for _ in 0..SPINS {
            if signal.is_settled() {
                return signal.is_granted();
            }
            hint::spin_loop();
        }
        let mut block = || {
            let mut tables = self.lock();
            while !signal.is_settled() {
                tables = self.settled.wait(tables).unwrap_or_else(PoisonError::into_inner);
            }
        };
        match WAIT_HOOK.get() {
            None => block(),
            Some(hook) => {
                // A hook that returns without having waited is called again.
                while !signal.is_settled() {
                    hook(&mut block);
                }
            }
        }
        signal.is_granted()
    }
}

/// Whether a thread may wait at all. Once the interpreter ends, a holder may never come back.
pub type WaitCheck = fn() -> bool;

// Not `sync`: as for `WAIT_HOOK`.
static WAIT_CHECK: OnceLock<WaitCheck> = OnceLock::new();

/// Installs what is asked before a thread waits; where it says no, the request is refused. The first
/// check stays; returns false if there was one.
pub fn set_wait_check(check: WaitCheck) -> bool {
    WAIT_CHECK.set(check).is_ok()
}

/// What the check says.
pub(super) fn may_wait() -> bool {
    WAIT_CHECK.get().is_none_or(|check| check())
}

/// Runs `wait`, which blocks, with whatever it must not be done with (the GIL) let go.
pub type WaitHook = fn(wait: &mut dyn FnMut());

// Not `sync`: written once before there are threads to wait, and no part of the protocol.
static WAIT_HOOK: OnceLock<WaitHook> = OnceLock::new();

/// Installs what runs around a blocking wait: a hook that lets the GIL go if this thread holds it,
/// calls its argument once, and takes the GIL back. Without one, waiters just block.
///
/// The hook is called only when a thread is about to block, and none of this module's mutexes is
/// held around it; segment locks may be. It must not take a segment lock.
///
/// The first hook stays; returns false if there was one.
pub fn set_wait_hook(hook: WaitHook) -> bool {
    WAIT_HOOK.set(hook).is_ok()
}
