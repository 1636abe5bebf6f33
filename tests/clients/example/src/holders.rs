//! Types that hold Python objects, written as if nothing were special about them: a derived `Clone`,
//! no word about the GIL where none is needed.

use denizen::client::{ElementBuilder, StorageChoice};
use denizen::{Casting, element};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyBytes;
use std::cmp::Ordering;
use std::fmt;
use std::hash::{Hash, Hasher};

/// One object.
#[derive(Clone)]
pub struct Holder(Py<PyAny>);

/// One object or none; all zero bytes are none.
#[derive(Clone, Default)]
pub struct Maybe(Option<Py<PyAny>>);

/// Objects, of which the first counts.
#[derive(Clone, Default)]
pub struct List(Vec<Py<PyAny>>);

/// What the types of this file have in common.
trait Holds: Clone + Send + 'static {
    fn of(object: Py<PyAny>) -> Self;
    fn first(&self) -> Option<&Py<PyAny>>;
}

impl Holds for Holder {
    fn of(object: Py<PyAny>) -> Self {
        Holder(object)
    }
    fn first(&self) -> Option<&Py<PyAny>> {
        Some(&self.0)
    }
}

impl Holds for Maybe {
    fn of(object: Py<PyAny>) -> Self {
        Maybe(Some(object))
    }
    fn first(&self) -> Option<&Py<PyAny>> {
        self.0.as_ref()
    }
}

impl Holds for List {
    fn of(object: Py<PyAny>) -> Self {
        // Twice, so that a list is more than an object.
        List(vec![object.clone(), object])
    }
    fn first(&self) -> Option<&Py<PyAny>> {
        self.0.first()
    }
}

/// The object, or None.
fn object<'py>(py: Python<'py>, value: &impl Holds) -> Bound<'py, PyAny> {
    value.first().map_or_else(|| py.None().into_bound(py), |object| object.bind(py).clone())
}

/// A function of Python's on the objects of values.
fn call<T: Holds, const N: usize>(
    module: &str,
    function: &str,
    values: [&T; N],
) -> Result<Py<PyAny>, String> {
    Python::attach(|py| {
        let objects = pyo3::types::PyTuple::new(py, values.map(|value| object(py, value)))?;
        Ok(py.import(module)?.getattr(function)?.call1(objects)?.unbind())
    })
    .map_err(|error: PyErr| error.to_string())
}

macro_rules! compared {
    ($($holder:ident),*) => {$(
        impl PartialEq for $holder {
            fn eq(&self, other: &Self) -> bool {
                self.cmp(other).is_eq()
            }
        }
        impl Eq for $holder {}
        impl PartialOrd for $holder {
            fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
                Some(self.cmp(other))
            }
        }
        impl Ord for $holder {
            fn cmp(&self, other: &Self) -> Ordering {
                // Copies, as a careless author would make them.
                let (left, right) = (self.clone(), other.clone());
                Python::attach(|py| {
                    object(py, &left).compare(object(py, &right)).unwrap_or(Ordering::Equal)
                })
            }
        }
        impl Hash for $holder {
            fn hash<H: Hasher>(&self, state: &mut H) {
                let this = self.clone();
                Python::attach(|py| object(py, &this).hash().unwrap_or(0)).hash(state);
            }
        }
        impl fmt::Display for $holder {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                let this = self.clone();
                Python::attach(|py| object(py, &this).to_string()).fmt(f)
            }
        }
    )*};
}
compared!(Holder, Maybe, List);

/// Everything, each hook with a copy.
fn capable<T, S>(builder: ElementBuilder<T, S>) -> ElementBuilder<T, S::Decided>
where
    T: Holds + Ord + Hash + fmt::Display,
    S: StorageChoice<T>,
{
    let copied = |value: &T| value.clone();
    builder
        .clone()
        .ordering()
        .hash()
        .display()
        .nonzero(move |value| copied(value).first().is_some())
        .heap_bytes(move |value| copied(value).first().map_or(0, |_| 8))
        .unary("absolute", move |x: &T| call("operator", "abs", [&copied(x)]).map(T::of))
        .unary("positive", copied)
        .unary_pair("modf", move |x: &T| (copied(x), copied(x)))
        .predicate("isnan", move |x: &T| copied(x).first().is_none())
        .binary("add", move |x: &T, y: &T| call("operator", "add", [&copied(x), y]).map(T::of))
        .binary("left_shift", |x: &T, _: &T| -> T { panic!("{}", x.clone()) })
        .identity("add", || Python::attach(|py| T::of(zero(py))))
        .cast_from(Casting::Safe, |x: i64| Python::attach(|py| number(py, x).map(T::of)))
        .cast_to::<f64, _>(Casting::Unsafe, move |x: &T| {
            let x = copied(x);
            Python::attach(|py| object(py, &x).extract::<f64>().map_err(|error| error.to_string()))
        })
        .codec(
            move |value| call("pickle", "dumps", [&copied(value)]).and_then(bytes),
            |bytes| {
                Python::attach(|py| {
                    let bytes = PyBytes::new(py, bytes);
                    let object = py.import("pickle")?.getattr("loads")?.call1((bytes,))?;
                    Ok(T::of(object.unbind()))
                })
                .map_err(|error: PyErr| error.to_string())
            },
        )
        .from_python_with(|object| {
            if object.is_instance_of::<pyo3::types::PyComplex>() {
                return Err(PyValueError::new_err("a complex number is not held"));
            }
            let held = T::of(object.clone().unbind());
            Ok(held.clone())
        })
        .module("denizen_example")
}

fn zero(py: Python<'_>) -> Py<PyAny> {
    number(py, 0).unwrap_or_else(|_| py.None())
}

fn number(py: Python<'_>, number: i64) -> Result<Py<PyAny>, String> {
    number.into_pyobject(py).map(|number| number.into_any().unbind()).map_err(|e| e.to_string())
}

fn bytes(pickled: Py<PyAny>) -> Result<Vec<u8>, String> {
    Python::attach(|py| pickled.bind(py).extract()).map_err(|error: PyErr| error.to_string())
}

/// Registers the types.
pub fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    let none = || Python::attach(|py| Holder(py.None()));
    capable(element::<Holder>("Holder").default_with(none)).add_to(module)?;
    capable(element::<Boxed>("BoxedHolder").boxed()).needs_gil().add_to(module)?;
    // SAFETY: None is a null pointer, and forgetting it loses nothing.
    let maybe = unsafe { element::<Maybe>("Maybe").zero_is_default() };
    capable(maybe).default().add_to(module)?;
    // SAFETY: the pointer of a Vec is never null, and a Vec has no padding.
    let list = unsafe { element::<List>("List").zero_is_vacant() };
    capable(list).default().needs_gil().add_to(module)?;
    Ok(())
}

/// A type of its own for the boxed storage.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Boxed(Holder);

impl Holds for Boxed {
    fn of(object: Py<PyAny>) -> Self {
        Boxed(Holder(object))
    }
    fn first(&self) -> Option<&Py<PyAny>> {
        self.0.first()
    }
}

impl fmt::Display for Boxed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// An array that adopts a `Vec` of lists.
#[pyfunction]
pub fn adopt_lists<'py>(py: Python<'py>, objects: Vec<Py<PyAny>>) -> PyResult<Bound<'py, PyAny>> {
    let lists: Vec<List> = objects.into_iter().map(List::of).collect();
    let length = lists.len();
    denizen::adopt(py, lists, &[length])
}

/// An array that holders are moved into.
#[pyfunction]
pub fn take_holders<'py>(py: Python<'py>, objects: Vec<Py<PyAny>>) -> PyResult<Bound<'py, PyAny>> {
    denizen::from_iter(py, objects.into_iter().map(Holder))
}
