//! The adopted ranges of one slab: a sorted list behind a sequence number.

use std::{
    alloc::Layout,
    ptr::{self, NonNull},
    slice,
};

use super::Adopted;
use crate::{
    memory,
    sync::{AtomicPtr, AtomicUsize, Ordering, atomic::fence, hint, thread},
};

/// The ranges that touch one slab, in order.
pub(super) struct Bucket {
    /// Odd while a writer is at it.
    sequence: AtomicUsize,
    list: AtomicPtr<List>,
    len: AtomicUsize,
}

/// Room for the entries of a bucket.
struct List {
    entries: NonNull<Entry>,
    capacity: usize,
}

pub(super) struct Entry {
    pub(super) start: AtomicUsize,
    end: AtomicUsize,
    payload: AtomicPtr<()>,
    /// Kept up to date in the first bucket of the range.
    pub(super) adoptions: AtomicUsize,
}

impl Entry {
    fn empty() -> Self {
        Self {
            start: AtomicUsize::new(0),
            end: AtomicUsize::new(0),
            payload: AtomicPtr::new(ptr::null_mut()),
            adoptions: AtomicUsize::new(0),
        }
    }

    fn copy_from(&self, other: &Self) {
        self.start.store(other.start.load(Ordering::Relaxed), Ordering::Relaxed);
        self.end.store(other.end.load(Ordering::Relaxed), Ordering::Relaxed);
        self.payload.store(other.payload.load(Ordering::Relaxed), Ordering::Relaxed);
        self.adoptions.store(other.adoptions.load(Ordering::Relaxed), Ordering::Relaxed);
    }

    pub(super) fn read(&self) -> Option<Adopted> {
        Some(Adopted {
            range: self.start.load(Ordering::Relaxed)..self.end.load(Ordering::Relaxed),
            payload: NonNull::new(self.payload.load(Ordering::Relaxed))?,
            adoptions: self.adoptions.load(Ordering::Relaxed),
        })
    }
}

/// `value` in memory that is never freed.
fn for_ever<T>(value: T) -> Option<&'static T> {
    let memory = memory::for_ever(Layout::new::<T>())?.cast::<T>();
    // SAFETY: the memory has the layout of a `T`, is ours alone and is never freed.
    unsafe {
        memory.write(value);
        Some(memory.as_ref())
    }
}

impl List {
    fn create(capacity: usize) -> Option<&'static Self> {
        let entries = memory::for_ever(Layout::array::<Entry>(capacity).ok()?)?.cast::<Entry>();
        // SAFETY: there is room for `capacity` entries, which no other code knows.
        (0..capacity).for_each(|index| unsafe { entries.add(index).write(Entry::empty()) });
        for_ever(Self { entries, capacity })
    }

    fn entries(&self) -> &'static [Entry] {
        // SAFETY: `create` wrote `capacity` entries, which are never freed; they are atomics.
        unsafe { slice::from_raw_parts(self.entries.as_ptr(), self.capacity) }
    }
}

impl Bucket {
    pub(super) fn create() -> Option<&'static Self> {
        for_ever(Self {
            sequence: AtomicUsize::new(0),
            list: AtomicPtr::new(ptr::null_mut()),
            len: AtomicUsize::new(0),
        })
    }

    /// The entries; exact under the writers' lock, else to be checked by the sequence number.
    pub(super) fn entries(&self) -> &'static [Entry] {
        // SAFETY: a published list is initialised and never freed.
        let list = unsafe { self.list.load(Ordering::Acquire).as_ref() };
        let entries = list.map_or(&[][..], List::entries);
        &entries[..self.len.load(Ordering::Relaxed).min(entries.len())]
    }

    /// Reads with `f` until no writer was at it meanwhile.
    #[inline]
    pub(super) fn read<R>(&self, f: impl Fn(&'static [Entry]) -> R) -> R {
        let mut attempts = 0_u32;
        loop {
            let before = self.sequence.load(Ordering::Acquire);
            if before.is_multiple_of(2) {
                let result = f(self.entries());
                fence(Ordering::Acquire);
                if self.sequence.load(Ordering::Relaxed) == before {
                    return result;
                }
            }
            attempts += 1;
            if attempts < 64 && !cfg!(loom) {
                hint::spin_loop();
            } else {
                thread::yield_now();
            }
        }
    }

    /// Writes with `f`; the writers' lock is held.
    fn write(&self, f: impl FnOnce()) {
        // Additions, though no other thread writes: loom explores no switch before a store to what its
        // own thread has just loaded.
        self.sequence.fetch_add(1, Ordering::Relaxed);
        // A reader that sees a write of `f` sees the odd number too.
        fence(Ordering::Release);
        f();
        self.sequence.fetch_add(1, Ordering::Release);
    }

    /// Makes room for one more entry; the writers' lock is held.
    pub(super) fn reserve(&self) -> Option<()> {
        let old = self.entries();
        // SAFETY: a published list is initialised and never freed.
        let list = unsafe { self.list.load(Ordering::Acquire).as_ref() };
        if list.is_none_or(|list| list.capacity == old.len()) {
            let grown = List::create((2 * old.len()).max(4))?;
            grown.entries().iter().zip(old).for_each(|(to, from)| to.copy_from(from));
            // The same entries in another place: readers may see either.
            self.list.store((&raw const *grown).cast_mut(), Ordering::Release);
        }
        Some(())
    }

    /// Puts a range in its place; there is room, and the writers' lock is held.
    pub(super) fn insert(&self, adopted: &Adopted) {
        self.write(|| {
            let at = position(self.entries(), adopted.range.start);
            let len = self.len.load(Ordering::Relaxed);
            self.len.store(len + 1, Ordering::Relaxed);
            let entries = self.entries();
            (at..len).rev().for_each(|index| entries[index + 1].copy_from(&entries[index]));
            entries[at].start.store(adopted.range.start, Ordering::Relaxed);
            entries[at].end.store(adopted.range.end, Ordering::Relaxed);
            entries[at].payload.store(adopted.payload.as_ptr(), Ordering::Relaxed);
            entries[at].adoptions.store(adopted.adoptions, Ordering::Relaxed);
        });
    }

    /// Takes out the range that starts at `start`; the writers' lock is held.
    pub(super) fn remove(&self, start: usize) {
        self.write(|| {
            let entries = self.entries();
            let behind = position(entries, start);
            if behind > 0 && entries[behind - 1].start.load(Ordering::Relaxed) == start {
                (behind..entries.len())
                    .for_each(|index| entries[index - 1].copy_from(&entries[index]));
                self.len.store(entries.len() - 1, Ordering::Relaxed);
            }
        });
    }
}

/// How many entries start at or before `address`.
pub(super) fn position(entries: &[Entry], address: usize) -> usize {
    entries.partition_point(|entry| entry.start.load(Ordering::Relaxed) <= address)
}

/// The entry that contains `address`.
pub(super) fn containing(entries: &[Entry], address: usize) -> Option<&Entry> {
    let entry = &entries[position(entries, address).checked_sub(1)?];
    (address < entry.end.load(Ordering::Relaxed)).then_some(entry)
}
