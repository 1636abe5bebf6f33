//! Loops of a type's own, called from slots that calculate.

use crate::{
    dtype::{
        handle::{DType, LoopData, OperandType, errors},
        loops::access::{self, Run},
        ufuncs::add_loop,
    },
    erased::{CellsMut, ElementType, Exclusive, Failure, SpareCell, rules},
};
use std::{
    ffi::{c_char, c_int},
    ptr,
};

/// The loop of a ufunc with two inputs and one output of the type itself.
pub fn binary_loop(dtype: &'static DType, ufunc: &str) -> Option<&'static LoopData> {
    let is_own = |operand: &OperandType| matches!(operand, OperandType::Element(other) if ptr::eq(*other, dtype));
    dtype.operations().loops.iter().copied().find(|data| {
        data.name.to_bytes() == ufunc.as_bytes()
            && (data.input_count, data.operands.len()) == (2, 3)
            && data.operands.iter().all(is_own)
    })
}

/// Runs a loop as NumPy would: locks, ledger and errors included.
///
/// # Safety
/// As for [`add_loop::run`]; GIL held.
pub unsafe fn call(
    data: &'static LoopData,
    arguments: &[*mut c_char],
    dimensions: &[isize],
    strides: &[isize],
) -> c_int {
    // SAFETY: the caller's promise.
    unsafe { add_loop::run(data, arguments.as_ptr(), dimensions.as_ptr(), strides.as_ptr()) }
}

/// A cell outside arrays for what loops write. They count what they construct there; it is
/// destroyed, and counted, when it goes.
pub struct Temporary {
    element: &'static ElementType,
    spare: SpareCell<'static>,
}

impl Temporary {
    pub fn new(element: &'static ElementType) -> Result<Self, Failure> {
        Ok(Temporary { element, spare: SpareCell::new(element)? })
    }

    pub fn address(&mut self) -> *mut u8 {
        self.spare.cells().address(0)
    }
}

impl Drop for Temporary {
    fn drop(&mut self) {
        let (element, size) = (self.element, self.element.size() as isize);
        let run = Run::write(self.address(), size, 1);
        // SAFETY: one cell under rule 1, ours alone.
        let outcome = unsafe {
            let right = Exclusive::own();
            access::with_ledger(element, None, run, right, || {
                rules::clear(element, CellsMut::new(run.data, size, 1, right))
            })
        };
        if let Err(failure) = outcome {
            errors::write_unraisable(&failure, errors::DESTRUCTOR);
        }
    }
}
