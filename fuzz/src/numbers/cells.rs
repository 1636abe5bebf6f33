//! The two types behind one interface, and what a failed call said.

use super::seeds::{Seed, pick};
use denizen::{
    abi::{self, ErrorOut, SaveFn, Sink, Status},
    client::Definition,
    elements::{Integer, Rational, testing},
};
use num_bigint::BigInt;
use num_rational::BigRational;
use num_traits::{One, Zero};
use std::ffi::c_void;
use std::fmt::Debug;

/// Bits of a result that nobody waits for: larger ones are left out.
pub const MOST_BITS: u64 = 1 << 14;

/// One of the bundled types.
pub trait Number: Clone + Debug + PartialEq + 'static {
    /// Whether it has fractions.
    const FRACTIONS: bool;

    /// The description, as the runtime gets it. One a thread, for good.
    fn definition() -> &'static Definition<Self>;

    /// The element of a value.
    fn make(value: &BigRational) -> Self;

    /// The value of an element.
    fn read(&self) -> BigRational;

    /// Bytes beside the cell.
    fn heap(&self) -> usize;
}

fn whole(value: &Integer) -> BigInt {
    BigInt::from_signed_bytes_le(&value.to_bytes())
}

impl Number for Integer {
    const FRACTIONS: bool = false;

    fn definition() -> &'static Definition<Self> {
        thread_local! {
            static DEFINITION: &'static Definition<Integer> =
                Box::leak(Box::new(testing::integer().expect("the description of Integer")));
        }
        DEFINITION.with(|definition| *definition)
    }

    fn make(value: &BigRational) -> Self {
        assert!(value.is_integer());
        Integer::from_bytes(&value.numer().to_signed_bytes_le())
    }

    fn read(&self) -> BigRational {
        whole(self).into()
    }

    fn heap(&self) -> usize {
        self.heap_bytes()
    }
}

impl Number for Rational {
    const FRACTIONS: bool = true;

    fn definition() -> &'static Definition<Self> {
        thread_local! {
            static DEFINITION: &'static Definition<Rational> =
                Box::leak(Box::new(testing::rational().expect("the description of Rational")));
        }
        DEFINITION.with(|definition| *definition)
    }

    fn make(value: &BigRational) -> Self {
        let part = |value: &BigInt| Integer::from_bytes(&value.to_signed_bytes_le());
        Rational::from_integers(&part(value.numer()), &part(value.denom()))
            .expect("a denominator is not 0")
    }

    fn read(&self) -> BigRational {
        let (numerator, denominator) = (whole(&self.numerator()), whole(&self.denominator()));
        assert!(denominator >= BigInt::one(), "denominator {denominator}");
        let value = BigRational::new(numerator.clone(), denominator.clone());
        assert_eq!((value.numer(), value.denom()), (&numerator, &denominator), "not reduced");
        value
    }

    fn heap(&self) -> usize {
        self.heap_bytes()
    }
}

/// Checks that an element is the value, in the one representation that the value has.
#[track_caller]
pub fn check_element<T: Number>(element: &T, expected: &BigRational, what: &str) {
    assert_eq!(&element.read(), expected, "{what}");
    let other = T::make(expected);
    assert!(*element == other, "{what}: two representations of {expected}");
    assert_eq!(element.heap(), other.heap(), "{what}: two representations of {expected}");
}

/// Runs something that leaves no value behind.
pub fn balanced(run: impl FnOnce()) {
    let before = testing::heap_values();
    run();
    assert_eq!(testing::heap_values(), before, "values left behind on the heap");
}

/// The kind of failure, if there is one.
pub fn failure(status: Status, error_out: &ErrorOut) -> Option<abi::ErrorKind> {
    match status {
        abi::OK => None,
        abi::FAILED => {
            let text = error_out.text();
            assert!(!text.is_empty() && !text.contains("internal error"), "{text:?}");
            Some(error_out.kind)
        }
        other => panic!("status {other}"),
    }
}

/// What a function that writes a value writes.
pub fn bytes_of<T: Number>(save: SaveFn, context: *mut c_void, cell: &T) -> Vec<u8> {
    unsafe extern "C" fn write(sink: *mut Sink, bytes: *const u8, size: usize) -> Status {
        // SAFETY: the sink below; `size` readable bytes, perhaps none.
        unsafe {
            let written = &mut *(*sink).context.cast::<Vec<u8>>();
            if size > 0 {
                written.extend(std::slice::from_raw_parts(bytes, size));
            }
        }
        abi::OK
    }
    let mut written: Vec<u8> = Vec::new();
    let mut sink = Sink { write, context: (&raw mut written).cast() };
    let mut error_out = ErrorOut::new();
    let cell = std::ptr::from_ref(cell).cast();
    // SAFETY: a live cell of the type, and the sink.
    let status = unsafe { save(context, cell, &raw mut sink, &raw mut error_out) };
    assert_eq!(failure(status, &error_out), None, "{}", error_out.text());
    written
}

/// A value for a table that has none.
pub fn seed_value<T: Number>(seeds: &[Seed], index: usize) -> BigRational {
    let none = || BigRational::from(BigInt::zero());
    pick(seeds, index).map_or_else(none, |seed| seed.value(T::FRACTIONS))
}
