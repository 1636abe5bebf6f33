//! What is told, and what is done all the same, when an element operation fails.
//!
//! The model of `tests/segment_model.rs` allows a failure wherever one is planned; these ask for it.
#![cfg(all(feature = "testing", not(loom)))]
#![expect(
    clippy::undocumented_unsafe_blocks,
    reason = "every block works on segments that the test owns alone"
)]

use super::{tests::*, *};
use crate::{
    erased::{Cells, rules},
    testing::{Fault, Storage, TracerType},
};

/// 300 objects in three stretches of cells of 400.
fn in_stretches(tracer: TracerType) -> Segment {
    let segment = bound(tracer, 400);
    for cells in [0..90, 130..200, 260..400] {
        fill(tracer, segment, cells);
    }
    segment
}

fn set_bits(segment: Segment) -> usize {
    segment.bitmap().unwrap().count(0, segment.cell_count())
}

#[test]
fn a_destructor_that_fails_is_told_of_and_the_rest_is_destroyed() {
    for storage in Storage::ALL {
        let tracer = TracerType::new(storage);
        let segment = in_stretches(tracer);
        tracer.plan_destructor_failure(3);
        assert!(unsafe { segment.destroy(0..400) }.is_err(), "{storage:?}");
        assert_eq!((live(tracer), set_bits(segment)), (0, 0), "{storage:?}");
        fill(tracer, segment, 0..400);
        tracer.plan_destructor_failure(3);
        let resized = unsafe { segment.resize(100 * tracer.element.size()).unwrap() };
        assert!(resized.destructor.is_some(), "{storage:?}");
        assert_eq!((live(tracer), set_bits(resized.segment)), (100, 100), "{storage:?}");
        tracer.plan_destructor_failure(99);
        assert!(unsafe { resized.segment.free() }.is_err(), "{storage:?}");
        assert_eq!(live(tracer), 0, "{storage:?}");
    }
}

#[test]
fn objects_move_in_over_one_whose_destructor_fails() {
    for storage in Storage::ALL {
        let tracer = TracerType::new(storage);
        let (from, to) = (in_stretches(tracer), in_stretches(tracer));
        tracer.plan_destructor_failure(70);
        let failure = unsafe { from.relocate(0..400, to, 0) }.unwrap_err();
        assert_eq!((failure.done, live(tracer)), (400, 300), "{storage:?}");
        assert_eq!((set_bits(from), set_bits(to)), (0, 300), "{storage:?}");
        assert_eq!(value(tracer, to, 399), 400, "{storage:?}");
        for segment in [from, to] {
            assert_eq!(unsafe { segment.check_integrity() }, Ok(0), "{storage:?}");
            unsafe { segment.free().unwrap() };
        }
    }
}

#[test]
fn a_move_that_stops_has_moved_what_it_says() {
    for storage in [Storage::SelfPointing, Storage::SelfPointingNoPromise, Storage::Tagged] {
        for (steps, offset) in [(0, 0), (85, 0), (85, 90), (200, 0)] {
            let tracer = TracerType::new(storage);
            let (from, to) = (bound(tracer, 300), bound(tracer, 400));
            fill(tracer, from, 0..300);
            tracer.plan_fault(steps, Fault::Fail);
            let failure = unsafe { from.relocate(0..300, to, offset) }.unwrap_err();
            let moved = steps as usize;
            assert_eq!(failure.done, moved, "{storage:?}");
            assert_eq!((set_bits(from), set_bits(to)), (300 - moved, moved), "{storage:?}");
            assert_eq!((live(tracer), value(tracer, from, moved)), (300, moved as i64 + 1));
            for segment in [from, to] {
                assert_eq!(unsafe { segment.check_integrity() }, Ok(0), "{storage:?}");
                unsafe { segment.free().unwrap() };
            }
            assert_eq!(live(tracer), 0);
        }
    }
}

#[test]
fn cells_in_arrays_move_as_bytes_which_cannot_fail() {
    for storage in Storage::ALL.into_iter().filter(|storage| is_in_arrays(*storage)) {
        let tracer = TracerType::new(storage);
        let (element, segment) = (tracer.element, bound(tracer, 200));
        fill(tracer, segment, 0..100);
        let run = |cells| unsafe { segment.run_mut(element, cells) };
        tracer.plan_fault(5, Fault::Fail);
        let moved = by_rules(tracer, segment, || unsafe {
            rules::relocate(element, run(100..200), run(0..100))
        });
        tracer.cancel_plans();
        assert_eq!((moved, live(tracer), set_bits(segment)), (Ok(()), 100, 100), "{storage:?}");
        assert_eq!(value(tracer, segment, 199), 100, "{storage:?}");
        unsafe { segment.free().unwrap() };
    }
}

#[test]
fn a_copy_that_stops_has_built_what_it_says() {
    for storage in Storage::ALL.into_iter().filter(|storage| *storage != Storage::MoveOnly) {
        let tracer = TracerType::new(storage);
        let (from, to) = (bound(tracer, 200), bound(tracer, 200));
        fill(tracer, from, 0..200);
        tracer.plan_fault(150, Fault::Fail);
        let failure = unsafe { from.copy(0..200, to, 0) }.unwrap_err();
        assert_eq!(failure.done, 150, "{storage:?}");
        assert_eq!((live(tracer), set_bits(to)), (350, 150), "{storage:?}");
        for segment in [from, to] {
            unsafe { segment.free().unwrap() };
        }
        assert_eq!(live(tracer), 0, "{storage:?}");
    }
}

#[test]
fn a_value_that_is_put_has_its_bit() {
    for storage in Storage::ALL.into_iter().filter(|storage| *storage != Storage::MoveOnly) {
        let tracer = TracerType::new(storage);
        let (from, to) = (bound(tracer, 1), bound(tracer, 70));
        fill(tracer, from, 0..1);
        // Built, then assigned.
        for _ in 0..2 {
            unsafe { to.put(65, from.cells().as_ptr()).unwrap() };
            assert_eq!((live(tracer), set_bits(to)), (2, 1), "{storage:?}");
            assert_eq!(value(tracer, to, 65), 1, "{storage:?}");
        }
        for segment in [from, to] {
            unsafe { segment.free().unwrap() };
        }
        assert_eq!(live(tracer), 0, "{storage:?}");
    }
}

/// Whether NumPy's arrays may hold such cells, and so the rules of life are theirs.
fn is_in_arrays(storage: Storage) -> bool {
    let element = TracerType::new(storage).element;
    element.has_zero_promise() && element.is_trivially_relocatable()
}

/// Runs a rule on cells of a segment as a loop does, with a ledger open.
fn by_rules<R>(tracer: TracerType, segment: Segment, work: impl FnOnce() -> R) -> R {
    let cells = unsafe { segment.run_mut(tracer.element, 0..segment.cell_count()) };
    Ledger::during(tracer.element, Some(segment), &cells, work)
}

#[test]
fn rules_go_on_after_a_destructor_that_fails() {
    for storage in
        [Storage::Inline, Storage::Boxed, Storage::Tagged, Storage::OverAligned, Storage::Held]
    {
        let tracer = TracerType::new(storage);
        let (element, segment) = (tracer.element, bound(tracer, 200));
        fill(tracer, segment, 0..200);
        let run = |cells| unsafe { segment.run_mut(element, cells) };
        // The ranges overlap: each cell in turn.
        tracer.plan_destructor_failure(3);
        let moved = by_rules(tracer, segment, || unsafe {
            rules::relocate(element, run(0..100), run(50..150))
        });
        assert!(moved.is_err(), "{storage:?}");
        assert_eq!((live(tracer), set_bits(segment)), (150, 150), "{storage:?}");
        for index in (0..100).chain(150..200) {
            let before = if index < 100 { index + 50 } else { index };
            assert_eq!(value(tracer, segment, index), before as i64 + 1, "{storage:?}");
        }
        // Three stretches to clear.
        tracer.plan_destructor_failure(3);
        unsafe { segment.destroy(40..60).unwrap_err() };
        tracer.plan_destructor_failure(3);
        let cleared = by_rules(tracer, segment, || unsafe { rules::clear(element, run(0..200)) });
        assert!(cleared.is_err(), "{storage:?}");
        assert_eq!((live(tracer), set_bits(segment)), (0, 0), "{storage:?}");
        unsafe { segment.free().unwrap() };
    }
}

#[test]
fn what_moved_by_a_rule_is_in_one_place() {
    for storage in Storage::ALL.into_iter().filter(|storage| is_in_arrays(*storage)) {
        let tracer = TracerType::new(storage);
        let (element, segment) = (tracer.element, bound(tracer, 200));
        fill(tracer, segment, 0..200);
        let run = |cells| unsafe { segment.run_mut(element, cells) };
        by_rules(tracer, segment, || unsafe {
            rules::relocate(element, run(0..100), run(100..200)).unwrap();
        });
        assert_eq!(tracer.counts().live, 100, "{storage:?}");
        assert_eq!(value(tracer, segment, 99), 200, "{storage:?}");
        unsafe { segment.free().unwrap() };
        assert_eq!(tracer.counts().live, 0, "{storage:?}");
    }
}

#[test]
fn a_cell_that_all_are_copied_to_has_the_last() {
    for storage in
        [Storage::Inline, Storage::Boxed, Storage::Tagged, Storage::OverAligned, Storage::Held]
    {
        let tracer = TracerType::new(storage);
        let (element, from, to) = (tracer.element, in_stretches(tracer), bound(tracer, 1));
        // Cells 90 to 129 are vacant.
        for (last, held) in [(130, 0), (131, 1), (200, 1)] {
            by_rules(tracer, to, || unsafe {
                let one = CellsMut::new(to.cells().as_ptr(), 0, last, Exclusive::own());
                let size = element.size() as isize;
                rules::copy(element, one, Cells::new(from.cells().as_ptr(), size, last)).unwrap();
            });
            assert_eq!((live(tracer), set_bits(to)), (300 + held, held as usize), "{storage:?}");
            if held == 1 {
                assert_eq!(value(tracer, to, 0), last as i64, "{storage:?}");
            }
        }
        for segment in [from, to] {
            unsafe { segment.free().unwrap() };
        }
        assert_eq!(live(tracer), 0, "{storage:?}");
    }
}
