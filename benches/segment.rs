//! What segments cost beside plain Rust and the system's allocator, in the same run:
//! materialising and freeing a full one, the ledger of a loop call, allocate and free.
//! `cargo bench --no-default-features --features core --bench segment`

mod support;

use denizen::{
    erased::{CellsMut, ElementType, rules},
    segment::{Ledger, RUN, Segment, SegmentRequest},
};
use divan::{Bencher, counter::ItemsCount};
use std::{
    alloc::{self, Layout},
    hint::black_box,
};
use support::{Heap, Owned, Word, element};

fn main() {
    divan::main();
}

const COUNTS: [usize; 2] = [1_000, 100_000];

/// Allocation included on both sides: a zeroed segment, then a default object in each cell.
#[divan::bench_group]
mod materialise {
    use super::*;

    #[divan::bench(types = [Heap, Word], args = COUNTS)]
    fn segment<T: Default>(bencher: Bencher, count: usize) {
        let element = element::<T>();
        bencher.counter(ItemsCount::new(count)).bench_local(|| Owned::full(element, count));
    }

    #[divan::bench(types = [Heap, Word], args = COUNTS)]
    fn vec<T: Default + Clone>(bencher: Bencher, count: usize) {
        bencher.counter(ItemsCount::new(count)).bench_local(|| vec![T::default(); count]);
    }
}

#[divan::bench_group]
mod free {
    use super::*;

    #[divan::bench(types = [Heap, Word], args = COUNTS)]
    fn segment<T: Default>(bencher: Bencher, count: usize) {
        let element = element::<T>();
        bencher
            .counter(ItemsCount::new(count))
            .with_inputs(|| Owned::full(element, count))
            .bench_local_values(drop);
    }

    #[divan::bench(types = [Heap, Word], args = COUNTS)]
    fn vec<T: Default + Clone>(bencher: Bencher, count: usize) {
        bencher
            .counter(ItemsCount::new(count))
            .with_inputs(|| vec![T::default(); count])
            .bench_local_values(drop);
    }
}

/// Open and close around nothing; what a loop does in between is its own affair.
#[divan::bench_group]
mod ledger {
    use super::*;

    /// Ledgers an iteration, for those of one cell: enough to hide the clock.
    const CALLS: usize = 1000;

    fn open_and_close(element: &ElementType, segment: Option<Segment>, cells: &CellsMut<'_>) {
        let ledger = Ledger::open(element, segment, cells);
        black_box(cells.address(0));
        black_box(ledger.close(cells.as_cells()));
    }

    #[divan::bench]
    fn one_live_cell(bencher: Bencher) {
        let element = element::<Word>();
        let owned = Owned::full(element, CALLS);
        bencher.counter(ItemsCount::new(CALLS)).bench_local(|| {
            for index in 0..CALLS {
                open_and_close(element, Some(owned.0), &owned.run(index, 1));
            }
        });
    }

    #[divan::bench]
    fn one_foreign_cell(bencher: Bencher) {
        let element = element::<Word>();
        let owned = Owned::full(element, CALLS);
        bencher.counter(ItemsCount::new(CALLS)).bench_local(|| {
            for index in 0..CALLS {
                open_and_close(element, None, &owned.run(index, 1));
            }
        });
    }

    /// The bit changes and the counters are written: building an object, cell by cell.
    #[divan::bench]
    fn one_cell_that_changes(bencher: Bencher) {
        let element = element::<Word>();
        let owned = Owned::full(element, CALLS);
        let mut value = 0u64;
        bencher.counter(ItemsCount::new(CALLS)).bench_local(|| {
            for index in 0..CALLS {
                let cells = owned.run(index, 1);
                let ledger = Ledger::open(element, Some(owned.0), &cells);
                // SAFETY: a cell of ours; `Word` is any 8 bytes.
                unsafe { cells.address(0).cast::<u64>().write(black_box(value)) };
                black_box(ledger.close(cells.as_cells()));
            }
            value ^= 7;
        });
    }

    #[divan::bench]
    fn live_cells_100_000(bencher: Bencher) {
        let count = 100_000;
        let element = element::<Word>();
        let owned = Owned::full(element, count);
        bencher.counter(ItemsCount::new(count)).bench_local(|| {
            for start in (0..count).step_by(RUN) {
                open_and_close(element, Some(owned.0), &owned.run(start, RUN.min(count - start)));
            }
        });
    }

    /// The rules of life alone, over the same live cells: what the ledger comes on top of.
    #[divan::bench]
    fn materialised_already_100_000(bencher: Bencher) {
        let count = 100_000;
        let element = element::<Word>();
        let owned = Owned::full(element, count);
        bencher.counter(ItemsCount::new(count)).bench_local(|| {
            for start in (0..count).step_by(RUN) {
                // SAFETY: cells of a segment that nobody else knows.
                unsafe { rules::materialise(element, owned.run(start, RUN.min(count - start))) }
                    .expect("nothing to build");
            }
        });
    }

    /// As `live_cells_100_000`, but every cell becomes live or vacant in between, by memset.
    #[divan::bench]
    fn changing_cells_100_000(bencher: Bencher) {
        let count = 100_000;
        let element = element::<Word>();
        let owned = Owned::full(element, count);
        let mut byte = 0;
        bencher.counter(ItemsCount::new(count)).bench_local(|| {
            for start in (0..count).step_by(RUN) {
                let cells = owned.run(start, RUN.min(count - start));
                let ledger = Ledger::open(element, Some(owned.0), &cells);
                // SAFETY: cells of ours; `Word` is any 8 bytes.
                unsafe { cells.address(0).write_bytes(black_box(byte), 8 * cells.len()) };
                black_box(ledger.close(cells.as_cells()));
            }
            byte ^= 1;
        });
    }
}

/// Allocated and freed with nothing built, 80 bytes to 8 MB.
#[divan::bench_group]
mod allocate_and_free {
    use super::*;

    const BYTES: [usize; 3] = [80, 8 << 10, 8 << 20];

    #[divan::bench(args = BYTES)]
    fn segment(bencher: Bencher, bytes: usize) {
        let element = element::<Word>();
        bencher.bench_local(|| {
            let segment = SegmentRequest::new(black_box(bytes), 64).hint(element).allocate();
            let segment = segment.expect("memory for the bench");
            black_box(segment.cells());
            // SAFETY: nobody else knows the segment.
            unsafe { segment.free() }
        });
    }

    #[divan::bench(args = BYTES)]
    fn malloc(bencher: Bencher, bytes: usize) {
        bencher.bench_local(|| {
            let layout = Layout::from_size_align(black_box(bytes), 16).expect("a layout");
            // SAFETY: freed with the layout it was allocated with.
            unsafe { alloc::dealloc(black_box(alloc::alloc(layout)), layout) };
        });
    }

    #[divan::bench(args = BYTES)]
    fn segment_zeroed(bencher: Bencher, bytes: usize) {
        let element = element::<Word>();
        bencher.bench_local(|| {
            let segment =
                SegmentRequest::new(black_box(bytes), 64).hint(element).zeroed().allocate();
            let segment = segment.expect("memory for the bench");
            black_box(segment.cells());
            // SAFETY: nobody else knows the segment.
            unsafe { segment.free() }
        });
    }

    #[divan::bench(args = BYTES)]
    fn calloc(bencher: Bencher, bytes: usize) {
        bencher.bench_local(|| {
            let layout = Layout::from_size_align(black_box(bytes), 16).expect("a layout");
            // SAFETY: freed with the layout it was allocated with.
            unsafe { alloc::dealloc(black_box(alloc::alloc_zeroed(layout)), layout) };
        });
    }
}
