//! What the model of a sequence of operations must know of the element type that it runs on.

use super::Fault;
use crate::abi::Stats;
use crate::erased::{CellsMut, ElementType, Failure, rules};
use crate::faults::type_code::Left;
use std::{cmp::Ordering, fmt::Debug};

/// An element type under test.
pub(super) trait Subject {
    /// What the model keeps for an object: its value, made and kept apart from all cells.
    type Value: Clone + Debug;

    /// The type.
    fn element(&self) -> &'static ElementType;

    /// More cells than a segment of the model ever has.
    fn most_cells(&self) -> usize;

    /// Whether values are stored in vacant cells, too.
    const FILLS_VACANT: bool;

    /// The value of that number.
    fn value(&self, number: u16) -> Option<Self::Value>;

    /// The default value. Only for types that have one.
    fn default_value(&self) -> Self::Value;

    /// What the model keeps of a cell with that value: nothing where its bytes are those of a
    /// vacant cell.
    fn canonical(&self, value: Self::Value) -> Option<Self::Value>;

    /// Whether a cell is in the state that the model says, and what is wrong where it is not.
    ///
    /// # Safety
    /// `cell` is a cell of the type, `live` by its own word or that of its bit.
    unsafe fn check(
        &self,
        cell: *const u8,
        live: bool,
        expected: Option<&Self::Value>,
    ) -> Result<(), String>;

    /// Gives each cell the value of a number, in order.
    ///
    /// # Errors
    /// `done` cells have their value, the others are as they were.
    ///
    /// # Safety
    /// Cells of the type, live unless [`Self::FILLS_VACANT`] says that they need not be.
    unsafe fn store(&self, cells: CellsMut<'_>, numbers: &[u16]) -> Result<(), Failure>;

    /// Gives cells in any state one value, as a loop over a strided run does it.
    ///
    /// # Errors
    /// As for [`Self::store`]; the failing cell may have been filled.
    ///
    /// # Safety
    /// Cells of the type, under rule 1.
    unsafe fn fill(&self, mut cells: CellsMut<'_>, number: u16) -> Result<(), Failure> {
        for index in 0..cells.len() {
            // SAFETY: the same contract; a materialised cell is live.
            unsafe {
                let mut cell = cells.part(index, 1);
                rules::materialise(self.element(), cell.reborrow())?;
                self.store(cell, &[number])?;
            }
        }
        Ok(())
    }

    /// How many loops the type has that take and give values of its own.
    fn loop_count(&self) -> usize {
        0
    }

    /// What a loop makes of `from` and of the value that was in its destination. `Err` where it
    /// fails, `None` where the model does not follow (values that have grown too large).
    fn apply(
        &self,
        _which: usize,
        _from: Option<&Self::Value>,
        _to: Option<&Self::Value>,
    ) -> Option<Result<Self::Value, String>> {
        None
    }

    /// Runs a loop: each cell of `to` becomes what it makes of the cell of `from` and of `to`.
    ///
    /// # Errors
    /// `done` cells have their new value, the others are as they were.
    ///
    /// # Safety
    /// Cells of the type, under rule 1, equally many; the two runs are the same or do not overlap.
    unsafe fn compute(
        &self,
        _which: usize,
        _to: CellsMut<'_>,
        _from: CellsMut<'_>,
    ) -> Result<(), Failure> {
        Ok(())
    }

    /// Whether the type can be sorted.
    fn sorts(&self) -> bool {
        false
    }

    /// How the type orders two values.
    fn order(&self, _left: Option<&Self::Value>, _right: Option<&Self::Value>) -> Ordering {
        Ordering::Equal
    }

    /// Sorts contiguous cells.
    ///
    /// # Errors
    /// A comparison failed.
    ///
    /// # Safety
    /// Contiguous cells of the type, under rule 1.
    unsafe fn sort(&self, _cells: CellsMut<'_>) -> Result<(), Failure> {
        Ok(())
    }

    /// Has the construction, copy, assignment or relocation after `steps` more go wrong, once.
    fn plan_fault(&self, steps: u32, fault: Fault);

    /// Has the destructor after `steps` more report a failure, once.
    fn plan_destructor_failure(&self, steps: u32);

    /// Takes plans back; says which of them had not happened yet.
    fn cancel_plans(&self) -> Left;

    /// Compares the objects' own ledger with that of the runtime, which says that `live` exist.
    fn audit(&self, live: i64, ledger: Stats) -> Result<(), String>;
}
