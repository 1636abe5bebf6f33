//! The step of this module around every `fork`.
//!
//! The thread that forks takes every lock of this module and gives them back in parent and child
//! ([`crate::fork`]). What lies outside locks is
//! safe as it is: the page map is lock-free, a thread's bins are its own, and the forking thread is
//! not inside an allocation. A child loses what other threads of the parent held at that moment:
//! the blocks in their bins (bounded by `size_class::cached_blocks`) and at most one block a thread
//! that was on its way. Such blocks are misses for ever; nothing else depends on them.

use super::metadata;
#[cfg(plain_memory)]
use super::plain_blocks::BLOCKS;
#[cfg(not(plain_memory))]
use super::{
    pools::{POOLS, SPANS},
    released::LARGE,
};
use crate::fork::{self, Layer, Step};

static STEP: Step = Step { prepare, parent: resume, child: resume };

/// Called before any lock of this module is taken.
#[inline]
pub(super) fn arm() {
    fork::arm(Layer::Memory, &STEP);
}

/// Takes the locks in the order in which one is taken while another is held.
#[cfg(not(plain_memory))]
fn prepare() {
    POOLS.iter().for_each(|pool| pool.acquire());
    SPANS.acquire();
    LARGE.acquire();
    metadata::CHUNKS.acquire();
}

#[cfg(not(plain_memory))]
fn resume() {
    // SAFETY: `prepare` took each lock in this thread, or in the one it is a copy of.
    unsafe {
        metadata::CHUNKS.release();
        LARGE.release();
        SPANS.release();
        POOLS.iter().for_each(|pool| pool.release());
    }
}

#[cfg(plain_memory)]
fn prepare() {
    BLOCKS.acquire();
    metadata::CHUNKS.acquire();
}

#[cfg(plain_memory)]
fn resume() {
    // SAFETY: as above.
    unsafe {
        metadata::CHUNKS.release();
        BLOCKS.release();
    }
}
