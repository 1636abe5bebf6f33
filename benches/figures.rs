//! The core's figures beside plain Rust, one line each for `benches/arrays.py`:
//! `name, tab, nanoseconds an item, tab, of the peer (empty: there is none)`.
//!
//! Both sides take turns in one run, each time is that of this thread on a processor, and the
//! fastest of all rounds counts: the machine may be doing other things as well.
//! `cargo bench --no-default-features --features core --bench figures`

mod support;

use denizen::memory;
use std::{hint::black_box, mem::MaybeUninit};
use support::{Blocks, Heap, Owned, Word, element};

/// Turns of each side.
const ROUNDS: usize = 60;

/// Items of work in one turn, more or less: some hundred microseconds.
const ITEMS: usize = 100_000;

/// What this thread has spent on a processor so far, in nanoseconds.
fn processor_time() -> f64 {
    let mut time = MaybeUninit::<libc::timespec>::uninit();
    // SAFETY: the call fills the struct, and this clock exists.
    let time = unsafe {
        assert_eq!(libc::clock_gettime(libc::CLOCK_THREAD_CPUTIME_ID, time.as_mut_ptr()), 0);
        time.assume_init()
    };
    time.tv_sec as f64 * 1e9 + time.tv_nsec as f64
}

/// Times `work`; what it returns is dropped afterwards.
fn timed<R>(work: impl FnOnce() -> R) -> f64 {
    let start = processor_time();
    let result = work();
    let spent = processor_time() - start;
    drop(black_box(result));
    spent
}

/// One side of a figure: nanoseconds that one turn took.
type Side<'a> = &'a mut dyn FnMut() -> f64;

/// Prints a figure. `items` is what one turn works on.
fn figure<'a>(name: &str, items: usize, ours: Side<'a>, peer: Option<Side<'a>>) {
    let mut sides: Vec<_> = [Some(ours), peer].into_iter().flatten().collect();
    let mut fastest = vec![f64::INFINITY; sides.len()];
    // The first round warms up.
    for round in 0..=ROUNDS {
        for turn in 0..sides.len() {
            // Neither side always finds what the other one left in the allocators.
            let side = (turn + round) % sides.len();
            let spent = sides[side]();
            if round > 0 {
                fastest[side] = spent.min(fastest[side]);
            }
        }
    }
    let text = |time: Option<&f64>| time.map(|time| format!("{:.3}", time / items as f64));
    println!(
        "{name}\t{}\t{}",
        text(fastest.first()).unwrap_or_default(),
        text(fastest.get(1)).unwrap_or_default()
    );
}

/// Default objects made and destroyed, in a segment and in a `Vec`.
fn lifecycle<T: Default + Clone>(name: &str, count: usize) {
    let element = element::<T>();
    let turns = ITEMS / count;
    let all = |one: &dyn Fn() -> f64| (0..turns).map(|_| one()).sum::<f64>();
    figure(
        &format!("materialise {name} {count}"),
        turns * count,
        &mut || all(&|| timed(|| Owned::full(element, count))),
        Some(&mut || all(&|| timed(|| vec![T::default(); count]))),
    );
    figure(
        &format!("free {name} {count}"),
        turns * count,
        &mut || {
            all(&|| {
                let full = Owned::full(element, count);
                timed(|| drop(full))
            })
        },
        Some(&mut || {
            all(&|| {
                let full = vec![T::default(); count];
                timed(|| drop(full))
            })
        }),
    );
}

/// Looks up each address; every lookup waits for the one before.
fn look_up(addresses: &[*const u8]) -> usize {
    addresses.iter().fold(0, |zero, address| {
        let found = memory::block_of(address.wrapping_add(black_box(zero)));
        found.map_or(0, |found| found.size & 1)
    })
}

fn main() {
    for count in [1000, 100_000] {
        lifecycle::<Word>("word", count);
        lifecycle::<Heap>("heap", count);
    }
    // Few addresses, so that it is the lookup that is measured and not the memory it looks at.
    const LOOKUPS: usize = 100;
    let repeated = |addresses: &[*const u8]| {
        timed(|| (0..ITEMS / LOOKUPS).fold(0, |sum, _| sum + look_up(addresses)))
    };
    for live in [1, 100_000] {
        let blocks = Blocks::new(live);
        let addresses = blocks.interior(LOOKUPS);
        figure(&format!("hit {live}"), ITEMS, &mut || repeated(&addresses), None);
    }
    for live in [0, 100_000] {
        let _blocks = Blocks::new(live);
        let heap = (0..LOOKUPS).map(|_| Box::new([0_u8; 256])).collect::<Vec<_>>();
        let addresses = heap.iter().map(|bytes| bytes[100..].as_ptr()).collect::<Vec<_>>();
        figure(&format!("miss {live}"), ITEMS, &mut || repeated(&addresses), None);
    }
}
