//! What is wrong in NumPy, and what stands in its place.
//!
//! * [`table`]: one row a patch; [`swap`]: the only code that replaces something of NumPy's;
//!   [`calls`]: arguments;
//! * [`holding`]: which dtypes and arrays have elements;
//! * bytes that are no objects: [`buffers`], [`bytes`], [`interface`] (and which objects [`describing`]
//!   memory there are), [`structures`], [`void_casts`];
//! * objects that NumPy would lose or use after their end: [`state`], [`put`], [`sorts`], [`raw`],
//!   [`resize`], [`copyswap`], [`einsum`], [`to_object`];
//! * results: [`results`], [`ufunc_methods`], [`linalg`], [`printing`], and those of functions that
//!   NumPy has in Python, in `denizen._numpy_patches`.

mod buffers;
mod bytes;
mod calls;
mod copyswap;
mod describing;
mod einsum;
mod holding;
mod interface;
mod linalg;
mod printing;
mod put;
pub mod raw;
mod resize;
mod results;
mod sorts;
mod state;
mod structures;
mod swap;
mod table;
mod to_object;
mod ufunc_methods;
pub(super) mod void_casts;

use self::table::{Install, Keeps, PATCHES, Patch, When};
use crate::{
    erased::ElementType,
    numpy_abi::{self, NumpyApi},
};
use pyo3::{
    exceptions::{PyAttributeError, PyImportError, PyKeyError, PyTypeError},
    prelude::*,
};
use std::sync::atomic::{AtomicU8, Ordering::Relaxed};

/// What became of each patch.
static STATES: [AtomicU8; PATCHES.len()] = [const { AtomicU8::new(WAITING) }; PATCHES.len()];
const WAITING: u8 = 0;
const PLACED: u8 = 1;
const NOT_PLACED: u8 = 2;

/// Places what the running NumPy needs at the import. Idempotent.
///
/// # Errors
/// `ImportError` that names a patch which keeps memory safe and cannot be placed: such a NumPy must not
/// be used.
pub fn install(py: Python<'_>, numpy: &NumpyApi) -> PyResult<()> {
    place_all(
        py,
        numpy,
        |when| if let When::Import(install) = when { Some(*install) } else { None },
    )
}

/// Places what a type needs that is to be registered. Idempotent.
///
/// # Errors
/// What Python fails with.
pub fn install_for(py: Python<'_>, numpy: &NumpyApi, element: &ElementType) -> PyResult<()> {
    place_all(py, numpy, |when| match when {
        When::Type(needs, install) if needs(element) => Some(*install),
        _ => None,
    })
}

fn place_all(
    py: Python<'_>,
    numpy: &NumpyApi,
    install: impl Fn(&When) -> Option<Install>,
) -> PyResult<()> {
    for (patch, state) in PATCHES.iter().zip(&STATES) {
        let Some(install) = install(&patch.when) else { continue };
        if !patch.is_needed(numpy) || state.load(Relaxed) != WAITING {
            continue;
        }
        let cause = match install(py) {
            Ok(true) => {
                state.store(PLACED, Relaxed);
                continue;
            }
            Ok(false) => None,
            Err(error) if is_missing(py, &error) => Some(error),
            Err(error) => return Err(error),
        };
        if patch.keeps == Keeps::Memory {
            let error = patch.refusal(numpy);
            error.set_cause(py, cause);
            return Err(error);
        }
        state.store(NOT_PLACED, Relaxed);
    }
    Ok(())
}

/// Whether an error says that NumPy has no such thing, or another in its place.
fn is_missing(py: Python<'_>, error: &PyErr) -> bool {
    error.is_instance_of::<PyAttributeError>(py)
        || error.is_instance_of::<PyImportError>(py)
        || error.is_instance_of::<PyTypeError>(py)
}

impl Patch {
    fn is_needed(&self, numpy: &NumpyApi) -> bool {
        self.until.is_none_or(|right| numpy.version() < right)
    }

    #[cold]
    fn refusal(&self, numpy: &NumpyApi) -> PyErr {
        let (name, version) = (self.name, numpy.version());
        let advice = match self.until {
            Some(right) => format!("NumPy {right} is right: pip install 'numpy>={right}'."),
            None => "Another version of NumPy, or of denizen, may fit.".to_owned(),
        };
        PyImportError::new_err(format!(
            "NumPy {version} is not made as denizen knows it: the patch {name} replaces {}, which \
             was not found. Without it memory is not safe: {} {advice}",
            self.replaces, self.wrong
        ))
    }

    fn state(&self, numpy: &NumpyApi, state: u8) -> &'static str {
        match (state, &self.when) {
            _ if !self.is_needed(numpy) => "not needed",
            (PLACED, _) => "placed",
            (NOT_PLACED, _) => "not placed",
            (_, When::Slots) => "in each type",
            (_, When::Type(..)) => "not yet needed",
            _ => "waiting",
        }
    }
}

/// One row a patch: name, what it replaces, what NumPy does, what denizen does, until which version,
/// what it keeps right, when it is placed, tests, thread, and what became of it.
type Row = [String; 10];

/// The table of patches, for `denizen info --patches`.
#[pyfunction]
#[pyo3(name = "_numpy_patches")]
pub fn patches(py: Python<'_>) -> PyResult<Vec<Row>> {
    let numpy = numpy_abi::import(py)?;
    let row = |(patch, state): (&Patch, &AtomicU8)| {
        let when = match patch.when {
            When::Import(_) => "import",
            When::Type(..) => "type",
            When::Python => "python",
            When::Slots => "slots",
        };
        let keeps = if patch.keeps == Keeps::Memory { "memory" } else { "results" };
        let until = patch.until.map_or("open".to_owned(), |right| right.to_string());
        let state = patch.state(numpy, state.load(Relaxed));
        let (name, replaces) = (patch.name, patch.replaces);
        [
            name,
            replaces,
            patch.wrong,
            patch.instead,
            &until,
            keeps,
            when,
            patch.tests,
            patch.thread,
            state,
        ]
        .map(str::to_owned)
    };
    Ok(PATCHES.iter().zip(&STATES).map(row).collect())
}

/// Notes whether a patch was placed that is written in Python.
#[pyfunction]
#[pyo3(name = "_patch_placed")]
pub fn patch_placed(name: &str, placed: bool) -> PyResult<()> {
    let (_, state) = PATCHES
        .iter()
        .zip(&STATES)
        .find(|(patch, _)| patch.name == name && matches!(patch.when, When::Python))
        .ok_or_else(|| PyKeyError::new_err(format!("no patch in Python has the name {name}")))?;
    state.store(if placed { PLACED } else { NOT_PLACED }, Relaxed);
    Ok(())
}
