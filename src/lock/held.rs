//! Which locks this thread holds: a thread that holds one is in the middle of an operation, and
//! never waits for another.

use super::{error::LockError, fork};
use crate::sync::thread_local;
use std::{cell::Cell, marker::PhantomData, ops::Deref, ptr::NonNull};

/// Most locks one thread holds at once: twice the operands that a NumPy ufunc can have.
pub(super) const CAPACITY: usize = 128;

/// The addresses of the locks that this thread holds.
///
/// Addresses only, never followed: a guard that was leaked leaves an entry behind, no dangling
/// reference.
pub(super) struct Held {
    /// Of the process, when the entries were made. Others count as none.
    generation: Cell<u32>,
    count: Cell<usize>,
    /// How many of them were made in a parent process, by this thread before it forked.
    inherited: Cell<usize>,
    addresses: [Cell<usize>; CAPACITY],
}

// `const` spares every access the check whether it is initialised; loom's macro has no such form.
#[cfg(not(loom))]
thread_local! {
    static HELD: Held = const { Held::new() };
    static PINNED: Held = const { Held::new() };
    static OPERATIONS: Cell<u32> = const { Cell::new(0) };
}
#[cfg(loom)]
thread_local! {
    static HELD: Held = Held::new();
    static PINNED: Held = Held::new();
    static OPERATIONS: Cell<u32> = Cell::new(0);
}

/// The list of the current thread, looked up once. It stays in its thread.
#[derive(Clone, Copy)]
pub(super) struct HeldHere(NonNull<Held>);

impl HeldHere {
    #[inline]
    pub fn new() -> HeldHere {
        HeldHere(HELD.with(|held| NonNull::from(held)))
    }

    /// The same of pins: locks whose memory this thread keeps in its place.
    #[inline]
    pub fn pins() -> HeldHere {
        HeldHere(PINNED.with(|held| NonNull::from(held)))
    }
}

/// An operation that holds no lock, since all that it works on is memory that has none.
pub struct Operation(PhantomData<*mut ()>);

impl Operation {
    /// One that lasts until this is dropped.
    pub fn begin() -> Operation {
        OPERATIONS.with(|operations| operations.set(operations.get() + 1));
        Operation(PhantomData)
    }
}

impl Drop for Operation {
    fn drop(&mut self) {
        OPERATIONS.with(|operations| operations.set(operations.get() - 1));
    }
}

/// Whether this thread is in the middle of an operation: it holds a lock, keeps memory in its place, or
/// works on memory that has no lock.
pub fn is_in_operation() -> bool {
    if OPERATIONS.with(Cell::get) > 0 {
        return true;
    }
    let generation = fork::generation();
    HeldHere::new().is_any_held(generation) || HeldHere::pins().is_any_held(generation)
}

impl Deref for HeldHere {
    type Target = Held;

    #[inline]
    fn deref(&self) -> &Held {
        // SAFETY: the pointer is to a thread-local without a destructor, which lives as long as
        // its thread, and `HeldHere` is neither `Send` nor `Sync`, so this is that thread.
        unsafe { self.0.as_ref() }
    }
}

impl Held {
    const fn new() -> Held {
        Held {
            generation: Cell::new(0),
            count: Cell::new(0),
            inherited: Cell::new(0),
            addresses: [const { Cell::new(0) }; CAPACITY],
        }
    }

    /// Makes sure that `count` more entries fit, in a process of this generation.
    #[inline]
    pub fn reserve(&self, count: usize, generation: u32) -> Result<(), LockError> {
        if self.generation.get() != generation {
            self.generation.set(generation);
            self.count.set(0);
            self.inherited.set(0);
        }
        if count > CAPACITY - self.count.get() { Err(LockError::TooMany) } else { Ok(()) }
    }

    /// Notes one lock. Room was reserved.
    #[inline]
    pub fn push(&self, address: usize) {
        let count = self.count.get();
        self.addresses[count].set(address);
        self.count.set(count + 1);
    }

    /// Removes one entry for this lock, the newest; none where a fork came between.
    #[inline]
    pub fn remove(&self, address: usize) {
        let count = self.count.get();
        for index in (0..count).rev() {
            if self.addresses[index].get() == address {
                self.addresses[index].set(self.addresses[count - 1].get());
                self.count.set(count - 1);
                return;
            }
        }
    }

    /// This thread goes on in a child process, in the middle of the same operations: no other thread may
    /// touch what they work on, though the locks count as released.
    #[cfg(not(loom))]
    pub fn inherit(&self, parent: u32, child: u32) {
        if self.generation.get() == parent {
            self.generation.set(child);
            self.inherited.set(self.count.get());
        }
    }

    /// Whether this thread holds the lock since before it forked.
    #[inline]
    pub fn inherits(&self, address: usize) -> bool {
        self.inherited.get() > 0 && self.contains(address)
    }

    /// Removes an entry that was made in a parent process.
    #[cold]
    pub fn disinherit(&self, address: usize) {
        if self.inherits(address) {
            self.remove(address);
            self.inherited.set(self.inherited.get() - 1);
        }
    }

    /// Whether this thread holds the lock.
    pub fn contains(&self, address: usize) -> bool {
        self.addresses().any(|held| held == address)
    }

    /// How many locks this thread holds. Room was reserved, so that no other generation's count.
    #[inline]
    pub fn count(&self) -> usize {
        self.count.get()
    }

    /// Whether this thread holds any, as a process of this generation.
    fn is_any_held(&self, generation: u32) -> bool {
        self.count.get() > 0 && self.generation.get() == generation
    }

    fn addresses(&self) -> impl Iterator<Item = usize> {
        self.addresses[..self.count.get()].iter().map(Cell::get)
    }
}
