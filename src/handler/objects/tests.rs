//! What handler mode promises for cells of legacy dtypes: by example, and against a plain model
//! under random raw copies, resizes, sweeps and failures.
#![expect(
    clippy::undocumented_unsafe_blocks,
    reason = "every block works on memory that the test owns alone"
)]
#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use super::*;
use crate::{
    erased::CellsMut,
    handler::{calloc, free, realloc},
    testing::{Kind, Mishap, TracerType},
};
use proptest::{prelude::*, test_runner::TestCaseError};
use std::{collections::HashMap, ptr};

/// An array of a legacy dtype in handler mode, or memory of somebody else.
struct Array {
    start: *mut u8,
    count: usize,
    foreign: Option<Vec<u64>>,
}

impl Array {
    fn managed(count: usize) -> Array {
        let start = unsafe { calloc(ptr::null_mut(), count * CELL_SIZE, 1) }.cast();
        Array { start, count, foreign: None }
    }

    fn foreign(count: usize) -> Array {
        let mut words = vec![0u64; count * CELL_SIZE / 8];
        Array { start: words.as_mut_ptr().cast(), count, foreign: Some(words) }
    }

    fn cell(&self, index: usize) -> *mut u8 {
        assert!(index < self.count);
        unsafe { self.start.add(index * CELL_SIZE) }
    }

    fn resize(&mut self, count: usize) {
        assert!(self.foreign.is_none());
        let bytes = (count * CELL_SIZE).max(1);
        self.start = unsafe { realloc(ptr::null_mut(), self.start.cast(), bytes) }.cast();
        assert!(!self.start.is_null());
        self.count = count;
    }
}

impl Drop for Array {
    fn drop(&mut self) {
        if self.foreign.is_none() {
            unsafe { free(ptr::null_mut(), self.start.cast(), 0) };
        }
    }
}

fn raw_copy(from: *const u8, to: *mut u8) {
    unsafe { ptr::copy(from, to, CELL_SIZE) };
}

fn set(tracer: TracerType, cell: *mut u8, value: i64) -> Result<(), Failure> {
    unsafe {
        let object = touch(cell, tracer.element)?;
        let mut run = CellsMut::new(object.as_ptr(), tracer.element.size() as isize, 1);
        tracer.set(&mut run, value);
    }
    Ok(())
}

/// Stores a copy of an object that is in no array.
fn put(tracer: TracerType, cell: *mut u8, value: i64) -> Result<(), Failure> {
    let element = tracer.element;
    let segment = Segment::allocate(element.size(), 64, Some(element), true).unwrap();
    segment.bind(element).unwrap();
    unsafe {
        let stored = segment.construct_default(0..1).and_then(|()| {
            let object = segment.cell_address(0).as_ptr();
            let mut run = CellsMut::new(object, element.size() as isize, 1);
            tracer.set(&mut run, value);
            store(cell, element, object)
        });
        segment.free().unwrap();
        stored
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Seen {
    Vacant,
    Stale,
    Value(i64),
}

fn seen(tracer: TracerType, cell: *const u8) -> Seen {
    match unsafe { peek(cell, tracer.element) }.unwrap() {
        Peeked::Vacant => Seen::Vacant,
        Peeked::Stale => Seen::Stale,
        Peeked::Object(object) => Seen::Value(unsafe { tracer.value(object.as_ptr()) }),
    }
}

fn values(tracer: TracerType, array: &Array) -> Vec<Seen> {
    (0..array.count).map(|index| seen(tracer, array.cell(index))).collect()
}

fn live(tracer: TracerType) -> i64 {
    let live = tracer.counts().live;
    assert_eq!(tracer.element.counters().read().live, live, "ledger and objects disagree");
    live
}

const KINDS: [Kind; 2] = [Kind::NoPromise, Kind::SelfPointingNoPromise];

#[test]
fn each_object_is_destroyed_once_when_its_array_is_freed_or_shrinks() {
    for kind in KINDS {
        let tracer = TracerType::new(kind);
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
    let tracer = TracerType::new(Kind::SelfPointingNoPromise);
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
    let tracer = TracerType::new(Kind::NoPromise);
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
    // The copy that nobody wrote to is not what its original becomes.
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
    let tracer = TracerType::new(Kind::NoPromise);
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
    let tracer = TracerType::new(Kind::NoPromise);
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
        (TracerType::new(Kind::NoPromise), TracerType::new(Kind::SelfPointingNoPromise));
    let array = Array::managed(3);
    set(tracer, array.cell(0), 1).unwrap();
    let error = unsafe { touch(array.cell(1), other.element) }.unwrap_err();
    assert_eq!(error.kind, abi::ERROR_TYPE);
    assert!(error.message.contains("holds objects of denizen.testing.NoPromise"), "{error}");
    assert!(unsafe { peek(array.cell(0), other.element) }.is_err());
    for offset in [1, 8, 23, 25] {
        let error = unsafe { touch(array.start.add(offset), tracer.element) }.unwrap_err();
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
    let tracer = TracerType::new(Kind::NoPromise);
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
    let lent_now = lent();
    assert_eq!(unsafe { sweep(tracer.element) } as i64, lent_now);
    assert_eq!((live(tracer), lent()), (0, 0));
    assert_eq!(seen(tracer, buffer.cell(count - 1)), Seen::Stale);
    set(tracer, buffer.cell(count - 1), 5).unwrap();
    assert_eq!((live(tracer), lent()), (1, 1));
    unsafe { vacate(buffer.cell(count - 1), tracer.element) }.unwrap();
    assert_eq!((live(tracer), lent()), (0, 0));
}

#[test]
fn memory_that_is_used_again_needs_no_more_objects() {
    let tracer = TracerType::new(Kind::NoPromise);
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
    let tracer = TracerType::new(Kind::NoPromise);
    let array = Array::managed(3);
    for index in 0..3 {
        set(tracer, array.cell(index), 1).unwrap();
    }
    let other = Array::managed(3);
    tracer.plan_mishap(0, Mishap::Fail);
    assert!(unsafe { touch(other.cell(0), tracer.element) }.is_err());
    assert_eq!(values(tracer, &other), [Seen::Vacant; 3]);
    tracer.plan_mishap(0, Mishap::Panic);
    assert!(put(tracer, other.cell(0), 2).is_err());
    assert_eq!(values(tracer, &other), [Seen::Vacant; 3]);
    put(tracer, other.cell(0), 2).unwrap();
    drop((array, other));
    assert_eq!(live(tracer), 0);
}

// ---- the model -----------------------------------------------------------------------------------

#[derive(Clone, Debug)]
enum Step {
    New(usize),
    Drop(usize),
    Resize(usize, usize),
    Touch(usize, usize, i64),
    Put(usize, usize, i64),
    Copy(usize, usize, usize, usize),
    Vacate(usize, usize),
    Raw(usize, usize, usize, usize),
    RawSwap(usize, usize, usize, usize),
    Noise(usize, usize, u8),
    Sweep,
    Mishap(u32, bool),
}

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
            1 => (0..6u32, any::<bool>()).prop_map(|(k, panic)| Step::Mishap(k, panic)),
        ],
        1..80,
    )
}

/// One value that was written once.
#[derive(Clone, Copy)]
struct Write {
    value: i64,
    /// Array that it was written in, by its serial number.
    home: usize,
    /// The cell that it was written in.
    cell: usize,
    /// An original may have been replaced: raw copies may be stale.
    weak: bool,
}

/// An array's serial number, its memory, and what each cell should hold: nothing, or the number of
/// a write.
type ModelArray = (usize, Array, Vec<Option<usize>>);

struct Model {
    /// The first is foreign memory.
    arrays: Vec<Option<ModelArray>>,
    writes: Vec<Write>,
    serial: usize,
}

impl Model {
    fn new() -> Model {
        let foreign = Some((0, Array::foreign(12), vec![None; 12]));
        Model { arrays: vec![foreign, None, None, None, None], writes: Vec::new(), serial: 0 }
    }

    /// Address of a cell, if there is one.
    fn at(&self, array: usize, index: usize) -> Option<*mut u8> {
        let (_, memory, cells) = self.arrays[array].as_ref()?;
        (index < cells.len()).then(|| memory.cell(index))
    }

    fn expected(&self, array: usize, index: usize) -> Option<usize> {
        self.arrays[array].as_ref().and_then(|(_, _, cells)| cells[index])
    }

    fn hold(&mut self, array: usize, index: usize, write: Option<usize>) {
        if let Some((_, _, cells)) = &mut self.arrays[array] {
            cells[index] = write;
        }
    }

    /// A cell is going to be written to, perhaps in vain.
    fn will_write(&mut self, array: usize, index: usize) {
        if array == 0 && self.expected(0, index).is_none() {
            // New memory at an old address, to all appearances.
            for write in self.writes.iter_mut().filter(|write| write.home == 0) {
                write.weak |= write.cell == index;
            }
        }
    }

    /// The cell was written to: what it held may be gone, and it holds something new.
    fn wrote(&mut self, array: usize, index: usize, value: Option<i64>) {
        if let Some(old) = self.expected(array, index) {
            self.writes[old].weak = true;
        }
        let home = self.arrays[array].as_ref().map_or(0, |(serial, ..)| *serial);
        let write = value.map(|value| {
            self.writes.push(Write { value, home, cell: index, weak: false });
            self.writes.len() - 1
        });
        self.hold(array, index, write);
    }

    /// Whether the original of a write must still be there: in foreign memory until somebody writes
    /// it anew, else as long as a cell of the array that it was written in holds it.
    fn must_live(&self, number: usize) -> bool {
        let write = self.writes[number];
        !write.weak
            && (write.home == 0
                || self.arrays.iter().flatten().any(|(serial, _, cells)| {
                    *serial == write.home && cells.contains(&Some(number))
                }))
    }

    fn check(&self, tracer: TracerType) -> Result<(), TestCaseError> {
        for (array, index) in (0..5).flat_map(|array| (0..12).map(move |index| (array, index))) {
            let Some(cell) = self.at(array, index) else { continue };
            let seen = seen(tracer, cell);
            match self.expected(array, index) {
                None => prop_assert_eq!(seen, Seen::Vacant),
                Some(number) if self.must_live(number) => {
                    prop_assert_eq!(seen, Seen::Value(self.writes[number].value));
                }
                Some(number) => {
                    let value = Seen::Value(self.writes[number].value);
                    prop_assert!(seen == value || seen == Seen::Stale, "{seen:?} for {value:?}");
                }
            }
        }
        Ok(())
    }

    fn apply(&mut self, tracer: TracerType, step: &Step) {
        match *step {
            Step::New(count) => {
                if let Some(free) = self.arrays.iter().position(Option::is_none) {
                    self.serial += 1;
                    let array = Array::managed(count);
                    self.arrays[free] = Some((self.serial, array, vec![None; count]));
                }
            }
            Step::Drop(array) => self.arrays[array] = None,
            Step::Resize(array, count) => {
                if let Some((_, memory, cells)) = &mut self.arrays[array] {
                    memory.resize(count);
                    // What is behind the new end may live on in cells that copied it.
                    cells.resize(count, None);
                }
            }
            Step::Touch(array, index, value) => {
                self.will_write(array, index);
                if let Some(cell) = self.at(array, index)
                    && set(tracer, cell, value).is_ok()
                {
                    self.wrote(array, index, Some(value));
                }
            }
            Step::Put(array, index, value) => {
                self.will_write(array, index);
                if let Some(cell) = self.at(array, index)
                    && put(tracer, cell, value).is_ok()
                {
                    self.wrote(array, index, Some(value));
                }
            }
            Step::Copy(a, i, b, j) => {
                let (Some(from), Some(to)) = (self.at(a, i), self.at(b, j)) else { return };
                self.will_write(b, j);
                if let Peeked::Object(object) = unsafe { peek(from, tracer.element) }.unwrap() {
                    let value = unsafe { tracer.value(object.as_ptr()) };
                    if unsafe { store(to, tracer.element, object.as_ptr()) }.is_ok() {
                        self.wrote(b, j, Some(value));
                        if let (false, Some(number)) = (from == to, self.expected(a, i)) {
                            // The destination may have taken the original over.
                            self.writes[number].weak |= !self.must_live(number);
                        }
                    }
                }
            }
            Step::Vacate(array, index) => {
                if let Some(cell) = self.at(array, index) {
                    unsafe { vacate(cell, tracer.element) }.unwrap();
                    self.wrote(array, index, None);
                }
            }
            Step::Raw(a, i, b, j) => {
                if let (Some(from), Some(to)) = (self.at(a, i), self.at(b, j)) {
                    raw_copy(from, to);
                    self.hold(b, j, self.expected(a, i));
                }
            }
            Step::RawSwap(a, i, b, j) => {
                if let (Some(left), Some(right)) = (self.at(a, i), self.at(b, j)) {
                    let mut spare = [0u8; CELL_SIZE];
                    raw_copy(left, spare.as_mut_ptr());
                    raw_copy(right, left);
                    raw_copy(spare.as_ptr(), right);
                    let (l, r) = (self.expected(a, i), self.expected(b, j));
                    self.hold(a, i, r);
                    self.hold(b, j, l);
                }
            }
            Step::Noise(array, index, byte) => {
                if let Some(cell) = self.at(array, index) {
                    raw_copy([byte; CELL_SIZE].as_ptr(), cell);
                    self.hold(array, index, None);
                }
            }
            Step::Sweep => {
                unsafe { sweep(tracer.element) };
                for write in &mut self.writes {
                    write.weak |= write.home == 0;
                }
            }
            Step::Mishap(steps, panic) => {
                tracer.plan_mishap(steps, if panic { Mishap::Panic } else { Mishap::Fail });
            }
        }
    }
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
        kind in prop::sample::select(&KINDS[..]),
    ) {
        let tracer = TracerType::new(kind);
        let mut model = Model::new();
        for step in &steps {
            model.apply(tracer, step);
            tracer.counts();
            model.check(tracer)?;
        }
        tracer.cancel_plans();
        let cells: usize = model.arrays.iter().flatten().map(|(_, memory, _)| memory.count).sum();
        let lent = tracer.element.counters().read().lent as i64;
        prop_assert!(live(tracer) - lent <= cells as i64, "{} in {cells}", live(tracer) - lent);
        drop(model);
        unsafe { sweep(tracer.element) };
        prop_assert_eq!(live(tracer), 0);
        prop_assert_eq!(tracer.element.counters().read().lent, 0);
    }
}

#[test]
fn many_arrays_share_nothing() {
    let tracer = TracerType::new(Kind::NoPromise);
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
