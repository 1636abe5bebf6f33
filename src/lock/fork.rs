//! The generation of the process: what tells a lock held here from one held in the parent.

// Not `sync`: the generation changes only in a child of fork, which has a single thread.
use std::sync::atomic::{AtomicU32, Ordering};

/// Zero until the step for forks is armed.
static GENERATION: AtomicU32 = AtomicU32::new(0);

/// The generation of this process, never 0. The first call arms the step for forks.
#[inline]
pub(super) fn generation() -> u32 {
    match GENERATION.load(Ordering::Relaxed) {
        0 => begin(),
        generation => generation,
    }
}

#[cold]
fn begin() -> u32 {
    match GENERATION.compare_exchange(0, 1, Ordering::Relaxed, Ordering::Relaxed) {
        Ok(_) => {
            #[cfg(all(unix, not(any(loom, miri))))]
            crate::fork::arm(crate::fork::Layer::Locks, &step::STEP);
            1
        }
        Err(generation) => generation,
    }
}

#[cfg(all(unix, not(any(loom, miri))))]
mod step {
    //! All shards are locked across a fork, so that the child finds whole tables and free mutexes.

    use super::{
        super::{held::HeldHere, parking},
        GENERATION, Ordering,
    };
    use crate::fork::Step;
    use std::{cell::RefCell, sync::MutexGuard};

    thread_local! {
        /// The shards that this thread locked for the fork it is making.
        static LOCKED: RefCell<Vec<MutexGuard<'static, parking::Tables>>> =
            const { RefCell::new(Vec::new()) };
    }

    // Without memory for the handler locks work as ever, but a child inherits them.
    pub(super) static STEP: Step = Step { prepare, parent, child };

    // A thread that forks while its thread-locals are being destroyed goes without: `try_with`.

    fn prepare() {
        let _ = LOCKED.try_with(|locked| {
            locked.borrow_mut().extend(parking::shards().iter().map(parking::Shard::lock));
        });
    }

    fn parent() {
        let _ = LOCKED.try_with(|locked| locked.borrow_mut().clear());
    }

    fn child() {
        let parent = GENERATION.load(Ordering::Relaxed);
        let next = parent.wrapping_add(1).max(1);
        GENERATION.store(next, Ordering::Relaxed);
        HeldHere::new().inherit(parent, next);
        HeldHere::pins().inherit(parent, next);
        let _ = LOCKED.try_with(|locked| {
            let mut locked = locked.borrow_mut();
            for tables in locked.iter_mut() {
                tables.retain(|_, table| {
                    table.abandon(|signal| signal.orphan());
                    !table.is_empty()
                });
            }
            locked.clear();
        });
    }
}
