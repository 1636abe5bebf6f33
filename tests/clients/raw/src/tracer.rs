//! A type that can do everything, checks itself, and fails at any one of all the steps it takes.
//!
//! Each call of one of its functions on one value is a step, destructors too. A countdown that
//! Python sets says which of them panics.

use std::cmp::Ordering;
use std::collections::HashMap;
use std::fmt;
use std::hash::{Hash, Hasher};
use std::ops::{Add, Div, Mul, Neg, Sub};
use std::panic::resume_unwind;
use std::str::FromStr;
use std::sync::atomic::{AtomicBool, AtomicI64, AtomicU64, Ordering::SeqCst};

use denizen::abi::PyObject;
use denizen::client::{ElementBuilder, StorageChoice};
use denizen::{Casting, Error, Raised, element};
use pyo3::prelude::*;

static AFTER: AtomicU64 = AtomicU64::new(u64::MAX);
static SEEN: AtomicU64 = AtomicU64::new(0);
static HAPPENED: AtomicBool = AtomicBool::new(false);
static LIVE: AtomicI64 = AtomicI64::new(0);
/// Values that were used after their end, or at an end of their own for a second time, or at an
/// address that none may have.
static MISUSED: AtomicU64 = AtomicU64::new(0);

/// What the check word of a live value is made with; a dead one has none.
const SALT: u64 = 0x5AFE_0B1E_C75A_FE11;

/// One step. Whether it is the one that fails.
fn is_due() -> bool {
    SEEN.fetch_add(1, SeqCst) == AFTER.load(SeqCst) && !HAPPENED.swap(true, SeqCst)
}

fn step(name: &str) {
    if is_due() {
        // A panic without the panic hook: thousands of them print nothing.
        resume_unwind(Box::new(format!("planned fault in {name}")));
    }
}

/// Each `CASE` is an element type of its own, with a storage of its own.
pub struct Tracer<const CASE: u8> {
    number: Box<i64>,
    check: u64,
}

impl<const CASE: u8> Tracer<CASE> {
    fn new(number: i64) -> Self {
        LIVE.fetch_add(1, SeqCst);
        Tracer { number: Box::new(number), check: number as u64 ^ SALT }
    }

    fn stepped(name: &str, number: i64) -> Self {
        step(name);
        Self::new(number)
    }

    fn checked(&self) -> i64 {
        // Behind a black box: the compiler takes references to be aligned.
        let is_aligned = std::hint::black_box(std::ptr::from_ref(self)).is_aligned();
        if self.check ^ SALT != *self.number as u64 || !is_aligned {
            MISUSED.fetch_add(1, SeqCst);
        }
        *self.number
    }

    fn read(&self, name: &str) -> i64 {
        step(name);
        self.checked()
    }
}

impl<const CASE: u8> Default for Tracer<CASE> {
    fn default() -> Self {
        Self::stepped("default", 0)
    }
}

impl<const CASE: u8> Clone for Tracer<CASE> {
    fn clone(&self) -> Self {
        Self::stepped("clone", self.checked())
    }

    fn clone_from(&mut self, source: &Self) {
        let number = source.read("assign");
        self.checked();
        *self.number = number;
        self.check = number as u64 ^ SALT;
    }
}

impl<const CASE: u8> Drop for Tracer<CASE> {
    fn drop(&mut self) {
        self.checked();
        self.check = 0;
        LIVE.fetch_sub(1, SeqCst);
        // A panic that meets another one would end the process.
        if !std::thread::panicking() {
            step("drop");
        }
    }
}

macro_rules! operators {
    ($($trait:ident $method:ident $wrapping:ident)*) => {
        $(impl<const CASE: u8> $trait for &Tracer<CASE> {
            type Output = Tracer<CASE>;
            fn $method(self, other: Self) -> Tracer<CASE> {
                Tracer::stepped(stringify!($method), self.checked().$wrapping(other.checked()))
            }
        })*
    };
}
operators! { Add add wrapping_add Sub sub wrapping_sub Mul mul wrapping_mul Div div wrapping_div }

impl<const CASE: u8> Neg for &Tracer<CASE> {
    type Output = Tracer<CASE>;
    fn neg(self) -> Tracer<CASE> {
        Tracer::stepped("neg", self.checked().wrapping_neg())
    }
}

impl<const CASE: u8> PartialEq for Tracer<CASE> {
    fn eq(&self, other: &Self) -> bool {
        self.read("eq") == other.checked()
    }
}
impl<const CASE: u8> Eq for Tracer<CASE> {}
impl<const CASE: u8> PartialOrd for Tracer<CASE> {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}
impl<const CASE: u8> Ord for Tracer<CASE> {
    fn cmp(&self, other: &Self) -> Ordering {
        self.read("cmp").cmp(&other.checked())
    }
}

impl<const CASE: u8> Hash for Tracer<CASE> {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.read("hash").hash(state);
    }
}

impl<const CASE: u8> fmt::Display for Tracer<CASE> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.read("display"))
    }
}

impl<const CASE: u8> FromStr for Tracer<CASE> {
    type Err = std::num::ParseIntError;
    fn from_str(text: &str) -> Result<Self, Self::Err> {
        text.parse().map(|number| Self::stepped("parse", number))
    }
}

/// All that a tracer can do, whatever its storage.
fn able<const CASE: u8, S: StorageChoice<Tracer<CASE>>>(
    builder: ElementBuilder<Tracer<CASE>, S>,
) -> ElementBuilder<Tracer<CASE>, S::Decided> {
    let builder = builder.clone().default().arithmetic().ordering().text().hash();
    builder
        .linear_algebra()
        .default_is_zero()
        .one(|| Tracer::stepped("one", 1))
        .binary("divide", |x: &Tracer<CASE>, y: &Tracer<CASE>| {
            if y.checked() == 0 { Err(Error::zero_division("division by zero")) } else { Ok(x / y) }
        })
        .unary("absolute", |x: &Tracer<CASE>| {
            Tracer::stepped("absolute", x.checked().wrapping_abs())
        })
        .unary_in_place("square", |out: &mut Tracer<CASE>, x: &Tracer<CASE>| {
            out.clone_from(&(x * x))
        })
        .nonzero(|x: &Tracer<CASE>| x.read("nonzero") != 0)
        .heap_bytes(|x: &Tracer<CASE>| size_of_val(&*x.number))
        .codec(
            |x: &Tracer<CASE>| x.read("save").to_le_bytes().to_vec(),
            |bytes: &[u8]| match bytes.try_into() {
                Ok(bytes) => Ok(Tracer::stepped("load", i64::from_le_bytes(bytes))),
                Err(_) => Err(Error::value("not 8 bytes")),
            },
        )
        .cast_from(Casting::Safe, |x: i64| Tracer::stepped("from i64", x))
        .cast_from(Casting::SameKind, |x: u64| Tracer::stepped("from u64", x as i64))
        .cast_from(Casting::Unsafe, |x: f64| Tracer::stepped("from f64", x as i64))
        .cast_to::<i64, _>(Casting::SameKind, |x: &Tracer<CASE>| x.read("to i64"))
        .cast_to::<u64, _>(Casting::Unsafe, |x: &Tracer<CASE>| u64::try_from(x.read("to u64")).ok())
        .cast_to::<f64, _>(Casting::SameKind, |x: &Tracer<CASE>| x.read("to f64") as f64)
        .float_functions()
        .module(crate::NAME)
}

/// Adds the types.
///
/// # Safety
/// `module` is a module that is alive; GIL held.
pub unsafe fn register(module: *mut PyObject) -> Result<(), Raised> {
    // SAFETY: the caller's promise.
    unsafe {
        able(element::<Tracer<0>>("Tracer")).thread_safe().add_to_raw(module)?;
        able(element::<Tracer<1>>("BoxedTracer").boxed()).thread_safe().add_to_raw(module)?;
        // SAFETY: a Box is never null, and there is nothing beside it that is looked at.
        let inline = element::<Tracer<2>>("InlineTracer").zero_is_vacant();
        able(inline).thread_safe().add_to_raw(module)?;
        // Its loops hold the GIL.
        able(element::<Tracer<3>>("HeldTracer")).needs_gil().add_to_raw(module)?;
    }
    Ok(())
}

/// The steps of tracers, as `denizen check --faults --kind denizen_raw:countdown` counts them.
#[pyclass]
pub struct Countdown;

#[pymethods]
impl Countdown {
    /// Has the step after `after` more fail, once; None only counts.
    fn plan(&self, after: Option<u64>) {
        AFTER.store(u64::MAX, SeqCst);
        SEEN.store(0, SeqCst);
        HAPPENED.store(false, SeqCst);
        AFTER.store(after.unwrap_or(u64::MAX), SeqCst);
    }

    /// How many steps there were, and whether one failed.
    fn end(&self) -> (u64, bool) {
        AFTER.store(u64::MAX, SeqCst);
        (SEEN.swap(0, SeqCst), HAPPENED.swap(false, SeqCst))
    }

    /// Tracers that are alive, and how often one was used that had ended, or lay unaligned.
    #[getter]
    fn counts(&self) -> HashMap<&'static str, i64> {
        let misused = MISUSED.load(SeqCst) as i64;
        HashMap::from([("tracers alive", LIVE.load(SeqCst)), ("dead tracers used", misused)])
    }
}
