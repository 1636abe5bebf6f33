//! The vtable and the loops of built types, called as the runtime calls them, without Python.

mod cells;
mod lifecycle;
#[cfg(all(target_os = "linux", not(miri)))]
mod thread_end;
mod types;
mod ufuncs;
mod values;
mod views;

use super::{Definition, StorageChoice, element};
use crate::testing::Tracer;

/// Tracers of this test that exist.
fn live() -> i64 {
    Tracer::counts().live
}

/// All tracers of this test are gone, each once.
#[track_caller]
fn assert_balanced() {
    let counts = Tracer::counts();
    assert_eq!(counts.built, counts.ended, "built and ended");
    assert_eq!(counts.live, 0, "still live");
    assert!(counts.built > 0, "the test made no object");
}

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
