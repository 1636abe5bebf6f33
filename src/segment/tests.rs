//! What a segment promises, by example; `tests/segment_model.rs` has the rest.
#![cfg(all(feature = "testing", not(loom)))]
#![expect(
    clippy::undocumented_unsafe_blocks,
    reason = "every block works on segments that the test owns alone"
)]

use super::*;
use crate::testing::{Allocator, Counts, Fault, Storage, TracerType};

pub(super) fn bound(tracer: TracerType, count: usize) -> Segment {
    let bytes = count * tracer.element.size();
    let segment = SegmentRequest::new(bytes, tracer.element.align())
        .hint(tracer.element)
        .zeroed()
        .allocate()
        .unwrap();
    segment.bind(tracer.element).unwrap();
    segment
}

pub(super) fn live(tracer: TracerType) -> i64 {
    let Counts { live, .. } = tracer.counts();
    assert_eq!(tracer.element.counters().read().live, live, "ledger and objects disagree");
    live
}

/// Builds an object of value `index + 1` in each of the cells.
pub(super) fn fill(tracer: TracerType, segment: Segment, cells: Range<usize>) {
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

pub(super) fn value(tracer: TracerType, segment: Segment, index: usize) -> i64 {
    unsafe { tracer.value(segment.run(tracer.element, index..index + 1).address(0)) }
}

#[test]
fn each_interior_pointer_finds_its_segment_and_neighbours_do_not() {
    for bytes in [0, 1, 80, 4096, 100_000] {
        for align in [1, 64, 256, 4096] {
            let segment = SegmentRequest::new(bytes, align).allocate().unwrap();
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
fn free_destroys_what_is_live_once_for_every_storage() {
    for storage in Storage::ALL {
        let tracer = TracerType::new(storage);
        let segment = bound(tracer, 1000);
        fill(tracer, segment, 0..100);
        fill(tracer, segment, 163..164);
        fill(tracer, segment, 900..1000);
        assert_eq!(live(tracer), 201, "{storage:?}");
        unsafe { segment.destroy(50..60).unwrap() };
        assert_eq!(live(tracer), 191, "{storage:?}");
        assert_eq!(segment.bitmap().unwrap().count(0, 1000), 191);
        unsafe { segment.free().unwrap() };
        assert_eq!(live(tracer), 0, "{storage:?}");
        assert_eq!(tracer.element.counters().read().reconciled, 0);
    }
}

#[test]
fn a_wrong_hint_is_harmless() {
    let (hint, other) =
        (TracerType::new(Storage::OverAligned), TracerType::new(Storage::NoPromise));
    let segment = SegmentRequest::new(6400, 8).hint(hint.element).allocate().unwrap();
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
    let tracer = TracerType::new(Storage::Boxed);
    let segment = SegmentRequest::new(100, 1).allocate().unwrap();
    unsafe { segment.cells().write_bytes(0xcc, 100) };
    segment.bind(tracer.element).unwrap();
    assert_eq!(segment.cell_count(), 12);
    assert_eq!(unsafe { segment.check_integrity() }, Ok(0));
    unsafe { segment.free().unwrap() };
    assert_eq!(tracer.counts(), Counts::default());
}

#[test]
fn resize_keeps_values_and_destroys_the_tail_once_for_every_storage() {
    for storage in Storage::ALL {
        let tracer = TracerType::new(storage);
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
                assert_eq!(value(tracer, segment, index), *value_before, "{storage:?}");
            }
            assert_eq!(live(tracer), kept as i64, "{storage:?}: {count}");
            assert_eq!(unsafe { segment.check_integrity() }, Ok(0));
            fill(tracer, segment, 0..count);
        }
        unsafe { segment.free().unwrap() };
        assert_eq!(live(tracer), 0, "{storage:?}");
    }
}

#[test]
fn a_resize_that_fails_leaves_the_segment_whole() {
    for storage in [Storage::SelfPointing, Storage::SelfPointingNoPromise, Storage::Inline] {
        let tracer = TracerType::new(storage);
        let segment = bound(tracer, 200);
        fill(tracer, segment, 0..70);
        fill(tracer, segment, 100..200);
        let mut sizes = vec![1 << 50, usize::MAX - 64];
        if storage != Storage::Inline {
            sizes.push(1 << 16);
        }
        for bytes in sizes {
            tracer.plan_fault(120, Fault::Panic);
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
fn objects_that_lie_apart_arrive_at_their_places() {
    for storage in Storage::ALL {
        for apart in [&[0][..], &[1], &[63], &[64], &[127], &[0, 63], &[5, 70, 129]] {
            for offset in [0, 1, 64] {
                let tracer = TracerType::new(storage);
                let (from, to) = (bound(tracer, 130), bound(tracer, 200));
                apart.iter().for_each(|index| fill(tracer, from, *index..index + 1));
                unsafe { from.relocate(0..130, to, offset).unwrap() };
                assert_eq!(live(tracer), apart.len() as i64, "{storage:?}");
                for index in apart {
                    let arrived = to.bitmap().unwrap().get(index + offset, 1);
                    assert_eq!(
                        (arrived, from.bitmap().unwrap().count(0, 130)),
                        (1, 0),
                        "{storage:?}"
                    );
                    assert_eq!(value(tracer, to, index + offset), *index as i64 + 1, "{storage:?}");
                }
                for segment in [from, to] {
                    assert_eq!(unsafe { segment.check_integrity() }, Ok(0), "{storage:?}");
                    unsafe { segment.free().unwrap() };
                }
            }
        }
    }
}

#[test]
fn a_segment_in_use_is_not_resized() {
    let segment = SegmentRequest::new(800, 64).zeroed().allocate().unwrap();
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
fn the_ledger_records_any_stride_and_reconciles_raw_moves() {
    let tracer = TracerType::new(Storage::Boxed);
    let segment = bound(tracer, 300);
    fill(tracer, segment, 0..150);
    // Halves are swapped as bytes.
    unsafe {
        let base = segment.cells().as_ptr();
        std::ptr::swap_nonoverlapping(base, base.add(150 * 8), 150 * 8);
    }
    assert_eq!(unsafe { segment.check_integrity() }, Ok(300));
    for (first, stride, count, reconciled) in
        [(299, -8, 100, 100), (1, 16, 100, 100), (0, 8, 300, 100)]
    {
        let cells = unsafe {
            CellsMut::new(segment.cells().as_ptr().add(first * 8), stride, count, Exclusive::own())
        };
        let delta = Ledger::open(tracer.element, Some(segment), &cells).close(cells.as_cells());
        assert_eq!((delta.reconciled, delta.constructed, delta.destroyed), (reconciled, 0, 0));
    }
    assert_eq!(unsafe { segment.check_integrity() }, Ok(0));
    // Clearing through strides enters the bits.
    for (first, stride, count, destroyed) in
        [(298, -16, 100, 75), (299, 0, 7, 1), (150, 8, 150, 74)]
    {
        let mut cells = unsafe {
            CellsMut::new(segment.cells().as_ptr().add(first * 8), stride, count, Exclusive::own())
        };
        let ledger = Ledger::open(tracer.element, Some(segment), &cells);
        unsafe { crate::erased::rules::clear(tracer.element, cells.reborrow()).unwrap() };
        let delta = ledger.close(cells.as_cells());
        assert_eq!((delta.destroyed, delta.constructed, delta.reconciled), (destroyed, 0, 0));
        assert_eq!(unsafe { segment.check_integrity() }, Ok(0));
    }
    assert_eq!(live(tracer), 0);
    unsafe { segment.free().unwrap() };
}

#[test]
fn threads_on_disjoint_cells_lose_no_object_and_no_bit() {
    for storage in [Storage::Boxed, Storage::NoPromise, Storage::SelfPointing] {
        let tracer = TracerType::new(storage);
        let bytes = 1000 * tracer.element.size();
        // The type is settled by the first that comes.
        let segment = SegmentRequest::new(bytes, 64).allocate().unwrap();
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
    let tracer = TracerType::new(Storage::Boxed);
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
    let tracer = TracerType::new(Storage::Boxed);
    let segment = bound(tracer, 30);
    // Every third 8 bytes but for four of them: not a stride of whole cells.
    let cells = unsafe { CellsMut::new(segment.cells().as_ptr().add(4), 12, 15, Exclusive::own()) };
    let delta = Ledger::open(tracer.element, Some(segment), &cells).close(cells.as_cells());
    assert_eq!((delta, segment.untouched()), (Default::default(), true));
    unsafe { segment.free().unwrap() };
}

#[test]
fn a_run_that_leaves_the_segment_has_no_bits() {
    let tracer = TracerType::new(Storage::Boxed);
    // What was cut off is still memory of the block.
    let segment = unsafe { bound(tracer, 100).resize(70 * 8).unwrap().segment };
    fill(tracer, segment, 69..70);
    let at = |index: isize| segment.cells().as_ptr().wrapping_offset(index * 8);
    unsafe { at(99).cast::<u64>().write(1) };
    for (first, step) in [(69, 30), (0, -1)] {
        let cells = unsafe { CellsMut::new(at(first), step * 8, 2, Exclusive::own()) };
        let ledger = Ledger::open(tracer.element, Some(segment), &cells);
        assert_eq!(ledger.close(cells.as_cells()).reconciled, 0, "{first}");
    }
    unsafe { segment.free().unwrap() };
    assert_eq!(live(tracer), 0);
}

/// Builds `value` in one cell as a loop does that NumPy runs over a field.
fn build_at(tracer: TracerType, segment: Segment, offset: usize, value: i64) {
    unsafe {
        let size = tracer.element.size() as isize;
        let mut cell =
            CellsMut::new(segment.cells().as_ptr().add(offset), size, 1, Exclusive::own());
        let ledger = Ledger::open(tracer.element, Some(segment), &cell);
        crate::erased::rules::materialise(tracer.element, cell.reborrow()).unwrap();
        tracer.set(&mut cell, value);
        ledger.close(cell.as_cells());
    }
}

#[test]
fn other_fields_between_the_cells_of_a_hinted_segment_are_never_taken_for_objects() {
    // Ten records of two cells and eight bytes of something else.
    for storage in [Storage::Boxed, Storage::ZeroDefault] {
        let tracer = TracerType::new(storage);
        let segment =
            SegmentRequest::new(240, 64).hint(tracer.element).zeroed().allocate().unwrap();
        let garbage = |segment: Segment, record: usize| unsafe {
            segment.cells().as_ptr().add(record * 24 + 16).cast::<u64>()
        };
        for record in 0..10 {
            unsafe { garbage(segment, record).write(0xdead_beef) };
            build_at(tracer, segment, record * 24, 5);
            build_at(tracer, segment, record * 24 + 8, 6);
        }
        assert_eq!(live(tracer), 20);
        let segment = unsafe { segment.resize(24 * 500).unwrap().segment };
        let segment = unsafe { segment.resize(24 * 7).unwrap().segment };
        assert_eq!(live(tracer), 14);
        for record in 0..7 {
            assert_eq!(unsafe { garbage(segment, record).read() }, 0xdead_beef);
        }
        unsafe { segment.clear_all().unwrap() };
        assert_eq!(live(tracer), 0);
        build_at(tracer, segment, 24, 7);
        unsafe { segment.free().unwrap() };
        assert_eq!(live(tracer), 0);
    }
}

#[test]
fn a_record_that_is_cut_off_no_cell_grows_without_a_changed_byte() {
    let tracer = TracerType::new(Storage::Boxed);
    // Records of 17 bytes: the last one ends in the middle of a cell.
    let segment = SegmentRequest::new(17 * 8, 64).hint(tracer.element).zeroed().allocate().unwrap();
    unsafe { segment.cells().as_ptr().write_bytes(0x11, 17 * 8) };
    let segment = unsafe { segment.resize(17 * 9).unwrap().segment };
    unsafe { segment.cells().as_ptr().write_bytes(0x11, 17 * 9) };
    segment.note_built();
    let segment = unsafe { segment.resize(17 * 100).unwrap().segment };
    let bytes = unsafe { std::slice::from_raw_parts(segment.cells().as_ptr(), 17 * 100) };
    assert!(bytes[..17 * 9].iter().all(|byte| *byte == 0x11));
    assert!(bytes[17 * 9..].iter().all(|byte| *byte == 0));
    unsafe { segment.free().unwrap() };
    assert_eq!(tracer.counts(), Counts::default());
}

#[test]
fn bytes_behind_the_last_cell_are_no_part_of_one_that_grows_there() {
    let tracer = TracerType::new(Storage::Boxed);
    for (bytes, grown) in [(10 * 8 + 4, 20 * 8), (10 * 8 + 4, 50_000)] {
        let segment =
            SegmentRequest::new(bytes, 64).hint(tracer.element).zeroed().allocate().unwrap();
        segment.bind(tracer.element).unwrap();
        unsafe { segment.cells().add(80).write_bytes(0x11, 4) };
        segment.note_built();
        let segment = unsafe { segment.resize(grown).unwrap().segment };
        assert_eq!(unsafe { segment.check_integrity() }, Ok(0));
        unsafe { segment.free().unwrap() };
    }
    assert_eq!(tracer.counts(), Counts::default());
}

#[test]
fn a_live_cell_across_the_cells_of_a_hinted_segment_ends_its_being_untouched() {
    let tracer = TracerType::new(Storage::Boxed);
    let segment = SegmentRequest::new(80, 64).hint(tracer.element).zeroed().allocate().unwrap();
    let mut spare = [0_u64; 2];
    unsafe {
        // A packed record: the cell begins at an odd byte. The loop works in an aligned copy.
        let mut cell = CellsMut::new(spare.as_mut_ptr().cast(), 8, 1, Exclusive::own());
        let run = CellsMut::new(segment.cells().as_ptr().add(1), 8, 1, Exclusive::own());
        let ledger = Ledger::open(tracer.element, Some(segment), &run);
        tracer.element.construct(cell.reborrow()).unwrap();
        segment.cells().as_ptr().add(1).cast::<u64>().write_unaligned(spare[0]);
        ledger.close(run.as_cells());
        assert!(!segment.untouched());
        assert_eq!(segment.bitmap().unwrap().count(0, 10), 0);
        let ledger = Ledger::open(tracer.element, Some(segment), &run);
        tracer.element.destroy(cell).unwrap();
        segment.cells().as_ptr().add(1).cast::<u64>().write_unaligned(0);
        assert_eq!(ledger.close(run.as_cells()).destroyed, 1);
        segment.free().unwrap();
    }
    assert_eq!(live(tracer), 0);
}

#[test]
fn binding_says_that_all_bytes_are_cells_and_bits_may_lag_behind() {
    for (bind_first, freed) in [(true, 10), (false, 0)] {
        let tracer = TracerType::new(Storage::Boxed);
        let segment =
            SegmentRequest::new(20 * 8, 64).hint(tracer.element).zeroed().allocate().unwrap();
        if bind_first {
            segment.bind(tracer.element).unwrap();
        }
        (0..10).for_each(|index| build_at(tracer, segment, index * 8, 1));
        // Too late to widen what a loop has settled.
        segment.bind(tracer.element).unwrap();
        let base = segment.cells().as_ptr();
        // All objects move to cells without a bit, as bytes.
        unsafe { std::ptr::swap_nonoverlapping(base, base.add(80), 80) };
        let moved = unsafe { base.add(80).cast::<[u64; 10]>().read() };
        unsafe { segment.free().unwrap() };
        assert_eq!(tracer.element.counters().read().destroyed, freed);
        if freed == 0 {
            // What was leaked rather than guessed at.
            for object in moved {
                let mut cell = [object];
                unsafe {
                    let cell = CellsMut::new(cell.as_mut_ptr().cast(), 8, 1, Exclusive::own());
                    tracer.element.destroy(cell).unwrap();
                }
            }
        }
        assert_eq!(tracer.counts().live, 0);
    }
}

#[test]
fn an_upstream_segment_lives_and_dies_like_any_other() {
    let allocator = Allocator::borrow();
    for storage in Storage::ALL {
        let tracer = TracerType::new(storage);
        let size = tracer.element.size();
        let source = allocator.source();
        let segment = SegmentRequest::new(10 * size, 64)
            .from_source(source)
            .hint(tracer.element)
            .allocate()
            .unwrap();
        unsafe { segment.cells().write_bytes(0, 10 * size) };
        segment.bind(tracer.element).unwrap();
        assert_eq!(segment.source(), source);
        assert!(segment.cells().as_ptr().addr().is_multiple_of(64));
        fill(tracer, segment, 0..10);
        let old = segment.cells().as_ptr().cast_const();
        let segment = unsafe { segment.resize(1000 * size).unwrap().segment };
        assert_ne!(segment.cells().as_ptr().cast_const(), old);
        assert_eq!(allocator.live(), 1, "the old block is given back");
        assert_eq!(live(tracer), 10);
        assert_eq!(unsafe { segment.check_integrity() }, Ok(0));
        let last = segment.cells().as_ptr().wrapping_add(1000 * size - 1);
        assert_eq!(unsafe { Segment::find(last) }, Some(segment));
        let segment = unsafe { segment.resize(3 * size).unwrap().segment };
        assert_eq!((live(tracer), allocator.live()), (3, 1));
        assert_eq!((0..3).map(|i| value(tracer, segment, i)).collect::<Vec<_>>(), [1, 2, 3]);
        let cells = segment.cells().as_ptr().cast_const();
        unsafe { segment.free().unwrap() };
        assert_eq!((live(tracer), allocator.live()), (0, 0));
        assert_eq!(unsafe { Segment::find(cells) }, None);
    }
    assert!(
        SegmentRequest::new(usize::MAX / 4, 64)
            .from_source(allocator.source())
            .zeroed()
            .allocate()
            .is_err()
    );
    allocator.give_back();
}

#[test]
fn memory_of_ours_that_comes_back_from_a_host_is_refused() {
    unsafe extern "C" fn malloc(_: *mut std::ffi::c_void, size: usize) -> *mut std::ffi::c_void {
        unsafe { crate::handler::malloc(std::ptr::null_mut(), size) }
    }
    unsafe extern "C" fn calloc(
        _: *mut std::ffi::c_void,
        count: usize,
        size: usize,
    ) -> *mut std::ffi::c_void {
        unsafe { crate::handler::calloc(std::ptr::null_mut(), count, size) }
    }
    let upstream =
        Upstream { context: std::ptr::null_mut(), malloc, calloc, free: crate::handler::free };
    let source = unsafe { Source::of_upstream(NonNull::from(&upstream)) };
    for zeroed in [false, true] {
        assert!(
            SegmentRequest::new(100, 64).from_source(source).zeroed_if(zeroed).allocate().is_err()
        );
    }
}

#[test]
fn foreign_cells_are_counted_as_foreign() {
    let tracer = TracerType::new(Storage::Inline);
    let mut memory = [0u64; 20];
    let mut cells = unsafe { CellsMut::new(memory.as_mut_ptr().cast(), 16, 10, Exclusive::own()) };
    let ledger = Ledger::open(tracer.element, None, &cells);
    unsafe { crate::erased::rules::materialise(tracer.element, cells.reborrow()).unwrap() };
    let delta = ledger.close(cells.as_cells());
    assert_eq!((delta.constructed, delta.foreign), (10, 10));
    let ledger = Ledger::open(tracer.element, None, &cells);
    unsafe { crate::erased::rules::clear(tracer.element, cells.reborrow()).unwrap() };
    assert_eq!(ledger.close(cells.as_cells()).destroyed, 10);
    assert_eq!(live(tracer), 0);
}

#[test]
fn the_dependency_is_released_once_with_the_segment() {
    unsafe extern "C" fn count(context: *mut std::ffi::c_void) {
        unsafe { *context.cast::<u32>() += 1 };
    }
    let tracer = TracerType::new(Storage::SelfPointing);
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
