//! Cells lent to clients.
//!
//! A view never waits: where another thread works on the cells, it is refused. Vacant cells are filled
//! with the default value first, so that client code meets objects only.

use super::{arrays, boundary, dtype_of, exception, handle};
use crate::{
    abi::{self, Element, Status, View, ViewFlags},
    dtype::{
        DType,
        loops::access::{self, BLOCK, LockRange, Run},
    },
    erased::{Cells, ElementType, Exclusive, Failure, rules},
    lock::{Borrow, RawBorrow, SegmentLock},
    numpy_abi::Array,
    segment::{Ledger, Segment},
};
use pyo3::{
    exceptions::{PyTypeError, PyValueError},
    ffi,
    prelude::*,
};
use std::ptr::{self, NonNull};

/// What a view has to give back.
struct Token {
    /// The array, which the view keeps, keeps the lock.
    borrow: (NonNull<SegmentLock>, RawBorrow),
    /// The open ledgers of a view that may fill vacant cells, by runs.
    ledgers: Vec<(Run, Ledger<'static>)>,
}

/// The flags that mean something.
const KNOWN_FLAGS: ViewFlags = abi::VIEW_WRITE | abi::VIEW_REFUSE_VACANT | abi::VIEW_KEEP_VACANT;

pub(super) unsafe extern "C" fn view(
    array: *mut abi::PyObject,
    element: *const Element,
    flags: ViewFlags,
    view: *mut View,
) -> Status {
    boundary(abi::RAISED, |py| {
        let dtype = dtype_of(element)?;
        if array.is_null() || view.is_null() {
            return Err(PyTypeError::new_err(format!(
                "expected an array of {} and a view to fill, got NULL",
                dtype.element().name()
            )));
        }
        if flags & !KNOWN_FLAGS != 0 {
            return Err(PyValueError::new_err(format!("unknown flags {flags:#x} for a view")));
        }
        // SAFETY: the client's struct begins with its size.
        let view_size = unsafe { (*view).struct_size };
        if view_size < size_of::<View>() {
            return Err(PyValueError::new_err(format!(
                "view: `struct_size`, {view_size}, is smaller than the {} that this runtime fills",
                size_of::<View>()
            )));
        }
        // SAFETY: a borrowed object by contract.
        let object: Bound<'_, PyAny> = unsafe { Bound::from_borrowed_ptr(py, array.cast()) };
        let numpy = arrays::numpy()?;
        let array = Array::of(numpy, &object).ok_or_else(|| {
            PyTypeError::new_err(format!(
                "expected an array of {}, got {}",
                dtype.element().name(),
                object.get_type()
            ))
        })?;
        // SAFETY: the descriptor of a living array.
        let actual = unsafe { DType::try_of_descr(array.descr()) };
        if !actual.is_some_and(|actual| ptr::eq(actual, dtype)) {
            return Err(PyTypeError::new_err(format!(
                "expected an array of {}, got an array of {}",
                dtype.element().name(),
                object.getattr("dtype")?.str()?
            )));
        }
        let write = flags & abi::VIEW_WRITE != 0;
        if write && !array.is_writeable() {
            return Err(PyValueError::new_err("the array is read-only, and the view would write"));
        }
        let (shape, strides) = (array.shape(), array.strides());
        let cells = Grid { data: array.data(), shape: &shape, strides: &strides };
        if !cells.is_aligned(dtype.element().align()) {
            return Err(PyValueError::new_err(format!(
                "the array is not aligned to the {} bytes that {} needs; copy it first",
                dtype.element().align(),
                dtype.element().name()
            )));
        }
        // SAFETY: the cells of a living array of the type; GIL held.
        let token = unsafe { lend(dtype.element(), &cells, flags) }
            .map_err(|failure| exception(py, &failure))?;
        // SAFETY: the client's struct, big enough as checked above.
        unsafe {
            let view = &mut *view;
            view.data = cells.data;
            view.dimension_count = shape.len();
            view.shape[..shape.len()].copy_from_slice(&shape);
            view.strides[..strides.len()].copy_from_slice(&strides);
            view.element = handle(dtype);
            view.array = object.clone().into_ptr().cast();
            view.token = token.cast();
        }
        Ok(abi::OK)
    })
}

pub(super) unsafe extern "C" fn release_view(view: *mut View) {
    boundary((), |_| {
        // SAFETY: a view that `view` filled, or one that was released before.
        unsafe {
            let token = std::mem::replace(&mut (*view).token, ptr::null_mut());
            drop_token(token.cast());
            let array = std::mem::replace(&mut (*view).array, ptr::null_mut());
            ffi::Py_XDECREF(array.cast());
        }
        Ok(())
    });
}

/// # Safety
/// NULL or a token that [`lend`] made, once.
unsafe fn drop_token(token: *mut Token) {
    if token.is_null() {
        return;
    }
    // SAFETY: the caller's promise; the array, which the view keeps, keeps the segment.
    unsafe {
        let token = Box::from_raw(token);
        let (lock, borrow) = token.borrow;
        let borrow = Borrow::from_raw(lock.as_ref(), borrow);
        for (run, ledger) in token.ledgers {
            ledger.close(access::cells_of(run, Exclusive::borrowed(&borrow)).as_cells());
        }
        drop(borrow);
    }
}

/// Fills vacant cells and borrows them. The memory stays where it is meanwhile: a client's default
/// may run any code.
///
/// # Errors
/// `TypeError` in foreign memory, which has no lock; `BorrowError` where another thread works on the
/// cells or was lent them; `VacantError`, or what a default fails with.
///
/// # Safety
/// The cells are those of a living array of the type; GIL held.
unsafe fn lend(
    element: &'static ElementType,
    cells: &Grid<'_>,
    flags: ViewFlags,
) -> Result<*mut Token, Failure> {
    if cells.is_empty() {
        return Ok(ptr::null_mut());
    }
    // SAFETY: the array is alive.
    let segment = unsafe { access::segment_of(cells.data) };
    // SAFETY: the array is alive.
    let Some(lock_range) = (unsafe { access::lock_range_of(segment.as_ref(), cells.data) }) else {
        return Err(Failure::new(
            abi::ERROR_TYPE,
            format!(
                "the cells of this array of {} are in memory that denizen did not allocate and cannot \
                 protect while they are lent; lend a copy: array.copy()",
                element.name()
            ),
        ));
    };
    // SAFETY: the array is alive.
    unsafe { access::pinned(cells.data, || lend_at(element, cells, flags, segment, lock_range)) }
}

/// # Safety
/// As for [`lend`]; `segment` and `lock_range` are those of the cells, which are pinned.
unsafe fn lend_at(
    element: &'static ElementType,
    cells: &Grid<'_>,
    flags: ViewFlags,
    segment: Option<Segment>,
    lock_range: LockRange<'_>,
) -> Result<*mut Token, Failure> {
    let borrow = || {
        let (low, high) = cells.extent(element.size());
        let first = (cells.data as isize + low) as usize - lock_range.base;
        let range = first..first + (high - low) as usize;
        lock_range.lock.try_borrow(range, flags & abi::VIEW_WRITE != 0).map_err(access::refused)
    };
    let mut borrowed = borrow()?;
    let mut ledgers = Vec::new();
    if flags & abi::VIEW_KEEP_VACANT == 0 {
        // SAFETY: the caller's promise, and the cells are borrowed.
        let mut complete = unsafe { cells.refuse_vacant(element) };
        if complete.is_err() && flags & abi::VIEW_REFUSE_VACANT == 0 {
            // Filling writes, which our own borrow would refuse; cells without a gap are never
            // written, so that readers share them.
            drop(borrowed);
            // SAFETY: the caller's promise.
            unsafe { cells.materialise(element) }?;
            borrowed = borrow()?;
            // SAFETY: the caller's promise, and the cells are borrowed.
            complete = unsafe { cells.refuse_vacant(element) };
        }
        complete?;
    }
    // Where nothing is vacant a client can still make an object of zero bytes, or take one away.
    if flags & abi::VIEW_WRITE != 0
        && (flags & abi::VIEW_KEEP_VACANT != 0 || element.zero_is_default())
    {
        cells.runs(element, |_, run| {
            // SAFETY: the caller's promise, and the cells are borrowed for writing.
            let cells = unsafe { access::cells_of(run, Exclusive::borrowed(&borrowed)) };
            ledgers.push((run, Ledger::open(element, segment, &cells)));
            Ok(())
        })?;
    }
    let borrow = (NonNull::from(lock_range.lock), borrowed.into_raw());
    Ok(Box::into_raw(Box::new(Token { borrow, ledgers })))
}

/// The cells of an array.
struct Grid<'a> {
    data: *mut u8,
    shape: &'a [isize],
    strides: &'a [isize],
}

impl Grid<'_> {
    fn is_empty(&self) -> bool {
        self.shape.contains(&0)
    }

    fn is_aligned(&self, align: usize) -> bool {
        let strides = self.shape.iter().zip(self.strides);
        self.is_empty()
            || (self.data as usize).is_multiple_of(align)
                && strides
                    .filter(|(length, _)| **length > 1)
                    .all(|(_, stride)| stride.unsigned_abs().is_multiple_of(align))
    }

    /// Of an array that exists, so that nothing overflows.
    fn extent(&self, size: usize) -> (isize, isize) {
        arrays::extent(self.shape, Some(self.strides), size).unwrap_or((0, isize::MAX))
    }

    /// The cells as runs of at most [`BLOCK`] along the last dimension, with the flat index of
    /// each run's first cell.
    fn runs(
        &self,
        element: &ElementType,
        mut body: impl FnMut(usize, Run) -> Result<(), Failure>,
    ) -> Result<(), Failure> {
        let size = element.size() as isize;
        let (outer_shape, length, stride) = match (self.shape.split_last(), self.strides.last()) {
            (Some((length, outer)), Some(stride)) => (outer, *length as usize, *stride),
            _ => (self.shape, 1, size),
        };
        let rows: isize = outer_shape.iter().product();
        for row in 0..rows {
            let mut rest = row;
            let mut data = self.data;
            for (length, stride) in outer_shape.iter().zip(self.strides).rev() {
                data = data.wrapping_offset(stride * (rest % length));
                rest /= length;
            }
            let run = Run::write(data, stride, length);
            let mut start = 0;
            while start < length {
                let count = (length - start).min(BLOCK);
                body(row as usize * length + start, run.part(start, count))?;
                start += count;
            }
        }
        Ok(())
    }

    /// # Safety
    /// The cells are those of a living array of the type; GIL held.
    unsafe fn materialise(&self, element: &'static ElementType) -> Result<(), Failure> {
        self.runs(element, |index, run| {
            access::with_segments(element, [run], |[segment], right| {
                // SAFETY: cells of the type, locked.
                unsafe {
                    access::with_ledger(element, segment, run, right, || {
                        rules::materialise(element, access::cells_of(run, right))
                    })
                }
            })
            .map_err(|failure| self.name_cell(failure, index))
        })
    }

    /// # Safety
    /// The cells are those of a living array of the type, and no code writes to them.
    unsafe fn refuse_vacant(&self, element: &'static ElementType) -> Result<(), Failure> {
        if element.zero_is_default() {
            return Ok(());
        }
        self.runs(element, |index, run| {
            // SAFETY: the caller's promise.
            let cells = unsafe { Cells::new(run.data, run.stride, run.count) };
            for cell in 0..cells.len() {
                // SAFETY: a cell of the run.
                if !unsafe { element.vacancy().is_live(cells.address(cell)) } {
                    return Err(self.name_cell(
                        Failure::new(
                            abi::ERROR_VACANT,
                            format!("a cell of this array of {} is vacant", element.name()),
                        ),
                        index + cell,
                    ));
                }
            }
            Ok(())
        })
    }

    /// Adds the index of the cell that a failure is about.
    fn name_cell(&self, mut failure: Failure, first: usize) -> Failure {
        let mut rest = first + failure.done;
        let mut index = vec![0; self.shape.len()];
        for (place, length) in index.iter_mut().zip(self.shape).rev() {
            *place = rest % (*length as usize).max(1);
            rest /= (*length as usize).max(1);
        }
        failure.message = format!("{} (index {index:?})", failure.message);
        failure
    }
}
