//! What handler mode promises for cells of legacy dtypes: by example, and against a plain model
//! under random raw copies, resizes, sweeps and failures.
#![expect(
    clippy::undocumented_unsafe_blocks,
    reason = "every block works on memory that the test owns alone"
)]

use super::*;
use crate::testing::{
    Fault, Storage, TracerType,
    legacy::{
        Array, LEGACY_STORAGES as STORAGES, LegacyStep as Step, Seen, put, raw_copy, run_legacy,
        seen, set,
    },
};
use proptest::prelude::*;
use std::collections::HashMap;

fn values(tracer: TracerType, array: &Array) -> Vec<Seen> {
    (0..array.count).map(|index| seen(tracer, array.cell(index))).collect()
}

fn live(tracer: TracerType) -> i64 {
    let live = tracer.counts().live;
    assert_eq!(tracer.element.counters().read().live, live, "ledger and objects disagree");
    live
}

#[test]
fn each_object_is_destroyed_once_when_its_array_is_freed_or_shrinks() {
    for storage in STORAGES {
        let tracer = TracerType::new(storage);
        let mut array = Array::managed(100);
        assert_eq!(values(tracer, &array), vec![Seen::Vacant; 100]);
        assert_eq!(live(tracer), 0, "reading builds nothing");
        for index in 0..100 {
            set(tracer, array.cell(index), index as i64 + 1).unwrap();
        }
        assert_eq!(live(tracer), 100);
        array.resize(300);
        set(tracer, array.cell(299), 7).unwrap();
        assert_eq!((live(tracer), seen(tracer, array.cell(99))), (101, Seen::Value(100)));
        array.resize(40);
        assert_eq!((live(tracer), seen(tracer, array.cell(39))), (40, Seen::Value(40)));
        array.resize(0);
        assert_eq!(live(tracer), 0, "realloc(pointer, 1)");
        array.resize(3);
        assert_eq!(values(tracer, &array), [Seen::Vacant; 3]);
        set(tracer, array.cell(0), 1).unwrap();
        drop(array);
        assert_eq!(live(tracer), 0);
    }
}

#[test]
fn cells_that_were_permuted_as_bytes_keep_their_objects() {
    let tracer = TracerType::new(Storage::SelfPointingNoPromise);
    let array = Array::managed(50);
    for index in 0..50 {
        set(tracer, array.cell(index), index as i64).unwrap();
    }
    let mut spare = [0u8; CELL_SIZE];
    for index in 0..25 {
        raw_copy(array.cell(index), spare.as_mut_ptr());
        raw_copy(array.cell(49 - index), array.cell(index));
        raw_copy(spare.as_ptr(), array.cell(49 - index));
    }
    let reversed: Vec<_> = (0..50).rev().map(Seen::Value).collect();
    assert_eq!(values(tracer, &array), reversed);
    for index in 0..50 {
        unsafe { touch(array.cell(index), tracer.element) }.unwrap();
    }
    assert_eq!(values(tracer, &array), reversed);
    assert_eq!((live(tracer), tracer.counts().built), (50, 50), "nothing was copied");
}

#[test]
fn a_raw_copy_over_a_live_cell_loses_no_object_and_frees_none_twice() {
    let tracer = TracerType::new(Storage::NoPromise);
    let (array, other) = (Array::managed(4), Array::managed(1));
    for index in 0..4 {
        set(tracer, array.cell(index), index as i64).unwrap();
    }
    set(tracer, other.cell(0), 9).unwrap();
    raw_copy(other.cell(0), array.cell(0));
    raw_copy(array.cell(2), array.cell(1));
    assert_eq!(values(tracer, &array), [9, 2, 2, 3].map(Seen::Value));
    set(tracer, array.cell(1), 5).unwrap();
    assert_eq!(values(tracer, &array), [9, 5, 2, 3].map(Seen::Value));
    // The copy that was not written to is not what its original becomes.
    set(tracer, other.cell(0), 10).unwrap();
    assert_eq!(seen(tracer, array.cell(0)), Seen::Stale);
    assert!(tracer.element.counters().read().stale > 0);
    set(tracer, array.cell(0), 1).unwrap();
    drop(other);
    assert_eq!(values(tracer, &array), [1, 5, 2, 3].map(Seen::Value));
    drop(array);
    assert_eq!(live(tracer), 0);
}

#[test]
fn one_cell_copied_over_all_others_is_taken_apart_in_linear_time() {
    let tracer = TracerType::new(Storage::NoPromise);
    let array = Array::managed(50_000);
    for index in 0..array.count {
        set(tracer, array.cell(index), 1).unwrap();
    }
    for index in 1..array.count {
        raw_copy(array.cell(0), array.cell(index));
    }
    // Looking at all cells for each of them would take minutes.
    for index in (0..array.count).rev() {
        assert_eq!(seen(tracer, array.cell(index)), Seen::Value(1));
        set(tracer, array.cell(index), index as i64).unwrap();
    }
    assert_eq!(seen(tracer, array.cell(7)), Seen::Value(7));
    assert_eq!(live(tracer), array.count as i64);
}

#[test]
fn noise_is_a_vacant_cell() {
    let tracer = TracerType::new(Storage::NoPromise);
    let array = Array::managed(2);
    set(tracer, array.cell(0), 1).unwrap();
    for noise in [[0xffu8; CELL_SIZE], [1; CELL_SIZE], [0xa5; CELL_SIZE]] {
        raw_copy(noise.as_ptr(), array.cell(1));
        assert_eq!(seen(tracer, array.cell(1)), Seen::Vacant);
        set(tracer, array.cell(1), 3).unwrap();
    }
    // A name with another number in one place.
    for byte in 0..CELL_SIZE {
        raw_copy(array.cell(0), array.cell(1));
        unsafe { *array.cell(1).add(byte) ^= 0x10 };
        assert_eq!(seen(tracer, array.cell(1)), Seen::Vacant);
    }
    drop(array);
    assert_eq!(live(tracer), 0);
}

#[test]
fn a_second_type_and_a_place_between_cells_are_refused() {
    let (tracer, other) =
        (TracerType::new(Storage::NoPromise), TracerType::new(Storage::SelfPointingNoPromise));
    let array = Array::managed(3);
    set(tracer, array.cell(0), 1).unwrap();
    let error = unsafe { touch(array.cell(1), other.element) }.unwrap_err();
    assert_eq!(error.kind, abi::ERROR_TYPE);
    assert!(error.message.contains("holds objects of denizen.testing.NoPromise"), "{error}");
    assert!(unsafe { peek(array.cell(0), other.element) }.is_err());
    for offset in [1, 8, 23, 25] {
        let error = unsafe { touch(array.cell(0).add(offset), tracer.element) }.unwrap_err();
        assert!(error.message.contains("bytes into this memory"), "{error}");
    }
    // A raw copy in other memory does not change its type.
    let foreign = Array::foreign(1);
    raw_copy(array.cell(0), foreign.cell(0));
    assert_eq!(unsafe { peek(foreign.cell(0), other.element) }.unwrap_err().kind, abi::ERROR_TYPE);
    assert_eq!(live(tracer), 1);
    assert_eq!(live(other), 0);
}

#[test]
fn objects_in_foreign_memory_are_counted_bounded_and_swept() {
    let tracer = TracerType::new(Storage::NoPromise);
    let count = LENT_LIMIT + 1000;
    let buffer = Array::foreign(count);
    let lent = || tracer.element.counters().read().lent as i64;
    for round in 0..2 {
        for index in 0..count {
            set(tracer, buffer.cell(index), index as i64).unwrap();
            assert!(index % 997 != 0 || live(tracer) <= LENT_LIMIT as i64);
        }
        assert_eq!(seen(tracer, buffer.cell(count - 1)), Seen::Value(count as i64 - 1));
        assert_eq!(live(tracer), lent());
        assert!(live(tracer) <= LENT_LIMIT as i64, "round {round}");
    }
    assert_eq!(seen(tracer, buffer.cell(0)), Seen::Stale, "the oldest went");
    let foreign_now = lent();
    assert_eq!(unsafe { sweep(tracer.element) } as i64, foreign_now);
    assert_eq!((live(tracer), lent()), (0, 0));
    assert_eq!(seen(tracer, buffer.cell(count - 1)), Seen::Stale);
    set(tracer, buffer.cell(count - 1), 5).unwrap();
    assert_eq!((live(tracer), lent()), (1, 1));
    unsafe { vacate(buffer.cell(count - 1), tracer.element) }.unwrap();
    assert_eq!((live(tracer), lent()), (0, 0));
}

#[test]
fn memory_that_is_used_again_needs_no_more_objects() {
    let tracer = TracerType::new(Storage::NoPromise);
    let buffer = Array::foreign(8);
    for round in 0..1000 {
        for index in 0..8 {
            if round % 3 == 0 {
                // As new memory at an old address.
                unsafe { erase(buffer.cell(index)) };
            }
            put(tracer, buffer.cell(index), round).unwrap();
        }
        assert_eq!(live(tracer), 8);
    }
    assert_eq!(unsafe { sweep(tracer.element) }, 8);
}

#[test]
fn an_array_survives_without_memory_for_its_objects() {
    let tracer = TracerType::new(Storage::NoPromise);
    let array = Array::managed(3);
    for index in 0..3 {
        set(tracer, array.cell(index), 1).unwrap();
    }
    let other = Array::managed(3);
    tracer.plan_fault(0, Fault::Fail);
    assert!(unsafe { touch(other.cell(0), tracer.element) }.is_err());
    assert_eq!(values(tracer, &other), [Seen::Vacant; 3]);
    tracer.plan_fault(0, Fault::Panic);
    assert!(put(tracer, other.cell(0), 2).is_err());
    assert_eq!(values(tracer, &other), [Seen::Vacant; 3]);
    put(tracer, other.cell(0), 2).unwrap();
    drop((array, other));
    assert_eq!(live(tracer), 0);
}

// ---- the model -----------------------------------------------------------------------------------

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let place = || (0..5usize, 0..12usize);
    let value = -9..9i64;
    prop::collection::vec(
        prop_oneof![
            1 => (0..12usize).prop_map(Step::New),
            1 => (1..5usize).prop_map(Step::Drop),
            1 => (1..5usize, 0..12usize).prop_map(|(a, n)| Step::Resize(a, n)),
            5 => (place(), value.clone()).prop_map(|((a, i), v)| Step::Touch(a, i, v)),
            5 => (place(), value).prop_map(|((a, i), v)| Step::Put(a, i, v)),
            3 => (place(), place()).prop_map(|((a, i), (b, j))| Step::Copy(a, i, b, j)),
            2 => place().prop_map(|(a, i)| Step::Vacate(a, i)),
            6 => (place(), place()).prop_map(|((a, i), (b, j))| Step::Raw(a, i, b, j)),
            3 => (place(), place()).prop_map(|((a, i), (b, j))| Step::RawSwap(a, i, b, j)),
            1 => (place(), any::<u8>()).prop_map(|((a, i), b)| Step::Noise(a, i, b)),
            1 => Just(Step::Sweep),
            1 => (0..6u32, any::<bool>()).prop_map(|(k, panic)| Step::Fault(k, panic)),
            1 => (0..4u32).prop_map(Step::FailAllocation),
        ],
        1..80,
    )
}

/// How many random histories: enough for each run, or as many as PROPTEST_CASES says.
fn cases() -> u32 {
    std::env::var("PROPTEST_CASES").ok().and_then(|count| count.parse().ok()).unwrap_or(400)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(cases()))]

    #[test]
    fn cells_are_right_or_known_to_be_stale_whatever_happens_to_their_bytes(
        steps in steps(),
        storage in prop::sample::select(&STORAGES[..]),
    ) {
        run_legacy(storage, &steps);
    }
}

#[test]
fn many_arrays_share_nothing() {
    let tracer = TracerType::new(Storage::NoPromise);
    let arrays: HashMap<usize, Array> = (0..200).map(|n| (n, Array::managed(n % 7 + 1))).collect();
    for (number, array) in &arrays {
        for index in 0..array.count {
            put(tracer, array.cell(index), (number * 10 + index) as i64).unwrap();
        }
    }
    for (number, array) in arrays {
        for index in 0..array.count {
            let value = (number * 10 + index) as i64;
            assert_eq!(seen(tracer, array.cell(index)), Seen::Value(value));
        }
    }
    assert_eq!(live(tracer), 0);
}
