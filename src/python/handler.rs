//! Our NEP 49 handler as a capsule: installed for single allocations by arming, for a block of
//! code by handler mode (`handler_mode`).

use crate::{
    dtype::{
        handle::{errors, registry},
        loops::{access, alone},
        scalars::proxy,
        slots::arming,
    },
    handler as functions, lock,
    numpy_abi::{self, Array, MEM_HANDLER, PyDataMem_Handler, PyDataMemAllocator},
};
use pyo3::{exceptions::PyTypeError, ffi, prelude::*};
use std::{ffi::c_char, ptr, sync::OnceLock};

/// The handler's name, as `handler_name` gives it.
pub(super) const NAME: &str = "denizen";

pub(super) struct Handler(pub(super) PyDataMem_Handler);
// SAFETY: constant data and functions.
unsafe impl Sync for Handler {}

pub(super) static HANDLER: Handler = Handler(PyDataMem_Handler {
    name: {
        let mut name = [0 as c_char; 127];
        let mut index = 0;
        while index < NAME.len() {
            name[index] = NAME.as_bytes()[index] as c_char;
            index += 1;
        }
        name
    },
    version: 1,
    allocator: PyDataMemAllocator {
        ctx: ptr::null_mut(),
        malloc: Some(functions::malloc),
        calloc: Some(functions::calloc),
        realloc: Some(functions::realloc),
        free: Some(functions::free),
    },
});

/// Prepares the capsule, the hooks of the core, and arming. Installs no handler.
pub fn install(py: Python<'_>, module: &Bound<'_, PyModule>) -> PyResult<()> {
    // SAFETY: the handler is static.
    let capsule = unsafe {
        let capsule = ffi::PyCapsule_New(
            (&raw const HANDLER.0).cast_mut().cast(),
            MEM_HANDLER.as_ptr(),
            None,
        );
        Bound::from_owned_ptr_or_err(py, capsule)?
    };
    module.add("_mem_handler", &capsule)?;
    functions::set_unraisable_hook(|failure| errors::write_unraisable(failure, errors::MEMORY));
    proxy::install();
    alone::learn();
    lock::set_wait_hook(wait_without_gil);
    lock::set_wait_check(may_wait);
    // The first lock of a process sets the handler of `fork` up, which must not meet a fork.
    let first = lock::SegmentLock::new();
    drop(lock::acquire_all(&mut [lock::Request::new(&first, 0..1, false)]));
    arming::set_capsule(capsule.into_ptr());
    arming::set_enabled(true);
    Ok(())
}

/// Tries arming once on a real array, with the NumPy that is there: the array must get a segment
/// of ours and the caller's handler be the same afterwards. Else arming is switched off, and
/// arrays live by their cells alone.
pub fn probe_arming(py: Python<'_>) -> PyResult<()> {
    let numpy = numpy_abi::import(py)?;
    let Some(dtype) = registry::all().first().copied() else { return Ok(()) };
    // SAFETY: GIL held; new references, dropped below.
    let works = unsafe {
        let before = Bound::from_owned_ptr_or_err(py, numpy.get_handler())?;
        let shape = [3];
        let array = numpy.empty(1, shape.as_ptr(), dtype.new_descr_reference(), 0);
        let array = Bound::from_owned_ptr_or_err(py, array)?;
        let after = Bound::from_owned_ptr_or_err(py, numpy.get_handler())?;
        let managed = Array::of(numpy, &array)
            .is_some_and(|array| access::segment_of(array.data()).is_some());
        managed && after.is(&before) && !functions::allocation_hint::is_armed()
    };
    arming::set_enabled(works);
    Ok(())
}

/// Whether new arrays of registered types get managed segments with this NumPy.
#[pyfunction]
#[pyo3(name = "_arming_works")]
pub fn arming_works() -> bool {
    arming::is_enabled()
}

/// Switches arming off or on again, to test life without it.
#[pyfunction]
#[pyo3(name = "_set_arming")]
pub fn set_arming(enabled: bool) {
    arming::set_enabled(enabled);
}

/// Waits for a lock; a thread that holds the GIL lets it go meanwhile, because the holder of the
/// lock may need it to get on.
fn wait_without_gil(wait: &mut dyn FnMut()) {
    // SAFETY: asking is always allowed; the thread state is saved and restored in pairs.
    unsafe {
        if ffi::PyGILState_Check() == 0 {
            wait();
            return;
        }
        let state = ffi::PyEval_SaveThread();
        wait();
        ffi::PyEval_RestoreThread(state);
    }
}

/// Whether the interpreter is not at its end: threads that it stopped keep their locks.
fn may_wait() -> bool {
    type Asking = unsafe extern "C" fn() -> std::ffi::c_int;
    static FUNCTION: OnceLock<Option<Asking>> = OnceLock::new();
    let function = FUNCTION.get_or_init(|| {
        // The name since CPython 3.13, and the one before.
        let names = [c"Py_IsFinalizing", c"_Py_IsFinalizing"];
        names.into_iter().find_map(|name| {
            // SAFETY: a name; the function that CPython has under it takes nothing and gives an int.
            unsafe {
                let function = libc::dlsym(libc::RTLD_DEFAULT, name.as_ptr());
                (!function.is_null())
                    .then(|| std::mem::transmute::<*mut std::ffi::c_void, Asking>(function))
            }
        })
    });
    // SAFETY: callable in any thread.
    function.is_none_or(|is_finalizing| unsafe { is_finalizing() } == 0)
}

/// Name of the memory handler of an array, or of the current context without one; `None` where
/// the array does not own its data.
#[pyfunction]
#[pyo3(signature = (a = None, /))]
pub fn handler_name(py: Python<'_>, a: Option<&Bound<'_, PyAny>>) -> PyResult<Option<String>> {
    let numpy = numpy_abi::import(py)?;
    let handler = match a {
        Some(object) => {
            let array = Array::of(numpy, object).ok_or_else(|| {
                PyTypeError::new_err(format!("expected an array, got {}", object.get_type()))
            })?;
            array.handler()
        }
        None => {
            // SAFETY: GIL held; a new reference or NULL with an exception.
            let capsule = unsafe { Bound::from_owned_ptr_or_err(py, numpy.get_handler())? };
            // SAFETY: the capsule is alive.
            unsafe { numpy_abi::handler_in(capsule.as_ptr()) }
        }
    };
    Ok(handler.map(|handler| name_of(&handler)))
}

/// The name that a handler gives itself.
pub(super) fn name_of(handler: &PyDataMem_Handler) -> String {
    let bytes: Vec<u8> = handler.name.iter().take_while(|c| **c != 0).map(|c| *c as u8).collect();
    String::from_utf8_lossy(&bytes).into_owned()
}
