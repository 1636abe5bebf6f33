//! A vtable around another one, in which batches fail at the element that was planned.

use super::{
    heap,
    mishap::{self, Mishap, PlannedPanic},
};
use crate::abi::{self, CopyFn, ElementVTable, Report, Status};
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

/// # Safety
/// `context` is that of [`wrapped`].
unsafe fn inner<'a>(context: *mut c_void) -> &'a ElementVTable {
    // SAFETY: the caller's promise; the inner vtable lives for ever.
    unsafe { &*context.cast::<ElementVTable>() }
}

/// Runs a batch of `count` elements up to the one that is planned to go wrong.
///
/// # Safety
/// `report` is valid.
unsafe fn batch(
    count: usize,
    report: *mut Report,
    run: impl FnOnce(usize) -> Option<Status>,
) -> Status {
    let due = mishap::due(count);
    let reached = due.map_or(count, |(before, _)| before);
    let status = mishap::armed(|| heap::scope(|| run(reached)));
    let status = status.unwrap_or(abi::FAILED);
    let Some((done, how)) = due.filter(|_| status == abi::OK) else { return status };
    let message = match how {
        Mishap::Fail => "a planned failure",
        Mishap::Panic => match catch_unwind(|| resume_unwind(Box::new(PlannedPanic))) {
            Ok(()) => "no panic",
            Err(_) => "a planned panic",
        },
    };
    // SAFETY: the caller's promise.
    let report = unsafe { &mut *report };
    report.done = done;
    report.fail(abi::ERROR_RUNTIME, message)
}

unsafe extern "C" fn construct(
    context: *mut c_void,
    cells: *mut u8,
    stride: isize,
    count: usize,
    report: *mut Report,
) -> Status {
    // SAFETY: `abi::ConstructFn`, for fewer cells.
    unsafe {
        let vtable = inner(context);
        batch(count, report, |count| {
            vtable
                .construct
                .map(|construct| construct(vtable.context, cells, stride, count, report))
        })
    }
}

macro_rules! copies {
    ($($name:ident)*) => { $(
        unsafe extern "C" fn $name(
            context: *mut c_void,
            to: *mut u8,
            to_stride: isize,
            from: *const u8,
            from_stride: isize,
            count: usize,
            report: *mut Report,
        ) -> Status {
            // SAFETY: `abi::CopyFn`, for fewer cells.
            unsafe {
                let vtable = inner(context);
                batch(count, report, |count| {
                    vtable.$name.map(|copy| {
                        copy(vtable.context, to, to_stride, from, from_stride, count, report)
                    })
                })
            }
        }
    )* };
}
copies!(copy_construct assign);

unsafe extern "C" fn relocate(
    context: *mut c_void,
    to: *mut u8,
    to_stride: isize,
    from: *mut u8,
    from_stride: isize,
    count: usize,
    report: *mut Report,
) -> Status {
    // SAFETY: `abi::RelocateFn`, for fewer cells.
    unsafe {
        let vtable = inner(context);
        batch(count, report, |count| {
            vtable.relocate.map(|relocate| {
                relocate(vtable.context, to, to_stride, from, from_stride, count, report)
            })
        })
    }
}

/// Destroys all of them, whatever fails, as destructors must.
unsafe extern "C" fn destroy(
    context: *mut c_void,
    cells: *mut u8,
    stride: isize,
    count: usize,
    report: *mut Report,
) -> Status {
    // SAFETY: `abi::DestroyFn`.
    unsafe {
        let vtable = inner(context);
        let Some(destroy) = vtable.destroy else { return abi::OK };
        let status = heap::scope(|| destroy(vtable.context, cells, stride, count, report));
        if status == abi::OK && mishap::destructor_due(count) {
            return (*report).fail(abi::ERROR_RUNTIME, "a planned destructor failure");
        }
        status
    }
}
