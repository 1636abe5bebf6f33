//! The segment lock under loom: all interleavings up to a bound of preemptions. A deadlock or a
//! lost wake-up fails the model, and so does an access to a cell that the lock should exclude.

use super::*;
use crate::sync::{Arc, AtomicUsize as ModelUsize, Mutex, thread};
use loom::cell::UnsafeCell;
use std::{
    ops::Range,
    // What the test itself counts must not be part of the model.
    sync::atomic::{AtomicUsize, Ordering},
};

const CELLS: usize = 3;

/// Two segments in one allocation, so that their order is the same in every execution.
struct Segments {
    locks: [SegmentLock; 2],
    cells: [[UnsafeCell<usize>; CELLS]; 2],
}

// SAFETY: the cells are accessed by those alone who hold them, which loom checks.
unsafe impl Sync for Segments {}
// SAFETY: integers.
unsafe impl Send for Segments {}

impl Segments {
    fn new() -> Arc<Segments> {
        Arc::new(Segments {
            locks: std::array::from_fn(|_| SegmentLock::new()),
            cells: std::array::from_fn(|_| std::array::from_fn(|_| UnsafeCell::new(0))),
        })
    }

    fn request(&self, segment: usize, range: Range<usize>, write: bool) -> Request<'_> {
        Request::new(&self.locks[segment], range, write)
    }

    fn touch(&self, segment: usize, range: Range<usize>, write: bool) {
        for cell in &self.cells[segment][range] {
            if write {
                // SAFETY: the cells are held for writing; loom fails the test otherwise.
                cell.with_mut(|value| unsafe { *value += 1 });
            } else {
                // SAFETY: the cells are held for reading; loom fails the test otherwise.
                cell.with(|value| unsafe { *value });
            }
        }
    }

    /// Takes cells of the first segment, touches them, and releases them.
    fn work(&self, range: Range<usize>, write: bool) {
        let mut requests = [self.request(0, range.clone(), write)];
        let guard = acquire_all(&mut requests).unwrap();
        self.touch(0, range, write);
        drop(guard);
    }

    fn values(&self, segment: usize) -> [usize; CELLS] {
        // SAFETY: all other threads have ended.
        std::array::from_fn(|index| self.cells[segment][index].with(|value| unsafe { *value }))
    }

    fn are_at_rest(&self) -> bool {
        self.locks.iter().all(SegmentLock::is_at_rest)
    }
}

fn explore(preemptions: usize, model: impl Fn() + Sync + Send + 'static) {
    let mut builder = loom::model::Builder::new();
    builder.preemption_bound = Some(preemptions);
    builder.max_branches = 20_000;
    builder.check(model);
}

/// Runs each piece of work in a thread, the last one in this one.
fn run<const N: usize>(segments: &Arc<Segments>, work: [fn(&Segments); N]) {
    let threads: Vec<_> = work[1..]
        .iter()
        .map(|&work| {
            let segments = segments.clone();
            thread::spawn(move || work(&segments))
        })
        .collect();
    work[0](segments);
    threads.into_iter().for_each(|thread| thread.join().unwrap());
    assert!(segments.are_at_rest());
}

/// How many are inside, and the most that ever were, over all executions.
struct Crowd {
    now: AtomicUsize,
    most: AtomicUsize,
}

impl Crowd {
    const fn new() -> Crowd {
        Crowd { now: AtomicUsize::new(0), most: AtomicUsize::new(0) }
    }

    fn inside(&self, work: impl FnOnce()) {
        let now = self.now.fetch_add(1, Ordering::SeqCst) + 1;
        self.most.fetch_max(now, Ordering::SeqCst);
        work();
        self.now.fetch_sub(1, Ordering::SeqCst);
    }

    fn most(&self) -> usize {
        self.most.load(Ordering::SeqCst)
    }
}

#[test]
fn readers_are_inside_together() {
    static CROWD: Crowd = Crowd::new();
    fn read(segments: &Segments) {
        let mut requests = [segments.request(0, 0..3, false)];
        let _guard = acquire_all(&mut requests).unwrap();
        CROWD.inside(|| {
            segments.touch(0, 0..3, false);
            thread::yield_now();
        });
    }
    explore(3, || run(&Segments::new(), [read, read]));
    assert_eq!(CROWD.most(), 2);
}

#[test]
fn a_writer_excludes_a_writer() {
    explore(3, || {
        let segments = Segments::new();
        run(
            &segments,
            [|segments| segments.work(0..2, true), |segments| segments.work(1..3, true)],
        );
        assert_eq!(segments.values(0), [1, 2, 1]);
    });
}

#[test]
fn a_writer_excludes_a_reader() {
    explore(3, || {
        run(
            &Segments::new(),
            [|segments| segments.work(0..2, true), |segments| segments.work(1..3, false)],
        );
    });
}

#[test]
fn writers_of_disjoint_ranges_are_inside_together() {
    static CROWD: Crowd = Crowd::new();
    fn write(segments: &Segments, range: Range<usize>) {
        let mut requests = [segments.request(0, range.clone(), true)];
        let _guard = acquire_all(&mut requests).unwrap();
        CROWD.inside(|| {
            segments.touch(0, range, true);
            thread::yield_now();
        });
    }
    explore(3, || {
        let segments = Segments::new();
        run(&segments, [|segments| write(segments, 0..1), |segments| write(segments, 1..3)]);
        assert_eq!(segments.values(0), [1, 1, 1]);
    });
    assert_eq!(CROWD.most(), 2);
}

#[test]
fn a_disjoint_range_is_never_refused_once_the_holder_is_inside() {
    explore(3, || {
        let segments = Segments::new();
        let mut requests = [segments.request(0, 0..1, true)];
        let guard = acquire_all(&mut requests).unwrap();
        let other = {
            let segments = segments.clone();
            thread::spawn(move || {
                let mut requests = [segments.request(0, 1..3, true)];
                try_acquire_all(&mut requests).map(|_| segments.touch(0, 1..3, true)).unwrap();
            })
        };
        segments.touch(0, 0..1, true);
        // Joined while the lock is held: the other cannot have waited for us.
        other.join().unwrap();
        drop(guard);
        assert!(segments.are_at_rest());
    });
}

#[test]
fn every_waiter_is_woken() {
    explore(2, || {
        let segments = Segments::new();
        run(
            &segments,
            [
                |segments| segments.work(0..2, true),
                |segments| segments.work(1..3, true),
                |segments| segments.work(0..3, false),
            ],
        );
        assert_eq!(segments.values(0), [1, 2, 1]);
    });
}

#[test]
fn a_thread_that_comes_back_finds_the_lock_in_any_state() {
    explore(2, || {
        let segments = Segments::new();
        fn twice(segments: &Segments) {
            segments.work(0..2, true);
            segments.work(1..3, true);
        }
        run(&segments, [twice, twice]);
        assert_eq!(segments.values(0), [2, 4, 2]);
    });
}

#[test]
fn operands_in_opposite_order_do_not_deadlock() {
    fn add(segments: &Segments, source: usize, target: usize) {
        let mut requests =
            [segments.request(target, 0..2, true), segments.request(source, 0..2, false)];
        let guard = acquire_all(&mut requests).unwrap();
        segments.touch(source, 0..2, false);
        segments.touch(target, 0..2, true);
        drop(guard);
    }
    explore(3, || {
        let segments = Segments::new();
        run(&segments, [|segments| add(segments, 0, 1), |segments| add(segments, 1, 0)]);
        assert_eq!((segments.values(0), segments.values(1)), ([1, 1, 0], [1, 1, 0]));
    });
}

#[test]
fn a_borrow_and_a_loop_exclude_each_other_and_nobody_waits_for_the_borrow() {
    static BORROWED: AtomicUsize = AtomicUsize::new(0);
    static REFUSED: AtomicUsize = AtomicUsize::new(0);
    fn lend(segments: &Segments) {
        match segments.locks[0].try_borrow(0..2, true) {
            Ok(borrow) => {
                BORROWED.fetch_add(1, Ordering::SeqCst);
                segments.touch(0, 0..2, true);
                drop(borrow);
            }
            Err(error) => assert_eq!(error, LockError::Busy),
        }
    }
    fn work(segments: &Segments) {
        let mut requests = [segments.request(0, 1..3, true)];
        match acquire_all(&mut requests) {
            Ok(_guard) => segments.touch(0, 1..3, true),
            Err(error) => {
                assert_eq!(error, LockError::Borrowed);
                REFUSED.fetch_add(1, Ordering::SeqCst);
            }
        }
    }
    explore(3, || run(&Segments::new(), [lend, work]));
    assert!(BORROWED.load(Ordering::SeqCst) > 0 && REFUSED.load(Ordering::SeqCst) > 0);
}

#[test]
fn a_loop_that_does_not_wait_leaves_no_trace() {
    fn attempt(segments: &Segments) {
        let mut requests = [segments.request(0, 0..2, true)];
        match try_acquire_all(&mut requests) {
            Ok(_guard) => segments.touch(0, 0..2, true),
            Err(error) => assert_eq!(error, LockError::Busy),
        }
    }
    explore(3, || {
        run(&Segments::new(), [attempt, |segments| segments.work(1..3, true)]);
    });
}

/// The interpreter as far as [`AloneCheck`] knows it: a lock that threads hold to run, and the
/// number of threads that it knows.
struct Interpreter {
    gil: Mutex<()>,
    threads: ModelUsize,
}

loom::lazy_static! {
    static ref INTERPRETER: Interpreter =
        Interpreter { gil: Mutex::new(()), threads: ModelUsize::new(1) };
}

/// Asked by threads that hold the GIL.
fn alone() -> bool {
    INTERPRETER.threads.load(Ordering::Relaxed) == 1
}

/// A thread that is alone locks without an atomic step; while it is inside, client code starts
/// another, lets the GIL go and takes it back; at the end it is alone again, or not. The other works
/// without the GIL, as loops of thread-safe types do, and holds it only to begin and to end.
#[test]
fn a_thread_that_was_alone_excludes_those_that_come_later() {
    fn acquire_alone(segments: &Segments, meanwhile: impl FnOnce()) {
        let mut requests = Requests::<1>::new();
        requests.push(segments.request(0, 0..2, true));
        // SAFETY: as the runtime's check: the GIL is held, and the only thread holds it.
        let guard = unsafe { requests.acquire(alone) }.unwrap();
        segments.touch(0, 0..2, true);
        meanwhile();
        segments.touch(0, 0..2, true);
        drop(guard);
    }
    explore(3, || {
        let segments = Segments::new();
        let mut gil = Some(INTERPRETER.gil.lock().unwrap());
        let mut other = None;
        acquire_alone(&segments, || {
            INTERPRETER.threads.fetch_add(1, Ordering::Relaxed);
            let segments = segments.clone();
            other = Some(thread::spawn(move || {
                drop(INTERPRETER.gil.lock().unwrap());
                segments.work(1..3, true);
                let _gil = INTERPRETER.gil.lock().unwrap();
                INTERPRETER.threads.fetch_sub(1, Ordering::Relaxed);
            }));
            drop(gil.take());
            thread::yield_now();
            gil = Some(INTERPRETER.gil.lock().unwrap());
        });
        // The other may wait for this lock, or be gone.
        drop(gil.take());
        gil = Some(INTERPRETER.gil.lock().unwrap());
        if alone() {
            acquire_alone(&segments, || ());
            assert_eq!(segments.values(0), [4, 5, 1]);
        }
        drop(gil.take());
        other.unwrap().join().unwrap();
        assert!(segments.are_at_rest());
    });
}
