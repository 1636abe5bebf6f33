//! One door for atomics, locks and threads: `std` in the product, `loom` under `--cfg loom`.
//!
//! Every concurrent protocol of the core is written against this module, so that the loom tests
//! explore the very code that ships. A test that calls `loom::model` explores every execution; one
//! whose builder has a `preemption_bound` those of up to so many preemptions. `docs/how-it-is-tested.md` has
//! the list.

#[cfg(not(loom))]
pub(crate) use std::{
    hint,
    sync::{atomic::*, *},
    thread, thread_local,
};

#[cfg(loom)]
pub(crate) use loom::{
    hint,
    sync::{atomic::*, *},
    thread, thread_local,
};
