//! The extension module `denizen._runtime`.

mod audit;
mod handler;
mod handler_mode;
mod inspect;

use crate::{
    abi, c_api,
    dtype::{
        self,
        handle::{errors, registry},
        scalar_class,
    },
    elements, faults, memory, numpy_abi, segment,
};
use pyo3::{
    create_exception,
    exceptions::{PyImportError, PyKeyError, PyRuntimeError, PyValueError},
    ffi,
    prelude::*,
    sync::PyOnceLock,
    types::{PyDict, PyString},
};

create_exception!(
    denizen,
    VacantError,
    PyValueError,
    "A cell without an object was read, and its type has no default value."
);
create_exception!(
    denizen,
    BorrowError,
    PyRuntimeError,
    "The cells are in use: by a view in client code, or by an operation that is at work."
);

create_exception!(
    denizen,
    IntegrityError,
    PyRuntimeError,
    "The memory of an array was overwritten by something that had no business there."
);

/// The runtime of denizen. Use it through the package `denizen`.
// Without a word pyo3 declares that a module needs no GIL; here that is neither so nor tried.
#[pymodule(gil_used = true)]
mod _runtime {
    use super::*;
    #[pymodule_export]
    use super::{
        BorrowError, IntegrityError, VacantError, abi_layout, audit::begin, audit::end,
        audit::ledger, dtype_of, end_fault, handler::arming_works, handler::handler_name,
        handler::set_arming, handler_mode::HandlerBlock, inspect::check_memory_raw,
        inspect::inspect_raw, inspect::owner, inspect::set_integrity, numpy_layout, plan_fault,
        scalar_from_bytes, stats, types,
    };
    #[pymodule_export]
    use crate::dtype::numpy_patches::{
        patch_placed, patches,
        raw::{reorder, while_read},
    };

    #[pymodule_init]
    fn init(module: &Bound<'_, PyModule>) -> PyResult<()> {
        super::init(module)
    }
}

/// The module as it was made first. Types are registered once a process.
static FIRST: PyOnceLock<Py<PyModule>> = PyOnceLock::new();

fn init(module: &Bound<'_, PyModule>) -> PyResult<()> {
    let py = module.py();
    if let Some(first) = FIRST.get(py) {
        // Imported again after it was removed from `sys.modules`: the same classes and names.
        for (name, value) in first.bind(py).dict() {
            if !module.hasattr(name.cast::<PyString>()?)? {
                module.add(name.cast::<PyString>()?, value)?;
            }
        }
        return Ok(());
    }
    if registry::all().iter().any(|dtype| dtype.element().name().starts_with("denizen.")) {
        return Err(PyImportError::new_err(
            "an earlier import of denizen failed half-way, after it had registered its types, which \
             stay for the rest of the process; see the error of that import, and start a new process",
        ));
    }
    refuse_other_interpreters(py)?;
    module.add("__version__", env!("CARGO_PKG_VERSION"))?;
    let checks = wants_checks()?;
    memory::emergency_heap::quiet_panics();
    dtype::numpy_patches::install(py, numpy_abi::import(py)?)?;
    let _ = errors::VACANT_ERROR.set(py, py.get_type::<VacantError>().into_any().unbind());
    let _ = errors::BORROW_ERROR.set(py, py.get_type::<BorrowError>().into_any().unbind());
    let _ = errors::INTEGRITY_ERROR.set(py, py.get_type::<IntegrityError>().into_any().unbind());
    if checks {
        segment::set_checked(true);
    }
    handler::install(py, module)?;
    module.add("_C_API", c_api::capsule(py)?)?;
    // Before the bundled types: it is a base of their scalar classes.
    module.add("_Indexed", scalar_class::subscript::make_base_class(py)?)?;
    // SAFETY: GIL held; the module is alive; the table works from here on.
    unsafe { elements::register(c_api::table(), module.as_ptr().cast()) }
        .map_err(|_raised| PyErr::fetch(py))?;
    handler::probe_arming(py)?;
    let _ = FIRST.set(py, module.clone().unbind());
    Ok(())
}

/// What the environment says of integrity checks.
///
/// # Errors
/// `ImportError` where it says neither yes nor no: a process must not run unchecked by a typing error.
fn wants_checks() -> PyResult<bool> {
    let Some(value) = std::env::var_os("DENIZEN_INTEGRITY") else { return Ok(false) };
    match value.to_string_lossy().trim().to_ascii_lowercase().as_str() {
        "1" | "true" | "yes" | "on" => Ok(true),
        "" | "0" | "false" | "no" | "off" => Ok(false),
        _ => Err(PyImportError::new_err(format!(
            "the environment variable DENIZEN_INTEGRITY is {:?}; it is 1, true, yes or on for checks \
             of array memory, and 0, false, no, off or empty for none",
            value.to_string_lossy()
        ))),
    }
}

/// Types are registered once a process, and their objects are guarded by the one GIL.
fn refuse_other_interpreters(py: Python<'_>) -> PyResult<()> {
    // SAFETY: the GIL is held; the states are compared, not used.
    if unsafe { ffi::PyInterpreterState_Get() != ffi::PyInterpreterState_Main() } {
        // The package said so before, where it can tell (`_main_interpreter.py`).
        return Err(PyImportError::new_err("denizen runs in the main interpreter alone"));
    }
    // As of 3.13; False on a free-threaded interpreter that was told to stay without the GIL.
    let sys = py.import("sys")?;
    if sys.hasattr("_is_gil_enabled")? && !sys.call_method0("_is_gil_enabled")?.is_truthy()? {
        return Err(PyImportError::new_err(
            "denizen needs the GIL, which is switched off here: start Python without PYTHON_GIL=0 \
             and -X gil=0 (a free-threaded Python then switches it on at this import)",
        ));
    }
    Ok(())
}

/// Names of the registered element types, in the order of registration.
#[pyfunction]
fn types() -> Vec<&'static str> {
    registry::elements().iter().map(|element| element.name()).collect()
}

/// Counters of each registered element type.
#[pyfunction]
fn stats(py: Python<'_>) -> PyResult<Bound<'_, PyDict>> {
    let all = PyDict::new(py);
    for element in registry::elements() {
        let read = element.counters().read();
        let counters = PyDict::new(py);
        counters.set_item("live", read.live)?;
        counters.set_item("constructed", read.constructed)?;
        counters.set_item("destroyed", read.destroyed)?;
        counters.set_item("relocated", read.relocated)?;
        counters.set_item("foreign", read.foreign)?;
        counters.set_item("reconciled", read.reconciled)?;
        counters.set_item("lent", read.lent)?;
        counters.set_item("stale", read.stale)?;
        all.set_item(element.name(), counters)?;
    }
    Ok(all)
}

/// The DType of a type's full name; imports the module that registers it where needed.
fn dtype_by_name(py: Python<'_>, name: &str) -> PyResult<&'static dtype::DType> {
    if let Some(dtype) = registry::dtype_named(name) {
        return Ok(dtype);
    }
    let module = name.rsplit_once('.').map_or(name, |(module, _)| module);
    py.import(module).map_err(|cause| {
        let error = PyImportError::new_err(format!(
            "the element type {name} comes from the module {module}, which cannot be imported"
        ));
        error.set_cause(py, Some(cause));
        error
    })?;
    registry::dtype_named(name).ok_or_else(|| {
        PyKeyError::new_err(format!("the module {module} registers no element type {name}"))
    })
}

/// The dtype of a type's full name, for pickle.
#[pyfunction]
#[pyo3(name = "_dtype_of")]
fn dtype_of(py: Python<'_>, name: &str) -> PyResult<Py<PyAny>> {
    let descr = dtype_by_name(py, name)?.new_descr_reference();
    // SAFETY: a new reference.
    Ok(unsafe { Bound::from_owned_ptr_or_err(py, descr.cast())? }.unbind())
}

/// A scalar from the bytes of its type's codec, for pickle.
#[pyfunction]
#[pyo3(name = "_scalar_from_bytes")]
fn scalar_from_bytes(py: Python<'_>, name: &str, bytes: &[u8]) -> PyResult<Py<PyAny>> {
    let dtype = dtype_by_name(py, name)?;
    scalar_class::pickle::scalar_from_bytes(py, dtype, bytes)
}

/// Has a step of the process fail once, after `after` more of its kind went well; with None it only
/// counts them. The kinds: a block of memory, a request to the runtime's heap, an element in an
/// operation of its type (types are registered to count those under DENIZEN_FAULTS=1).
#[pyfunction]
#[pyo3(name = "_plan_fault")]
fn plan_fault(kind: &str, after: Option<u64>) -> PyResult<()> {
    let kind = match kind {
        "allocation" => faults::FaultKind::Allocation,
        "heap" => faults::FaultKind::Heap,
        "element" if faults::elements_can_fail() => faults::FaultKind::Element,
        "slot" => faults::FaultKind::Slot,
        "element" => {
            return Err(PyRuntimeError::new_err(
                "elements are not counted: start the process with DENIZEN_FAULTS=1",
            ));
        }
        _ => return Err(PyValueError::new_err(format!("{kind:?} is no kind of fault"))),
    };
    faults::plan(kind, after);
    Ok(())
}

/// Ends the plan: how many steps of its kind were made, and whether one failed.
#[pyfunction]
#[pyo3(name = "_end_fault")]
fn end_fault() -> (u64, bool) {
    faults::end()
}

/// Sizes, offsets, constants and table indices of the NumPy bindings, for their test.
#[pyfunction]
#[pyo3(name = "_numpy_layout")]
fn numpy_layout() -> Vec<(&'static str, usize)> {
    numpy_abi::layout()
}

/// Offset, or value, and size of every type, member and constant of the C interface, by the
/// names of the C header, for its test.
#[pyfunction]
#[pyo3(name = "_abi_layout")]
fn abi_layout() -> Vec<(&'static str, i64, usize)> {
    abi::layout::layout().iter().map(|row| (row.name, row.value, row.size)).collect()
}
