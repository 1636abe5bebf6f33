//! Arrays of a legacy dtype in handler mode, and a plain model of what their cells hold under random
//! raw copies, resizes, sweeps and failures.
//!
//! The property test beside `handler::objects` and the fuzz target run the same [`run_legacy`].
#![expect(
    clippy::undocumented_unsafe_blocks,
    reason = "every block works on cells of an `Array`, which the model's thread owns alone"
)]

use super::{Fault, Storage, TracerType};
use crate::{
    erased::{CellsMut, Exclusive, Failure},
    faults,
    handler::{
        calloc, free,
        objects::{CELL_SIZE, Peeked, peek, store, sweep, touch, vacate},
        realloc,
    },
    segment::SegmentRequest,
};
use std::ptr;

/// Kinds of objects that are in such cells: none tells by its bytes whether it is live.
pub const LEGACY_STORAGES: [Storage; 2] = [Storage::NoPromise, Storage::SelfPointingNoPromise];

/// An array of a legacy dtype in handler mode, or memory of another allocator.
pub struct Array {
    start: *mut u8,
    /// Cells.
    pub count: usize,
    foreign: Option<Vec<u64>>,
}

impl Array {
    /// One that the handler made.
    ///
    /// # Panics
    /// There is no memory.
    pub fn managed(count: usize) -> Array {
        Array::try_managed(count).expect("memory")
    }

    fn try_managed(count: usize) -> Option<Array> {
        let start: *mut u8 = unsafe { calloc(ptr::null_mut(), count * CELL_SIZE, 1) }.cast();
        (!start.is_null()).then_some(Array { start, count, foreign: None })
    }

    /// Memory that another allocator made.
    pub fn foreign(count: usize) -> Array {
        let mut words = vec![0u64; count * CELL_SIZE / 8];
        Array { start: words.as_mut_ptr().cast(), count, foreign: Some(words) }
    }

    /// The address of a cell.
    ///
    /// # Panics
    /// There is none.
    pub fn cell(&self, index: usize) -> *mut u8 {
        assert!(index < self.count);
        unsafe { self.start.add(index * CELL_SIZE) }
    }

    /// Another number of cells.
    ///
    /// # Panics
    /// There is no memory.
    pub fn resize(&mut self, count: usize) {
        assert!(self.try_resize(count), "memory");
    }

    fn try_resize(&mut self, count: usize) -> bool {
        assert!(self.foreign.is_none(), "only the handler's arrays are resized");
        let bytes = (count * CELL_SIZE).max(1);
        let start: *mut u8 = unsafe { realloc(ptr::null_mut(), self.start.cast(), bytes) }.cast();
        if start.is_null() {
            return false;
        }
        (self.start, self.count) = (start, count);
        true
    }
}

impl Drop for Array {
    fn drop(&mut self) {
        if self.foreign.is_none() {
            unsafe { free(ptr::null_mut(), self.start.cast(), 0) };
        }
    }
}

/// What NumPy does to the cells of legacy dtypes.
pub(crate) fn raw_copy(from: *const u8, to: *mut u8) {
    unsafe { ptr::copy(from, to, CELL_SIZE) };
}

/// Writes to the object of a cell, as `denizen_touch` has it done.
///
/// # Errors
/// As for [`touch`].
pub(crate) fn set(tracer: TracerType, cell: *mut u8, value: i64) -> Result<(), Failure> {
    unsafe {
        let object = touch(cell, tracer.element)?;
        let mut run =
            CellsMut::new(object.as_ptr(), tracer.element.size() as isize, 1, Exclusive::own());
        tracer.set(&mut run, value);
    }
    Ok(())
}

/// Stores a copy of an object that is in no array.
///
/// # Errors
/// As for [`store`], or there was no object to copy.
pub(crate) fn put(tracer: TracerType, cell: *mut u8, value: i64) -> Result<(), Failure> {
    let element = tracer.element;
    let no_memory = |error| Failure::new(crate::abi::ERROR_MEMORY, error);
    let segment = SegmentRequest::new(element.size(), 64)
        .hint(element)
        .zeroed()
        .allocate()
        .map_err(|error| no_memory(error.to_string()))?;
    unsafe {
        let bound = segment.bind(element).map_err(|error| no_memory(error.to_string()));
        let built = bound.and_then(|()| segment.construct_default(0..1));
        let stored = built.and_then(|()| {
            let object = segment.cell_address(0).as_ptr();
            let mut run = CellsMut::new(object, element.size() as isize, 1, Exclusive::own());
            tracer.set(&mut run, value);
            store(cell, element, object)
        });
        segment.free()?;
        stored
    }
}

/// What a cell shows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Seen {
    /// No object.
    Vacant,
    /// A raw copy of what is gone.
    Stale,
    /// An object of this value.
    Value(i64),
}

/// What a cell shows.
///
/// # Panics
/// It is a cell of another type.
pub(crate) fn seen(tracer: TracerType, cell: *const u8) -> Seen {
    match unsafe { peek(cell, tracer.element) }.expect("a cell of the type") {
        Peeked::Vacant => Seen::Vacant,
        Peeked::Stale => Seen::Stale,
        Peeked::Object(object) => Seen::Value(unsafe { tracer.value(object.as_ptr()) }),
    }
}

/// One step. Arrays, cells and sizes are taken modulo what exists.
#[derive(Clone, Copy, Debug)]
pub enum LegacyStep {
    /// A new array of so many cells.
    New(usize),
    /// An array goes.
    Drop(usize),
    /// An array gets so many cells.
    Resize(usize, usize),
    /// Writes to the object of a cell.
    Touch(usize, usize, i64),
    /// Stores a copy of an object.
    Put(usize, usize, i64),
    /// Copies an object from a cell to another.
    Copy(usize, usize, usize, usize),
    /// Makes a cell vacant.
    Vacate(usize, usize),
    /// Copies a cell as bytes.
    Raw(usize, usize, usize, usize),
    /// Swaps two cells as bytes.
    RawSwap(usize, usize, usize, usize),
    /// Bytes that are no name.
    Noise(usize, usize, u8),
    /// Ends what is lent.
    Sweep,
    /// Has an operation on an object fail after so many; or panic.
    Fault(u32, bool),
    /// Has an allocation fail after so many.
    FailAllocation(u32),
}

/// One value that was written once.
#[derive(Clone, Copy)]
struct Write {
    value: i64,
    /// Array that it was written in, by its serial number.
    array_serial: usize,
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
            for write in self.writes.iter_mut().filter(|write| write.array_serial == 0) {
                write.weak |= write.cell == index;
            }
        }
    }

    /// The cell was written to: what it held may be gone, and it holds something new.
    fn wrote(&mut self, array: usize, index: usize, value: Option<i64>) {
        if let Some(old) = self.expected(array, index) {
            self.writes[old].weak = true;
        }
        let array_serial = self.arrays[array].as_ref().map_or(0, |(serial, ..)| *serial);
        let write = value.map(|value| {
            self.writes.push(Write { value, array_serial, cell: index, weak: false });
            self.writes.len() - 1
        });
        self.hold(array, index, write);
    }

    /// Whether the original of a write must still be there: in foreign memory until it is
    /// written anew, else as long as a cell of the array that it was written in holds it.
    fn must_live(&self, number: usize) -> bool {
        let write = self.writes[number];
        !write.weak
            && (write.array_serial == 0
                || self.arrays.iter().flatten().any(|(serial, _, cells)| {
                    *serial == write.array_serial && cells.contains(&Some(number))
                }))
    }

    fn check(&self, tracer: TracerType) {
        for (array, index) in (0..5).flat_map(|array| (0..12).map(move |index| (array, index))) {
            let Some(cell) = self.at(array, index) else { continue };
            let seen = seen(tracer, cell);
            match self.expected(array, index) {
                None => assert_eq!(seen, Seen::Vacant),
                Some(number) if self.must_live(number) => {
                    assert_eq!(seen, Seen::Value(self.writes[number].value));
                }
                Some(number) => {
                    let value = Seen::Value(self.writes[number].value);
                    assert!(seen == value || seen == Seen::Stale, "{seen:?} for {value:?}");
                }
            }
        }
    }

    /// Does a step, here and there.
    fn apply(&mut self, tracer: TracerType, step: &LegacyStep) {
        self.do_step(tracer, step);
        let as_bytes =
            matches!(step, LegacyStep::Raw(..) | LegacyStep::RawSwap(..) | LegacyStep::Noise(..));
        if as_bytes {
            // No call saw that an object lost its cell: it may come back.
            return;
        }
        for number in 0..self.writes.len() {
            self.writes[number].weak |= !self.must_live(number);
        }
    }

    fn do_step(&mut self, tracer: TracerType, step: &LegacyStep) {
        match *step {
            LegacyStep::New(count) => {
                if let Some(free) = self.arrays.iter().position(Option::is_none)
                    && let Some(array) = Array::try_managed(count)
                {
                    self.serial += 1;
                    self.arrays[free] = Some((self.serial, array, vec![None; count]));
                }
            }
            LegacyStep::Drop(array) => self.arrays[array] = None,
            LegacyStep::Resize(array, count) => {
                if let Some((_, memory, cells)) = &mut self.arrays[array]
                    && memory.try_resize(count)
                {
                    // What is behind the new end may live on in cells that copied it.
                    cells.resize(count, None);
                }
            }
            LegacyStep::Touch(array, index, value) => {
                self.will_write(array, index);
                if let Some(cell) = self.at(array, index)
                    && set(tracer, cell, value).is_ok()
                {
                    self.wrote(array, index, Some(value));
                }
            }
            LegacyStep::Put(array, index, value) => {
                self.will_write(array, index);
                if let Some(cell) = self.at(array, index)
                    && put(tracer, cell, value).is_ok()
                {
                    self.wrote(array, index, Some(value));
                }
            }
            LegacyStep::Copy(a, i, b, j) => {
                let (Some(from), Some(to)) = (self.at(a, i), self.at(b, j)) else { return };
                self.will_write(b, j);
                if let Peeked::Object(object) =
                    unsafe { peek(from, tracer.element) }.expect("a cell of the type")
                {
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
            LegacyStep::Vacate(array, index) => {
                if let Some(cell) = self.at(array, index) {
                    unsafe { vacate(cell, tracer.element) }.expect("no destructor fails");
                    self.wrote(array, index, None);
                }
            }
            LegacyStep::Raw(a, i, b, j) => {
                if let (Some(from), Some(to)) = (self.at(a, i), self.at(b, j)) {
                    raw_copy(from, to);
                    self.hold(b, j, self.expected(a, i));
                }
            }
            LegacyStep::RawSwap(a, i, b, j) => {
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
            LegacyStep::Noise(array, index, byte) => {
                if let Some(cell) = self.at(array, index) {
                    raw_copy([byte; CELL_SIZE].as_ptr(), cell);
                    self.hold(array, index, None);
                }
            }
            LegacyStep::Sweep => {
                unsafe { sweep(tracer.element) };
                for write in &mut self.writes {
                    write.weak |= write.array_serial == 0;
                }
            }
            LegacyStep::Fault(steps, panic) => {
                tracer.plan_fault(steps, if panic { Fault::Panic } else { Fault::Fail });
            }
            LegacyStep::FailAllocation(steps) => faults::plan_failure(steps),
        }
    }
}

impl LegacyStep {
    /// Any six bytes are a step.
    pub fn from_bytes([opcode, a, i, b, j, value]: [u8; 6]) -> LegacyStep {
        let (a, i) = (usize::from(a) % 5, usize::from(i) % 12);
        let (b, j) = (usize::from(b) % 5, usize::from(j) % 12);
        // The first is foreign memory, which stays.
        let array = 1 + a % 4;
        match opcode % 32 {
            0..2 => LegacyStep::New(i),
            2 => LegacyStep::Drop(array),
            3 => LegacyStep::Resize(array, i),
            4..9 => LegacyStep::Touch(a, i, (value as i8).into()),
            9..14 => LegacyStep::Put(a, i, (value as i8).into()),
            14..17 => LegacyStep::Copy(a, i, b, j),
            17..19 => LegacyStep::Vacate(a, i),
            19..25 => LegacyStep::Raw(a, i, b, j),
            25..28 => LegacyStep::RawSwap(a, i, b, j),
            28 => LegacyStep::Noise(a, i, value),
            29 => LegacyStep::Sweep,
            30 => LegacyStep::Fault((value % 6).into(), b & 1 == 1),
            _ => LegacyStep::FailAllocation((value % 4).into()),
        }
    }
}

/// Runs `steps` on arrays of one storage of object, and frees all.
///
/// # Panics
/// A cell shows what it should not, or an object is lost or ended twice.
pub fn run_legacy(storage: Storage, steps: &[LegacyStep]) {
    let tracer = TracerType::borrow(storage);
    let live = || {
        let live = tracer.counts().live;
        assert_eq!(tracer.element.counters().read().live, live, "ledger and objects");
        live
    };
    let mut model = Model::new();
    for step in steps {
        model.apply(tracer, step);
        model.check(tracer);
    }
    tracer.cancel_plans();
    faults::cancel();
    let cells: usize = model.arrays.iter().flatten().map(|(_, memory, _)| memory.count).sum();
    let lent = tracer.element.counters().read().lent as i64;
    assert!(live() - lent <= cells as i64, "{} objects, {lent} lent, in {cells} cells", live());
    drop(model);
    unsafe { sweep(tracer.element) };
    assert_eq!((live(), tracer.element.counters().read().lent), (0, 0));
    tracer.give_back();
}
