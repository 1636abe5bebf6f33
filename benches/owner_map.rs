//! What it costs to find the block of an address, and to allocate and release one, beside malloc
//! and free in the same run. `cargo bench --no-default-features --features core --bench owner_map`

mod support;

use std::{
    alloc::{self, Layout},
    hint::black_box,
    ptr::{self, NonNull},
};

use denizen::{
    memory,
    owner_map::{self, Owner},
};
use divan::{Bencher, counter::ItemsCount};
use support::{Blocks, Random};

fn main() {
    divan::main();
}

/// How many blocks are live meanwhile.
const LIVE: [usize; 4] = [0, 1, 1_000, 100_000];

/// Lookups an iteration: enough to hide the clock.
const LOOKUPS: usize = 4096;

fn look_up(bencher: Bencher<'_, '_>, addresses: &[*const u8]) {
    bencher.counter(ItemsCount::new(addresses.len())).bench_local(|| {
        let found = addresses.iter().filter(|&&address| memory::block_of(address).is_some());
        black_box(found.count())
    });
}

/// Every lookup waits for the one before: the latency rather than the throughput.
fn look_up_chained(bencher: Bencher<'_, '_>, addresses: &[*const u8]) {
    bencher.counter(ItemsCount::new(addresses.len())).bench_local(|| {
        let mut zero = 0;
        for address in addresses {
            let found = memory::block_of(address.wrapping_add(black_box(zero)));
            zero = found.map_or(0, |found| found.size & 1);
        }
        zero
    });
}

#[divan::bench(args = &LIVE[1..])]
fn hit(bencher: Bencher<'_, '_>, live: usize) {
    let blocks = Blocks::new(live);
    look_up(bencher, &blocks.interior(LOOKUPS));
}

#[divan::bench(args = &LIVE[1..])]
fn hit_chained(bencher: Bencher<'_, '_>, live: usize) {
    let blocks = Blocks::new(live);
    look_up_chained(bencher, &blocks.interior(LOOKUPS));
}

#[divan::bench(args = LIVE)]
fn miss_in_the_heap(bencher: Bencher<'_, '_>, live: usize) {
    let _blocks = Blocks::new(live);
    let heap = (0..LOOKUPS).map(|_| Box::new([0_u8; 256])).collect::<Vec<_>>();
    let addresses = heap.iter().map(|bytes| bytes[100..].as_ptr()).collect::<Vec<_>>();
    look_up(bencher, &addresses);
}

#[divan::bench(args = LIVE)]
fn miss_in_the_heap_chained(bencher: Bencher<'_, '_>, live: usize) {
    let _blocks = Blocks::new(live);
    let heap = (0..LOOKUPS).map(|_| Box::new([0_u8; 256])).collect::<Vec<_>>();
    let addresses = heap.iter().map(|bytes| bytes[100..].as_ptr()).collect::<Vec<_>>();
    look_up_chained(bencher, &addresses);
}

#[divan::bench(args = LIVE)]
fn miss_wild(bencher: Bencher<'_, '_>, live: usize) {
    let _blocks = Blocks::new(live);
    let mut random = Random(2);
    let mut wild = || ptr::without_provenance::<u8>(random.next() >> 17);
    look_up(bencher, &(0..LOOKUPS).map(|_| wild()).collect::<Vec<_>>());
}

#[divan::bench(args = LIVE)]
fn hit_while_another_thread_allocates(bencher: Bencher<'_, '_>, live: usize) {
    use std::sync::atomic::{AtomicBool, Ordering};

    let blocks = Blocks::new(live.max(1));
    let stop = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            while !stop.load(Ordering::Relaxed) {
                drop(Blocks::new(50));
            }
        });
        look_up(bencher, &blocks.interior(LOOKUPS));
        stop.store(true, Ordering::Relaxed);
    });
}

const SIZES: [usize; 7] = [128, 1000, 8 << 10, 100 << 10, 1 << 20, 8 << 20, 32 << 20];

#[divan::bench(args = SIZES)]
fn allocate_release(size: usize) {
    let block = memory::allocate(black_box(size), 64).expect("memory for the bench");
    // SAFETY: allocated above, used no more.
    unsafe { memory::release(black_box(block.start)) };
}

#[divan::bench(args = SIZES)]
fn allocate_zeroed_release_zeroed(size: usize) {
    let block = memory::allocate_zeroed(black_box(size), 64).expect("memory for the bench");
    // SAFETY: allocated above, all zero, used no more.
    unsafe { memory::release_zeroed(black_box(block.start)) };
}

#[divan::bench(args = SIZES)]
fn malloc_free(size: usize) {
    let layout = Layout::from_size_align(black_box(size), 16).expect("a valid layout");
    // SAFETY: the layout is not empty.
    let start = unsafe { alloc::alloc(layout) };
    // SAFETY: allocated above.
    unsafe { alloc::dealloc(black_box(start), layout) };
}

#[divan::bench(args = SIZES)]
fn allocate_fill_release(size: usize) {
    let block = memory::allocate(black_box(size), 64).expect("memory for the bench");
    // SAFETY: allocated above with at least `size` bytes, used no more.
    unsafe {
        block.start.write_bytes(1, size);
        memory::release(black_box(block.start));
    }
}

#[divan::bench(args = SIZES)]
fn malloc_fill_free(size: usize) {
    let layout = Layout::from_size_align(black_box(size), 16).expect("a valid layout");
    // SAFETY: the layout is not empty, and the block has `size` bytes.
    unsafe {
        let start = alloc::alloc(layout);
        start.write_bytes(1, size);
        alloc::dealloc(black_box(start), layout);
    }
}

/// Two blocks in turn, as a copy loop asks for them.
#[divan::bench(args = [100, 100_000])]
fn same_two_blocks(bencher: Bencher<'_, '_>, size: usize) {
    let addresses = two_blocks(size);
    look_up_chained(bencher, &addresses);
}

/// Interior addresses of two blocks, in turn. The blocks stay.
fn two_blocks(size: usize) -> Vec<*const u8> {
    let blocks = [0, 1].map(|_| memory::allocate(size, 64).expect("memory for the bench").start);
    let address = |k: usize| blocks[k % 2].as_ptr().wrapping_add(k % size).cast_const();
    (0..LOOKUPS).map(address).collect()
}

/// Misses while so many vectors are adopted; and hits among them.
#[divan::bench(args = [1, 1_000, 100_000])]
fn miss_beside_adopted(bencher: Bencher<'_, '_>, adopted: usize) {
    let adopted_ranges = Adopted::new(adopted);
    let heap = (0..LOOKUPS).map(|_| Box::new([0_u8; 256])).collect::<Vec<_>>();
    let addresses = heap.iter().map(|bytes| bytes[100..].as_ptr()).collect::<Vec<_>>();
    find_all(bencher, &addresses);
    drop(adopted_ranges);
}

#[divan::bench(args = [1, 1_000, 100_000])]
fn hit_adopted(bencher: Bencher<'_, '_>, adopted: usize) {
    let adopted_ranges = Adopted::new(adopted);
    let mut random = Random(3);
    let mut one = || adopted_ranges.0[random.next() % adopted][random.next() % 200..].as_ptr();
    find_all(bencher, &(0..LOOKUPS).map(|_| one()).collect::<Vec<_>>());
}

fn find_all(bencher: Bencher<'_, '_>, addresses: &[*const u8]) {
    bencher.counter(ItemsCount::new(addresses.len())).bench_local(|| {
        let found = addresses.iter().filter(|&&address| owner_map::find(address) != Owner::Foreign);
        black_box(found.count())
    });
}

/// Vectors of 200 bytes, adopted.
struct Adopted(Vec<Vec<u8>>);

impl Adopted {
    fn new(count: usize) -> Self {
        let adopted_ranges = (0..count).map(|_| vec![0_u8; 200]).collect::<Vec<_>>();
        for bytes in &adopted_ranges {
            let start = bytes.as_ptr().addr();
            owner_map::adopt(start..start + bytes.len(), NonNull::dangling())
                .expect("memory that nobody adopted");
        }
        Self(adopted_ranges)
    }
}

impl Drop for Adopted {
    fn drop(&mut self) {
        for bytes in &self.0 {
            owner_map::disown(bytes.as_ptr().addr());
        }
    }
}
