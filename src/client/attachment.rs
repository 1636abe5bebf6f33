//! What pyo3 knows while the runtime calls this client.
//!
//! Each copy of pyo3 counts for itself whether a thread is attached to the interpreter, that is,
//! holds the GIL. It counts where Python calls a function of pyo3's, not where the runtime calls a
//! function of the client's. There `Py<T>` would panic when it is cloned, and leave its reference to
//! the next call of pyo3 when it is dropped. So with the feature `pyo3` each batch of a type whose
//! operations hold the GIL says that it is attached: once a batch, never once an element.

/// Runs a batch; where it is `wanted` and this thread holds the GIL, attached.
#[cfg(not(feature = "pyo3"))]
#[inline(always)]
pub(super) fn attached<R>(_wanted: bool, batch: impl FnOnce() -> R) -> R {
    batch()
}

/// Runs a batch; where it is `wanted` and this thread holds the GIL, attached.
///
/// The batch does not unwind.
#[cfg(feature = "pyo3")]
#[inline(always)]
pub(super) fn attached<R>(wanted: bool, batch: impl FnOnce() -> R) -> R {
    let mut batch = Some(batch);
    let mut result = None;
    let mut run = || result = batch.take().map(|batch| batch());
    if wanted && holds_gil() {
        run_attached(&mut run);
    } else {
        run();
    }
    // The batch ran: both branches call it.
    result.unwrap_or_else(|| unreachable!("a batch runs once"))
}

/// Not inlined, so that a batch is compiled once.
#[cfg(feature = "pyo3")]
fn run_attached(run: &mut dyn FnMut()) {
    // SAFETY (`attached-under-gil`): this thread holds the GIL, so the interpreter is there, and
    // taking the GIL again only counts. Not `attach`: that refuses while the interpreter ends, when destructors still run.
    unsafe { pyo3::Python::attach_unchecked(|_| run()) }
}

/// Whether this thread holds the GIL. True only where the interpreter is initialised and this
/// thread is known to it: the end of an object may be the work of a thread that Python never saw, or
/// come after the interpreter's.
#[cfg(feature = "pyo3")]
#[inline]
fn holds_gil() -> bool {
    use std::ffi::{c_int, c_void};
    // Bound here: pyo3 leaves the second out where it is built for the stable ABI, though all
    // versions of CPython export it.
    unsafe extern "C" {
        fn PyGILState_GetThisThreadState() -> *mut c_void;
        fn PyGILState_Check() -> c_int;
    }
    // SAFETY: both may be called at any time. Without an interpreter the first is NULL, and the
    // second would be true.
    unsafe { !PyGILState_GetThisThreadState().is_null() && PyGILState_Check() != 0 }
}
