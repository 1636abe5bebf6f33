//! `owner` and `inspect_raw`: what is behind an array's data.

use crate::{
    abi,
    dtype::{
        DType,
        handle::errors,
        loops::access::{self, Run},
    },
    erased::{Cells, Failure},
    numpy_abi::{self, Array},
    owner_map,
    segment::{self, Corruption, Lost, Segment},
};
use pyo3::{
    exceptions::{PyRuntimeError, PyTypeError},
    prelude::*,
    types::PyDict,
};

/// The array and its DType.
fn array_of_ours<'a>(object: &'a Bound<'_, PyAny>) -> PyResult<(Array<'a>, &'static DType)> {
    let refuse = |what: String| {
        PyTypeError::new_err(format!("expected an array of a registered element type, got {what}"))
    };
    let numpy = numpy_abi::import(object.py())?;
    let Some(array) = Array::of(numpy, object) else {
        return Err(refuse(object.get_type().to_string()));
    };
    // SAFETY: the descriptor of a living array.
    match unsafe { DType::try_of_descr(array.descr()) } {
        Some(dtype) => Ok((array, dtype)),
        None => Err(refuse(format!("an array of {}", object.getattr("dtype")?.str()?))),
    }
}

/// Whether an array's memory is a segment of ours whose header was overwritten, or that was found
/// corrupted before.
fn is_corrupted(array: Array<'_>) -> bool {
    // SAFETY: the array is alive.
    unsafe { Segment::diagnose(array.data()) != Lost::Foreign }
}

/// What is wrong with an array's memory; `None` where nothing is known to be.
///
/// # Safety
/// The memory is locked for reading, or `around` is what is broken around the cells.
unsafe fn corruption_of(
    array: Array<'_>,
    dtype: &DType,
    around: Option<Corruption>,
) -> Option<String> {
    if let Some(corruption) = around {
        return Some(corruption.to_string());
    }
    // SAFETY: the array is alive; the caller's promise.
    unsafe {
        let found = match access::segment_of(array.data()) {
            Some(segment) if consists_of(array, dtype) => segment.check_cells(dtype.element()),
            Some(segment) => segment.check_integrity(),
            None => match Segment::diagnose(array.data()) {
                Lost::Foreign => return None,
                Lost::Quarantined => {
                    return Some("it was found corrupted before, and is left alone".to_owned());
                }
                Lost::Corrupted(corruption) => Err(*corruption),
            },
        };
        found.err().map(|corruption| corruption.to_string())
    }
}

/// Checks the memory of all arrays, for `denizen.check_memory`: one dict a corrupted segment.
#[pyfunction]
pub fn check_memory_raw(py: Python<'_>) -> PyResult<Vec<Bound<'_, PyDict>>> {
    // SAFETY: arrays are freed and resized with the GIL held, which this thread has.
    let found = unsafe { Segment::check_all() };
    let finding = |corruption: Corruption| {
        let info = PyDict::new(py);
        info.set_item("address", corruption.cells.as_ref().unwrap_or(&corruption.block).start)?;
        info.set_item("type", corruption.element)?;
        info.set_item("cells", corruption.element.map(|_| corruption.count))?;
        info.set_item("part", corruption.part.name())?;
        info.set_item("site", corruption.site.as_deref())?;
        info.set_item("message", corruption.to_string())?;
        Ok(info)
    };
    found.into_iter().map(finding).collect()
}

/// Switches the integrity checks that touch memory on or off; says what was so before.
#[pyfunction]
#[pyo3(name = "_set_integrity")]
pub fn set_integrity(enabled: bool) -> bool {
    segment::set_checked(enabled)
}

fn owner_of(array: Array<'_>) -> &'static str {
    // SAFETY: the array is alive.
    if unsafe { access::segment_of(array.data()) }.is_some() || is_corrupted(array) {
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
    // All that is looked at, and the array's own cells, which may lie in a part of it.
    // SAFETY: the array is alive.
    let run = match unsafe { access::segment_of(array.data()) } {
        Some(segment) => {
            if let Some(corruption) = segment.corruption_around() {
                // A lock that something wrote to may never be had.
                // SAFETY: all that is looked at is whether the fields can be trusted.
                return unsafe { inspect_locked(a, array, dtype, Some(corruption)) };
            }
            let cells = segment.byte_len().div_ceil(element.size());
            Run::read(segment.cells().as_ptr(), element.size() as isize, cells)
        }
        None => hull(array, element.size()),
    };
    let mut found = Ok(None);
    let locked = access::with_segments(element, [run], |_, _| {
        // SAFETY: the memory is locked for reading.
        found = unsafe { inspect_locked(a, array, dtype, None) }.map(Some);
        Ok(())
    });
    if let Err(failure) = locked {
        errors::raise(&failure);
        return Err(PyErr::fetch(a.py()));
    }
    found?.ok_or_else(|| PyRuntimeError::new_err("nothing was inspected"))
}

/// All cells of an array, as a run without gaps.
fn hull(array: Array<'_>, size: usize) -> Run {
    if array.size() == 0 {
        return Run::read(array.data(), size as isize, 0);
    }
    let reach = |(length, stride): (&isize, &isize)| (length - 1) * stride;
    let (shape, strides) = (array.shape(), array.strides());
    let ends = || shape.iter().zip(&strides).map(reach);
    let low: isize = ends().filter(|end| *end < 0).sum();
    let high: isize = ends().filter(|end| *end > 0).sum();
    let bytes = (high - low) as usize + size;
    Run::read(array.data().wrapping_offset(low), size as isize, bytes.div_ceil(size))
}

/// [`inspect_raw`] of an array whose memory is locked.
///
/// # Safety
/// All memory of the array, or of the segment around it, is locked for reading; or `around` is what
/// is broken there.
unsafe fn inspect_locked<'py>(
    a: &Bound<'py, PyAny>,
    array: Array<'_>,
    dtype: &'static DType,
    around: Option<Corruption>,
) -> PyResult<Bound<'py, PyDict>> {
    let element = dtype.element();
    // SAFETY: the array is alive.
    let segment = unsafe { access::segment_of(array.data()) };
    // SAFETY: the caller's promise.
    let corruption = unsafe { corruption_of(array, dtype, around) };
    // Sizes and pointers of a header that something wrote to are not followed.
    let segment = segment.filter(|segment| segment.is_trusted() && consists_of(array, dtype));
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
    let mut live = 0;
    let mut heap = element.vtable().heap_bytes.map(|_| 0);
    let mut look = |run: Cells<'_>| {
        live += element.vacancy().count_live(run);
        heap = match (heap, heap_bytes(a.py(), dtype, run)?) {
            (Some(sum), Some(bytes)) => Some(sum + bytes),
            _ => None,
        };
        Ok(())
    };
    if segment.is_some() {
        // SAFETY: the cells of a living segment, locked for reading.
        look(unsafe { Cells::new(address, element.size() as isize, cells) })?;
    } else {
        rows(array, look)?;
    }
    let info = PyDict::new(a.py());
    info.set_item("owner", owner_of(array))?;
    info.set_item("type", element.name())?;
    info.set_item("cells", cells)?;
    info.set_item("live", live)?;
    info.set_item("bitmap", bitmap)?;
    info.set_item("untouched", segment.is_some_and(|segment| segment.bitmap().is_none()))?;
    info.set_item("bytes", cells * element.size())?;
    info.set_item("address", address as usize)?;
    info.set_item("heap_bytes", heap)?;
    info.set_item("corruption", corruption)?;
    Ok(info)
}

/// Whether the memory that an array is a view of is an array of that type, and not a structured one
/// with other fields between the cells.
fn consists_of(array: Array<'_>, dtype: &DType) -> bool {
    let mut owner = array;
    while !owner.base().is_null() {
        // SAFETY: GIL held; each array keeps the base of its own alive.
        match numpy_abi::get().and_then(|numpy| unsafe { Array::from_object(numpy, owner.base()) })
        {
            Some(base) => owner = base,
            None => return false,
        }
    }
    // SAFETY: the descriptor of a living array.
    unsafe { DType::try_of_descr(owner.descr()) }.is_some_and(|owner| std::ptr::eq(owner, dtype))
}

/// Calls `look` with the cells of an array, one row of the last axis after the other.
fn rows(array: Array<'_>, mut look: impl FnMut(Cells<'_>) -> PyResult<()>) -> PyResult<()> {
    let (shape, strides) = (array.shape(), array.strides());
    let (count, stride) = match (shape.last(), strides.last()) {
        (Some(count), Some(stride)) => (*count as usize, *stride),
        _ => (1, 0),
    };
    if array.size() == 0 {
        return Ok(());
    }
    for mut row in 0..array.size() / count {
        let mut data = array.data().cast_const();
        for (length, stride) in shape.iter().zip(&strides).rev().skip(1) {
            data = data.wrapping_offset((row % *length as usize) as isize * stride);
            row /= *length as usize;
        }
        // SAFETY: the cells of a living array, locked for reading.
        look(unsafe { Cells::new(data, stride, count) })?;
    }
    Ok(())
}

/// Heap bytes of the live objects of a run; `None` where the type cannot tell.
fn heap_bytes(py: Python<'_>, dtype: &DType, cells: Cells<'_>) -> PyResult<Option<usize>> {
    let element = dtype.element();
    let Some(heap_bytes) = element.vtable().heap_bytes else { return Ok(None) };
    let mut sum = 0;
    let steps = cells.address(0) as usize | cells.stride().unsigned_abs();
    if steps & (element.align() - 1) != 0 {
        // A field of a packed structure: an object cannot be asked where it is.
        return Ok(None);
    }
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
