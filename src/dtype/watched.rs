//! Loops that say what they are, for the time of an audit.
//!
//! NumPy asks for a loop once an operation. While an audit runs it gets one that notes the operation
//! and then does the same work; otherwise the loops know nothing of audits.

use crate::{
    audit::{self, AtWork, Operation},
    numpy_abi::{
        NpyAuxData, PyArray_Descr, PyArrayMethod_Context,
        callbacks::{StridedLoop, TraverseLoop},
    },
};
use std::ffi::{c_char, c_int, c_void};

/// A loop that can be watched.
pub(super) trait Watched {
    /// The loop.
    const LOOP: StridedLoop;

    /// What the loop does.
    ///
    /// # Safety
    /// `auxdata` is the auxiliary data that goes with the loop.
    unsafe fn operation(auxdata: *const NpyAuxData) -> Operation;
}

/// The loop, or its watched form while an audit runs. Called when NumPy asks for the loop, with the
/// GIL.
pub(super) fn pick<L: Watched>() -> StridedLoop {
    if !audit::is_running() {
        return L::LOOP;
    }
    audit::note_operation();
    watched::<L>
}

unsafe extern "C" fn watched<L: Watched>(
    context: *mut PyArrayMethod_Context,
    data: *const *mut c_char,
    dimensions: *const isize,
    strides: *const isize,
    auxdata: *mut NpyAuxData,
) -> c_int {
    // SAFETY: NumPy hands the loop what it handed out with it.
    let _at_work = audit::at_work(unsafe { L::operation(auxdata) });
    // A call that the compiler could see would be a second user of everything in the loop, which it
    // would then no longer compile into one function.
    let run = std::hint::black_box(L::LOOP);
    // SAFETY: as for the loop itself.
    unsafe { run(context, data, dimensions, strides, auxdata) }
}

/// As [`Watched`], for loops over one run.
pub(super) trait WatchedTraverse {
    /// The loop.
    const LOOP: TraverseLoop;
    /// What the loop does.
    const OPERATION: Operation;
}

/// As [`pick`], for loops over one run.
pub(super) fn pick_traverse<L: WatchedTraverse>() -> TraverseLoop {
    if audit::is_running() { watched_traverse::<L> } else { L::LOOP }
}

unsafe extern "C" fn watched_traverse<L: WatchedTraverse>(
    context: *mut c_void,
    descr: *const PyArray_Descr,
    data: *mut c_char,
    size: isize,
    stride: isize,
    auxdata: *mut NpyAuxData,
) -> c_int {
    let _at_work = audit::at_work(L::OPERATION);
    let run = std::hint::black_box(L::LOOP);
    // SAFETY: as for the loop itself.
    unsafe { run(context, descr, data, size, stride, auxdata) }
}

/// For slots that NumPy calls directly: what this thread is at from here on, while an audit runs.
#[inline]
pub(super) fn at_work(operation: Operation) -> Option<AtWork> {
    audit::is_running().then(|| audit::at_work(operation))
}

/// Makes a loop of a fixed name a [`Watched`] one.
macro_rules! watched_loop {
    ($loop:ident: $function:expr, $name:literal) => {
        struct $loop;

        impl $crate::dtype::watched::Watched for $loop {
            const LOOP: StridedLoop = $function;

            unsafe fn operation(_auxdata: *const NpyAuxData) -> $crate::audit::Operation {
                $crate::audit::Operation::new($name)
            }
        }
    };
}
pub(super) use watched_loop;
