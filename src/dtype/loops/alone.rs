//! Whether a thread is the only one: see "Alone" in `docs/architecture.md`.

use pyo3::ffi;
use std::sync::atomic::{AtomicPtr, AtomicU8, Ordering::Relaxed};

/// The head of CPython's `PyThreadState`, as `Include/cpython/pystate.h` has it from 3.11 to 3.14. The
/// states of an interpreter are a list. Read directly, since the check is made twice a loop call;
/// [`learn`] compares it with what the functions say.
#[repr(C)]
struct ThreadState {
    /// Others add themselves to the list without the GIL.
    previous: AtomicPtr<ffi::PyThreadState>,
    next: AtomicPtr<ffi::PyThreadState>,
    interpreter: *mut ffi::PyInterpreterState,
}

/// No thread is ever alone: not asked yet, or the head is another one.
const NEVER: u8 = 0;
/// The current state is the thread's own, where it has the GIL (from CPython 3.12 on).
const OF_THREAD: u8 = 1;
/// It is that of whichever thread has the GIL.
const OF_PROCESS: u8 = 2;

static CURRENT_STATE: AtomicU8 = AtomicU8::new(NEVER);

/// Learns how the running CPython tells. GIL held.
pub fn learn() {
    // SAFETY: GIL held: the current state is this thread's, and begins with what is compared here.
    unsafe {
        let state = ffi::PyThreadState_Get();
        let interpreter = ffi::PyThreadState_GetInterpreter(state);
        let head = &*state.cast::<ThreadState>();
        let is_first = ffi::PyInterpreterState_ThreadHead(interpreter) == state;
        let fits = head.interpreter == interpreter
            && head.next.load(Relaxed) == ffi::PyThreadState_Next(state)
            && head.previous.load(Relaxed).is_null() == is_first
            && interpreter == ffi::PyInterpreterState_Main();
        let of_thread = ffi::Py_Version >= 0x030c_0000;
        let way = if of_thread { OF_THREAD } else { OF_PROCESS };
        CURRENT_STATE.store(if fits { way } else { NEVER }, Relaxed);
    }
}

/// Whether this thread holds the GIL and the interpreter knows no other thread. Another thread would
/// need a thread state, and once the GIL, before it could begin an operation; one that is inside an
/// operation has a thread state (`alone`). There is one interpreter: denizen refuses others.
#[inline]
pub fn is_alone() -> bool {
    // SAFETY: callable in any thread. The state of a thread that holds the GIL is its own to read;
    // entries that others add to the list meanwhile belong to threads that wait for the GIL.
    unsafe {
        let state = ffi::compat::PyThreadState_GetUnchecked();
        if state.is_null() {
            return false;
        }
        match CURRENT_STATE.load(Relaxed) {
            OF_THREAD => {}
            OF_PROCESS if state == ffi::PyGILState_GetThisThreadState() => {}
            _ => return false,
        }
        let head = &*state.cast::<ThreadState>();
        head.previous.load(Relaxed).is_null() && head.next.load(Relaxed).is_null()
    }
}
