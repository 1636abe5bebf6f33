//! A vtable around another one, in which batches fail at the element that was planned.

use super::heap;
use crate::{
    abi::{self, CopyFn, ElementVTable, ErrorOut, Status},
    faults::{
        interpose::{client, life_batches},
        type_code::{self, Fault, PlannedPanic},
    },
};
use std::{
    ffi::c_void,
    panic::{catch_unwind, resume_unwind},
};

/// The vtable of a type under test with its batch functions wrapped. What it does not have stays
/// missing.
pub(super) fn wrapped(inner: &'static ElementVTable) -> ElementVTable {
    ElementVTable {
        context: std::ptr::from_ref(inner).cast_mut().cast(),
        construct: inner.construct.map(|_| construct as abi::ConstructFn),
        copy_construct: inner.copy_construct.map(|_| copy_construct as CopyFn),
        assign: inner.assign.map(|_| assign as CopyFn),
        relocate: inner.relocate.map(|_| relocate as abi::RelocateFn),
        destroy: inner.destroy.map(|_| destroy as abi::DestroyFn),
        ..*inner
    }
}

/// Runs a batch of `count` elements up to the one that is planned to go wrong.
///
/// # Safety
/// `error_out` is valid.
unsafe fn batch(
    _name: &str,
    count: usize,
    error_out: *mut ErrorOut,
    run: impl FnOnce(usize) -> Status,
) -> Status {
    let due = type_code::due(count);
    let reached = due.map_or(count, |(before, _)| before);
    let status = type_code::armed(|| heap::scope(|| run(reached)));
    let Some((done, how)) = due.filter(|_| status == abi::OK) else { return status };
    let message = match how {
        Fault::Fail => "a planned failure",
        Fault::Panic => match catch_unwind(|| resume_unwind(Box::new(PlannedPanic))) {
            Ok(()) => "no panic",
            Err(_) => "a planned panic",
        },
    };
    // SAFETY: the caller's promise.
    let error_out = unsafe { &mut *error_out };
    error_out.done = done;
    error_out.fail(abi::ERROR_RUNTIME, message)
}

life_batches!(batch);

/// Destroys all of them, whatever fails, as destructors must.
unsafe extern "C" fn destroy(
    context: *mut c_void,
    cells: *mut u8,
    stride: isize,
    count: usize,
    error_out: *mut ErrorOut,
) -> Status {
    // SAFETY: `abi::DestroyFn`.
    unsafe {
        let vtable = client(context);
        let Some(destroy) = vtable.destroy else { return abi::OK };
        let status = heap::scope(|| destroy(vtable.context, cells, stride, count, error_out));
        if status == abi::OK && type_code::destructor_due(count) {
            return (*error_out).fail(abi::ERROR_RUNTIME, "a planned destructor failure");
        }
        status
    }
}
