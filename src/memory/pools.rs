//! What small blocks are made of, behind locks.

use super::{lock::Lock, pool::Pool, size_class::CLASSES};

/// One pool a class.
pub(super) static POOLS: [Lock<Pool>; CLASSES] = [const { Lock::new(Pool::EMPTY) }; CLASSES];

/// Address space that spans are cut from.
pub(super) static SPANS: Lock<Unused> = Lock::new(Unused { start: 0, end: 0 });

/// A mapped range that no span has yet.
pub(super) struct Unused {
    pub(super) start: usize,
    pub(super) end: usize,
}
