//! What the interface promises, whatever stands behind it.

use std::{
    ptr,
    sync::{
        atomic::{AtomicBool, Ordering},
        mpsc,
    },
    thread,
};

use super::*;

fn address(pointer: NonNull<u8>) -> usize {
    pointer.as_ptr().addr()
}

#[test]
fn every_interior_pointer_finds_its_block_and_no_other_does() {
    for size in [1, 64, 100, 1000, 5000, 32 << 10, 40_000, 65_536, 300_000, 5 << 20] {
        let block = allocate(size, 64).unwrap();
        assert!(block.size >= size);
        let known = Some(BlockInfo { start: block.start, size: block.size });
        let start = block.start.as_ptr().cast_const();
        for offset in [0, 1, size / 2, size - 1, block.size - 1] {
            assert_eq!(block_of(start.wrapping_add(offset)), known, "size {size} at {offset}");
        }
        assert_ne!(block_of(start.wrapping_sub(1)), known);
        assert_ne!(block_of(start.wrapping_add(block.size)), known);
        // SAFETY: allocated above, used no more.
        unsafe { release(block.start) };
    }
}

#[test]
fn a_released_block_is_a_miss() {
    for size in [1, 1000, 32 << 10, 65_536, 300_000, 5 << 20, 40 << 20] {
        // A test in another thread may get the block in between, though hardly time and again.
        let missed = (0..100).any(|_| {
            let start = allocate(size, 64).unwrap().start;
            // SAFETY: allocated above, used no more.
            unsafe { release(start) };
            block_of(start.as_ptr()).is_none()
        });
        assert!(missed, "size {size}");
    }
}

#[test]
fn wild_pointers_are_misses() {
    let on_the_stack = 0_u8;
    let on_the_heap = Box::new(0_u8);
    for pointer in [ptr::null(), &raw const on_the_stack, &raw const *on_the_heap] {
        assert_eq!(block_of(pointer), None);
    }
    for shift in 0..usize::BITS {
        assert_eq!(block_of(ptr::without_provenance(1 << shift)), None);
        assert_eq!(block_of(ptr::without_provenance(usize::MAX << shift)), None);
    }
}

#[test]
fn alignment_is_kept_up_to_the_page() {
    for shift in 0..=12 {
        for size in [1, 100, 3000, 9000, 33_000, 1 << 20] {
            let align = 1 << shift;
            let block = allocate(size, align).unwrap();
            assert_eq!(address(block.start) % align.max(MIN_ALIGN), 0, "{size} to {align}");
            // SAFETY: the block is ours, and so is the moved one.
            unsafe {
                let moved = remap(block.start, size * 3, align).unwrap();
                assert_eq!(address(moved.start) % align, 0, "{size} to {align}, moved");
                release(moved.start);
            }
        }
    }
}

#[test]
fn what_cannot_be_had_is_a_typed_error() {
    for (size, align) in [(1, 0), (1, 3), (1, 8192), (usize::MAX, 1), (isize::MAX as usize, 64)] {
        assert_eq!(allocate(size, align), Err(AllocError { size, align }));
        assert_eq!(allocate_zeroed(size, align), Err(AllocError { size, align }));
    }
    let size = 1 << 50;
    assert_eq!(allocate(size, 64), Err(AllocError { size, align: 64 }));
}

#[test]
fn a_failed_remap_leaves_the_block_as_it_was() {
    for size in [100, 100_000, 5 << 20] {
        let block = allocate(size, 64).unwrap();
        // SAFETY: the block is ours and has at least `size` bytes.
        unsafe {
            block.start.write_bytes(7, size);
            assert!(remap(block.start, 1 << 50, 64).is_err());
            let bytes = std::slice::from_raw_parts(block.start.as_ptr(), size);
            assert!(bytes.iter().all(|&byte| byte == 7));
            assert_eq!(
                block_of(block.start.as_ptr()),
                Some(BlockInfo { start: block.start, size: block.size })
            );
            release(block.start);
        }
    }
}

#[test]
fn zeroed_blocks_are_zero_even_where_dirty_ones_were() {
    for size in [64, 1000, 20_000, 100_000, 1 << 20, 6 << 20] {
        for round in 0..6 {
            let block = allocate_zeroed(size, 64).unwrap();
            assert!(block.zeroed);
            let other = allocate(size, 64).unwrap();
            // SAFETY: both are ours, with `size` bytes each.
            unsafe {
                let bytes = std::slice::from_raw_parts(block.start.as_ptr(), block.size);
                assert!(bytes.iter().all(|&byte| byte == 0), "size {size}, round {round}");
                if other.zeroed {
                    let bytes = std::slice::from_raw_parts(other.start.as_ptr(), other.size);
                    assert!(bytes.iter().all(|&byte| byte == 0), "size {size}, round {round}");
                }
                other.start.write_bytes(0xAA, other.size);
                release_zeroed(block.start);
                release(other.start);
            }
        }
    }
}

#[test]
fn threads_that_pass_blocks_on_keep_them_apart() {
    const THREADS: usize = 4;
    const ROUNDS: usize = if cfg!(miri) { 30 } else { 3000 };
    let sizes = [64, 100, 700, 5000, 30_000, 70_000];
    let (senders, receivers): (Vec<_>, Vec<_>) =
        (0..THREADS).map(|_| mpsc::channel::<(usize, usize)>()).unzip();
    thread::scope(|scope| {
        for (number, receiver) in receivers.into_iter().enumerate() {
            let next = senders[(number + 1) % THREADS].clone();
            scope.spawn(move || {
                for round in 0..ROUNDS {
                    let block = allocate(sizes[(round + number) % sizes.len()], 64).unwrap();
                    let mark = number * ROUNDS + round;
                    // SAFETY: the block is ours and has room for a word at both ends.
                    unsafe {
                        block.start.cast::<usize>().write(mark);
                        block.start.add(block.size - 8).cast::<usize>().write(mark);
                    }
                    next.send((block.start.as_ptr().expose_provenance(), mark)).unwrap();
                    let (start, mark) = receiver.recv().unwrap();
                    let start: NonNull<u8> =
                        NonNull::new(ptr::with_exposed_provenance_mut(start)).unwrap();
                    let found = block_of(start.as_ptr().wrapping_add(9)).unwrap();
                    assert_eq!(found.start, start);
                    // SAFETY: the other thread gave the block up to us.
                    unsafe {
                        assert_eq!(start.cast::<usize>().read(), mark);
                        assert_eq!(start.add(found.size - 8).cast::<usize>().read(), mark);
                        release(start);
                    }
                }
            });
        }
    });
}

#[test]
fn a_live_block_is_found_whatever_other_threads_allocate() {
    let size = 100_000;
    let blocks = [allocate(100, 64).unwrap(), allocate(size, 64).unwrap()];
    let stop = AtomicBool::new(false);
    let stop = &stop;
    thread::scope(|scope| {
        for number in 0..2 {
            scope.spawn(move || {
                let mut kept = std::collections::VecDeque::new();
                for round in 0_usize.. {
                    let size = [100, 5000, size, 34 << 20][(round / 3 + number) % 4];
                    kept.push_back(allocate(size, 64).unwrap().start);
                    if kept.len() > 40 {
                        // SAFETY: allocated above, used no more.
                        unsafe { release(kept.pop_front().unwrap()) };
                    }
                    if stop.load(Ordering::Relaxed) {
                        break;
                    }
                }
                // SAFETY: as above.
                kept.into_iter().for_each(|start| unsafe { release(start) });
            });
        }
        for round in 0..if cfg!(miri) { 100 } else { 200_000 } {
            for block in blocks {
                let found = block_of(block.start.as_ptr().wrapping_add(round % 100));
                assert_eq!(found, Some(BlockInfo { start: block.start, size: block.size }));
            }
            // Anywhere near the others' blocks: any answer, no fault.
            let near = block_of(blocks[1].start.as_ptr().wrapping_sub(round << 12));
            assert!(near.is_none_or(|found| found.size > 0));
        }
        stop.store(true, Ordering::Relaxed);
    });
    // SAFETY: allocated above, used no more.
    blocks.iter().for_each(|block| unsafe { release(block.start) });
}

#[test]
fn what_remap_says_is_zero_is_zero_and_the_rest_is_kept() {
    for (from, to) in [
        (100, 300),
        (300, 100),
        (30_000, 200_000),
        (200_000, 9 << 20),
        (9 << 20, 70_000),
        (70_000, 90),
    ] {
        let block = allocate(from, 64).unwrap();
        // SAFETY: the blocks are ours and as large as they say.
        unsafe {
            block.start.write_bytes(0x5A, block.size);
            let new = remap(block.start, to, 64).unwrap();
            assert!(new.size >= to && new.zeroed_from >= block.size.min(new.size));
            let bytes = std::slice::from_raw_parts(new.start.as_ptr(), new.size);
            assert!(bytes[..block.size.min(new.size)].iter().all(|&byte| byte == 0x5A));
            assert!(bytes[new.zeroed_from..].iter().all(|&byte| byte == 0), "{from} to {to}");
            assert_eq!(block_of(&raw const bytes[to - 1]).unwrap().start, new.start);
            release(new.start);
        }
    }
}

#[cfg(all(target_os = "linux", not(miri)))]
#[test]
fn a_forked_child_allocates_while_the_parents_threads_were_at_it() {
    let stop = AtomicBool::new(false);
    let stop = &stop;
    thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(move || {
                while !stop.load(Ordering::Relaxed) {
                    churn();
                }
            });
        }
        for _ in 0..50 {
            churn();
            // SAFETY: the child allocates from this module alone, and leaves by `_exit`.
            let child = unsafe { libc::fork() };
            if child == 0 {
                // SAFETY: plain system calls; the alarm ends a child that hangs.
                unsafe {
                    libc::alarm(20);
                    churn();
                    libc::_exit(0);
                }
            }
            let mut status = -1;
            // SAFETY: `child` is ours and `status` is writable.
            assert_eq!(unsafe { libc::waitpid(child, &raw mut status, 0) }, child);
            assert_eq!(status, 0, "the child ended well");
        }
        stop.store(true, Ordering::Relaxed);
    });
}

/// Takes every lock of the module: whole bins of small blocks, and large ones.
#[cfg(all(target_os = "linux", not(miri)))]
fn churn() {
    let mut kept = [NonNull::dangling(); 200];
    for size in [64, 3000, 32 << 10, 100_000] {
        for (number, start) in kept.iter_mut().enumerate() {
            match allocate(size, 64) {
                Ok(block) => *start = block.start,
                Err(error) => panic!("{error}"),
            }
            assert!(block_of(start.as_ptr()).is_some(), "{number}");
        }
        // SAFETY: allocated above, used no more.
        kept.iter().for_each(|&start| unsafe { release(start) });
    }
}

mod model;
#[cfg(all(target_os = "linux", not(miri)))]
mod system;
