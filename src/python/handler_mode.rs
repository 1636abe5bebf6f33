//! Handler mode: `with denizen.handler(under=None):` puts our NEP 49 handler under every array that
//! is made in a block, whatever its dtype.

use super::handler::{self, NAME};
use crate::{
    dtype::{
        handle::{library, trampoline},
        slots::arming,
    },
    handler as functions,
    numpy_abi::{self, MEM_HANDLER, PyDataMem_Handler, PyDataMemAllocator},
    segment::Upstream,
};
use pyo3::{
    exceptions::{PyRuntimeError, PyValueError},
    ffi,
    prelude::*,
    sync::PyOnceLock,
    types::PyAny,
};
use std::{
    ffi::{CStr, c_char, c_void},
    ptr,
    sync::{Mutex, MutexGuard, PoisonError},
};

/// The context variable that says which block the current context is in.
static INNERMOST: PyOnceLock<Py<PyAny>> = PyOnceLock::new();

/// Puts denizen's memory handler under every array that is made in the block, in this context.
///
/// At exit the handler that was there before is the current one again. An array keeps the handler
/// that made it, so it may outlive the block.
///
/// `under` is a capsule with another NEP 49 handler, whose malloc, calloc and free then provide the
/// memory. Raises ValueError for anything else.
#[pyclass(name = "handler", module = "denizen._runtime", frozen)]
pub struct HandlerBlock {
    capsule: Py<PyAny>,
    entered: Mutex<Option<Entered>>,
}

/// What a block undoes when it is left.
struct Entered {
    previous: Py<PyAny>,
    /// Value of [`INNERMOST`] in the block, and the token that takes it back.
    mark: Py<PyAny>,
    token: Py<PyAny>,
}

#[pymethods]
impl HandlerBlock {
    #[new]
    #[pyo3(signature = (under = None))]
    fn new(under: Option<&Bound<'_, PyAny>>, py: Python<'_>) -> PyResult<Self> {
        let capsule = match under {
            // SAFETY: our capsule lives from the import on.
            None => unsafe { Bound::from_borrowed_ptr(py, arming::capsule()) },
            Some(under) => capsule_over(under)?,
        };
        Ok(HandlerBlock { capsule: capsule.unbind(), entered: Mutex::new(None) })
    }

    fn __enter__(slf: Bound<'_, Self>) -> PyResult<Bound<'_, Self>> {
        let py = slf.py();
        if slf.get().entered().is_some() {
            return Err(PyRuntimeError::new_err(
                "this handler block is entered already; make another one with denizen.handler()",
            ));
        }
        let numpy = numpy_abi::import(py)?;
        let mark = py.get_type::<PyAny>().call0()?;
        let variable = innermost(py)?;
        // SAFETY: GIL held; living objects; new references or NULL with an exception.
        let (token, previous) = unsafe {
            let token = ffi::PyContextVar_Set(variable.as_ptr(), mark.as_ptr());
            let token = Bound::from_owned_ptr_or_err(py, token)?;
            let previous = numpy.set_handler(slf.get().capsule.as_ptr());
            match Bound::from_owned_ptr_or_err(py, previous) {
                Ok(previous) => (token, previous),
                Err(error) => {
                    ffi::PyContextVar_Reset(variable.as_ptr(), token.as_ptr());
                    return Err(error);
                }
            }
        };
        *slf.get().entered() = Some(Entered {
            previous: previous.unbind(),
            mark: mark.unbind(),
            token: token.unbind(),
        });
        Ok(slf)
    }

    #[pyo3(signature = (*_exception))]
    fn __exit__(&self, py: Python<'_>, _exception: &Bound<'_, PyAny>) -> PyResult<bool> {
        let Some(entered) = self.entered().take() else {
            return Err(PyRuntimeError::new_err("this handler block is not entered"));
        };
        if let Err(error) = leave(py, &entered) {
            *self.entered() = Some(entered);
            return Err(error);
        }
        Ok(false)
    }
}

impl HandlerBlock {
    fn entered(&self) -> MutexGuard<'_, Option<Entered>> {
        self.entered.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Makes the handler before the block the current one again; only in the context and in the order
/// in which blocks were entered, because any other context has a handler of its own to keep.
fn leave(py: Python<'_>, entered: &Entered) -> PyResult<()> {
    let variable = innermost(py)?;
    let mut current = ptr::null_mut();
    // SAFETY: GIL held; a living variable; `current` gets a new reference or NULL.
    let current = unsafe {
        if ffi::PyContextVar_Get(variable.as_ptr(), ptr::null_mut(), &mut current) < 0 {
            return Err(PyErr::fetch(py));
        }
        Bound::from_owned_ptr_or_opt(py, current)
    };
    let wrong = || {
        PyRuntimeError::new_err(
            "a handler block must be left in the context in which it was entered, after the \
             blocks inside it; the current handler is left as it is",
        )
    };
    if !current.is_some_and(|current| current.is(&entered.mark)) {
        return Err(wrong());
    }
    // SAFETY: GIL held; the token came from this variable.
    if unsafe { ffi::PyContextVar_Reset(variable.as_ptr(), entered.token.as_ptr()) } < 0 {
        // A copy of the context: it has the same mark.
        let error = wrong();
        error.set_cause(py, PyErr::take(py));
        return Err(error);
    }
    let numpy = numpy_abi::import(py)?;
    // SAFETY: GIL held; a living capsule; the result is a new reference to the handler before.
    unsafe {
        Bound::from_owned_ptr_or_err(py, numpy.set_handler(entered.previous.as_ptr())).map(drop)
    }
}

fn innermost(py: Python<'_>) -> PyResult<&Bound<'_, PyAny>> {
    let variable = INNERMOST.get_or_try_init(py, || {
        // SAFETY: GIL held; a new reference or NULL with an exception.
        unsafe {
            let variable = ffi::PyContextVar_New(c"denizen.handler".as_ptr(), ptr::null_mut());
            Bound::from_owned_ptr_or_err(py, variable).map(Bound::unbind)
        }
    })?;
    Ok(variable.bind(py))
}

/// A handler of ours over another, as the capsule's content. The handler comes first: that is
/// what NumPy looks for.
#[repr(C)]
struct UpstreamHandler {
    handler: PyDataMem_Handler,
    upstream: Upstream,
    /// Strong reference to the capsule of the upstream handler.
    under: *mut ffi::PyObject,
}

/// Runs when neither a block nor an array of the handler is left.
unsafe extern "C" fn drop_upstream(capsule: *mut ffi::PyObject) {
    trampoline::end("drop_upstream", || {
        // SAFETY: GIL held; the capsule holds the box that `capsule_over` put into it.
        unsafe {
            let upstream =
                ffi::PyCapsule_GetPointer(capsule, MEM_HANDLER.as_ptr()).cast::<UpstreamHandler>();
            if !upstream.is_null() {
                let upstream = Box::from_raw(upstream);
                ffi::Py_DECREF(upstream.under);
            }
        }
    })
}

/// A capsule with our handler over the one in `under`; `under` itself where that is ours already.
fn capsule_over<'py>(under: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
    // SAFETY: GIL held; a living object.
    let Some(theirs) = (unsafe { numpy_abi::handler_in(under.as_ptr()) }) else {
        return Err(PyValueError::new_err(format!(
            "under must be a capsule named \"{}\" with a NEP 49 memory handler, got {}",
            MEM_HANDLER.to_string_lossy(),
            described(under),
        )));
    };
    let name = handler::name_of(&theirs);
    if theirs.version != 1 {
        return Err(PyValueError::new_err(format!(
            "the memory handler {name:?} has version {}; denizen knows version 1",
            theirs.version
        )));
    }
    let PyDataMemAllocator { ctx, malloc, calloc, realloc, free } = theirs.allocator;
    let (Some(malloc), Some(calloc), Some(_), Some(free)) = (malloc, calloc, realloc, free) else {
        let members = [
            ("malloc", malloc.is_none()),
            ("calloc", calloc.is_none()),
            ("realloc", realloc.is_none()),
            ("free", free.is_none()),
        ];
        let missing: Vec<&str> =
            members.iter().filter(|(_, missing)| *missing).map(|(member, _)| *member).collect();
        return Err(PyValueError::new_err(format!(
            "the memory handler {name:?} is incomplete: {} is NULL",
            missing.join(", ")
        )));
    };
    let ours: unsafe extern "C" fn(*mut c_void, usize) -> *mut c_void = functions::malloc;
    if ptr::fn_addr_eq(malloc, ours) {
        return Ok(under.clone());
    }
    // Its arrays may outlive what its library's owner thinks of: `upstream-outlives`.
    library::pin([
        ("malloc", malloc as *const c_void),
        ("calloc", calloc as *const c_void),
        ("free", free as *const c_void),
        ("ctx", ctx.cast_const()),
    ])
    .map_err(|error| PyValueError::new_err(format!("the memory handler {name:?}: {error}")))?;
    let mut upstream = Box::new(UpstreamHandler {
        handler: handler::HANDLER.0,
        upstream: Upstream { context: ctx, malloc, calloc, free },
        under: under.clone().into_ptr(),
    });
    let bytes = format!("{NAME} over {name}");
    // The last byte stays NUL.
    for (to, from) in upstream.handler.name[..126].iter_mut().zip(bytes.bytes()) {
        *to = from as c_char;
    }
    let upstream = Box::into_raw(upstream);
    // SAFETY: the box stays where it is until `drop_upstream`. NumPy keeps a reference to the capsule
    // for each array, so the upstream allocator outlives its segments.
    unsafe {
        (*upstream).handler.allocator.ctx = (&raw mut (*upstream).upstream).cast();
        let capsule =
            ffi::PyCapsule_New(upstream.cast(), MEM_HANDLER.as_ptr(), Some(drop_upstream));
        if capsule.is_null() {
            ffi::Py_DECREF(Box::from_raw(upstream).under);
        }
        Bound::from_owned_ptr_or_err(under.py(), capsule)
    }
}

/// What an object is, for the message that it is no handler.
fn described(object: &Bound<'_, PyAny>) -> String {
    // SAFETY: GIL held; a living object. A capsule's name is a C string or NULL.
    unsafe {
        if ffi::PyCapsule_CheckExact(object.as_ptr()) == 0 {
            return object.get_type().to_string();
        }
        let name = ffi::PyCapsule_GetName(object.as_ptr());
        if name.is_null() {
            ffi::PyErr_Clear();
            return "a capsule without a name".to_owned();
        }
        format!("a capsule named {:?}", CStr::from_ptr(name).to_string_lossy())
    }
}
