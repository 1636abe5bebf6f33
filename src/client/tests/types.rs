//! Element types of the tests.

use crate::client::{Definition, element};
use std::ops::Add;

/// A type of size 0.
#[derive(Clone, Default)]
pub(super) struct Nothing;

/// A type aligned to more than NumPy guarantees.
#[derive(Default)]
#[repr(align(64))]
pub(super) struct Wide {
    _byte: u8,
}

impl Wide {
    pub(super) fn address(&self) -> usize {
        std::ptr::from_ref(self).addr()
    }
}

/// A number whose zero bytes are its default.
#[derive(Clone, Copy, Default, PartialEq, Debug)]
pub(super) struct Count(pub(super) u64);

impl Add for &Count {
    type Output = Count;
    fn add(self, other: &Count) -> Count {
        Count(self.0 + other.0)
    }
}

pub(super) fn count() -> Definition<Count> {
    // SAFETY: zero bytes are `Count(0)`, which owns nothing.
    let builder = unsafe { element::<Count>("Count").zero_is_default() };
    builder
        .default()
        .clone()
        .add()
        .nonzero(|count| count.0 != 0)
        .heap_bytes(|_| 10)
        .hash_with(|count| count.0 as i64)
        .codec(
            |count| count.0.to_le_bytes().to_vec(),
            |bytes| <[u8; 8]>::try_from(bytes).map(|b| Count(u64::from_le_bytes(b))).ok(),
        )
        .define("m")
        .expect("no mistake")
}
