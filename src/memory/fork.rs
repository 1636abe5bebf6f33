//! What makes `fork` safe while other threads allocate.
//!
//! The thread that forks takes every lock of this module first and gives them back in parent and
//! child, so the child finds no lock held and no structure half changed. What lies outside locks is
//! safe as it is: the page map is lock-free, a thread's bins are its own, and the forking thread is
//! not inside an allocation. A child loses what other threads of the parent held at that moment:
//! the blocks in their bins (bounded by `size_class::cached_blocks`) and at most one block a thread
//! that was on its way. Such blocks are misses for ever; nothing else depends on them.

#[cfg(plain_memory)]
use super::plain_blocks::BLOCKS;
use super::{metadata, once::Once, os};
#[cfg(not(plain_memory))]
use super::{
    pools::{POOLS, SPANS},
    released::LARGE,
};

/// What runs around every fork, once it is registered.
pub(crate) struct Handlers {
    registered: Once,
    prepare: extern "C" fn(),
    resume: extern "C" fn(),
}

static HANDLERS: Handlers = Handlers::new(prepare, resume);

/// Registers this module's handlers once. Called before any lock is taken that they would take.
#[inline]
pub(crate) fn arm() {
    HANDLERS.arm();
}

impl Handlers {
    /// `prepare` takes locks before a fork; `resume` gives them back, in parent and child.
    pub(crate) const fn new(prepare: extern "C" fn(), resume: extern "C" fn()) -> Self {
        Self { registered: Once::new(), prepare, resume }
    }

    /// Registers the handlers once. What is registered later runs its `prepare` earlier, so a layer
    /// that holds its lock while it calls a lower one registers after that one.
    #[inline]
    pub(crate) fn arm(&self) {
        if !self.registered.is_done() {
            self.register();
        }
    }

    #[cold]
    fn register(&self) {
        // Without memory for the handlers we go on without: only a fork in the middle of another
        // thread's critical section would notice.
        self.registered.call(os::process(), || {
            os::on_fork(self.prepare, self.resume, self.resume);
        });
    }
}

/// Takes the locks in the order in which one is taken while another is held.
#[cfg(not(plain_memory))]
extern "C" fn prepare() {
    POOLS.iter().for_each(|pool| pool.acquire());
    SPANS.acquire();
    LARGE.acquire();
    metadata::CHUNKS.acquire();
}

#[cfg(not(plain_memory))]
extern "C" fn resume() {
    // SAFETY: `prepare` took each lock in this thread, or in the one it is a copy of.
    unsafe {
        metadata::CHUNKS.release();
        LARGE.release();
        SPANS.release();
        POOLS.iter().for_each(|pool| pool.release());
    }
}

#[cfg(plain_memory)]
extern "C" fn prepare() {
    BLOCKS.acquire();
    metadata::CHUNKS.acquire();
}

#[cfg(plain_memory)]
extern "C" fn resume() {
    // SAFETY: as above.
    unsafe {
        metadata::CHUNKS.release();
        BLOCKS.release();
    }
}
