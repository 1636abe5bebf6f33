//! An extension on an older pyo3, with element types that are awkward in every way.

mod bomb;
mod failing;
mod old;
mod shapes;
mod single;
mod tracer;
mod types;

use bomb::Bomb;
use denizen::abi::PyObject;
use denizen::client::{ElementBuilder, StorageChoice};
use denizen::client::{adopt_raw, read_raw, take_raw};
use denizen::{Casting, Raised, element, element_under_gil};
use pyo3::prelude::*;
use types::{Aligned, Pinned, Shared, Ticket, Unit};

/// The package that exports the types.
const NAME: &str = "denizen_raw";

#[pymodule]
fn denizen_raw(module: &Bound<'_, PyModule>) -> PyResult<()> {
    let py = module.py();
    let raw = module.as_ptr().cast::<PyObject>();
    // SAFETY: the module is alive, the GIL held; what else is promised stands at each type.
    unsafe {
        let ticket = element::<Ticket>("Ticket").clone().ordering().text();
        raised(py, ticket.thread_safe().module(NAME).add_to_raw(raw))?;

        let pinned = element::<Pinned>("Pinned").boxed().clone().default().partial_ordering();
        raised(py, pinned.display().module(NAME).add_to_raw(raw))?;

        // SAFETY: an `Rc` does not care for threads, only for exclusion, and all values that
        // share one are elements of this type.
        let shared = element_under_gil::<Shared>("Shared").clone().default().text().equality();
        let shared = shared.binary("add", |x: &Shared, y: &Shared| x.joined(y));
        raised(py, shared.module(NAME).add_to_raw(raw))?;

        raised(py, loaded(element::<Bomb<0>>("Bomb")).thread_safe().add_to_raw(raw))?;
        let boxed = element::<Bomb<1>>("BoxedBomb").boxed();
        raised(py, loaded(boxed).thread_safe().add_to_raw(raw))?;
        // SAFETY: a Box is never null, and there is nothing beside it.
        let inline = element::<Bomb<2>>("InlineBomb").zero_is_vacant();
        raised(py, loaded(inline).thread_safe().add_to_raw(raw))?;
        // The same without a word about threads: its loops hold the GIL.
        raised(py, loaded(element::<Bomb<3>>("HeldBomb")).add_to_raw(raw))?;

        let unit = element::<Unit>("Unit").clone().default().ordering().text();
        raised(py, unit.thread_safe().module(NAME).add_to_raw(raw))?;

        let aligned = element::<Aligned>("Aligned").clone().default().partial_ordering().text();
        let aligned = aligned
            .binary("add", |x: &Aligned, y: &Aligned| Aligned::new(x.number() + y.number()))
            .cast_from(Casting::Safe, |x: i64| Aligned::new(x))
            .cast_to::<i64, _>(Casting::SameKind, |x: &Aligned| x.number());
        raised(py, aligned.thread_safe().module(NAME).add_to_raw(raw))?;

        raised(py, old::register(raw))?;
        raised(py, shapes::register(raw))?;
        raised(py, single::register(raw))?;
        raised(py, tracer::register(raw))?;
    }
    module.add("countdown", Py::new(py, tracer::Countdown)?)?;
    for function in [
        wrap_pyfunction!(bombs, module)?,
        wrap_pyfunction!(misused_bombs, module)?,
        wrap_pyfunction!(set_fuse, module)?,
        wrap_pyfunction!(units, module)?,
        wrap_pyfunction!(astray, module)?,
        wrap_pyfunction!(take_tickets, module)?,
        wrap_pyfunction!(adopt_bombs, module)?,
        wrap_pyfunction!(pinned_stay, module)?,
        wrap_pyfunction!(take_shared, module)?,
        wrap_pyfunction!(old_values, module)?,
        wrap_pyfunction!(failing::fail_registration, module)?,
        wrap_pyfunction!(failing::captures, module)?,
        wrap_pyfunction!(shapes::import_shape, module)?,
        wrap_pyfunction!(single::singles, module)?,
        wrap_pyfunction!(single::register_parcel, module)?,
        wrap_pyfunction!(single::adopt_singles, module)?,
        wrap_pyfunction!(single::reverse_singles, module)?,
    ] {
        module.add_function(function)?;
    }
    Ok(())
}

/// All that a bomb can do, whatever its storage.
fn loaded<const CASE: u8, S: StorageChoice<Bomb<CASE>>>(
    builder: ElementBuilder<Bomb<CASE>, S>,
) -> ElementBuilder<Bomb<CASE>, S::Decided> {
    let builder = builder.clone().default().text().ordering().add().default_is_zero();
    builder
        .cast_from(Casting::Safe, |x: i64| Bomb::from_number(x))
        .cast_to::<i64, _>(Casting::SameKind, |x: &Bomb<CASE>| x.number())
        .module(NAME)
}

/// The exception that is set, in the words of this pyo3.
fn raised<T>(py: Python<'_>, result: Result<T, Raised>) -> PyResult<T> {
    result.map_err(|_| PyErr::fetch(py))
}

/// A new reference, in the words of this pyo3.
///
/// # Safety
/// The pointer is a new reference.
unsafe fn owned(py: Python<'_>, result: Result<*mut PyObject, Raised>) -> PyResult<Py<PyAny>> {
    let object = raised(py, result)?;
    // SAFETY: the caller's promise.
    Ok(unsafe { Bound::from_owned_ptr(py, object.cast()) }.unbind())
}

/// Bombs constructed, destroyed, live.
#[pyfunction]
fn bombs() -> (u64, u64, i64) {
    bomb::counters()
}

/// How often a bomb was used that is none: destroyed before, or overwritten.
#[pyfunction]
fn misused_bombs() -> u64 {
    bomb::misused()
}

/// Units that are alive.
#[pyfunction]
fn units() -> i64 {
    types::units()
}

/// How often an over-aligned object was found at an address that does not suit it.
#[pyfunction]
fn astray() -> i64 {
    types::astray()
}

/// The `after`-th next operation of this name panics; a negative number disarms it. Returns what
/// was left of the last fuse: negative if it blew or was not set.
#[pyfunction]
fn set_fuse(operation: &str, after: i64) -> PyResult<i64> {
    bomb::set_fuse(operation, after).map_err(pyo3::exceptions::PyValueError::new_err)
}

/// Tickets moved into an array; they have no default.
#[pyfunction]
fn take_tickets(py: Python<'_>, numbers: Vec<u64>) -> PyResult<Py<PyAny>> {
    let count = numbers.len();
    let tickets: Vec<Ticket> = numbers.into_iter().map(Ticket::new).collect();
    // SAFETY: the GIL is held, and the pointer is a new reference.
    unsafe { owned(py, take_raw(tickets, &[count])) }
}

/// Refused: bombs are tagged.
#[pyfunction]
fn adopt_bombs(py: Python<'_>) -> PyResult<Py<PyAny>> {
    // SAFETY: the GIL is held, and the pointer is a new reference.
    unsafe { owned(py, adopt_raw(vec![Bomb::<0>::default()], &[1])) }
}

/// Whether each object is where it was built.
#[pyfunction]
fn pinned_stay(array: &Bound<'_, PyAny>) -> PyResult<Vec<bool>> {
    // SAFETY: the array is alive, and the GIL held until the view is dropped below.
    let view = raised(array.py(), unsafe { read_raw::<Pinned>(array.as_ptr().cast()) })?;
    Ok(view.iter().map(Pinned::is_where_it_was_made).collect())
}

/// An array whose elements all share one string.
#[pyfunction]
fn take_shared(py: Python<'_>, text: &str, count: usize) -> PyResult<Py<PyAny>> {
    let shared = Shared::new(text);
    // SAFETY: the GIL is held, and the pointer is a new reference.
    unsafe { owned(py, take_raw(vec![shared; count], &[count])) }
}

/// The values of an array of the type that was registered with the structs of an older version.
#[pyfunction]
fn old_values(array: &Bound<'_, PyAny>) -> PyResult<Vec<u32>> {
    // SAFETY: the array is alive, and the GIL held until the view is dropped below.
    let view = raised(array.py(), unsafe { read_raw::<old::Old>(array.as_ptr().cast()) })?;
    Ok(view.iter().map(|old| old.0).collect())
}
