//! An integer on the heap that counts its copies.

use std::{
    fmt,
    str::FromStr,
    sync::atomic::{AtomicI64, Ordering::Relaxed},
};

static LIVE: AtomicI64 = AtomicI64::new(0);

/// How many are alive, of all kinds together.
pub fn live() -> i64 {
    LIVE.load(Relaxed)
}

/// A number; each `KIND` is an element type of its own.
#[derive(PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Counted<const KIND: u8>(Box<i64>);

impl<const KIND: u8> Counted<KIND> {
    pub fn new(value: i64) -> Self {
        LIVE.fetch_add(1, Relaxed);
        Counted(Box::new(value))
    }

    pub fn value(&self) -> i64 {
        *self.0
    }
}

impl<const KIND: u8> Clone for Counted<KIND> {
    fn clone(&self) -> Self {
        Self::new(self.value())
    }
}

impl<const KIND: u8> Default for Counted<KIND> {
    fn default() -> Self {
        Self::new(0)
    }
}

impl<const KIND: u8> Drop for Counted<KIND> {
    fn drop(&mut self) {
        LIVE.fetch_sub(1, Relaxed);
    }
}

impl<const KIND: u8> fmt::Display for Counted<KIND> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.0)
    }
}

impl<const KIND: u8> FromStr for Counted<KIND> {
    type Err = std::num::ParseIntError;
    fn from_str(text: &str) -> Result<Self, Self::Err> {
        text.parse().map(Self::new)
    }
}
