//! Which blocks of the system's allocator live, for `plain`.

use super::lock::Lock;
use std::{alloc::Layout, collections::BTreeMap};

/// The layout that each live block was allocated with, by its start.
pub(super) type Layouts = BTreeMap<usize, Layout>;

/// Held around every fork.
pub(super) static BLOCKS: Lock<Layouts> = Lock::new(Layouts::new());
