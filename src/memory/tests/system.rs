//! What the system is asked for, as it sees it.

use std::{collections::BTreeSet, fs, path::Path};

use super::*;

/// Page faults of this thread so far.
fn faults() -> i64 {
    // SAFETY: all-zero is a valid `rusage`, which the call fills.
    unsafe {
        let mut usage = std::mem::zeroed::<libc::rusage>();
        assert_eq!(libc::getrusage(libc::RUSAGE_THREAD, &raw mut usage), 0);
        usage.ru_minflt
    }
}

#[test]
fn a_block_that_nobody_touches_costs_no_pages() {
    let size = 1 << 30;
    let before = faults();
    for _ in 0..3 {
        let block = allocate_zeroed(size, 64).unwrap();
        // SAFETY: allocated above, used no more.
        unsafe { release(block.start) };
    }
    // A 1 GiB block has 262144 pages; its page map words take 32, and records a few.
    let spent = faults() - before;
    assert!(spent < 200, "{spent} faults");
}

#[test]
fn blocks_from_4_mib_on_ask_for_huge_pages() {
    if !Path::new("/sys/kernel/mm/transparent_hugepage").exists() {
        return;
    }
    for (size, huge) in [(3 << 20, false), (4 << 20, true), (20 << 20, true)] {
        let block = allocate(size, 64).unwrap();
        let address = block.start.as_ptr().addr() + size / 2;
        let maps = fs::read_to_string("/proc/self/smaps").unwrap();
        let mut inside = false;
        let flags = maps.lines().find_map(|line| {
            let range = line.split(' ').next().and_then(|range| range.split_once('-'));
            let range =
                range.map(|(a, b)| (usize::from_str_radix(a, 16), usize::from_str_radix(b, 16)));
            if let Some((Ok(start), Ok(end))) = range {
                inside = (start..end).contains(&address);
            }
            line.strip_prefix("VmFlags:").filter(|_| inside)
        });
        let flags = flags.expect("the block is mapped");
        // Kernels without the advice do not have the flag at all.
        assert_eq!(flags.split(' ').any(|flag| flag == "hg"), huge, "{size}: {flags}");
        // SAFETY: allocated above, used no more.
        unsafe { release(block.start) };
    }
}

#[test]
fn a_block_grows_in_place_where_the_addresses_behind_it_are_free() {
    let (small, large) = (128 << 10, 2 << 20);
    // Another test's block may come into the gap, but hardly each time.
    let grown = (0..100).any(|_| {
        let block = allocate(large, 64).unwrap();
        // SAFETY: the block is ours, and has the bytes that it is said to have.
        unsafe {
            block.start.write_bytes(3, block.size);
            let shrunk = remap(block.start, small, 64).unwrap();
            assert_eq!((shrunk.start, shrunk.size), (block.start, small));
            assert_eq!(block_of(block.start.as_ptr().add(small - 1)).unwrap().size, small);
            let grown = try_grow_in_place(block.start, large);
            if let Some(grown) = grown {
                assert_eq!(
                    (grown.start, grown.size, grown.zeroed_from),
                    (block.start, large, small)
                );
                let bytes = std::slice::from_raw_parts(block.start.as_ptr(), large);
                assert!(bytes[..small].iter().all(|&byte| byte == 3));
                assert!(bytes[small..].iter().all(|&byte| byte == 0));
                assert_eq!(block_of(&raw const bytes[large - 1]).unwrap().start, block.start);
            }
            release(block.start);
            grown.is_some()
        }
    });
    assert!(grown);
}

#[test]
fn a_thread_that_ends_gives_its_blocks_back() {
    let mut seen = BTreeSet::new();
    for _ in 0..200 {
        let starts = thread::spawn(|| {
            let block = |_| allocate(20_000, 64).unwrap().start.as_ptr().expose_provenance();
            let starts = (0..8).map(block).collect::<Vec<_>>();
            for &start in &starts {
                // SAFETY: allocated above, used no more.
                unsafe { release(NonNull::new(ptr::with_exposed_provenance_mut(start)).unwrap()) };
            }
            starts
        });
        seen.extend(starts.join().unwrap());
    }
    // 200 threads of 8 blocks; other tests may hold some that these got before.
    assert!(seen.len() < 800, "{} addresses", seen.len());
}

#[test]
fn what_is_kept_of_large_blocks_is_bounded_and_can_be_given_back() {
    let starts = (0..10).map(|_| allocate(20 << 20, 64).unwrap().start).collect::<Vec<_>>();
    // SAFETY: allocated above, used no more.
    starts.iter().for_each(|&start| unsafe { release(start) });
    assert!(large::kept() <= 64 << 20, "{} bytes", large::kept());
    // Tests in other threads may release blocks in between, but hardly each time.
    assert!((0..100).any(|_| {
        trim();
        large::kept() == 0
    }));
}
