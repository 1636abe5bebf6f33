//! The core's own element types under the model of [`super::model`].

use super::{
    Fault, Operation, Storage, TracerType,
    model::{run_on, step},
    subject::Subject,
};
use crate::{
    abi::Stats,
    erased::{CellsMut, ElementType, Failure},
    faults::type_code::Left,
};

/// Runs `operations` on segments of one storage of tracer, and frees everything at the end.
///
/// # Panics
/// A value, a bit or a counter is not what the model says.
pub fn run(storage: Storage, operations: &[Operation]) {
    let tracer = TracerType::borrow(storage);
    let other = TracerType::borrow(if storage == Storage::Tagged {
        Storage::Boxed
    } else {
        Storage::Tagged
    });
    run_on(&tracer, other.element, operations);
    assert_eq!(tracer.counts().live, 0, "objects outlive their segments");
    tracer.give_back();
    other.give_back();
}

impl Subject for TracerType {
    type Value = i64;
    const FILLS_VACANT: bool = false;

    fn element(&self) -> &'static ElementType {
        self.element
    }

    /// More than two bitmap words, more than a page.
    fn most_cells(&self) -> usize {
        700
    }

    fn value(&self, number: u16) -> Option<i64> {
        Some(number.into())
    }

    fn default_value(&self) -> i64 {
        0
    }

    fn canonical(&self, value: i64) -> Option<i64> {
        (self.storage() != Storage::ZeroDefault || value != 0).then_some(value)
    }

    unsafe fn check(
        &self,
        cell: *const u8,
        live: bool,
        expected: Option<&i64>,
    ) -> Result<(), String> {
        // SAFETY: the caller's promise.
        let actual = live.then(|| unsafe { TracerType::value(*self, cell) });
        if actual.as_ref() == expected {
            return Ok(());
        }
        Err(format!("holds {actual:?} where the model has {expected:?}"))
    }

    unsafe fn store(&self, mut cells: CellsMut<'_>, numbers: &[u16]) -> Result<(), Failure> {
        for (index, number) in numbers.iter().enumerate() {
            // SAFETY: the caller's promise.
            unsafe { self.set(&mut cells.part(index, 1), (*number).into()) };
        }
        Ok(())
    }

    fn plan_fault(&self, steps: u32, fault: Fault) {
        TracerType::plan_fault(*self, steps, fault);
    }

    fn plan_destructor_failure(&self, steps: u32) {
        TracerType::plan_destructor_failure(*self, steps);
    }

    fn cancel_plans(&self) -> Left {
        TracerType::cancel_plans(*self)
    }

    fn audit(&self, live: i64, ledger: Stats) -> Result<(), String> {
        let objects = self.counts();
        if objects.live != live {
            return Err(format!("{} objects exist, {live} cells are live", objects.live));
        }
        // A type without assignment builds and ends an object for each.
        let history = (ledger.constructed, ledger.destroyed);
        if self.storage() != Storage::Boxed && history != (objects.built, objects.ended) {
            return Err(format!(
                "the ledger has {history:?} constructed and destroyed, the objects {objects:?}, \
                 before operation {}",
                step() + 1
            ));
        }
        Ok(())
    }
}
