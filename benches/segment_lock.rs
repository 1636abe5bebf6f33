//! What the segment lock costs: alone, with two operands, and with two threads on two halves.

use denizen::lock::{Guard, LockError, Request, SegmentLock, acquire_all};
use divan::{Bencher, black_box, counter::ItemsCount};
use std::sync::{
    Barrier, Mutex, RwLock,
    atomic::{AtomicUsize, Ordering},
};

fn main() {
    divan::main();
}

/// What stands between acquisition and release.
fn work(guard: Result<Guard<'_, '_>, LockError>) {
    assert!(guard.is_ok());
    black_box(());
    drop(guard);
}

#[divan::bench(args = [false, true])]
fn one_operand(bencher: Bencher<'_, '_>, write: bool) {
    let lock = SegmentLock::new();
    bencher.bench_local(|| {
        let mut requests = [Request::new(black_box(&lock), 0..1000, write)];
        work(acquire_all(&mut requests));
    });
}

#[divan::bench]
fn two_operands_of_two_segments(bencher: Bencher<'_, '_>) {
    let locks = [SegmentLock::new(), SegmentLock::new()];
    bencher.bench_local(|| {
        let [source, target] = black_box(&locks);
        let mut requests =
            [Request::new(target, 0..1000, true), Request::new(source, 0..1000, false)];
        work(acquire_all(&mut requests));
    });
}

#[divan::bench]
fn two_operands_of_one_segment(bencher: Bencher<'_, '_>) {
    let lock = SegmentLock::new();
    bencher.bench_local(|| {
        let lock = black_box(&lock);
        let mut requests = [Request::new(lock, 0..1000, true), Request::new(lock, 0..1000, false)];
        work(acquire_all(&mut requests));
    });
}

#[divan::bench]
fn three_operands(bencher: Bencher<'_, '_>) {
    let locks = [SegmentLock::new(), SegmentLock::new(), SegmentLock::new()];
    bencher.bench_local(|| {
        let locks = black_box(&locks);
        let mut requests = [
            Request::new(&locks[2], 0..1000, true),
            Request::new(&locks[0], 0..1000, false),
            Request::new(&locks[1], 0..1000, false),
        ];
        work(acquire_all(&mut requests));
    });
}

#[divan::bench]
fn a_view(bencher: Bencher<'_, '_>) {
    let lock = SegmentLock::new();
    bencher.bench_local(|| drop(black_box(black_box(&lock).try_borrow(0..1000, false))));
}

/// A loop on cells beside those that a view holds: all of it by the range table.
#[divan::bench]
fn one_operand_beside_a_view(bencher: Bencher<'_, '_>) {
    let lock = SegmentLock::new();
    let _view = lock.try_borrow(1000..2000, true);
    bencher.bench_local(|| {
        let mut requests = [Request::new(black_box(&lock), 0..1000, true)];
        work(acquire_all(&mut requests));
    });
}

/// For comparison.
#[divan::bench]
fn std_mutex(bencher: Bencher<'_, '_>) {
    let mutex = Mutex::new(());
    bencher.bench_local(|| drop(black_box(black_box(&mutex).lock())));
}

/// For comparison.
#[divan::bench]
fn std_rwlock_read(bencher: Bencher<'_, '_>) {
    let lock = RwLock::new(());
    bencher.bench_local(|| drop(black_box(black_box(&lock).read())));
}

/// Two threads, each `LOOPS` times at work for some steps; on halves of one segment, on a
/// segment each, or on the same cells.
const LOOPS: usize = 1000;

fn both_threads(steps: usize, place: impl Fn(usize) -> (usize, std::ops::Range<usize>) + Sync) {
    let locks = [SegmentLock::new(), SegmentLock::new()];
    let start = Barrier::new(2);
    let done = AtomicUsize::new(0);
    std::thread::scope(|scope| {
        for thread in 0..2 {
            let (locks, start, done, place) = (&locks, &start, &done, &place);
            scope.spawn(move || {
                let (segment, range) = place(thread);
                start.wait();
                for _ in 0..LOOPS {
                    let mut requests = [Request::new(&locks[segment], range.clone(), true)];
                    let guard = acquire_all(&mut requests);
                    for step in 0..steps {
                        black_box(step);
                    }
                    work(guard);
                }
                done.fetch_add(LOOPS, Ordering::Relaxed);
            });
        }
    });
    assert_eq!(done.into_inner(), 2 * LOOPS);
}

#[divan::bench(args = [0, 1000, 20000], sample_count = 20)]
fn two_threads_on_two_segments(bencher: Bencher<'_, '_>, work: usize) {
    bencher
        .counter(ItemsCount::new(2 * LOOPS))
        .bench_local(|| both_threads(work, |thread| (thread, 0..1000)));
}

#[divan::bench(args = [0, 1000, 20000], sample_count = 20)]
fn two_threads_on_two_halves(bencher: Bencher<'_, '_>, work: usize) {
    bencher
        .counter(ItemsCount::new(2 * LOOPS))
        .bench_local(|| both_threads(work, |thread| (0, thread * 500..thread * 500 + 500)));
}

#[divan::bench(args = [0, 1000, 20000], sample_count = 20)]
fn two_threads_on_the_same_cells(bencher: Bencher<'_, '_>, work: usize) {
    bencher
        .counter(ItemsCount::new(2 * LOOPS))
        .bench_local(|| both_threads(work, |_| (0, 0..1000)));
}
