//! A spinning lock for critical sections of a few hundred nanoseconds.
//!
//! Unlike std's it is released by a plain call, which is what fork handlers need: the thread that
//! forks takes every lock before and gives them back on both sides after.

use std::{
    cell::UnsafeCell,
    ops::{Deref, DerefMut},
};

use crate::sync::{AtomicBool, Ordering, hint, thread};

/// Attempts before the thread lets others run.
const SPINS: u32 = 64;

/// A value that one thread at a time may touch.
pub(crate) struct Lock<T> {
    held: AtomicBool,
    value: UnsafeCell<T>,
}

// SAFETY: only the holder of the lock reaches the value, so sharing the lock sends the value.
unsafe impl<T: Send> Sync for Lock<T> {}

impl<T> Lock<T> {
    #[cfg(not(loom))]
    pub(crate) const fn new(value: T) -> Self {
        Self { held: AtomicBool::new(false), value: UnsafeCell::new(value) }
    }

    #[cfg(loom)]
    pub(crate) fn new(value: T) -> Self {
        Self { held: AtomicBool::new(false), value: UnsafeCell::new(value) }
    }

    pub(crate) fn lock(&self) -> Guard<'_, T> {
        self.acquire();
        Guard { lock: self }
    }

    /// Takes the lock without a guard, for a fork handler; [`Lock::release`] ends it.
    pub(crate) fn acquire(&self) {
        let mut attempts = 0;
        while self
            .held
            .compare_exchange_weak(false, true, Ordering::Acquire, Ordering::Relaxed)
            .is_err()
        {
            attempts += 1;
            if attempts < SPINS && !cfg!(loom) {
                hint::spin_loop();
            } else {
                thread::yield_now();
            }
        }
    }

    /// Ends what [`Lock::acquire`] began. Also right in a forked child, whose only thread is the
    /// copy of the one that acquired.
    ///
    /// # Safety
    /// This thread, or the one it is a copy of, called [`Lock::acquire`] and has not released since.
    pub(crate) unsafe fn release(&self) {
        self.held.store(false, Ordering::Release);
    }
}

/// The right to touch the value, until it is dropped.
pub(crate) struct Guard<'a, T> {
    lock: &'a Lock<T>,
}

impl<T> Deref for Guard<'_, T> {
    type Target = T;

    fn deref(&self) -> &T {
        // SAFETY: this guard holds the lock, so no other reference exists.
        unsafe { &*self.lock.value.get() }
    }
}

impl<T> DerefMut for Guard<'_, T> {
    fn deref_mut(&mut self) -> &mut T {
        // SAFETY: this guard holds the lock and is borrowed mutably.
        unsafe { &mut *self.lock.value.get() }
    }
}

impl<T> Drop for Guard<'_, T> {
    fn drop(&mut self) {
        // SAFETY: the guard was made by `acquire` in this thread.
        unsafe { self.lock.release() };
    }
}
