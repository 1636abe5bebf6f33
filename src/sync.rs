//! One door for atomics, locks and threads: `std` in the product, `loom` under `--cfg loom`.
//!
//! Every concurrent protocol of the core is written against this module, so that the loom tests
//! explore the very code that ships.

#[cfg(not(loom))]
pub(crate) use std::{
    hint,
    sync::{
        Arc, Condvar, Mutex, MutexGuard,
        atomic::{
            self, AtomicBool, AtomicPtr, AtomicU8, AtomicU32, AtomicU64, AtomicUsize, Ordering,
        },
    },
    thread,
};

#[cfg(loom)]
pub(crate) use loom::{
    hint,
    sync::{
        Arc, Condvar, Mutex, MutexGuard,
        atomic::{
            self, AtomicBool, AtomicPtr, AtomicU8, AtomicU32, AtomicU64, AtomicUsize, Ordering,
        },
    },
    thread,
};
