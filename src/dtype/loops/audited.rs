//! Loops that say what they are, for the time of an audit.
//!
//! NumPy asks for a loop once an operation. While an audit runs it gets one that notes the operation
//! and then does the same work; otherwise the loops know nothing of audits.

use crate::{
    audit::{self, AtWork, Operation},
    dtype::handle::trampoline,
    numpy_abi::{
        NpyAuxData, PyArray_Descr, PyArrayMethod_Context,
        callbacks::{StridedLoop, TraverseLoop},
    },
};
use std::ffi::{c_char, c_int, c_void};

/// A loop that can be audited.
pub trait Audited {
    /// The loop.
    const LOOP: StridedLoop;

    /// What the loop does.
    ///
    /// # Safety
    /// `auxdata` is the auxiliary data that goes with the loop.
    unsafe fn operation(auxdata: *const NpyAuxData) -> Operation;
}

/// Puts the audited form of the loop in its place while an audit runs. The last thing that is done
/// when NumPy asks for a loop, so that all else needs no register saved for it.
///
/// # Safety
/// `out_loop` may be written; GIL held.
#[inline(always)]
pub unsafe fn audit_loop<L: Audited>(out_loop: *mut Option<StridedLoop>) {
    if audit::is_running() {
        // SAFETY: the caller's promise.
        unsafe { replace::<L>(out_loop) };
    }
}

/// # Safety
/// As for [`audit_loop`].
#[cold]
#[inline(never)]
unsafe fn replace<L: Audited>(out_loop: *mut Option<StridedLoop>) {
    audit::note_operation();
    // SAFETY: the caller's promise.
    unsafe { out_loop.write(Some(audited::<L>)) };
}

unsafe extern "C" fn audited<L: Audited>(
    context: *mut PyArrayMethod_Context,
    data: *const *mut c_char,
    dimensions: *const isize,
    strides: *const isize,
    auxdata: *mut NpyAuxData,
) -> c_int {
    trampoline::inlined("audited", || {
        // SAFETY: NumPy hands the loop what it handed out with it.
        let _at_work = audit::at_work(unsafe { L::operation(auxdata) });
        // A call that the compiler could see would be a second user of everything in the loop, which it
        // would then no longer compile into one function.
        let run = std::hint::black_box(L::LOOP);
        // SAFETY: as for the loop itself.
        unsafe { run(context, data, dimensions, strides, auxdata) }
    })
}

/// As [`Audited`], for loops over one run.
pub trait AuditedTraverse {
    /// The loop.
    const LOOP: TraverseLoop;
    /// What the loop does.
    const OPERATION: Operation;
}

/// As [`audit_loop`], for loops over one run.
///
/// # Safety
/// `out_loop` may be written.
#[inline(always)]
pub unsafe fn audit_traverse<L: AuditedTraverse>(out_loop: *mut Option<TraverseLoop>) {
    if audit::is_running() {
        // SAFETY: the caller's promise.
        unsafe { out_loop.write(Some(audited_traverse::<L>)) };
    }
}

unsafe extern "C" fn audited_traverse<L: AuditedTraverse>(
    context: *mut c_void,
    descr: *const PyArray_Descr,
    data: *mut c_char,
    size: isize,
    stride: isize,
    auxdata: *mut NpyAuxData,
) -> c_int {
    trampoline::inlined("audited_traverse", || {
        let _at_work = audit::at_work(L::OPERATION);
        let run = std::hint::black_box(L::LOOP);
        // SAFETY: as for the loop itself.
        unsafe { run(context, descr, data, size, stride, auxdata) }
    })
}

/// For slots that NumPy calls directly: what this thread is at from here on, while an audit runs.
#[inline]
pub fn at_work(operation: Operation) -> Option<AtWork> {
    audit::is_running().then(|| audit::at_work(operation))
}

/// Runs `work`, which is that operation: for slots that are called for each element, of which the
/// usual ones should hold nothing that has to be dropped.
#[cold]
#[inline(never)]
pub fn at_work_on<R>(operation: Operation, work: impl FnOnce() -> R) -> R {
    let _at_work = audit::at_work(operation);
    work()
}

/// Makes a loop of a fixed name a [`Audited`] one.
macro_rules! audited_loop {
    ($loop:ident: $function:expr, $name:literal) => {
        struct $loop;

        impl $crate::dtype::loops::audited::Audited for $loop {
            const LOOP: StridedLoop = $function;

            unsafe fn operation(_auxdata: *const NpyAuxData) -> $crate::audit::Operation {
                $crate::audit::Operation::new($name)
            }
        }
    };
}
pub(crate) use audited_loop;
