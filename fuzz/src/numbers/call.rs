//! Loops and casts over arrays as NumPy lays them out: strided, backwards, in place, accumulating,
//! reducing.

use super::cells::{Number, check_element, failure};
use super::floats::Scalar;
use super::oracle::{self, Long, Refused, Value};
use super::products;
use super::seeds::{FloatSeed, Seed, pick};
use arbitrary::Arbitrary;
use denizen::abi::{
    ERROR_OVERFLOW, ERROR_VALUE, ErrorOut, LoopFn, OPERAND_NUMPY, OPERAND_SELF, Operand,
};
use num_rational::BigRational;
use num_traits::Zero;
use std::ffi::{CStr, c_void};

/// How the operands lie.
#[derive(Arbitrary, Clone, Debug)]
pub struct Layout {
    count: u8,
    steps: [u8; 4],
    output: OutputLocation,
    unaligned: bool,
}

/// Where the first output is.
#[derive(Arbitrary, Clone, Copy, Debug, PartialEq, Eq)]
pub enum OutputLocation {
    /// In cells that were never filled.
    Vacant,
    /// In live cells.
    Live,
    /// In the first input.
    First,
    /// In the second input.
    Second,
    /// In the first input, a step ahead, as in `accumulate`.
    Ahead,
    /// In one cell, which is the first input too, as in `reduce`.
    Single,
}

const MOST: usize = 6;

/// The memory of one operand.
enum Store<T> {
    Cells { cells: Vec<T>, model: Vec<BigRational> },
    Bytes { scalar: Scalar, bytes: Vec<u8>, first: usize },
}

/// Where an operand begins, and how far its elements are apart.
#[derive(Clone, Copy)]
struct At {
    store: usize,
    start: usize,
    step: isize,
}

impl At {
    fn index(self, element: usize) -> usize {
        self.start.wrapping_add_signed(self.step * element as isize)
    }
}

fn zeros<T>(count: usize) -> Vec<T> {
    // SAFETY: of both types, zero bytes are the value 0.
    (0..count).map(|_| unsafe { std::mem::zeroed() }).collect()
}

struct Operands<'s, T> {
    stores: Vec<Store<T>>,
    count: usize,
    seeds: &'s [Seed],
    floats: &'s [FloatSeed],
}

impl<T: Number> Operands<'_, T> {
    /// Fills memory for one operand, `vacant` or with values.
    fn store(&mut self, operand: &Operand, layout: &Layout, vacant: bool) -> usize {
        let number = self.stores.len();
        // Room for a step of two, and one ahead.
        let room = 2 * self.count + 2;
        let value = |index: usize| {
            let seed = pick(self.seeds, number * 7 + index);
            seed.map_or_else(BigRational::zero, |seed| seed.value(T::FRACTIONS))
        };
        self.stores.push(if operand.kind == OPERAND_SELF {
            let model: Vec<_> =
                (0..room).map(|i| if vacant { BigRational::zero() } else { value(i) }).collect();
            let cells = if vacant { zeros(room) } else { model.iter().map(T::make).collect() };
            Store::Cells { cells, model }
        } else {
            assert_eq!(operand.kind, OPERAND_NUMPY);
            let scalar = Scalar::of(operand.numpy_type).expect("a type that the target knows");
            let first = usize::from(layout.unaligned);
            let mut bytes = vec![0xa5; first + room * scalar.size()];
            for (index, place) in bytes[first..].chunks_exact_mut(scalar.size()).enumerate() {
                if let Some(seed) = pick(self.floats, number * 5 + index) {
                    place.copy_from_slice(&scalar.make(seed, |which| value(which.into())));
                } else {
                    place.fill(0);
                }
            }
            Store::Bytes { scalar, bytes, first }
        });
        number
    }

    fn at(&self, store: usize, step: u8) -> At {
        let last = self.count.saturating_sub(1);
        let (start, step) = match step % 5 {
            0 | 1 => (0, 1),
            2 => (1, 2),
            3 => (last, -1),
            _ => (0, 0),
        };
        At { store, start, step }
    }

    fn value(&self, at: At, element: usize) -> Value {
        let index = at.index(element);
        match &self.stores[at.store] {
            Store::Cells { model, .. } => Value::Exact(model[index].clone()),
            Store::Bytes { scalar, bytes, first } => {
                scalar.operand(&bytes[first + index * scalar.size()..][..scalar.size()])
            }
        }
    }

    fn pointer(&mut self, at: At) -> (*mut u8, isize) {
        match &mut self.stores[at.store] {
            Store::Cells { cells, .. } => (
                cells.as_mut_ptr().wrapping_add(at.start).cast(),
                at.step * size_of::<T>() as isize,
            ),
            Store::Bytes { scalar, bytes, first } => (
                bytes.as_mut_ptr().wrapping_add(*first + at.start * scalar.size()),
                at.step * scalar.size() as isize,
            ),
        }
    }

    /// Checks all cells against the model.
    fn check(&self, what: &str) {
        for store in &self.stores {
            if let Store::Cells { cells, model } = store {
                for (cell, expected) in cells.iter().zip(model) {
                    check_element(cell, expected, what);
                }
            }
        }
    }
}

/// Calls a function with these operands.
fn call<T: Number>(
    operands: &mut Operands<'_, T>,
    places: &[At],
    function: LoopFn,
    context: *mut c_void,
    error_out: &mut ErrorOut,
) -> i32 {
    let (pointers, strides): (Vec<_>, Vec<_>) =
        places.iter().map(|at| operands.pointer(*at)).unzip();
    let dimensions = [operands.count as isize];
    // SAFETY: the operands are cells and numbers as the table says; steps stay in their memory.
    unsafe {
        function(context, pointers.as_ptr(), dimensions.as_ptr(), strides.as_ptr(), error_out)
    }
}

/// One loop of the type's table.
pub fn check_loop<T: Number>(which: u8, layout: &Layout, seeds: &[Seed], floats: &[FloatSeed]) {
    let definition = T::definition();
    let plain: Vec<_> =
        definition.loops().iter().filter(|entry| entry.function.is_some()).collect();
    let entry = plain[usize::from(which) % plain.len()];
    // SAFETY: the definition is alive.
    let (name, operands) = unsafe {
        let count = (entry.input_count + entry.output_count) as usize;
        (
            CStr::from_ptr(entry.ufunc).to_str().expect("a name in ASCII"),
            std::slice::from_raw_parts(entry.operands, count),
        )
    };
    if products::signature(name).is_some() {
        return;
    }
    let inputs = entry.input_count as usize;
    let count = usize::from(layout.count) % (MOST + 1);
    let mut all = Operands::<T> { stores: Vec::new(), count, seeds, floats };
    let mut places = Vec::new();
    for (index, operand) in operands.iter().enumerate() {
        let reuse = match layout.output {
            OutputLocation::First | OutputLocation::Ahead | OutputLocation::Single => 0,
            _ => 1,
        };
        let shared = index == inputs
            && !matches!(layout.output, OutputLocation::Vacant | OutputLocation::Live)
            && reuse < inputs
            && operand.kind == OPERAND_SELF
            && operands[reuse].kind == OPERAND_SELF;
        if !shared {
            let vacant = index >= inputs && layout.output == OutputLocation::Vacant;
            let store = all.store(operand, layout, vacant);
            let mut at = all.at(store, layout.steps[index % 4]);
            if index >= inputs && at.step == 0 {
                at = all.at(store, 0);
            }
            places.push(at);
            continue;
        }
        let mut at: At = places[reuse];
        match layout.output {
            OutputLocation::Ahead => {
                at = At { start: 0, step: 1, ..at };
                places[reuse] = at;
                at.start = 1;
            }
            OutputLocation::Single => {
                at = At { start: 0, step: 0, ..at };
                places[reuse] = at;
            }
            // Cells that are input and output once only.
            _ if at.step == 0 => {
                at = At { start: 0, step: 1, ..at };
                places[reuse] = at;
            }
            _ => {}
        }
        places.push(at);
    }
    // What should happen, element by element.
    let before: Vec<_> = all
        .stores
        .iter()
        .map(|store| match store {
            Store::Cells { model, .. } => model.clone(),
            Store::Bytes { .. } => Vec::new(),
        })
        .collect();
    let mut answers = Vec::new();
    let mut refused = None;
    for element in 0..count {
        let values: Vec<_> = places[..inputs].iter().map(|at| all.value(*at, element)).collect();
        match oracle::apply(T::FRACTIONS, name, &values) {
            Err(Refused::Skip) => return,
            Err(Refused::Error(kind)) => {
                refused = Some((element, kind));
                break;
            }
            Ok(results) => {
                for (at, result) in places[inputs..].iter().zip(results) {
                    match (&mut all.stores[at.store], result) {
                        (Store::Cells { model, .. }, Value::Exact(value)) => {
                            if value.numer().bits() + value.denom().bits() > 1 << 15 {
                                return;
                            }
                            model[at.index(element)] = value;
                        }
                        (Store::Bytes { .. }, Value::Bool(answer)) => {
                            answers.push((*at, element, answer));
                        }
                        (_, other) => panic!("{name} gave {other:?}"),
                    }
                }
            }
        }
    }
    let mut error_out = ErrorOut::new();
    let Some(function) = entry.function else { return };
    let status = call(&mut all, &places, function, entry.context, &mut error_out);
    let failed = failure(status, &error_out);
    assert_eq!(failed, refused.map(|(_, kind)| kind), "{name} of {before:?}: {}", error_out.text());
    if let Some((element, _)) = refused {
        assert_eq!(error_out.done, element, "elements done of {name}");
    }
    all.check(name);
    for (at, element, answer) in answers {
        let Value::Bool(found) = all.value(at, element) else { panic!("no answer of {name}") };
        assert_eq!(found, answer, "{name} at {element}");
    }
}

/// One cast of the type's table.
pub fn check_cast<T: Number>(which: u8, layout: &Layout, seeds: &[Seed], floats: &[FloatSeed]) {
    let definition = T::definition();
    let casts = definition.casts();
    let cast = casts[usize::from(which) % casts.len()];
    let count = usize::from(layout.count) % (MOST + 1);
    let mut all = Operands::<T> { stores: Vec::new(), count, seeds, floats };
    let from = all.store(&cast.from, layout, false);
    let to = all.store(&cast.to, layout, layout.output == OutputLocation::Vacant);
    let from = all.at(from, layout.steps[0]);
    let to = all.at(to, if layout.steps[1] % 5 == 4 { 0 } else { layout.steps[1] });
    let mut expected = Vec::new();
    let mut refused = None;
    for element in 0..count {
        let index = from.index(element);
        let result = match (&all.stores[from.store], &all.stores[to.store]) {
            (Store::Bytes { scalar, bytes, first }, Store::Cells { .. }) => {
                let size = scalar.size();
                match scalar.read(&bytes[first + index * size..][..size]) {
                    Long::NotANumber => Err(ERROR_VALUE),
                    Long::Infinite { .. } => Err(ERROR_OVERFLOW),
                    Long::Finite(value) if T::FRACTIONS || value.is_integer() => Ok(value),
                    Long::Finite(_) => Err(ERROR_VALUE),
                }
            }
            (Store::Cells { model, .. }, Store::Bytes { scalar, .. }) => {
                let value = &model[index];
                if scalar.is_integral() && !value.is_integer() {
                    Err(ERROR_VALUE)
                } else {
                    scalar.cast(value).ok_or(ERROR_OVERFLOW)
                }
            }
            _ => panic!("a cast between two of the same"),
        };
        match result {
            Ok(value) => {
                if let Store::Cells { model, .. } = &mut all.stores[to.store] {
                    model[to.index(element)] = value.clone();
                }
                expected.push(value);
            }
            Err(kind) => {
                refused = Some(kind);
                break;
            }
        }
    }
    let mut error_out = ErrorOut::new();
    let status = call(&mut all, &[from, to], cast.function, cast.context, &mut error_out);
    let failed = failure(status, &error_out);
    let (one, other) = (cast.from.numpy_type, cast.to.numpy_type);
    assert_eq!(failed, refused, "cast from {one} to {other}: {}", error_out.text());
    if refused.is_some() {
        assert_eq!(error_out.done, expected.len(), "elements done, from {one} to {other}");
    }
    all.check("cast");
    if let Store::Bytes { scalar, bytes, first } = &all.stores[to.store] {
        for (element, expected) in expected.iter().enumerate() {
            let size = scalar.size();
            match scalar.read(&bytes[first + to.index(element) * size..][..size]) {
                Long::Finite(value) => assert_eq!(&value, expected, "as {scalar:?}"),
                found => panic!("{expected} as {scalar:?} is {found:?}"),
            }
        }
    }
}
