//! Types that only move, one a storage, and one that calls Python when it is read or ends.

use denizen::abi::PyObject;
use denizen::client::{ElementBuilder, StorageChoice, adopt_raw, write_raw};
use denizen::{Casting, Failure, Raised, element, element_under_gil};
use pyo3::prelude::*;
use pyo3::types::PyString;
use std::fmt;
use std::ops::Add;
use std::str::FromStr;
use std::sync::atomic::{AtomicI64, Ordering::SeqCst};

static LIVE: AtomicI64 = AtomicI64::new(0);

/// Objects of this file's types that are alive.
#[pyfunction]
pub fn singles() -> i64 {
    LIVE.load(SeqCst)
}

/// A number on the heap: there is no copy of it. Each `CASE` is an element type of its own.
#[derive(PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Single<const CASE: u8>(Box<i64>);

impl<const CASE: u8> Single<CASE> {
    fn new(number: i64) -> Self {
        LIVE.fetch_add(1, SeqCst);
        Single(Box::new(number))
    }
}

impl<const CASE: u8> Default for Single<CASE> {
    fn default() -> Self {
        Single::new(0)
    }
}

impl<const CASE: u8> Drop for Single<CASE> {
    fn drop(&mut self) {
        LIVE.fetch_sub(1, SeqCst);
    }
}

impl<const CASE: u8> fmt::Display for Single<CASE> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl<const CASE: u8> FromStr for Single<CASE> {
    type Err = std::num::ParseIntError;
    fn from_str(text: &str) -> Result<Self, Self::Err> {
        text.parse().map(Single::new)
    }
}

impl<const CASE: u8> Add for &Single<CASE> {
    type Output = Single<CASE>;
    fn add(self, other: Self) -> Single<CASE> {
        Single::new(*self.0 + *other.0)
    }
}

/// A number or nothing: all zero bytes are nothing, which is the default.
#[derive(Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Slot(Option<Single<4>>);

impl fmt::Display for Slot {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.as_ref().map_or(0, |number| *number.0).fmt(f)
    }
}

impl FromStr for Slot {
    type Err = std::num::ParseIntError;
    fn from_str(text: &str) -> Result<Self, Self::Err> {
        text.parse().map(|single| Slot(Some(single)))
    }
}

impl Add for &Slot {
    type Output = Slot;
    fn add(self, other: Self) -> Slot {
        let number = |slot: &Slot| slot.0.as_ref().map_or(0, |number| *number.0);
        Slot(Some(Single::new(number(self) + number(other))))
    }
}

/// Has a Python object of its own class: a parcel, whose `content` moves into the element.
pub struct Parcel(Single<5>);

/// Holds a function of Python, and calls it with a word when it is read or ends.
pub struct Herald(Option<Py<PyAny>>);

impl Herald {
    fn say(&self, word: &str) -> String {
        Python::attach(|py| match self.0.as_ref().map(|function| function.call1(py, (word,))) {
            Some(Ok(answer)) => answer.to_string(),
            Some(Err(error)) => {
                error.write_unraisable(py, None);
                String::new()
            }
            None => String::new(),
        })
    }
}

impl Drop for Herald {
    fn drop(&mut self) {
        LIVE.fetch_sub(1, SeqCst);
        self.say("ends");
        // Else pyo3, which does not know that the GIL is held, would do it some time later.
        Python::attach(|_| drop(self.0.take()));
    }
}

impl fmt::Display for Herald {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.say("is read"))
    }
}

/// What all numbers that only move can do.
fn capable<T, S: StorageChoice<T>>(builder: ElementBuilder<T, S>) -> ElementBuilder<T, S::Decided>
where
    T: fmt::Display + FromStr + Ord + std::hash::Hash + Send + Sync + 'static,
    <T as FromStr>::Err: fmt::Display,
    for<'a> &'a T: Add<&'a T, Output = T>,
{
    builder.text().ordering().hash().add().thread_safe().module(super::NAME)
}

/// Registers the types.
///
/// # Safety
/// The GIL is held and `module` is a live module.
pub unsafe fn register(module: *mut PyObject) -> Result<(), Raised> {
    // SAFETY: a Box is never null, and there is nothing beside it; nothing at all is an `Option` of
    // one. The rest is the caller's.
    unsafe {
        capable(element::<Single<0>>("Single").zero_is_vacant().default())
            .cast_from(Casting::Safe, |x: i64| Single::new(x))
            .cast_to::<f64, _>(Casting::Unsafe, |x: &Single<0>| *x.0 as f64)
            .add_to_raw(module)?;
        capable(element::<Single<1>>("TaggedSingle").default()).add_to_raw(module)?;
        capable(element::<Single<2>>("BoxedSingle").boxed().default()).add_to_raw(module)?;
        let deed = element::<Single<3>>("Deed").zero_is_vacant();
        deed.text().ordering().module(super::NAME).add_to_raw(module)?;
        capable(element::<Slot>("Slot").zero_is_default()).add_to_raw(module)?;
        let herald = element_under_gil::<Herald>("Herald").display().needs_gil();
        let herald = herald.from_python(|object| {
            Python::attach(|py| {
                LIVE.fetch_add(1, SeqCst);
                // SAFETY: a borrowed object by contract; GIL held.
                Ok(Herald(Some(Bound::from_borrowed_ptr(py, object.cast()).unbind())))
            })
        });
        herald.module(super::NAME).add_to_raw(module)?;
    }
    Ok(())
}

/// Registers `Parcel` with the caller's own class: `class(content)` makes one, and `content` moves
/// out of it.
#[pyfunction]
pub fn register_parcel(module: &Bound<'_, PyModule>, class: Bound<'_, PyAny>) -> PyResult<()> {
    let py = module.py();
    let make = class.clone().unbind();
    let raised = |error: PyErr, py: Python<'_>| {
        error.restore(py);
        Failure::Raised
    };
    // SAFETY: the GIL is held; both functions keep what is asked of them.
    unsafe {
        let parcel = element::<Parcel>("Parcel").boxed().python(
            move |parcel| {
                Python::attach(|py| {
                    let made = make.call1(py, (*parcel.0.0,)).map_err(|e| raised(e, py))?;
                    Ok(made.into_ptr().cast())
                })
            },
            move |object| {
                Python::attach(|py| {
                    let object = Bound::from_borrowed_ptr(py, object.cast());
                    let name = PyString::new(py, "content");
                    let content = object.getattr(&name).map_err(|e| raised(e, py))?;
                    let number = content.extract().map_err(|e: PyErr| raised(e, py))?;
                    object.setattr(&name, py.None()).map_err(|e| raised(e, py))?;
                    Ok(Parcel(Single::new(number)))
                })
            },
        );
        let parcel = parcel.scalar_class(class.as_ptr().cast()).module(super::NAME);
        super::raised(py, parcel.add_to_raw(module.as_ptr().cast())).map(|_| ())
    }
}

/// An array over a vector of objects that only move.
#[pyfunction]
pub fn adopt_singles(py: Python<'_>, numbers: Vec<i64>) -> PyResult<Py<PyAny>> {
    let count = numbers.len();
    let singles: Vec<Single<0>> = numbers.into_iter().map(Single::new).collect();
    // SAFETY: the GIL is held, and the pointer is a new reference.
    unsafe { super::owned(py, adopt_raw(singles, &[count])) }
}

/// Turns the elements around through a view, and adds 1 to each.
#[pyfunction]
pub fn reverse_singles(array: &Bound<'_, PyAny>) -> PyResult<()> {
    // SAFETY: the array is alive, and the GIL held until the view is dropped.
    unsafe {
        let view = write_raw::<Single<0>>(array.as_ptr().cast());
        let mut view = super::raised(array.py(), view)?;
        for single in view.iter_mut() {
            *single.0 += 1;
        }
        if let Ok(cells) = view.as_mut_slice() {
            cells.reverse();
        }
    }
    Ok(())
}
