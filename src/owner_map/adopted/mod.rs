//! Memory in a client's heap that is lent to arrays.
//!
//! A page map leads from an address to the bucket of its 64 KiB slab; a bucket lists, in order, the
//! ranges that touch the slab. Readers take no lock: a bucket's sequence number tells them whether
//! what they read belongs together, and neither buckets nor lists are ever freed. (A list that
//! grows leaves its smaller predecessor behind: less memory than the list itself.) Writers share
//! one lock.
//!
//! The same range, or a part of it, may be adopted again: that counts on the range that is there
//! and brings its payload. A range that is in part new is refused.

use std::{fmt, ops::Range, ptr};

mod bucket;

use bucket::{Bucket, containing, position};

use super::Payload;
#[cfg(not(any(loom, miri)))]
use crate::fork::{self, Layer, Step};
use crate::{
    memory::{
        lock::Lock,
        page_map::{PageMap, SLAB},
    },
    sync::{AtomicUsize, Ordering},
};

/// A range that was lent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Adopted {
    /// First address, and the one behind the last.
    pub range: Range<usize>,
    /// What the first adoption brought along.
    pub payload: Payload,
    /// How many adoptions of it there are.
    pub adoptions: usize,
}

/// Why a range cannot be adopted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AdoptError {
    /// It has no bytes, or addresses that no process has.
    Invalid,
    /// Its start is in a block of ours.
    Managed,
    /// A part of it, and not all of it, is in a range that is adopted already.
    Overlap,
    /// No memory to note it.
    OutOfMemory,
}

impl fmt::Display for AdoptError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Invalid => "the memory range is empty or outside the address space",
            Self::Managed => "the memory range is in a block that the runtime allocated itself",
            Self::Overlap => "a part of the memory range is lent to another array already",
            Self::OutOfMemory => "no memory to note an adopted range",
        })
    }
}

impl std::error::Error for AdoptError {}

#[cfg(not(loom))]
static ADOPTED: AdoptedRanges<{ 1 << 16 }, { 1 << 16 }> = AdoptedRanges::new();

#[cfg(loom)]
loom::lazy_static! {
    /// Too small for real addresses: loom's tests bring their own.
    static ref ADOPTED: AdoptedRanges<2, 2> = AdoptedRanges::new();
}

#[cfg(not(any(loom, miri)))]
static STEP: Step = Step { prepare, parent: resume, child: resume };

#[cfg(not(any(loom, miri)))]
fn prepare() {
    ADOPTED.writers.acquire();
}

#[cfg(not(any(loom, miri)))]
fn resume() {
    // SAFETY: `prepare` took the lock in this thread, or in the one it is a copy of.
    unsafe { ADOPTED.writers.release() };
}

/// Notes that `range` is lent, until [`disown`] is called as often as this.
///
/// # Errors
/// See [`AdoptError`]; nothing has changed then.
pub fn adopt(range: Range<usize>, payload: Payload) -> Result<Adopted, AdoptError> {
    if super::block_of(ptr::without_provenance(range.start)).is_some() {
        return Err(AdoptError::Managed);
    }
    // A child of a fork must find no sequence number odd.
    #[cfg(not(any(loom, miri)))]
    fork::arm(Layer::Adopted, &STEP);
    ADOPTED.insert(range, payload)
}

/// Takes one adoption back, of the range that contains `address`; what it was, with the number of
/// adoptions that are left. The range is a miss when none is.
///
/// Called before the memory's owner frees it.
pub fn disown(address: usize) -> Option<Adopted> {
    ADOPTED.remove(address)
}

/// The adopted range that contains `address`.
#[inline]
pub(super) fn find(address: usize) -> Option<Adopted> {
    ADOPTED.find(address)
}

/// All adopted ranges of the slabs that the map covers.
pub(super) struct AdoptedRanges<const ROOTS: usize, const LEAVES: usize> {
    /// How many ranges there are: with none, nothing else is looked at.
    ranges: AtomicUsize,
    buckets: PageMap<ROOTS, LEAVES>,
    pub(super) writers: Lock<()>,
}

impl<const ROOTS: usize, const LEAVES: usize> AdoptedRanges<ROOTS, LEAVES> {
    #[cfg(not(loom))]
    pub(super) const fn new() -> Self {
        Self { ranges: AtomicUsize::new(0), buckets: PageMap::new(), writers: Lock::new(()) }
    }

    #[cfg(loom)]
    pub(super) fn new() -> Self {
        Self { ranges: AtomicUsize::new(0), buckets: PageMap::new(), writers: Lock::new(()) }
    }

    #[inline]
    fn bucket(&self, address: usize) -> Option<&'static Bucket> {
        // SAFETY: words are written by `reserve` alone, from references that live for ever.
        unsafe { self.buckets.get(address).cast::<Bucket>().as_ref() }
    }

    #[inline]
    pub(super) fn find(&self, address: usize) -> Option<Adopted> {
        // Code that knows an address in an adopted range knows of the adoption.
        if self.ranges.load(Ordering::Acquire) == 0 {
            return None;
        }
        self.find_adopted(address)
    }

    fn find_adopted(&self, address: usize) -> Option<Adopted> {
        let found = self.bucket(address)?.read(|entries| containing(entries, address)?.read())?;
        let first = found.range.start;
        if first / SLAB == address / SLAB {
            return Some(found);
        }
        // The count is in the range's first bucket.
        self.bucket(first)?.read(|entries| containing(entries, first)?.read())
    }

    /// All ranges of this moment.
    pub(super) fn all(&self) -> Vec<Adopted> {
        let mut all = Vec::new();
        if self.ranges.load(Ordering::Acquire) == 0 {
            return all;
        }
        let _writer = self.writers.lock();
        self.buckets.for_each(|slab, _| {
            let entries = self.bucket(slab).map_or(&[][..], Bucket::entries);
            // The others begin in a slab before this one.
            let begins_here = |range: &Adopted| range.range.start / SLAB == slab / SLAB;
            all.extend(entries.iter().filter_map(bucket::Entry::read).filter(begins_here));
        });
        all
    }

    pub(super) fn insert(
        &self,
        range: Range<usize>,
        payload: Payload,
    ) -> Result<Adopted, AdoptError> {
        let slabs = ROOTS * LEAVES;
        if range.is_empty() || range.start == 0 || (range.end - 1) / SLAB >= slabs {
            return Err(AdoptError::Invalid);
        }
        let _writer = self.writers.lock();
        if let Some(outer) = self.find_adopted(range.start) {
            return if range.end <= outer.range.end {
                self.count(outer.range.start, 1).ok_or(AdoptError::Overlap)
            } else {
                Err(AdoptError::Overlap)
            };
        }
        self.buckets.reserve(range.clone()).map_err(|_| AdoptError::OutOfMemory)?;
        for address in slab_addresses(&range) {
            self.reserve(address).ok_or(AdoptError::OutOfMemory)?;
            let next = self.bucket(address).and_then(|bucket| {
                let entries = bucket.entries();
                entries.get(position(entries, range.start))
            });
            if next.is_some_and(|next| next.start.load(Ordering::Relaxed) < range.end) {
                return Err(AdoptError::Overlap);
            }
        }
        let adopted = Adopted { range, payload, adoptions: 1 };
        for bucket in slab_addresses(&adopted.range).filter_map(|address| self.bucket(address)) {
            bucket.insert(&adopted);
        }
        self.ranges.fetch_add(1, Ordering::Release);
        Ok(adopted)
    }

    /// Makes room for one more range in the bucket of an address whose word is reserved.
    fn reserve(&self, address: usize) -> Option<()> {
        let bucket = match self.bucket(address) {
            Some(bucket) => bucket,
            None => {
                let bucket = Bucket::create()?;
                let word = (&raw const *bucket).cast_mut().cast::<()>();
                self.buckets.set(address..address + 1, word);
                bucket
            }
        };
        bucket.reserve()
    }

    pub(super) fn remove(&self, address: usize) -> Option<Adopted> {
        let _writer = self.writers.lock();
        let start = self.find_adopted(address)?.range.start;
        let left = self.count(start, -1)?;
        if left.adoptions == 0 {
            for address in slab_addresses(&left.range) {
                if let Some(bucket) = self.bucket(address) {
                    bucket.remove(start);
                }
            }
            self.ranges.fetch_sub(1, Ordering::Release);
        }
        Some(left)
    }

    /// Adds to the number of adoptions of the range that starts at `start`.
    fn count(&self, start: usize, change: isize) -> Option<Adopted> {
        let entry = containing(self.bucket(start)?.entries(), start)?;
        let adoptions = entry.adoptions.load(Ordering::Relaxed).checked_add_signed(change)?;
        entry.adoptions.store(adoptions, Ordering::Relaxed);
        entry.read()
    }
}

/// An address in each slab that the range touches.
fn slab_addresses(range: &Range<usize>) -> impl Iterator<Item = usize> + use<> {
    (range.start / SLAB..=(range.end - 1) / SLAB).map(|slab| slab * SLAB)
}

#[cfg(all(test, not(loom)))]
mod tests;

#[cfg(all(test, loom))]
mod loom_tests;
