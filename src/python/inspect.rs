//! `owner` and `inspect_raw`: what is behind an array's data.

use crate::{
    abi,
    dtype::{DType, access, errors},
    erased::{Cells, Failure},
    numpy_abi::{self, Array},
    owner_map,
};
use pyo3::{exceptions::PyTypeError, prelude::*, types::PyDict};

/// The array and its DType.
fn array_of_ours<'a>(object: &'a Bound<'_, PyAny>) -> PyResult<(Array<'a>, &'static DType)> {
    let refuse = || {
        PyTypeError::new_err(format!(
            "expected an array of a registered element type, got {}",
            object.get_type()
        ))
    };
    let numpy = numpy_abi::import(object.py())?;
    let array = Array::of(numpy, object).ok_or_else(refuse)?;
    // SAFETY: the descriptor of a living array.
    let dtype = unsafe { DType::try_of_descr(array.descr()) }.ok_or_else(refuse)?;
    Ok((array, dtype))
}

fn owner_of(array: Array<'_>) -> &'static str {
    // SAFETY: the array is alive.
    if unsafe { access::segment_of(array.data()) }.is_some() {
        "managed"
    } else if owner_map::is_adopted(array.data()) {
        "adopted"
    } else {
        "foreign"
    }
}

/// Who owns the memory of an array of a registered type: "managed", "adopted" or "foreign".
#[pyfunction]
pub fn owner(a: &Bound<'_, PyAny>) -> PyResult<&'static str> {
    Ok(owner_of(array_of_ours(a)?.0))
}

/// What `denizen.inspect` shows, as a dict.
#[pyfunction]
pub fn inspect_raw<'py>(a: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyDict>> {
    let (array, dtype) = array_of_ours(a)?;
    let element = dtype.element();
    // SAFETY: the array is alive.
    let segment = unsafe { access::segment_of(array.data()) };
    let (address, cells, bitmap) = match segment {
        Some(segment) => (
            segment.cells().as_ptr(),
            segment.byte_len() / element.size(),
            segment.bitmap().map_or_else(Vec::new, |bitmap| {
                bitmap.snapshot().iter().by_vals().collect::<Vec<bool>>()
            }),
        ),
        None => (array.data(), array.size(), Vec::new()),
    };
    let strides = array.strides();
    let contiguous = segment.is_some()
        || array.has_flags(numpy_abi::flags::NPY_ARRAY_C_CONTIGUOUS)
        || array.has_flags(numpy_abi::flags::NPY_ARRAY_F_CONTIGUOUS);
    let count = if contiguous || strides.is_empty() { cells } else { 0 };
    // SAFETY: the cells of a living segment or contiguous array, read under the GIL.
    let run = unsafe { Cells::new(address, element.size() as isize, count) };
    let live = element.vacancy().count_live(run);
    let info = PyDict::new(a.py());
    info.set_item("owner", owner_of(array))?;
    info.set_item("type", element.name())?;
    info.set_item("cells", cells)?;
    info.set_item("live", live)?;
    info.set_item("bitmap", bitmap)?;
    info.set_item("bytes", cells * element.size())?;
    info.set_item("address", address as usize)?;
    info.set_item("heap_bytes", heap_bytes(a.py(), dtype, run)?)?;
    Ok(info)
}

/// Heap bytes of the live objects of a run; `None` where the type cannot tell.
fn heap_bytes(py: Python<'_>, dtype: &DType, cells: Cells<'_>) -> PyResult<Option<usize>> {
    let element = dtype.element();
    let Some(heap_bytes) = element.vtable().heap_bytes else { return Ok(None) };
    let mut sum = 0;
    for index in 0..cells.len() {
        let cell = cells.address(index);
        // SAFETY: a cell of the run.
        if !unsafe { element.vacancy().is_live(cell) } {
            continue;
        }
        let mut bytes = 0;
        // SAFETY: the vtable's contract; a live cell.
        let status = unsafe {
            heap_bytes(element.vtable().context, cell, element.size() as isize, 1, &mut bytes)
        };
        if status != abi::OK {
            errors::raise(&Failure::new(
                abi::ERROR_RUNTIME,
                format!("{} cannot tell the heap bytes of an object", element.name()),
            ));
            return Err(PyErr::fetch(py));
        }
        sum += bytes;
    }
    Ok(Some(sum))
}
