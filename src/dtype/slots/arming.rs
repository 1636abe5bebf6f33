//! How our handler gets under our arrays, in every thread, without touching the caller's context.
//!
//! `PyArray_NewFromDescr_int` calls `get_fill_zero_loop` and then at once asks the context variable
//! for the current handler and allocates. [`arm`] therefore enters a private context in which the
//! variable already holds our handler; whichever of our `malloc`, `calloc` or fill loop comes next
//! takes the note and leaves the context. Nothing in between runs Python code, gives the GIL away
//! or allocates, so the caller's context is the current one again before any code can look.
//!
//! A `PyContext` can be entered once at a time, so each thread has its own. A thread that ends
//! leaves its context to the next one.

use crate::{
    abi,
    dtype::handle::errors,
    handler::allocation_hint::{self, Content},
};
use pyo3::ffi;
use std::{
    cell::Cell,
    ptr,
    sync::{
        Mutex, MutexGuard, TryLockError,
        atomic::{AtomicBool, AtomicPtr, Ordering::Relaxed},
    },
};

/// The capsule around our handler; set once at import, never freed.
static CAPSULE: AtomicPtr<ffi::PyObject> = AtomicPtr::new(ptr::null_mut());
/// Whether the probe at import found that arming works with this NumPy.
static ENABLED: AtomicBool = AtomicBool::new(false);
/// Contexts of threads that ended.
static SPARE: Mutex<Vec<Context>> = Mutex::new(Vec::new());

/// A private context; a strong reference that is never given back.
struct Context(*mut ffi::PyObject);
// SAFETY: the pointer is only used with the GIL, by one thread at a time.
unsafe impl Send for Context {}

/// This thread's context, returned to [`SPARE`] when the thread ends.
struct OwnContext(Cell<*mut ffi::PyObject>);

impl Drop for OwnContext {
    fn drop(&mut self) {
        if !self.0.get().is_null()
            && let Some(mut spare) = spare()
        {
            spare.push(Context(self.0.get()));
        }
    }
}

/// The contexts of threads that ended, unless another thread is at them right now. No thread waits: one
/// ends without the GIL, so a fork may meet it in here, and the lock of the child is never let go.
fn spare() -> Option<MutexGuard<'static, Vec<Context>>> {
    match SPARE.try_lock() {
        Ok(spare) => Some(spare),
        Err(TryLockError::Poisoned(poisoned)) => Some(poisoned.into_inner()),
        Err(TryLockError::WouldBlock) => None,
    }
}

thread_local! {
    static CONTEXT: OwnContext = const { OwnContext(Cell::new(ptr::null_mut())) };
}

/// Takes the capsule to install. Called once, at import, with a strong reference.
pub fn set_capsule(capsule: *mut ffi::PyObject) {
    CAPSULE.store(capsule, Relaxed);
}

/// Our handler's capsule, borrowed; NULL before the import.
pub fn capsule() -> *mut ffi::PyObject {
    CAPSULE.load(Relaxed)
}

/// Switches arming on or off (the probe at import, and its test).
pub fn set_enabled(enabled: bool) {
    ENABLED.store(enabled, Relaxed);
}

/// Whether new arrays of our dtypes get managed segments.
pub fn is_enabled() -> bool {
    ENABLED.load(Relaxed)
}

/// Makes our handler current for the allocation that follows. Idempotent. GIL held.
///
/// NumPy asks for the loops of a structure's fields one after the other: each arms, and the
/// allocation comes after the last. Where NumPy runs out of memory in between (it allocates for
/// fields that are structures), the arming ends at this thread's next allocation of ours, or where
/// [`withdraw`] is called.
///
/// Where it cannot (no memory for a context), the array is simply foreign: it lives by its cells.
#[inline]
pub fn arm(content: Content) {
    if !is_enabled() {
        return;
    }
    if allocation_hint::is_armed() {
        allocation_hint::amend(content);
        return;
    }
    let entered = CONTEXT.try_with(|own| {
        let mut context = own.0.get();
        if context.is_null() {
            context = new_context();
            own.0.set(context);
        }
        // SAFETY: GIL held, a context of this thread that is not entered (no hint waits).
        !context.is_null() && unsafe { ffi::PyContext_Enter(context) } == 0
    });
    if entered == Ok(true) {
        allocation_hint::leave(content, disarm);
    } else {
        // SAFETY: GIL held. A failure to arm is no failure of the array.
        unsafe { ffi::PyErr_Clear() };
    }
}

/// Ends an arming that no allocation followed.
pub fn withdraw() {
    allocation_hint::take();
}

/// Leaves the private context. The hint is taken already.
fn disarm() {
    let _ = CONTEXT.try_with(|own| {
        // SAFETY: GIL held (NumPy allocates and fills with it), and `arm` entered this context on
        // this thread; nothing entered another one since.
        if unsafe { ffi::PyContext_Exit(own.0.get()) } < 0 {
            // SAFETY: GIL held.
            unsafe { ffi::PyErr_Clear() };
            let failure = crate::erased::Failure::new(
                abi::ERROR_RUNTIME,
                "the private context around an allocation was left by somebody else",
            );
            errors::write_unraisable(&failure, errors::MEMORY);
        }
    });
}

/// A context in which our handler is the current one; NULL on failure, without an exception.
#[cold]
fn new_context() -> *mut ffi::PyObject {
    if let Some(Context(context)) = spare().and_then(|mut spare| spare.pop()) {
        return context;
    }
    let Some(numpy) = crate::numpy_abi::get() else {
        return ptr::null_mut();
    };
    // SAFETY: GIL held. The context is entered and left here; `set_handler` returns a new
    // reference to the handler before, which is ours to drop.
    unsafe {
        let context = ffi::PyContext_New();
        if context.is_null() || ffi::PyContext_Enter(context) < 0 {
            ffi::PyErr_Clear();
            ffi::Py_XDECREF(context);
            return ptr::null_mut();
        }
        let previous = numpy.set_handler(capsule());
        let failed = previous.is_null();
        ffi::Py_XDECREF(previous);
        if ffi::PyContext_Exit(context) < 0 || failed {
            ffi::PyErr_Clear();
            ffi::Py_DECREF(context);
            return ptr::null_mut();
        }
        context
    }
}
