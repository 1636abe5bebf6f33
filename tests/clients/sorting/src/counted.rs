//! An integer on the heap that counts its copies.

use std::{
    fmt,
    str::FromStr,
    sync::atomic::{AtomicI64, Ordering::Relaxed},
};

static LIVE: AtomicI64 = AtomicI64::new(0);

/// How many are alive, of all cases together.
pub fn live() -> i64 {
    LIVE.load(Relaxed)
}

/// A number; each `CASE` is an element type of its own.
#[derive(PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Counted<const CASE: u8>(Box<i64>);

impl<const CASE: u8> Counted<CASE> {
    pub fn new(value: i64) -> Self {
        LIVE.fetch_add(1, Relaxed);
        Counted(Box::new(value))
    }

    pub fn value(&self) -> i64 {
        *self.0
    }
}

impl<const CASE: u8> Clone for Counted<CASE> {
    fn clone(&self) -> Self {
        Self::new(self.value())
    }
}

impl<const CASE: u8> Default for Counted<CASE> {
    fn default() -> Self {
        Self::new(0)
    }
}

impl<const CASE: u8> Drop for Counted<CASE> {
    fn drop(&mut self) {
        LIVE.fetch_sub(1, Relaxed);
    }
}

impl<const CASE: u8> fmt::Display for Counted<CASE> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.0)
    }
}

impl<const CASE: u8> FromStr for Counted<CASE> {
    type Err = std::num::ParseIntError;
    fn from_str(text: &str) -> Result<Self, Self::Err> {
        text.parse().map(Self::new)
    }
}
