//! What makes `fork` safe while other threads are at work: one handler of the process, which runs
//! the steps of the layers in the order that [`Layer`] states.
//!
//! A step takes every lock of its layer before a fork and gives them back in parent and child, so
//! the child finds no lock held and no structure half changed.

#[cfg(any(all(unix, not(any(loom, miri))), all(test, loom)))]
mod once;

/// The layers with a step, in the order in which they take their locks: one that calls another while
/// it holds its own lock stands before it. They give them back in the opposite order.
#[cfg(not(any(loom, miri)))]
#[derive(Clone, Copy, Debug)]
pub(crate) enum Layer {
    /// The recorder of audits.
    Audit,
    /// Blocks of ours in an upstream handler's memory. Its map takes records from `memory`.
    Upstream,
    /// Adopted ranges. Their map takes records from `memory`.
    Adopted,
    /// Blocks of memory, and the records of them.
    Memory,
    /// The shards of segment locks.
    #[cfg_attr(not(unix), expect(dead_code, reason = "no fork there"))]
    Locks,
}

/// What a layer does around a fork. None of the functions unwinds.
#[cfg(not(any(loom, miri)))]
#[derive(Clone, Copy)]
#[cfg_attr(not(unix), expect(dead_code, reason = "no fork there"))]
pub(crate) struct Step {
    /// Takes the locks.
    pub prepare: fn(),
    /// Gives them back in the parent.
    pub parent: fn(),
    /// Gives them back in the child, whose only thread is a copy of the one that took them.
    pub child: fn(),
}

/// Has `step` run around every fork from now on. Called before any lock is taken that it would take.
#[cfg(not(any(loom, miri)))]
#[inline]
pub(crate) fn arm(layer: Layer, step: &'static Step) {
    handler::arm(layer, step);
}

#[cfg(all(unix, not(any(loom, miri))))]
mod handler {
    use super::{Layer, Step, once::Once};
    use std::{
        cell::Cell,
        ptr,
        sync::atomic::{
            AtomicPtr,
            Ordering::{Acquire, Release},
        },
    };

    /// The steps, each at its layer's place in the order; NULL before it is armed.
    pub(super) struct Steps([AtomicPtr<Step>; Layer::Locks as usize + 1]);

    static STEPS: Steps = Steps::new();
    static INSTALLED: Once = Once::new();

    thread_local! {
        /// The steps that this thread prepared for the fork it is making, as bits. A step that is
        /// armed in the middle of a fork of another thread has no part in it.
        static PREPARED: Cell<u32> = const { Cell::new(0) };
    }

    #[inline]
    pub(super) fn arm(layer: Layer, step: &'static Step) {
        if !STEPS.has(layer) {
            install(layer, step);
        }
    }

    #[cold]
    fn install(layer: Layer, step: &'static Step) {
        INSTALLED.call(std::process::id(), || {
            // SAFETY: the three functions live as long as the process, as extension modules are
            // never unloaded, and none of them unwinds.
            //
            // The only failure is a lack of memory for the list of handlers. All goes on without:
            // only a fork in the middle of another thread's critical section would notice.
            unsafe { libc::pthread_atfork(Some(prepare), Some(parent), Some(child)) };
        });
        STEPS.set(layer, step);
    }

    // `PREPARED` has no destructor, so that it is there in a thread that forks while it ends.

    extern "C" fn prepare() {
        PREPARED.set(STEPS.prepare());
    }

    extern "C" fn parent() {
        STEPS.resume(PREPARED.take(), |step| step.parent);
    }

    extern "C" fn child() {
        STEPS.resume(PREPARED.take(), |step| step.child);
    }

    impl Steps {
        pub(super) const fn new() -> Steps {
            Steps([const { AtomicPtr::new(ptr::null_mut()) }; _])
        }

        #[inline]
        fn has(&self, layer: Layer) -> bool {
            !self.0[layer as usize].load(Acquire).is_null()
        }

        pub(super) fn set(&self, layer: Layer, step: &'static Step) {
            self.0[layer as usize].store(ptr::from_ref(step).cast_mut(), Release);
        }

        fn armed(&self, index: usize) -> Option<&'static Step> {
            // SAFETY: NULL, or what `set` was given.
            unsafe { self.0[index].load(Acquire).as_ref() }
        }

        /// Prepares what is armed, in order; which steps those are, as bits.
        pub(super) fn prepare(&self) -> u32 {
            let mut prepared = 0;
            for index in 0..self.0.len() {
                if let Some(step) = self.armed(index) {
                    (step.prepare)();
                    prepared |= 1 << index;
                }
            }
            prepared
        }

        /// Ends what was prepared, in the opposite order.
        pub(super) fn resume(&self, prepared: u32, function: impl Fn(&Step) -> fn()) {
            for index in (0..self.0.len()).rev().filter(|index| prepared >> index & 1 == 1) {
                if let Some(step) = self.armed(index) {
                    function(step)();
                }
            }
        }
    }
}

#[cfg(not(any(unix, loom, miri)))]
mod handler {
    //! No fork here.

    use super::{Layer, Step};

    #[inline]
    pub(super) fn arm(_layer: Layer, _step: &'static Step) {}
}

#[cfg(all(test, unix, not(any(loom, miri))))]
mod tests {
    use super::{Layer, Step, handler::Steps};
    use std::cell::RefCell;

    thread_local! {
        static DONE: RefCell<Vec<&'static str>> = const { RefCell::new(Vec::new()) };
    }

    macro_rules! step {
        ($name:literal) => {
            &Step {
                prepare: || DONE.with_borrow_mut(|done| done.push(concat!("take ", $name))),
                parent: || DONE.with_borrow_mut(|done| done.push(concat!("give ", $name))),
                child: || DONE.with_borrow_mut(|done| done.push(concat!("end ", $name))),
            }
        };
    }

    #[test]
    fn steps_run_in_the_order_of_the_layers_whatever_was_armed_first() {
        let steps = Steps::new();
        assert_eq!(steps.prepare(), 0);
        steps.set(Layer::Locks, step!("locks"));
        steps.set(Layer::Audit, step!("audit"));
        let prepared = steps.prepare();
        // Armed while another thread forks: it was not prepared, and is not resumed.
        steps.set(Layer::Memory, step!("memory"));
        steps.resume(prepared, |step| step.parent);
        assert_eq!(DONE.take(), ["take audit", "take locks", "give locks", "give audit"]);
        let prepared = steps.prepare();
        steps.resume(prepared, |step| step.child);
        let all =
            ["take audit", "take memory", "take locks", "end locks", "end memory", "end audit"];
        assert_eq!(DONE.take(), all);
    }
}
