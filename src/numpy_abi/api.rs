//! NumPy's function tables, found at run time.

use std::ffi::{CStr, c_void};
use std::sync::OnceLock;

use pyo3::exceptions::PyImportError;
use pyo3::prelude::*;
use pyo3::types::PyCapsule;

use super::check;
use super::version::NumpyVersion;

/// `NPY_ABI_VERSION`: the binary interface of all NumPy 2.x.
const ABI_VERSION: u32 = 0x0200_0000;
/// `NPY_2_4_API_VERSION`: what `PyArray_GetNDArrayCFeatureVersion` says on NumPy 2.4.
const OLDEST_FEATURE_VERSION: u32 = 0x15;

/// The running NumPy: its function tables and its version.
///
/// # Invariants
/// `array` and `ufunc` are NumPy's `PyArray_API` and `PyUFunc_API`, of a NumPy whose layouts
/// passed the checks of [`import`]. NumPy never unloads, so they stay valid.
pub struct NumpyApi {
    array: *const *const c_void,
    ufunc: *const *const c_void,
    version: NumpyVersion,
    feature_version: u32,
}

// SAFETY: the tables are written once, before NumPy's import ends, and only read here.
unsafe impl Send for NumpyApi {}
// SAFETY: as for `Send`.
unsafe impl Sync for NumpyApi {}

static API: OnceLock<NumpyApi> = OnceLock::new();

/// The API, where [`import`] has succeeded before: always in a function that NumPy calls.
pub fn get() -> Option<&'static NumpyApi> {
    API.get()
}

/// Imports NumPy and its function tables, once.
///
/// # Errors
/// `ImportError` where NumPy is missing, fails to import, is older than
/// [`NumpyVersion::OLDEST`], or lays out its objects in a way that these bindings do not know.
/// The message says what was found, what is needed and what to do.
pub fn import(py: Python<'_>) -> PyResult<&'static NumpyApi> {
    if let Some(api) = API.get() {
        return Ok(api);
    }
    let api = load(py)?;
    Ok(API.get_or_init(|| api))
}

fn load(py: Python<'_>) -> PyResult<NumpyApi> {
    let oldest = NumpyVersion::OLDEST;
    let advice = format!("Install one: pip install 'numpy>={}.{}'.", oldest.major, oldest.minor);

    let numpy = py.import("numpy").map_err(|cause| {
        chained(
            py,
            format!("denizen needs NumPy {oldest} or later; importing numpy failed. {advice}"),
            cause,
        )
    })?;
    let text = numpy.getattr("__version__")?.extract::<String>()?;
    let version = NumpyVersion::parse(&text).ok_or_else(|| {
        PyImportError::new_err(format!(
            "denizen needs NumPy {oldest} or later, but found a NumPy whose version {text:?} it \
             cannot read. {advice}"
        ))
    })?;
    if version < oldest {
        return Err(PyImportError::new_err(format!(
            "denizen needs NumPy {oldest} or later, but found NumPy {text}. {advice}"
        )));
    }

    let umath = py.import("numpy._core._multiarray_umath").map_err(|cause| {
        chained(
            py,
            format!(
                "NumPy {text} has no numpy._core._multiarray_umath, where denizen looks for its \
                 C API. Install an official NumPy release, {oldest} or later."
            ),
            cause,
        )
    })?;
    let api = NumpyApi {
        array: table(&umath, "_ARRAY_API")?,
        ufunc: table(&umath, "_UFUNC_API")?,
        version,
        feature_version: 0,
    };
    // SAFETY: every NumPy has these two functions without arguments, at these indices.
    let (abi_version, feature_version) =
        unsafe { (api.get_ndarray_c_version(), api.get_ndarray_c_feature_version()) };
    if abi_version != ABI_VERSION || feature_version < OLDEST_FEATURE_VERSION {
        return Err(PyImportError::new_err(format!(
            "denizen was built for NumPy's C interface {ABI_VERSION:#x} with features from \
             {OLDEST_FEATURE_VERSION:#x} on, but NumPy {text} has interface {abi_version:#x} with \
             features {feature_version:#x}. Install a NumPy 2.x release, {oldest} or later, or a \
             newer denizen."
        )));
    }
    let api = NumpyApi { feature_version, ..api };
    check::layouts(py, &api, &numpy)?;
    Ok(api)
}

/// The address in a capsule without a name, as NumPy keeps its tables.
fn table(umath: &Bound<'_, PyModule>, name: &str) -> PyResult<*const *const c_void> {
    let capsule = umath.getattr(name)?.cast_into::<PyCapsule>().map_err(|_| {
        PyImportError::new_err(format!(
            "numpy._core._multiarray_umath.{name} is no capsule: this NumPy's C API cannot be \
             used. Install an official NumPy release."
        ))
    })?;
    Ok(capsule.pointer_checked(None::<&CStr>)?.as_ptr().cast_const().cast())
}

/// An `ImportError` with a cause.
pub(super) fn chained(py: Python<'_>, message: String, cause: PyErr) -> PyErr {
    let error = PyImportError::new_err(message);
    error.set_cause(py, Some(cause));
    error
}

impl NumpyApi {
    /// Version of the running NumPy.
    pub fn version(&self) -> NumpyVersion {
        self.version
    }

    /// `PyArray_GetNDArrayCFeatureVersion`: `0x15` for NumPy 2.4, `0x16` for 2.5.
    pub fn feature_version(&self) -> u32 {
        self.feature_version
    }

    /// Entry `index` of `PyArray_API`.
    ///
    /// # Safety
    /// NumPy 2.4's table has an entry `index`.
    pub(super) unsafe fn array_entry(&self, index: usize) -> *const c_void {
        // SAFETY: `array` is the table (invariant), and it has the entry (caller).
        unsafe { *self.array.add(index) }
    }

    /// Entry `index` of `PyUFunc_API`.
    ///
    /// # Safety
    /// NumPy 2.4's table has an entry `index`.
    pub(super) unsafe fn ufunc_entry(&self, index: usize) -> *const c_void {
        // SAFETY: `ufunc` is the table (invariant), and it has the entry (caller).
        unsafe { *self.ufunc.add(index) }
    }
}
