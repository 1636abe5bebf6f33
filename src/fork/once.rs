//! What a process does once, however many of its threads want it done, and whatever a fork met.

use crate::sync::{AtomicU32, Ordering, thread};

/// Whether it was done: 0, the process that is at it, or [`DONE`].
pub(crate) struct Once(AtomicU32);

const DONE: u32 = u32::MAX;

impl Once {
    #[cfg(not(loom))]
    pub(crate) const fn new() -> Self {
        Once(AtomicU32::new(0))
    }

    /// Whether it was done; what was done is visible then.
    #[cfg(all(test, loom))]
    #[inline]
    pub(crate) fn is_done(&self) -> bool {
        self.0.load(Ordering::Acquire) == DONE
    }

    /// Does it in process `me`, or waits until another thread has.
    pub(crate) fn call(&self, me: u32, action: impl FnOnce()) {
        loop {
            let worker = self.0.load(Ordering::Acquire);
            if worker == DONE {
                return;
            }
            if worker == me {
                // Another thread of this process is at it.
                thread::yield_now();
                continue;
            }
            // No thread is, or one of the parent was when it forked this process.
            let claimed =
                self.0.compare_exchange(worker, me, Ordering::AcqRel, Ordering::Relaxed).is_ok();
            if claimed {
                action();
                self.0.store(DONE, Ordering::Release);
                return;
            }
        }
    }
}

#[cfg(all(test, loom))]
mod loom_tests {
    use loom::{cell::UnsafeCell, sync::Arc};

    use super::*;

    struct Shared {
        once: Once,
        times: UnsafeCell<u32>,
    }

    /// Two threads of process 7 that want it done (of three, two could wait for each other's turn
    /// for ever, which loom follows); `worker` is what a fork left behind.
    fn explore(worker: u32) {
        loom::model(move || {
            let shared =
                Arc::new(Shared { once: Once(AtomicU32::new(worker)), times: UnsafeCell::new(0) });
            let work = |shared: &Shared| {
                if !shared.once.is_done() {
                    // SAFETY: loom checks that one thread at a time is in here.
                    let action = || shared.times.with_mut(|times| unsafe { *times += 1 });
                    shared.once.call(7, action);
                }
                // SAFETY: loom checks that no thread writes any more.
                assert_eq!(shared.times.with(|times| unsafe { *times }), 1);
            };
            let other = {
                let shared = shared.clone();
                thread::spawn(move || work(&shared))
            };
            work(&shared);
            other.join().unwrap();
        });
    }

    #[test]
    fn loom_it_is_done_once_and_nobody_goes_on_before() {
        explore(0);
    }

    #[test]
    fn loom_a_thread_of_the_parent_that_was_at_it_holds_nobody_up() {
        explore(3);
    }
}
