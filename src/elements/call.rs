//! One call of an inner loop: its operands, and how far it has come.

use super::NumberError;
use crate::abi::{ErrorOut, OK, Status};
use std::panic::{AssertUnwindSafe, catch_unwind};

/// The arguments of a [`crate::abi::LoopFn`].
pub struct Call {
    arguments: *const *mut u8,
    dimensions: *const isize,
    strides: *const isize,
    done: *mut usize,
}

impl Call {
    /// Runs `body` as the body of a loop: its error, or a panic in it, becomes the `ErrorOut`.
    ///
    /// # Safety
    /// The arguments are those of a [`crate::abi::LoopFn`] call whose operands are what `body`
    /// takes them for.
    #[inline]
    pub unsafe fn run(
        arguments: *const *mut u8,
        dimensions: *const isize,
        strides: *const isize,
        error_out: *mut ErrorOut,
        body: impl FnOnce(&Call) -> Result<(), NumberError>,
    ) -> Status {
        // SAFETY: the caller of a loop provides an `ErrorOut`.
        let done = unsafe { &raw mut (*error_out).done };
        let call = Call { arguments, dimensions, strides, done };
        let error = match catch_unwind(AssertUnwindSafe(|| body(&call))) {
            Ok(Ok(())) => return OK,
            Ok(Err(error)) => error,
            Err(payload) => NumberError::from_panic(&*payload),
        };
        // SAFETY: as above; no other reference to it exists.
        unsafe { &mut *error_out }.fail(error.kind(), &error.to_string())
    }

    /// Where operand `index` starts.
    #[inline(always)]
    pub fn pointer(&self, index: usize) -> *mut u8 {
        // SAFETY: `run`'s caller has that many operands.
        unsafe { *self.arguments.add(index) }
    }

    /// Stride `index`: those of the operands, then the core strides.
    #[inline(always)]
    pub fn stride(&self, index: usize) -> isize {
        // SAFETY: `run`'s caller has that many strides.
        unsafe { *self.strides.add(index) }
    }

    /// Iterations.
    #[inline(always)]
    pub fn count(&self) -> usize {
        self.core(0)
    }

    /// Core dimension `index`, counted from 1; 0 is the number of iterations.
    #[inline(always)]
    pub fn core(&self, index: usize) -> usize {
        // SAFETY: `run`'s caller has that many dimensions.
        unsafe { *self.dimensions.add(index) as usize }
    }

    /// Notes that the outputs before `index` are written.
    #[inline(always)]
    pub fn done(&self, index: usize) {
        // SAFETY: the `ErrorOut` outlives the call.
        unsafe { *self.done = index };
    }
}

/// An [`crate::abi::LoopFn`] around a body `fn(&Call) -> Result<(), NumberError>` that is unsafe
/// because it trusts the operands.
macro_rules! loop_fn {
    ($body:expr) => {{
        unsafe extern "C" fn entry(
            _context: *mut std::ffi::c_void,
            arguments: *const *mut u8,
            dimensions: *const isize,
            strides: *const isize,
            error_out: *mut crate::abi::ErrorOut,
        ) -> crate::abi::Status {
            // SAFETY: the runtime calls a loop with the operands it was registered for, which
            // the table states beside the body.
            unsafe {
                crate::elements::call::Call::run(
                    arguments,
                    dimensions,
                    strides,
                    error_out,
                    |call| $body(call),
                )
            }
        }
        entry as crate::abi::LoopFn
    }};
}
pub(crate) use loop_fn;
