//! Registrations that fail, early and late, with closures that count what they own.

use denizen::abi::PyObject;
use denizen::{Casting, Raised, element};
use pyo3::prelude::*;
use std::sync::Arc;
use std::sync::atomic::{AtomicIsize, Ordering::SeqCst};

static CAPTURES: AtomicIsize = AtomicIsize::new(0);

/// What a closure owns.
struct Capture(Box<[u8; 300]>);

impl Capture {
    fn new() -> Arc<Self> {
        CAPTURES.fetch_add(1, SeqCst);
        Arc::new(Capture(Box::new([1; 300])))
    }

    fn byte(&self) -> i64 {
        self.0[7].into()
    }
}

impl Drop for Capture {
    fn drop(&mut self) {
        CAPTURES.fetch_sub(1, SeqCst);
    }
}

/// A number in a box.
#[derive(Clone)]
struct Number(Box<i64>);

/// The same for the registration that fails late.
#[derive(Clone)]
struct Late(Box<i64>);

/// A type with a closure in each place that takes one.
macro_rules! described {
    ($type:ident, $name:literal) => {{
        let held = Capture::new();
        let holding = || Arc::clone(&held);
        let (truth, hash, negative, zero, cast) =
            (holding(), holding(), holding(), holding(), holding());
        element::<$type>($name)
            .clone()
            .default_with(|| $type(Box::new(7)))
            .nonzero(move |x: &$type| *x.0 * truth.byte() != 0)
            .hash_with(move |x: &$type| *x.0 * hash.byte())
            .unary("negative", move |x: &$type| $type(Box::new(-*x.0 * negative.byte())))
            .identity("add", move || $type(Box::new(zero.byte() - 1)))
            .cast_to::<i64, _>(Casting::SameKind, move |x: &$type| *x.0 * cast.byte())
    }};
}

/// Registers a type that cannot be, for the reason that `case` names.
#[pyfunction]
pub fn fail_registration(module: &Bound<'_, PyModule>, case: &str) -> PyResult<()> {
    let py = module.py();
    let raw = module.as_ptr().cast::<PyObject>();
    // SAFETY: the GIL is held, the module alive, and none of the loops is ever called: the
    // registration fails.
    let outcome: Result<(), Raised> = unsafe {
        match case {
            "late" => described!(Late, "Late").add_to_raw(raw).map(|_| ()),
            "ufunc" => described!(Number, "Number")
                .unary("no_such_ufunc", |x: &Number| x.clone())
                .add_to_raw(raw)
                .map(|_| ()),
            "identity" => described!(Number, "Number")
                .identity("no_such_ufunc", || Number(Box::new(0)))
                .add_to_raw(raw)
                .map(|_| ()),
            "operands" => described!(Number, "Number")
                .unary("add", |x: &Number| x.clone())
                .add_to_raw(raw)
                .map(|_| ()),
            "no cast" => described!(Number, "Number")
                .cast_to::<f64, _>(Casting::Unsafe, |x: &Number| *x.0 as f64)
                .float_functions()
                .add_to_raw(raw)
                .map(|_| ()),
            "identifier" => described!(Number, "no name").add_to_raw(raw).map(|_| ()),
            "taken" => described!(Number, "Integer").module("denizen").add_to_raw(raw).map(|_| ()),
            "class" => described!(Number, "Number")
                .scalar_class(py.get_type::<pyo3::types::PyInt>().as_ptr().cast())
                .add_to_raw(raw)
                .map(|_| ()),
            "cast twice" => described!(Number, "Number")
                .cast_to::<i64, _>(Casting::Unsafe, |x: &Number| *x.0)
                .add_to_raw(raw)
                .map(|_| ()),
            other => {
                return Err(pyo3::exceptions::PyValueError::new_err(format!("no case {other}")));
            }
        }
    };
    super::raised(py, outcome)
}

/// Captures that are alive.
#[pyfunction]
pub fn captures() -> isize {
    CAPTURES.load(SeqCst)
}
