//! How arrays print: NumPy copies elements for it, and takes no text for empty. Placed once a type is
//! registered that needs it; where NumPy is made otherwise, such arrays fail to print.

use super::{
    holding::element_of,
    swap::{self, OriginalObject},
};
use crate::erased::ElementType;
use pyo3::{
    prelude::*,
    types::{PyDict, PyString, PyTuple},
};

const MODULE: &str = "numpy._core.arrayprint";

static ENDS: OriginalObject = OriginalObject::new();
static EXTEND_LINE: OriginalObject = OriginalObject::new();

/// Whether NumPy must copy none of a type's elements.
pub(super) fn only_moves(element: &ElementType) -> bool {
    !element.is_copyable()
}

/// Whether a text of a type may be empty. Numbers of ours always have digits.
pub(super) fn may_be_empty(element: &ElementType) -> bool {
    element.vtable().to_text.is_some() && !element.name().starts_with("denizen.")
}

/// Of long arrays NumPy copies the first and last elements, to choose a format, for which of an element
/// type it looks at nothing but the dtype.
pub(super) fn install_ends(py: Python<'_>) -> PyResult<bool> {
    swap::name(py, &[MODULE], "_leading_trailing", &ENDS, |module| {
        wrap_pyfunction!(leading_trailing, module)
    })
}

/// NumPy takes the longest line of each text, and the empty one has none.
pub(super) fn install_empty(py: Python<'_>) -> PyResult<bool> {
    if !py.import(MODULE)?.hasattr("_extendLine")? {
        return Ok(false);
    }
    swap::name(py, &[MODULE], "_extendLine_pretty", &EXTEND_LINE, |module| {
        wrap_pyfunction!(extend_line, module)
    })
}

/// NumPy's `_extendLine_pretty(s, line, word, ..)`; an empty word is one line.
#[pyfunction]
#[pyo3(signature = (*arguments, **keywords))]
fn extend_line<'py>(
    arguments: &Bound<'py, PyTuple>,
    keywords: Option<&Bound<'py, PyDict>>,
) -> PyResult<Bound<'py, PyAny>> {
    let py = arguments.py();
    let is_empty = arguments.get_item(2).is_ok_and(|word| {
        word.cast::<PyString>().is_ok_and(|word| word.len().is_ok_and(|length| length == 0))
    });
    if is_empty {
        return py.import(MODULE)?.getattr("_extendLine")?.call(arguments, keywords);
    }
    EXTEND_LINE.bind(py)?.call(arguments, keywords)
}

/// NumPy's `_leading_trailing(array, ..)`; an array whose elements only move is all of its ends.
#[pyfunction]
#[pyo3(signature = (*arguments, **keywords))]
fn leading_trailing<'py>(
    arguments: &Bound<'py, PyTuple>,
    keywords: Option<&Bound<'py, PyDict>>,
) -> PyResult<Bound<'py, PyAny>> {
    if let Ok(array) = arguments.get_item(0)
        && element_of(&array).is_some_and(|dtype| !dtype.element().is_copyable())
    {
        return Ok(array);
    }
    ENDS.bind(arguments.py())?.call(arguments, keywords)
}
