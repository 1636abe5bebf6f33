//! From an address to a word about its 64 KiB slab: a radix tree of two levels.
//!
//! Readers take no lock: two loads, both of memory that is never unmapped. A leaf is published
//! once, by compare-and-swap, and stays; a thread that loses that race gives its own leaf back.
//! Entries of a range are written only by the owner of the range's addresses: they are set after
//! the range is mapped and cleared before it is unmapped, so that the next owner of the addresses
//! never races with the last.

use std::{
    ops::Range,
    ptr::{self, NonNull},
};

use crate::sync::{AtomicPtr, Ordering};

/// log2 of the bytes of a slab.
const SLAB_SHIFT: u32 = 16;

/// Bytes of a slab: the unit in which addresses have owners.
pub(crate) const SLAB: usize = 1 << SLAB_SHIFT;

/// No memory for another leaf.
#[derive(Debug)]
pub(crate) struct NoLeaf;

/// `ROOTS * LEAVES` slabs; `LEAVES` is a power of two. 2^16 of each cover 48 bits of address.
pub(crate) struct PageMap<const ROOTS: usize, const LEAVES: usize> {
    root: [AtomicPtr<Leaf<LEAVES>>; ROOTS],
}

/// One word a slab; null says that the slab is not ours.
struct Leaf<const LEAVES: usize>([AtomicPtr<()>; LEAVES]);

impl<const ROOTS: usize, const LEAVES: usize> PageMap<ROOTS, LEAVES> {
    #[cfg(not(loom))]
    pub(crate) const fn new() -> Self {
        Self { root: [const { AtomicPtr::new(ptr::null_mut()) }; ROOTS] }
    }

    #[cfg(loom)]
    pub(crate) fn new() -> Self {
        Self { root: std::array::from_fn(|_| AtomicPtr::new(ptr::null_mut())) }
    }

    /// The word of the slab that contains `address`, null where there is none.
    #[inline]
    pub(crate) fn get(&self, address: usize) -> *mut () {
        let slab = address >> SLAB_SHIFT;
        let Some(root) = self.root.get(slab / LEAVES) else {
            return ptr::null_mut();
        };
        let leaf = root.load(Ordering::Acquire);
        if leaf.is_null() {
            return ptr::null_mut();
        }
        // SAFETY: a published leaf is initialised, and lives as long as the map.
        unsafe { (&(*leaf).0)[slab % LEAVES].load(Ordering::Acquire) }
    }

    /// Makes sure that [`PageMap::set`] can write the words of `range`.
    pub(crate) fn reserve(&self, range: Range<usize>) -> Result<(), NoLeaf> {
        let first = (range.start >> SLAB_SHIFT) / LEAVES;
        let last = ((range.end - 1) >> SLAB_SHIFT) / LEAVES;
        for root in self.root.get(first..=last).ok_or(NoLeaf)? {
            if root.load(Ordering::Acquire).is_null() {
                let leaf = Leaf::new().ok_or(NoLeaf)?.as_ptr();
                let published = root.compare_exchange(
                    ptr::null_mut(),
                    leaf,
                    Ordering::Release,
                    Ordering::Relaxed,
                );
                if published.is_err() {
                    // SAFETY: made above and not published.
                    unsafe { Leaf::discard(leaf) };
                }
            }
        }
        Ok(())
    }

    /// Calls `visit` with the address of each slab that has a word, and with the word, in order.
    pub(crate) fn for_each(&self, mut visit: impl FnMut(usize, *mut ())) {
        for (index, root) in self.root.iter().enumerate() {
            let leaf = root.load(Ordering::Acquire);
            if leaf.is_null() {
                continue;
            }
            // SAFETY: a published leaf is initialised, and lives as long as the map.
            let words = unsafe { &(*leaf).0 };
            for (slab, word) in words.iter().enumerate() {
                let word = word.load(Ordering::Acquire);
                if !word.is_null() {
                    visit((index * LEAVES + slab) << SLAB_SHIFT, word);
                }
            }
        }
    }

    /// Writes the words of all slabs of `range`; what was stored behind `word` before is visible to
    /// any owner of it. Slabs that were not reserved are skipped.
    ///
    /// The caller owns the addresses of `range`, or two writers would undo each other's words.
    pub(crate) fn set(&self, range: Range<usize>, word: *mut ()) {
        for slab in range.start >> SLAB_SHIFT..range.end.div_ceil(SLAB) {
            let leaf = self.root.get(slab / LEAVES).map(|root| root.load(Ordering::Acquire));
            if let Some(leaf) = leaf.and_then(NonNull::new) {
                // SAFETY: a published leaf is initialised, and lives as long as the map.
                unsafe { (&(*leaf.as_ptr()).0)[slab % LEAVES].store(word, Ordering::Release) };
            }
        }
    }
}

#[cfg(not(any(loom, miri)))]
impl<const LEAVES: usize> Leaf<LEAVES> {
    const BYTES: usize = size_of::<Self>().next_multiple_of(super::os::PAGE);

    fn new() -> Option<NonNull<Self>> {
        // Fresh pages are zero, which is a null pointer in every word; only those that are written
        // or looked at take memory.
        super::os::map(Self::BYTES, super::os::PAGE).map(NonNull::cast)
    }

    /// # Safety
    /// `leaf` came from [`Leaf::new`], and no other code has seen it.
    unsafe fn discard(leaf: *mut Self) {
        if let Some(leaf) = NonNull::new(leaf) {
            // SAFETY: mapped by `new` with this size; unknown to others.
            unsafe { super::os::unmap(leaf.cast(), Self::BYTES) };
        }
    }
}

#[cfg(any(loom, miri))]
impl<const LEAVES: usize> Leaf<LEAVES> {
    fn new() -> Option<NonNull<Self>> {
        let words = std::array::from_fn(|_| AtomicPtr::new(ptr::null_mut()));
        NonNull::new(Box::into_raw(Box::new(Self(words))))
    }

    /// # Safety
    /// `leaf` came from [`Leaf::new`], and no other code uses it.
    unsafe fn discard(leaf: *mut Self) {
        // SAFETY: boxed by `new`; unknown to others.
        drop(unsafe { Box::from_raw(leaf) });
    }
}

/// The product's map lives for ever; loom's dies with each interleaving.
#[cfg(loom)]
impl<const ROOTS: usize, const LEAVES: usize> Drop for PageMap<ROOTS, LEAVES> {
    fn drop(&mut self) {
        for root in &self.root {
            let leaf = root.load(Ordering::Relaxed);
            if !leaf.is_null() {
                // SAFETY: the map is being dropped, so no code uses the leaf.
                unsafe { Leaf::discard(leaf) };
            }
        }
    }
}

#[cfg(all(test, loom))]
mod loom_tests {
    use loom::{sync::Arc, thread};

    use super::*;
    use crate::sync::AtomicUsize;

    #[test]
    fn loom_a_reader_sees_no_word_or_the_whole_of_what_is_behind_it() {
        loom::model(|| {
            let map = Arc::new(PageMap::<2, 2>::new());
            let behind = Arc::new(AtomicUsize::new(0));
            let writer = {
                let (map, behind) = (map.clone(), behind.clone());
                thread::spawn(move || {
                    behind.store(7, Ordering::Relaxed);
                    map.reserve(SLAB..2 * SLAB).unwrap();
                    map.set(SLAB..2 * SLAB, ptr::without_provenance_mut(8));
                })
            };
            if !map.get(SLAB + 5).is_null() {
                assert_eq!(behind.load(Ordering::Relaxed), 7);
            }
            assert!(map.get(0).is_null() && map.get(2 * SLAB).is_null());
            writer.join().unwrap();
            assert_eq!(map.get(SLAB).addr(), 8);
        });
    }

    #[test]
    fn loom_two_threads_that_publish_one_leaf_both_find_their_words() {
        loom::model(|| {
            let map = Arc::new(PageMap::<2, 2>::new());
            let other = {
                let map = map.clone();
                thread::spawn(move || {
                    map.reserve(0..SLAB).unwrap();
                    map.set(0..SLAB, ptr::without_provenance_mut(8));
                    assert_eq!(map.get(SLAB - 1).addr(), 8);
                })
            };
            map.reserve(SLAB..2 * SLAB).unwrap();
            map.set(SLAB..2 * SLAB, ptr::without_provenance_mut(16));
            assert_eq!(map.get(SLAB).addr(), 16);
            other.join().unwrap();
            assert_eq!((map.get(0).addr(), map.get(SLAB).addr()), (8, 16));
        });
    }
}
