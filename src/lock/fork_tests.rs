//! A child of fork inherits no held lock, and finds everything in working order.
#![cfg(all(unix, not(miri)))]

use super::*;
use crate::sync::thread;
use std::{
    io::{Read, Write},
    ops::Range,
    panic::{AssertUnwindSafe, catch_unwind},
    sync::Barrier,
};

/// Seconds after which a child that hangs is ended by SIGALRM.
const PATIENCE: u32 = 20;

/// Runs `body` in a child process; true if it ended well and returned true.
///
/// The child answers through a pipe and kills itself, so that nothing that runs at the exit of a
/// process (a leak check, say, that would see what vanished threads owned) has a part in it.
fn holds_in_child(body: impl FnOnce() -> bool) -> bool {
    let (mut reader, mut writer) = std::io::pipe().expect("a pipe");
    // SAFETY: the child calls `body`, which uses locks and memory, and ends without returning to
    // the test harness; glibc keeps its allocator usable in the child.
    match unsafe { libc::fork() } {
        -1 => panic!("fork failed: {}", std::io::Error::last_os_error()),
        0 => {
            // SAFETY: ends this process if it hangs; no handler is installed.
            unsafe { libc::alarm(PATIENCE) };
            let held = catch_unwind(AssertUnwindSafe(body)).unwrap_or(false);
            let _ = writer.write_all(&[u8::from(held)]);
            // SAFETY: ends this process, and no other.
            unsafe { libc::kill(libc::getpid(), libc::SIGKILL) };
            unreachable!("killed");
        }
        child => {
            drop(writer);
            let mut status = 0;
            // SAFETY: `child` is a child of this process, `status` is writable.
            let waited = unsafe { libc::waitpid(child, &raw mut status, 0) };
            assert_eq!(waited, child);
            // Not to the end of the file: a child forked by another test has the pipe as well.
            let mut held = [0];
            libc::WIFSIGNALED(status)
                && libc::WTERMSIG(status) == libc::SIGKILL
                && reader.read_exact(&mut held).is_ok()
                && held == [1]
        }
    }
}

fn can_write(lock: &SegmentLock, range: Range<usize>) -> bool {
    acquire_all(&mut [Request::new(lock, range, true)]).is_ok()
}

/// Holds each range in a thread of its own while `meanwhile` runs here.
fn while_held<R>(
    lock: &SegmentLock,
    ranges: impl IntoIterator<Item = Range<usize>>,
    meanwhile: impl FnOnce() -> R,
) -> R {
    let ranges: Vec<_> = ranges.into_iter().collect();
    let (taken, done) = (Barrier::new(ranges.len() + 1), Barrier::new(ranges.len() + 1));
    thread::scope(|scope| {
        for range in ranges {
            let (taken, done) = (&taken, &done);
            scope.spawn(move || {
                let mut requests = [Request::new(lock, range.clone(), true)];
                let guard = acquire_all(&mut requests).expect("nothing is lent");
                taken.wait();
                done.wait();
                drop(guard);
            });
        }
        taken.wait();
        let result = meanwhile();
        done.wait();
        result
    })
}

#[test]
fn a_child_takes_what_a_thread_of_the_parent_holds() {
    let lock = SegmentLock::new();
    let held = while_held(&lock, Some(0..10), || {
        let in_child = holds_in_child(|| can_write(&lock, 0..10) && lock.is_at_rest());
        assert!(try_acquire_all(&mut [Request::new(&lock, 0..10, true)]).is_err());
        in_child
    });
    assert!(held);
    assert!(lock.is_at_rest());
}

#[test]
fn a_child_takes_what_threads_of_the_parent_hold_by_ranges() {
    let lock = SegmentLock::new();
    let held = while_held(&lock, [0..10, 10..20, 20..30], || {
        holds_in_child(|| can_write(&lock, 5..25) && lock.is_at_rest())
    });
    assert!(held);
    assert!(lock.is_at_rest());
}

#[test]
fn threads_of_a_child_wait_for_each_other() {
    let lock = SegmentLock::new();
    let held = while_held(&lock, [0..10, 10..20], || {
        holds_in_child(|| {
            let mut requests = [Request::new(&lock, 0..20, true)];
            let guard = acquire_all(&mut requests).unwrap();
            thread::scope(|scope| {
                let waiter = scope.spawn(|| can_write(&lock, 5..15));
                thread::sleep(std::time::Duration::from_millis(30));
                let waits = !waiter.is_finished();
                drop(guard);
                waits && waiter.join().unwrap()
            }) && lock.is_at_rest()
        })
    });
    assert!(held);
}

#[test]
fn a_thread_that_forks_in_the_middle_of_an_operation_is_in_the_middle_of_it_in_the_child() {
    let lock = SegmentLock::new();
    let mut requests = [Request::new(&lock, 0..10, true)];
    let mut guard = Some(acquire_all(&mut requests).unwrap());
    let held = holds_in_child(|| {
        let mut requests = [Request::new(&lock, 0..10, true)];
        let refused = acquire_all(&mut requests).err() == Some(LockError::Reentrant)
            && lock.try_borrow(0..1, false).is_err()
            && !lock.is_idle();
        drop(guard.take());
        let idle = lock.is_idle();
        let own = acquire_all(&mut requests).unwrap();
        let kept = thread::scope(|scope| {
            let other = || try_acquire_all(&mut [Request::new(&lock, 0..10, true)]).err();
            scope.spawn(other).join().unwrap()
        });
        drop(own);
        refused && idle && kept == Some(LockError::Busy) && lock.is_at_rest()
    });
    assert!(held);
    drop(guard);
    assert!(lock.is_at_rest());
}

#[test]
fn a_pin_holds_in_the_child_of_its_thread() {
    let lock = SegmentLock::new();
    // SAFETY: no thread is ever alone here.
    let mut pin = Some(unsafe { Pin::new(&lock, || false) }.unwrap());
    let held = holds_in_child(|| {
        let pinned = !lock.is_idle();
        drop(pin.take());
        pinned && lock.is_idle() && can_write(&lock, 0..1)
    });
    assert!(held);
    drop(pin);
    assert!(lock.is_at_rest());
}

#[test]
fn a_borrow_survives_a_fork_and_is_given_back_on_both_sides() {
    let lock = SegmentLock::new();
    let borrow = lock.try_borrow(0..10, true).unwrap().into_raw();
    let held = holds_in_child(|| {
        let lent = acquire_all(&mut [Request::new(&lock, 0..1, true)]).err();
        // SAFETY: the borrow is of this lock; the child has its own copy of it.
        drop(unsafe { Borrow::from_raw(&lock, borrow) });
        lent == Some(LockError::Borrowed) && can_write(&lock, 0..10) && lock.is_at_rest()
    });
    assert!(held);
    assert!(!can_write(&lock, 0..1));
    // SAFETY: as above, in the parent.
    drop(unsafe { Borrow::from_raw(&lock, borrow) });
    assert!(can_write(&lock, 0..1));
    assert!(lock.is_at_rest());
}

#[test]
fn forks_while_threads_contend_leave_working_locks() {
    let lock = SegmentLock::new();
    let stop = std::sync::atomic::AtomicBool::new(false);
    thread::scope(|scope| {
        for half in 0..2 {
            let (lock, stop) = (&lock, &stop);
            scope.spawn(move || {
                while !stop.load(std::sync::atomic::Ordering::Relaxed) {
                    assert!(can_write(lock, half..half + 2));
                }
            });
        }
        let all = (0..30).all(|_| {
            holds_in_child(|| can_write(&lock, 0..3) && can_write(&lock, 1..2) && lock.is_at_rest())
        });
        stop.store(true, std::sync::atomic::Ordering::Relaxed);
        assert!(all);
    });
    assert!(lock.is_at_rest());
}
