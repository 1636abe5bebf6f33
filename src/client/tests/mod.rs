//! The vtable and the loops of built types, called as the runtime calls them, without Python.

mod cells;
mod lifecycle;
mod tracer;
mod types;
mod ufuncs;
mod values;
mod views;

use super::{Definition, StorageChoice, element};
use tracer::Tracer;

/// A tracer with every operation.
fn full<S: StorageChoice<Tracer>>(builder: super::ElementBuilder<Tracer, S>) -> Definition<Tracer> {
    builder
        .clone()
        .default()
        .ordering()
        .add()
        .mul()
        .zero(|| Tracer::new(0))
        .linear_algebra()
        .text()
        .define("m")
        .expect("no mistake")
}

/// Runs a test for each storage.
fn each_storage(test: impl Fn(&Definition<Tracer>)) {
    test(&full(element("Tracer")));
    // SAFETY: a tracer has a nonzero id and no padding.
    test(&full(unsafe { element("Tracer").zero_is_vacant() }));
    test(&full(element("Tracer").boxed()));
}
