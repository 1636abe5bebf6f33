//! What a segment promises, by example; `tests/segment_model.rs` has the rest.
#![cfg(all(feature = "testing", not(loom)))]
#![expect(
    clippy::undocumented_unsafe_blocks,
    reason = "every block works on segments that the test owns alone"
)]

use super::*;
use crate::testing::{Counts, Kind, Mishap, Tracer};

fn bound(tracer: Tracer, count: usize) -> Segment {
    let bytes = count * tracer.element.size();
    let segment =
        Segment::allocate(bytes, tracer.element.align(), Some(tracer.element), true).unwrap();
    segment.bind(tracer.element).unwrap();
    segment
}

fn live(tracer: Tracer) -> i64 {
    let Counts { live, .. } = tracer.counts();
    assert_eq!(tracer.element.counters().read().live, live, "ledger and objects disagree");
    live
}

/// Builds an object of value `index + 1` in each of the cells.
fn fill(tracer: Tracer, segment: Segment, cells: Range<usize>) {
    unsafe {
        segment.materialise(cells.clone()).unwrap();
        for index in cells {
            let mut cell = segment.run_mut(tracer.element, index..index + 1);
            let ledger = tracer
                .element
                .has_zero_promise()
                .then(|| Ledger::open(tracer.element, Some(segment), &cell));
            tracer.set(&mut cell, index as i64 + 1);
            if let Some(ledger) = ledger {
                ledger.close(cell.as_cells());
            }
        }
    }
}

fn value(tracer: Tracer, segment: Segment, index: usize) -> i64 {
    unsafe { tracer.value(segment.run(tracer.element, index..index + 1).address(0)) }
}

#[test]
fn each_interior_pointer_finds_its_segment_and_neighbours_do_not() {
    for bytes in [0, 1, 80, 4096, 100_000] {
        for align in [1, 64, 256, 4096] {
            let segment = Segment::allocate(bytes, align, None, false).unwrap();
            let start = segment.cells().as_ptr().cast_const();
            assert!(start.addr().is_multiple_of(align.max(64)));
            for offset in [0, bytes / 2, bytes.max(1) - 1] {
                assert_eq!(unsafe { Segment::find(start.wrapping_add(offset)) }, Some(segment));
            }
            for outside in [start.wrapping_add(bytes.max(1)), start.wrapping_sub(1)] {
                assert_ne!(unsafe { Segment::find(outside) }, Some(segment));
            }
            assert_eq!(unsafe { segment.check_integrity() }, Ok(0));
            unsafe { segment.free().unwrap() };
            assert_eq!(unsafe { Segment::find(start) }, None);
        }
    }
}

#[test]
fn free_destroys_what_is_live_once_for_every_kind() {
    for kind in Kind::ALL {
        let tracer = Tracer::new(kind);
        let segment = bound(tracer, 1000);
        fill(tracer, segment, 0..100);
        fill(tracer, segment, 163..164);
        fill(tracer, segment, 900..1000);
        assert_eq!(live(tracer), 201, "{kind:?}");
        unsafe { segment.destroy(50..60).unwrap() };
        assert_eq!(live(tracer), 191, "{kind:?}");
        assert_eq!(segment.bitmap().unwrap().count(0, 1000), 191);
        unsafe { segment.free().unwrap() };
        assert_eq!(live(tracer), 0, "{kind:?}");
        assert_eq!(tracer.element.counters().read().reconciled, 0);
    }
}

#[test]
fn a_wrong_hint_is_harmless() {
    let (hint, other) = (Tracer::new(Kind::OverAligned), Tracer::new(Kind::NoPromise));
    let segment = Segment::allocate(6400, 8, Some(hint.element), false).unwrap();
    assert_eq!(segment.element().map(ElementType::name), None);
    segment.bind(other.element).unwrap();
    fill(other, segment, 0..800);
    let error = segment.bind(hint.element).unwrap_err();
    assert!(error.to_string().contains("NoPromise") && error.to_string().contains("OverAligned"));
    assert_eq!(live(other), 800);
    unsafe { segment.free().unwrap() };
    assert_eq!(live(other), 0);
}

#[test]
fn binding_late_makes_garbage_vacant() {
    let tracer = Tracer::new(Kind::Boxed);
    let segment = Segment::allocate(100, 1, None, false).unwrap();
    unsafe { segment.cells().write_bytes(0xcc, 100) };
    segment.bind(tracer.element).unwrap();
    assert_eq!(segment.cell_count(), 12);
    assert_eq!(unsafe { segment.check_integrity() }, Ok(0));
    unsafe { segment.free().unwrap() };
    assert_eq!(tracer.counts(), Counts::default());
}

#[test]
fn resize_keeps_values_and_destroys_the_tail_once_for_every_kind() {
    for kind in Kind::ALL {
        let tracer = Tracer::new(kind);
        let size = tracer.element.size();
        let mut segment = bound(tracer, 10);
        fill(tracer, segment, 0..10);
        for (count, extra) in
            [(5000, 0), (300, 1), (301, 0), (40_000, 7), (2, 5), (3, 0), (100, 0), (0, 3), (9, 0)]
        {
            let kept = segment.cell_count().min(count);
            let values: Vec<i64> = (0..kept).map(|i| value(tracer, segment, i)).collect();
            segment = unsafe { segment.resize(count * size + extra).unwrap().segment };
            assert_eq!(segment.cell_count(), count);
            for (index, value_before) in values.iter().enumerate() {
                assert_eq!(value(tracer, segment, index), *value_before, "{kind:?}");
            }
            assert_eq!(live(tracer), kept as i64, "{kind:?}: {count}");
            assert_eq!(unsafe { segment.check_integrity() }, Ok(0));
            fill(tracer, segment, 0..count);
        }
        unsafe { segment.free().unwrap() };
        assert_eq!(live(tracer), 0, "{kind:?}");
    }
}

#[test]
fn a_resize_that_fails_leaves_the_segment_whole() {
    for kind in [Kind::SelfPointing, Kind::SelfPointingNoPromise, Kind::Inline] {
        let tracer = Tracer::new(kind);
        let segment = bound(tracer, 200);
        fill(tracer, segment, 0..70);
        fill(tracer, segment, 100..200);
        let mut sizes = vec![1 << 50, usize::MAX - 64];
        if kind != Kind::Inline {
            sizes.push(1 << 16);
        }
        for bytes in sizes {
            tracer.plan_mishap(120, Mishap::Panic);
            assert!(unsafe { segment.resize(bytes) }.is_err());
            tracer.cancel_plans();
            assert_eq!(live(tracer), 170);
            assert_eq!(unsafe { segment.check_integrity() }, Ok(0));
            for index in (0..70).chain(100..200) {
                assert_eq!(value(tracer, segment, index), index as i64 + 1);
            }
        }
        unsafe { segment.free().unwrap() };
        assert_eq!(live(tracer), 0);
    }
}

#[test]
fn a_segment_in_use_is_not_resized() {
    let segment = Segment::allocate(800, 64, None, true).unwrap();
    let mut reading = [crate::lock::Request::new(segment.lock(), 0..8, false)];
    let guard = crate::lock::acquire_all(&mut reading).unwrap();
    for bytes in [8, 8000] {
        assert!(matches!(unsafe { segment.resize(bytes) }, Err(ResizeError::InUse(_))));
    }
    drop(guard);
    let segment = unsafe { segment.resize(8000).unwrap().segment };
    unsafe { segment.free().unwrap() };
}

#[test]
fn the_ledger_books_any_stride_and_reconciles_raw_moves() {
    let tracer = Tracer::new(Kind::Boxed);
    let segment = bound(tracer, 300);
    fill(tracer, segment, 0..150);
    // Somebody swaps halves as bytes.
    unsafe {
        let base = segment.cells().as_ptr();
        std::ptr::swap_nonoverlapping(base, base.add(150 * 8), 150 * 8);
    }
    assert_eq!(unsafe { segment.check_integrity() }, Ok(300));
    for (first, stride, count, reconciled) in
        [(299, -8, 100, 100), (1, 16, 100, 100), (0, 8, 300, 100)]
    {
        let cells =
            unsafe { CellsMut::new(segment.cells().as_ptr().add(first * 8), stride, count) };
        let tally = Ledger::open(tracer.element, Some(segment), &cells).close(cells.as_cells());
        assert_eq!((tally.reconciled, tally.constructed, tally.destroyed), (reconciled, 0, 0));
    }
    assert_eq!(unsafe { segment.check_integrity() }, Ok(0));
    // Clearing through strides enters the bits.
    for (first, stride, count, destroyed) in
        [(298, -16, 100, 75), (299, 0, 7, 1), (150, 8, 150, 74)]
    {
        let mut cells =
            unsafe { CellsMut::new(segment.cells().as_ptr().add(first * 8), stride, count) };
        let ledger = Ledger::open(tracer.element, Some(segment), &cells);
        unsafe { crate::erased::rules::clear(tracer.element, cells.reborrow()).unwrap() };
        let tally = ledger.close(cells.as_cells());
        assert_eq!((tally.destroyed, tally.constructed, tally.reconciled), (destroyed, 0, 0));
        assert_eq!(unsafe { segment.check_integrity() }, Ok(0));
    }
    assert_eq!(live(tracer), 0);
    unsafe { segment.free().unwrap() };
}

#[test]
fn threads_on_disjoint_cells_lose_no_object_and_no_bit() {
    for kind in [Kind::Boxed, Kind::NoPromise, Kind::SelfPointing] {
        let tracer = Tracer::new(kind);
        let bytes = 1000 * tracer.element.size();
        // The type is settled by whoever comes first.
        let segment = Segment::allocate(bytes, 64, None, false).unwrap();
        std::thread::scope(|scope| {
            for part in 0..4 {
                scope.spawn(move || {
                    segment.bind(tracer.element).unwrap();
                    // Ranges that share words of the bitmap with their neighbours.
                    let cells = part * 250..(part + 1) * 250;
                    for _ in 0..20 {
                        unsafe {
                            segment.materialise(cells.clone()).unwrap();
                            segment.destroy(cells.start + 10..cells.end - 10).unwrap();
                        }
                    }
                });
            }
        });
        assert_eq!(live(tracer), 80);
        assert_eq!(segment.bitmap().unwrap().count(0, 1000), 80);
        assert_eq!(unsafe { segment.check_integrity() }, Ok(0));
        unsafe { segment.free().unwrap() };
        assert_eq!(live(tracer), 0);
    }
}

#[test]
fn a_cell_of_an_untouched_segment_is_booked_alone_as_in_company() {
    let tracer = Tracer::new(Kind::Boxed);
    for count in [1, 2, 100] {
        let segment = bound(tracer, 100);
        let mut cells = unsafe { segment.run_mut(tracer.element, 0..count) };
        let ledger = Ledger::open(tracer.element, Some(segment), &cells);
        unsafe { crate::erased::rules::materialise(tracer.element, cells.reborrow()).unwrap() };
        assert_eq!(ledger.close(cells.as_cells()).constructed, count as u64);
        assert!(!segment.untouched());
        assert_eq!(segment.bitmap().unwrap().count(0, 100), count);
        unsafe { segment.free().unwrap() };
        assert_eq!(live(tracer), 0);
    }
}

#[test]
fn fields_of_a_structured_type_are_not_booked_as_cells() {
    let tracer = Tracer::new(Kind::Boxed);
    let segment = bound(tracer, 30);
    // Every third 8 bytes but for four of them: not a stride of whole cells.
    let cells = unsafe { CellsMut::new(segment.cells().as_ptr().add(4), 12, 15) };
    let tally = Ledger::open(tracer.element, Some(segment), &cells).close(cells.as_cells());
    assert_eq!((tally, segment.untouched()), (Default::default(), true));
    unsafe { segment.free().unwrap() };
}

#[test]
fn foreign_cells_are_counted_as_foreign() {
    let tracer = Tracer::new(Kind::Inline);
    let mut memory = [0u64; 20];
    let mut cells = unsafe { CellsMut::new(memory.as_mut_ptr().cast(), 16, 10) };
    let ledger = Ledger::open(tracer.element, None, &cells);
    unsafe { crate::erased::rules::materialise(tracer.element, cells.reborrow()).unwrap() };
    let tally = ledger.close(cells.as_cells());
    assert_eq!((tally.constructed, tally.foreign), (10, 10));
    let ledger = Ledger::open(tracer.element, None, &cells);
    unsafe { crate::erased::rules::clear(tracer.element, cells.reborrow()).unwrap() };
    assert_eq!(ledger.close(cells.as_cells()).destroyed, 10);
    assert_eq!(live(tracer), 0);
}

#[test]
fn damage_is_found() {
    let segment = Segment::allocate(100, 1, None, false).unwrap();
    let end = unsafe { segment.cells().as_ptr().add(100) };
    unsafe {
        let byte = end.read();
        end.write(!byte);
        assert_eq!(segment.check_integrity(), Err(Damage::Overrun));
        end.write(byte);
        assert_eq!(segment.check_integrity(), Ok(0));
        segment.free().unwrap();
    }
}

#[test]
fn the_dependency_is_released_once_with_the_segment() {
    unsafe extern "C" fn count(context: *mut std::ffi::c_void) {
        unsafe { *context.cast::<u32>() += 1 };
    }
    let tracer = Tracer::new(Kind::SelfPointing);
    let mut released = 0u32;
    unsafe {
        let segment = bound(tracer, 10);
        segment.set_dependency((&raw mut released).cast(), Some(count));
        fill(tracer, segment, 0..10);
        let segment = segment.resize(1000).unwrap().segment;
        assert_eq!((&raw const released).read(), 0);
        segment.free().unwrap();
    }
    assert_eq!(released, 1);
}
