//! The segment lock's promises, with real threads.

use super::{held::HeldHere, *};
use crate::sync::{AtomicBool, AtomicUsize, Ordering, hint, thread};
use std::{
    cell::{Cell, UnsafeCell},
    ops::Range,
    panic::{AssertUnwindSafe, catch_unwind},
    sync::{Barrier, mpsc},
    time::{Duration, Instant},
};

fn acquire<R>(
    lock: &SegmentLock,
    range: Range<usize>,
    write: bool,
    inside: impl FnOnce() -> R,
) -> Result<R, LockError> {
    let mut requests = [Request::new(lock, range, write)];
    let _guard = acquire_all(&mut requests)?;
    Ok(inside())
}

fn attempt<R>(
    lock: &SegmentLock,
    range: Range<usize>,
    write: bool,
    inside: impl FnOnce() -> R,
) -> Result<R, LockError> {
    let mut requests = [Request::new(lock, range, write)];
    let _guard = try_acquire_all(&mut requests)?;
    Ok(inside())
}

/// What `attempt` gets in another thread.
fn attempt_elsewhere(
    lock: &SegmentLock,
    range: Range<usize>,
    write: bool,
) -> Result<(), LockError> {
    thread::scope(|scope| {
        scope.spawn(|| attempt(lock, range, write, || ())).join().expect("no panic")
    })
}

#[test]
fn zeroed_memory_is_a_free_lock() {
    // SAFETY: the lock consists of atomic integers, for which all bytes are valid.
    let lock: SegmentLock = unsafe { std::mem::zeroed() };
    assert!(lock.is_at_rest());
    acquire(&lock, 0..8, true, || {
        assert_eq!(attempt_elsewhere(&lock, 0..1, false), Err(LockError::Busy));
    })
    .unwrap();
    assert!(lock.is_at_rest());
}

#[test]
fn readers_share_more_readers_than_slots_too() {
    let lock = SegmentLock::new();
    let together = Barrier::new(20);
    thread::scope(|scope| {
        for _ in 0..20 {
            scope.spawn(|| {
                acquire(&lock, 0..100, false, || {
                    together.wait();
                })
                .unwrap();
            });
        }
    });
    assert!(lock.is_at_rest());
}

#[test]
fn disjoint_ranges_run_together_and_overlapping_ones_do_not() {
    let lock = SegmentLock::new();
    acquire(&lock, 0..50, true, || {
        assert_eq!(attempt_elsewhere(&lock, 50..100, true), Ok(()));
        assert_eq!(attempt_elsewhere(&lock, 50..100, false), Ok(()));
        assert_eq!(attempt_elsewhere(&lock, 49..100, true), Err(LockError::Busy));
        assert_eq!(attempt_elsewhere(&lock, 0..1, false), Err(LockError::Busy));
    })
    .unwrap();
    acquire(&lock, 0..50, false, || {
        assert_eq!(attempt_elsewhere(&lock, 0..100, false), Ok(()));
        assert_eq!(attempt_elsewhere(&lock, 50..100, true), Ok(()));
        assert_eq!(attempt_elsewhere(&lock, 49..100, true), Err(LockError::Busy));
    })
    .unwrap();
    assert!(lock.is_at_rest());
}

#[test]
fn two_writers_of_disjoint_halves_are_inside_at_the_same_time() {
    let lock = SegmentLock::new();
    let together = Barrier::new(2);
    thread::scope(|scope| {
        for half in 0..2 {
            let (lock, together) = (&lock, &together);
            scope.spawn(move || {
                acquire(lock, half * 50..half * 50 + 50, true, || {
                    together.wait();
                })
                .unwrap();
            });
        }
    });
    assert!(lock.is_at_rest());
}

#[test]
fn an_empty_range_conflicts_with_nothing() {
    let lock = SegmentLock::new();
    acquire(&lock, 0..10, true, || {
        assert_eq!(attempt_elsewhere(&lock, 5..5, true), Ok(()));
        assert!(lock.try_borrow(5..5, true).is_ok());
        let mut none: [Request<'_>; 0] = [];
        assert!(acquire_all(&mut none).is_ok());
    })
    .unwrap();
}

#[test]
fn re_entry_is_an_error_where_it_would_wait() {
    let lock = SegmentLock::new();
    acquire(&lock, 0..10, true, || {
        assert_eq!(acquire(&lock, 0..10, true, || ()), Err(LockError::Reentrant));
        assert_eq!(acquire(&lock, 9..20, false, || ()), Err(LockError::Reentrant));
        assert_eq!(attempt(&lock, 9..20, false, || ()), Err(LockError::Reentrant));
        assert_eq!(acquire(&lock, 10..20, true, || ()), Ok(()));
    })
    .unwrap();
    acquire(&lock, 0..10, false, || {
        assert_eq!(acquire(&lock, 0..10, false, || ()), Ok(()));
        assert_eq!(acquire(&lock, 0..10, true, || ()), Err(LockError::Reentrant));
    })
    .unwrap();
    assert!(lock.is_at_rest());
}

#[test]
fn a_nested_reader_does_not_queue_behind_a_waiting_writer() {
    let lock = SegmentLock::new();
    thread::scope(|scope| {
        acquire(&lock, 0..10, false, || {
            let writer = scope.spawn(|| acquire(&lock, 0..10, true, || ()));
            while attempt_elsewhere(&lock, 0..10, false).is_ok() {
                thread::yield_now();
            }
            assert_eq!(acquire(&lock, 0..10, false, || ()), Ok(()));
            assert!(!writer.is_finished());
        })
        .unwrap();
    });
    assert!(lock.is_at_rest());
}

#[test]
fn a_thread_in_the_middle_of_an_operation_never_waits_for_another() {
    for (take_higher, expected) in
        [(true, Err(LockError::Busy)), (false, Err(LockError::Reentrant))]
    {
        let locks = [SegmentLock::new(), SegmentLock::new()];
        let [lower, higher] = &locks;
        let (mut refused, mut granted) = (Ok(()), Ok(()));
        let (inside, let_go) = (Barrier::new(2), Barrier::new(2));
        thread::scope(|scope| {
            scope.spawn(|| {
                acquire(lower, 0..1, true, || {
                    inside.wait();
                    let_go.wait();
                })
                .unwrap();
            });
            inside.wait();
            let outer = if take_higher { higher } else { lower };
            acquire(outer, 2..3, true, || {
                refused = acquire(lower, 0..1, true, || ());
                granted = acquire(lower, 1..2, true, || ());
            })
            .unwrap();
            let_go.wait();
        });
        assert_eq!((refused, granted), (expected, Ok(())));
    }
}

#[test]
fn a_pin_excludes_no_thread_and_says_that_the_memory_is_in_use() {
    let lock = SegmentLock::new();
    assert!(lock.is_idle());
    let mut requests = [Request::new(&lock, 0..10, true)];
    let guard = acquire_all(&mut requests).unwrap();
    assert!(!lock.is_idle());
    let pins = guard.into_pins();
    assert!(!lock.is_idle());
    assert_eq!(HeldHere::new().count(), 0);
    assert_eq!(attempt_elsewhere(&lock, 0..10, true), Ok(()));
    assert_eq!(attempt_elsewhere(&lock, 0..10, false), Ok(()));
    assert!(lock.try_borrow(0..10, true).is_ok());
    // SAFETY: no thread is ever alone here.
    let pin = unsafe { Pin::new(&lock, || false) }.unwrap();
    drop(pins);
    assert!(!lock.is_idle());
    drop(pin);
    assert!(lock.is_at_rest() && lock.is_idle());
}

#[test]
fn locks_that_are_held_awaited_or_lent_are_not_idle() {
    let lock = SegmentLock::new();
    let borrow = lock.try_borrow(0..1, false).unwrap();
    assert!(!lock.is_idle());
    drop(borrow);
    acquire(&lock, 0..1, false, || assert!(!lock.is_idle())).unwrap();
    assert!(lock.is_idle());
}

#[test]
fn who_is_alone_is_excluded_by_those_who_come_later() {
    use std::sync::atomic::AtomicBool;
    static ALONE: AtomicBool = AtomicBool::new(true);
    fn alone() -> bool {
        ALONE.load(Ordering::Relaxed)
    }
    let lock = SegmentLock::new();
    for write in [false, true] {
        for alone_at_the_end in [false, true] {
            ALONE.store(true, Ordering::Relaxed);
            let mut requests = Requests::<2>::new();
            requests.push(Request::new(&lock, 0..4, write));
            requests.push(Request::new(&lock, 6..10, false));
            // SAFETY: this thread starts no other before it says that it is not alone, and waits for
            // those that it starts.
            let guard = unsafe { requests.acquire(alone) }.unwrap();
            ALONE.store(false, Ordering::Relaxed);
            assert_eq!(attempt_elsewhere(&lock, 5..7, true), Err(LockError::Busy));
            assert_eq!(attempt_elsewhere(&lock, 5..7, false).is_ok(), !write);
            assert_eq!(attempt_elsewhere(&lock, 10..11, true), Ok(()));
            ALONE.store(alone_at_the_end, Ordering::Relaxed);
            drop(guard);
            assert!(lock.is_at_rest());
        }
    }
}

#[test]
fn a_failed_request_for_several_holds_none_of_them() {
    let locks: [SegmentLock; 3] = std::array::from_fn(|_| SegmentLock::new());
    let last = locks.iter().max_by_key(|lock| std::ptr::from_ref(*lock).addr()).unwrap();
    let borrow = last.try_borrow(0..1, true).unwrap();
    let mut requests = [0, 1, 2].map(|index| Request::new(&locks[index], 0..1, true));
    assert_eq!(acquire_all(&mut requests).err(), Some(LockError::Borrowed));
    drop(borrow);
    assert!(locks.iter().all(SegmentLock::is_at_rest));
    assert_eq!(HeldHere::new().count(), 0);
}

#[test]
fn more_locks_than_a_thread_can_track_are_refused() {
    let locks: Vec<SegmentLock> = (0..129).map(|_| SegmentLock::new()).collect();
    let mut requests: Vec<_> = locks.iter().map(|lock| Request::new(lock, 0..1, true)).collect();
    assert_eq!(acquire_all(&mut requests).err(), Some(LockError::TooMany));
    let guard = acquire_all(&mut requests[..128]).unwrap();
    drop(guard);
    assert!(locks.iter().all(SegmentLock::is_at_rest));
    assert_eq!(HeldHere::new().count(), 0);
}

#[test]
fn guards_may_be_dropped_in_any_order() {
    let locks = [SegmentLock::new(), SegmentLock::new()];
    let mut first = [Request::new(&locks[0], 0..1, true)];
    let mut second = [Request::new(&locks[1], 0..1, true)];
    let first = acquire_all(&mut first).unwrap();
    let second = acquire_all(&mut second).unwrap();
    drop(first);
    assert_eq!(attempt_elsewhere(&locks[1], 0..1, true), Err(LockError::Busy));
    drop(second);
    assert_eq!(HeldHere::new().count(), 0);
    assert!(locks.iter().all(SegmentLock::is_at_rest));
}

#[test]
fn a_borrow_refuses_conflicting_loops_at_once_and_lets_others_run() {
    let lock = SegmentLock::new();
    let shared = lock.try_borrow(0..10, false).unwrap();
    let shared_too = lock.try_borrow(5..15, false).unwrap();
    assert_eq!(acquire(&lock, 0..20, false, || ()), Ok(()));
    assert_eq!(acquire(&lock, 9..12, true, || ()), Err(LockError::Borrowed));
    assert_eq!(acquire(&lock, 15..20, true, || ()), Ok(()));
    assert_eq!(lock.try_borrow(14..16, true).err(), Some(LockError::Borrowed));
    drop(shared);
    assert_eq!(acquire(&lock, 0..5, true, || ()), Ok(()));
    assert_eq!(acquire(&lock, 0..6, true, || ()), Err(LockError::Borrowed));
    drop(shared_too);
    assert!(lock.is_at_rest());

    let exclusive = lock.try_borrow(0..10, true).unwrap();
    assert_eq!(acquire(&lock, 9..12, false, || ()), Err(LockError::Borrowed));
    assert_eq!(lock.try_borrow(9..10, false).err(), Some(LockError::Borrowed));
    let other_half = lock.try_borrow(10..20, true).unwrap();
    drop((exclusive, other_half));
    assert!(lock.is_at_rest());
}

#[test]
fn a_borrow_is_refused_while_a_loop_is_at_work() {
    let lock = SegmentLock::new();
    acquire(&lock, 0..10, true, || {
        assert_eq!(lock.try_borrow(9..10, false).err(), Some(LockError::Busy));
        assert!(lock.try_borrow(10..11, true).is_ok());
    })
    .unwrap();
    acquire(&lock, 0..10, false, || {
        assert!(lock.try_borrow(9..10, false).is_ok());
        assert_eq!(lock.try_borrow(9..10, true).err(), Some(LockError::Busy));
    })
    .unwrap();
    assert!(lock.is_at_rest());
}

#[test]
fn a_raw_borrow_is_given_back_by_another_thread() {
    let lock = SegmentLock::new();
    let raw = lock.try_borrow(3..7, true).unwrap().into_raw();
    assert_eq!(acquire(&lock, 3..4, false, || ()), Err(LockError::Borrowed));
    thread::scope(|scope| {
        // SAFETY: `raw` is of a borrow of this lock, and used once.
        scope.spawn(|| drop(unsafe { Borrow::from_raw(&lock, raw) }));
    });
    assert_eq!(acquire(&lock, 3..4, true, || ()), Ok(()));
    assert!(lock.is_at_rest());
}

#[test]
fn retiring_forgets_a_leaked_borrow() {
    let mut lock = SegmentLock::new();
    lock.try_borrow(0..10, true).unwrap().into_raw();
    lock.retire();
    assert!(lock.is_at_rest());
    assert_eq!(acquire(&lock, 0..10, true, || ()), Ok(()));
    assert!(lock.try_borrow(0..10, true).is_ok());
}

#[test]
fn readers_without_end_do_not_starve_a_writer() {
    let lock = SegmentLock::new();
    let stop = AtomicBool::new(false);
    let reads = AtomicUsize::new(0);
    thread::scope(|scope| {
        // Two readers that overlap in time: the lock is never free of readers for long.
        for _ in 0..2 {
            scope.spawn(|| {
                while !stop.load(Ordering::Relaxed) {
                    acquire(&lock, 0..10, false, || {
                        for _ in 0..2000 {
                            hint::spin_loop();
                        }
                    })
                    .unwrap();
                    reads.fetch_add(1, Ordering::Relaxed);
                }
            });
        }
        while reads.load(Ordering::Relaxed) < 10 {
            thread::yield_now();
        }
        for _ in 0..20 {
            acquire(&lock, 0..10, true, || ()).unwrap();
        }
        stop.store(true, Ordering::Relaxed);
    });
    assert!(lock.is_at_rest());
}

static HOOK_CALLS: AtomicUsize = AtomicUsize::new(0);

std::thread_local! {
    /// Whether the hook of this thread fails instead of waiting.
    static HOOK_FAILS: Cell<bool> = const { Cell::new(false) };
}

/// One process has one hook; other tests that block run it as well.
fn counting_hook(wait: &mut dyn FnMut()) {
    HOOK_CALLS.fetch_add(1, Ordering::SeqCst);
    assert!(!HOOK_FAILS.get(), "this hook was told to fail");
    wait();
}

/// Runs `meanwhile` while another thread holds cells 0 to 10; it is released after the hook ran.
fn while_held_until_somebody_blocks(lock: &SegmentLock, meanwhile: impl FnOnce()) {
    let (entered, has_entered) = mpsc::channel();
    thread::scope(|scope| {
        let holder = scope.spawn(move || {
            acquire(lock, 0..10, true, || {
                // Others of this process may block in other tests; one more is enough.
                let before = HOOK_CALLS.load(Ordering::SeqCst);
                entered.send(()).expect("the receiver waits");
                let deadline = Instant::now() + Duration::from_secs(20);
                while HOOK_CALLS.load(Ordering::SeqCst) == before {
                    assert!(Instant::now() < deadline, "nobody blocked");
                    thread::yield_now();
                }
            })
        });
        has_entered.recv().expect("the holder sends");
        meanwhile();
        holder.join().expect("no panic").expect("nothing is lent");
    });
}

#[test]
fn the_wait_hook_runs_around_a_blocking_wait() {
    set_wait_hook(counting_hook);
    assert!(!set_wait_hook(counting_hook), "the first hook stays");
    let lock = SegmentLock::new();
    while_held_until_somebody_blocks(&lock, || acquire(&lock, 0..10, true, || ()).unwrap());
    assert!(lock.is_at_rest());
}

#[test]
fn a_wait_hook_that_unwinds_leaves_no_place_in_the_queue() {
    set_wait_hook(counting_hook);
    let lock = SegmentLock::new();
    while_held_until_somebody_blocks(&lock, || {
        HOOK_FAILS.set(true);
        let outcome = catch_unwind(AssertUnwindSafe(|| acquire(&lock, 0..10, true, || ())));
        HOOK_FAILS.set(false);
        // Fails while it waits, unless the holder was released before it blocked.
        assert!(matches!(outcome, Err(_) | Ok(Ok(()))));
    });
    assert_eq!(HeldHere::new().count(), 0);
    assert!(lock.is_at_rest());
    assert_eq!(acquire(&lock, 0..10, true, || ()), Ok(()));
}

/// Cells that only the lock protects.
struct Cells(Vec<UnsafeCell<u64>>);

// SAFETY: `write` and `read` are called with the cells locked, which the tests check.
unsafe impl Sync for Cells {}

impl Cells {
    fn new(count: usize) -> Cells {
        Cells((0..count).map(|_| UnsafeCell::new(0)).collect())
    }

    /// Counts up every cell, in two steps that a second writer or a reader would notice.
    fn write(&self, range: Range<usize>) {
        for cell in &self.0[range.clone()] {
            // SAFETY: the caller holds these cells for writing.
            unsafe { *cell.get() += 1 << 32 };
        }
        for cell in &self.0[range] {
            // SAFETY: as above.
            unsafe { *cell.get() += 1 };
        }
    }

    fn read(&self, range: Range<usize>) {
        for cell in &self.0[range] {
            // SAFETY: the caller holds these cells for reading.
            let value = unsafe { *cell.get() };
            assert_eq!(value >> 32, value & 0xFFFF_FFFF, "a write in progress was seen");
        }
    }

    fn total(&mut self) -> u64 {
        self.0.iter_mut().map(|cell| *cell.get_mut() & 0xFFFF_FFFF).sum()
    }
}

/// A small generator of numbers, for tests that must not depend on one sequence.
struct Numbers(u64);

impl Numbers {
    fn below(&mut self, limit: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 11) as usize % limit
    }

    fn range(&mut self, limit: usize) -> Range<usize> {
        let start = self.below(limit);
        start..(start + 1 + self.below(limit / 3)).min(limit)
    }
}

#[test]
fn no_write_is_lost_and_none_is_seen_half_done() {
    const CELLS: usize = 48;
    let rounds = if cfg!(miri) { 20 } else { 10_000 };
    let locks: [SegmentLock; 3] = std::array::from_fn(|_| SegmentLock::new());
    let mut cells: [Cells; 3] = std::array::from_fn(|_| Cells::new(CELLS));
    let written = AtomicUsize::new(0);
    thread::scope(|scope| {
        for seed in 1..=4_u64 {
            let (locks, cells, written) = (&locks, &cells, &written);
            scope.spawn(move || {
                let mut numbers = Numbers(seed.wrapping_mul(0x9E37_79B9_7F4A_7C15));
                for _ in 0..rounds {
                    let (one, other) = (numbers.below(3), numbers.below(3));
                    let (source, target) = (numbers.range(CELLS), numbers.range(CELLS));
                    if numbers.below(8) == 0 {
                        let Ok(borrow) = locks[one].try_borrow(source.clone(), true) else {
                            continue;
                        };
                        cells[one].write(source.clone());
                        written.fetch_add(source.len(), Ordering::Relaxed);
                        drop(borrow);
                        continue;
                    }
                    let mut requests = [
                        Request::new(&locks[one], source.clone(), false),
                        Request::new(&locks[other], target.clone(), true),
                    ];
                    let taken = if numbers.below(4) == 0 {
                        try_acquire_all(&mut requests)
                    } else {
                        acquire_all(&mut requests)
                    };
                    match taken {
                        Ok(guard) => {
                            cells[one].read(source);
                            written.fetch_add(target.len(), Ordering::Relaxed);
                            cells[other].write(target);
                            drop(guard);
                        }
                        Err(LockError::Busy | LockError::Borrowed) => {}
                        Err(error) => panic!("{error}"),
                    }
                }
            });
        }
    });
    let total: u64 = cells.iter_mut().map(Cells::total).sum();
    assert_eq!(total, written.into_inner() as u64);
    assert!(locks.iter().all(SegmentLock::is_at_rest));
}
