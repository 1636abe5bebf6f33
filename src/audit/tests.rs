//! The recorder on segments of the core.
#![cfg(feature = "testing")]

use super::*;
use crate::{
    abi::Stats,
    erased::{CellsMut, Exclusive, rules},
    segment::{Ledger, Segment, SegmentRequest},
    testing::{Storage, TracerType},
};

/// Kinds whose default is an object that has to be built.
fn built_storages() -> impl Iterator<Item = Storage> {
    Storage::ALL.into_iter().filter(|storage| *storage != Storage::ZeroDefault)
}

fn segment_of(tracer: TracerType, count: usize) -> Segment {
    let element = tracer.element;
    let segment = SegmentRequest::new(count * element.size(), element.align())
        .hint(element)
        .zeroed()
        .allocate()
        .unwrap();
    segment.bind(element).unwrap();
    segment
}

fn stats(number: u64, tracer: TracerType) -> (Stats, u64) {
    with(number, |session, _| {
        let report = session.type_report(tracer.element);
        (report.stats, report.copied)
    })
    .unwrap()
}

fn leaks(number: u64, tracer: TracerType) -> Vec<(LeakLocation, u64, usize)> {
    with(number, |session, _| {
        // SAFETY: no other thread works on the type.
        unsafe { session.leaks(tracer.element) }
            .into_iter()
            .map(|leak| (leak.location, leak.count, leak.segments))
            .collect()
    })
    .unwrap()
}

#[test]
fn an_audit_knows_what_lives_and_where_for_every_storage() {
    for storage in built_storages() {
        let tracer = TracerType::new(storage);
        let old = segment_of(tracer, 10);
        let number = begin(&[tracer.element], None, false);
        let first = segment_of(tracer, 100);
        // SAFETY: the segments are the test's alone; ranges are inside.
        unsafe {
            first.materialise(0..40).unwrap();
            old.materialise(0..3).unwrap();
            assert_eq!(leaks(number, tracer), [(LeakLocation::Managed, 43, 2)], "{storage:?}");
            let resized = first.resize(1000 * tracer.element.size()).unwrap().segment;
            assert_eq!(leaks(number, tracer), [(LeakLocation::Managed, 43, 2)], "{storage:?}");
            old.relocate(0..3, resized, 50).unwrap();
            assert_eq!(leaks(number, tracer), [(LeakLocation::Managed, 43, 1)], "{storage:?}");
            resized.destroy(0..10).unwrap();
            let (stats, _) = stats(number, tracer);
            assert_eq!((stats.constructed, stats.destroyed), (43, 10), "{storage:?}");
            resized.free().unwrap();
        }
        assert_eq!(leaks(number, tracer), [], "{storage:?}");
        end(number);
        // SAFETY: as above.
        unsafe { old.free().unwrap() };
    }
}

#[test]
fn copies_are_told_from_other_objects() {
    for storage in built_storages().filter(|storage| *storage != Storage::MoveOnly) {
        let tracer = TracerType::new(storage);
        let number = begin(&[tracer.element], None, false);
        let (from, to) = (segment_of(tracer, 20), segment_of(tracer, 20));
        // SAFETY: the segments are the test's alone; ranges are inside.
        unsafe {
            from.materialise(0..20).unwrap();
            let (before, copied) = stats(number, tracer);
            assert_eq!(copied, 0, "{storage:?}");
            from.copy(0..20, to, 0).unwrap();
            from.copy(0..5, to, 5).unwrap();
            let (after, copied) = stats(number, tracer);
            assert_eq!((after.constructed - before.constructed, copied), (20, 25), "{storage:?}");
            from.free().unwrap();
            to.free().unwrap();
        }
        end(number);
    }
}

#[test]
fn objects_outside_segments_are_followed_by_their_addresses() {
    let tracer = TracerType::new(Storage::Inline);
    let element = tracer.element;
    let number = begin(&[element], None, false);
    let mut memory = vec![0_u128; 64];
    let size = element.size() as isize;
    // SAFETY: enough aligned memory of the test's own.
    let mut cells = unsafe { CellsMut::new(memory.as_mut_ptr().cast(), size, 8, Exclusive::own()) };
    let ledger = Ledger::open(element, None, &cells);
    {
        let _at_work = at_work(Operation::new("fill"));
        // SAFETY: zeroed cells of the type.
        unsafe { rules::materialise(element, cells.reborrow()) }.unwrap();
        ledger.close(cells.as_cells());
    }
    assert_eq!(leaks(number, tracer), [(LeakLocation::Foreign, 8, 0)]);
    let rows = with(number, |session, _| {
        session
            .foreign(element)
            .into_iter()
            .map(|((_, operation, _), row)| (operation.name, row.constructed, row.calls))
            .collect::<Vec<_>>()
    });
    assert_eq!(rows.unwrap(), [("fill", 8, 1)]);
    let mut half = cells.part(0, 4);
    let ledger = Ledger::open(element, None, &half);
    // SAFETY: cells under rule 1.
    unsafe { rules::clear(element, half.reborrow()) }.unwrap();
    ledger.close(half.as_cells());
    assert_eq!(leaks(number, tracer), [(LeakLocation::Foreign, 4, 0)]);
    // What is moved as bytes and ends elsewhere is not counted twice.
    let ledger = Ledger::open(element, None, &cells);
    // SAFETY: cells under rule 1.
    unsafe { rules::clear(element, cells.reborrow()) }.unwrap();
    ledger.close(cells.as_cells());
    assert_eq!(leaks(number, tracer), []);
    end(number);
}

#[test]
fn audits_end_one_by_one_and_the_last_takes_the_observer_along() {
    let tracer = TracerType::new(Storage::Inline);
    let outer = begin(&[tracer.element], None, false);
    let inner = begin(&[tracer.element], None, true);
    let segment = segment_of(tracer, 4);
    // SAFETY: the segment is the test's alone.
    unsafe { segment.materialise(0..4) }.unwrap();
    assert_eq!(leaks(inner, tracer), leaks(outer, tracer));
    end(inner);
    assert!(is_running());
    assert!(with(inner, |_, _| ()).is_none());
    // SAFETY: as above.
    unsafe { segment.free() }.unwrap();
    assert_eq!(leaks(outer, tracer), []);
    end(outer);
}

#[test]
fn corruptions_are_kept_with_their_segment() {
    let tracer = TracerType::new(Storage::Inline);
    let number = begin(&[tracer.element], None, false);
    let segment = segment_of(tracer, 4);
    // SAFETY: the segment is the test's alone.
    unsafe { segment.materialise(0..3) }.unwrap();
    let cells = segment.cells().addr().get();
    let bytes = segment.byte_len();
    // As where the header says nothing any more.
    observer::corrupted(&observer::Corrupted {
        block: cells - 128..cells + bytes,
        cells: cells - 128..cells - 128,
        what: "the end is overwritten",
    });
    assert_eq!(leaks(number, tracer), [(LeakLocation::Corrupted, 3, 1)]);
    let found = with(number, |session, _| session.corruptions().to_vec()).unwrap();
    let kept: Vec<_> = found.iter().filter(|corruption| corruption.cells == cells).collect();
    assert_eq!(kept.len(), 1);
    assert_eq!(kept[0].what, "the end is overwritten");
    // SAFETY: the segment is the test's alone.
    unsafe { segment.free() }.unwrap();
    end(number);
}
