//! The cast from a type to itself: NumPy's copy and move loops.

use super::{
    DType,
    access::{self, BLOCK, Run},
    class, loan, trampoline, watched,
};
use crate::{
    abi,
    erased::{
        Cells, CellsMut, CountDelta, ElementType, Exclusive, Failure, Location, SpareCell, Staging,
        rules,
    },
    numpy_abi::{
        NpyAuxData, PyArray_DTypeMeta, PyArray_Descr, PyArrayMethod_Context, PyArrayMethod_Spec,
        PyArrayMethodObject, callbacks::StridedLoop, flags::*, slots,
    },
    owner_map,
    segment::{Ledger, Segment},
};
use pyo3::ffi;
use std::{
    ffi::{c_char, c_int},
    ptr,
};

/// The spec of the cast, with the arrays it points to.
pub(super) struct CastSpec {
    spec: PyArrayMethod_Spec,
    _dtypes: Box<[*mut PyArray_DTypeMeta; 2]>,
    _slots: Box<[ffi::PyType_Slot; 3]>,
}

impl CastSpec {
    pub fn new() -> Self {
        let mut dtypes = Box::new([ptr::null_mut(); 2]);
        let mut slots = Box::new([
            slots::method::resolve_descriptors(resolve),
            slots::method::get_loop(get_loop),
            slots::END,
        ]);
        CastSpec {
            spec: PyArrayMethod_Spec {
                name: c"denizen_copy".as_ptr(),
                nin: 1,
                nout: 1,
                casting: NPY_NO_CASTING,
                flags: class::cast_flags() | NPY_METH_SUPPORTS_UNALIGNED,
                dtypes: dtypes.as_mut_ptr(),
                slots: slots.as_mut_ptr(),
            },
            _dtypes: dtypes,
            _slots: slots,
        }
    }

    pub fn as_mut_ptr(&mut self) -> *mut PyArrayMethod_Spec {
        &mut self.spec
    }
}

// `resolve` and `get_loop` have no trampoline: nothing in them can fail, and NumPy calls what it did
// not get where they do (`PyArray_PutTo`).

/// There is one descriptor, so every copy is the identity, and a view will do.
unsafe extern "C" fn resolve(
    _method: *mut PyArrayMethodObject,
    _dtypes: *const *mut PyArray_DTypeMeta,
    given: *const *mut PyArray_Descr,
    out: *mut *mut PyArray_Descr,
    view_offset: *mut isize,
) -> c_int {
    // SAFETY: NumPy passes two given descriptors (the second may be NULL) and room for two.
    unsafe {
        let from = *given;
        let to = if (*given.add(1)).is_null() { from } else { *given.add(1) };
        ffi::Py_INCREF(from.cast());
        ffi::Py_INCREF(to.cast());
        *out = from;
        *out.add(1) = to;
        *view_offset = 0;
    }
    NPY_NO_CASTING
}

unsafe extern "C" fn get_loop(
    _context: *mut PyArrayMethod_Context,
    _aligned: c_int,
    move_references: c_int,
    _strides: *const isize,
    out_loop: *mut Option<StridedLoop>,
    out_auxdata: *mut *mut NpyAuxData,
    flags: *mut c_int,
) -> c_int {
    // SAFETY: NumPy passes a context with our descriptors and valid places for the results.
    unsafe {
        *out_loop = Some(if move_references != 0 { move_loop } else { copy_loop });
        *out_auxdata = ptr::null_mut();
        *flags = class::cast_flags();
        if move_references != 0 {
            watched::watch::<Move>(out_loop);
        } else {
            watched::watch::<Copy>(out_loop);
        }
    }
    0
}

watched::watched_loop!(Copy: copy_loop, "copy");
watched::watched_loop!(Move: move_loop, "move");

unsafe extern "C" fn copy_loop(
    context: *mut PyArrayMethod_Context,
    data: *const *mut c_char,
    dimensions: *const isize,
    strides: *const isize,
    _auxdata: *mut NpyAuxData,
) -> c_int {
    // SAFETY: NumPy's convention for a loop with one input and one output of our dtype.
    unsafe {
        let element = DType::of_descr(*(*context).descriptors).element();
        let count = *dimensions as usize;
        let from = Run::read((*data).cast(), *strides, count);
        let to = Run::write((*data.add(1)).cast(), *strides.add(1), count);
        if count < access::WORTHWHILE {
            return trampoline::looped("copy", || copy_cells(element, to, from));
        }
        let work = || copy_cells(element, to, from);
        trampoline::looped_apart("copy", || freely(element, count, work))
    }
}

unsafe extern "C" fn move_loop(
    context: *mut PyArrayMethod_Context,
    data: *const *mut c_char,
    dimensions: *const isize,
    strides: *const isize,
    _auxdata: *mut NpyAuxData,
) -> c_int {
    // SAFETY: as for `copy_loop`; the source is NumPy's to give away.
    unsafe {
        let element = DType::of_descr(*(*context).descriptors).element();
        let count = *dimensions as usize;
        let from = Run::write((*data).cast(), *strides, count);
        let to = Run::write((*data.add(1)).cast(), *strides.add(1), count);
        let work = || move_cells(element, to, from);
        trampoline::looped_apart("move", || freely(element, count, work))
    }
}

/// Runs the work of a cast without the GIL, where the type allows it.
#[inline]
fn freely<R>(element: &ElementType, count: usize, work: impl FnOnce() -> R) -> R {
    access::without_gil(if element.is_thread_safe() { count } else { 0 }, work)
}

/// Copies cell by cell, in order, as [`rules::copy`] does.
///
/// # Errors
/// The cells before the failure are copied, the others as they were. Or a destructor of a replaced
/// object failed; then all are copied.
///
/// # Safety
/// Both runs are cells of `element` under rule 1, aligned or not, of the same length.
#[inline]
pub unsafe fn copy_cells(element: &'static ElementType, to: Run, from: Run) -> Result<(), Failure> {
    if !element.is_thread_safe() {
        // SAFETY: the same contract.
        return unsafe { copy_beside(element, to, from) };
    }
    access::with_segments(element, [to, from], |[segment, _], right| {
        blocks(to, from, |to, from| {
            // SAFETY: the caller's promise; the memory of both is locked.
            unsafe {
                let adopted = segment.is_none() && is_adopted(element, to);
                if adopted {
                    refuse_to_vacate(element, from)?;
                }
                access::with_ledger(element, segment, to, right, || {
                    if is_aligned(element, to) && is_aligned(element, from) {
                        let target = CellsMut::new(to.data, to.stride, to.count, right);
                        let source = Cells::new(from.data, from.stride, from.count);
                        rules::copy(element, target, source)?;
                    } else {
                        copy_unaligned(element, to, from, right)?;
                    }
                    if adopted { fill_vacant(element, to, right) } else { Ok(()) }
                })
            }
        })
    })
}

/// [`copy_cells`] where copies and destructors may run Python code: the copies are made beside the
/// array, and change places with what is there.
///
/// # Safety
/// As for [`copy_cells`].
unsafe fn copy_beside(element: &'static ElementType, to: Run, from: Run) -> Result<(), Failure> {
    if !element.is_copyable() && to.count > 0 && (to.data, to.stride) != (from.data, from.stride) {
        return Err(element.not_copyable());
    }
    let mut staging = Staging::new(element, to.count)?;
    pieces(to, from, staging.capacity(), |to, from| {
        if to.data == from.data && to.stride == from.stride {
            return Ok(());
        }
        access::replacing([Some((element, to)), Some((element, from))], &mut staging, {
            |[segment, _], right, staging| {
                // SAFETY: the caller's promise; the memory of both is locked.
                unsafe {
                    let adopted = segment.is_none() && is_adopted(element, to);
                    if adopted {
                        refuse_to_vacate(element, from)?;
                    }
                    // Where the runs overlap, a cell may be read after it was written.
                    if to.shares_bytes(element.size(), &from, element.size()) {
                        for index in 0..to.count {
                            let from = from.part(index, 1);
                            copy_to(element, staging.cells(index, 1), from)
                                .map_err(|failure| failure.after(index))?;
                            let to = (to.part(index, 1), segment);
                            put_staged(element, to, right, staging, index);
                        }
                        return Ok(());
                    }
                    let mut copied = copy_to(element, staging.cells(0, to.count), from);
                    if adopted && copied.is_ok() {
                        copied = rules::materialise(element, staging.cells(0, to.count));
                    }
                    let done = copied.as_ref().map_or_else(|failure| failure.done, |()| to.count);
                    let done = to.part(0, done.min(to.count));
                    put_staged(element, (done, segment), right, staging, 0);
                    copied
                }
            }
        })
    })
}

/// Copies cells, aligned or not, to vacant, aligned ones.
///
/// # Errors
/// `done` cells are copied, the others vacant.
///
/// # Safety
/// As for [`rules::copy`], but for the alignment of `from`.
unsafe fn copy_to(
    element: &'static ElementType,
    mut to: CellsMut<'_>,
    from: Run,
) -> Result<(), Failure> {
    if is_aligned(element, from) {
        // SAFETY: the caller's promise.
        return unsafe { rules::copy(element, to, Cells::new(from.data, from.stride, from.count)) };
    }
    let size = element.size() as isize;
    for index in 0..from.count {
        let target = to.part(index, 1);
        // SAFETY: the caller's promise, cell by cell.
        unsafe {
            with_aligned_source(element, from.part(index, 1).data, |source| {
                rules::copy(element, target, Cells::new(source, size, 1))
            })
        }
        .map_err(|failure| failure.after(index))?;
    }
    Ok(())
}

/// Lets staged cells, from `first` on, change places with those of a run, aligned or not, and keeps
/// the books.
///
/// # Safety
/// The run is cells of `element` under rule 1, exclusively this thread's for the reason given, of at
/// most [`BLOCK`], and `segment` theirs; as many cells are staged.
#[inline]
pub(super) unsafe fn put_staged(
    element: &'static ElementType,
    (to, segment): (Run, Option<Segment>),
    right: Exclusive<'_>,
    staging: &mut Staging<'static>,
    first: usize,
) {
    let vacancy = element.vacancy();
    let made = vacancy.count_live(staging.cells(first, to.count).as_cells()) as u64;
    // SAFETY: the caller's promise. A run of stride 0 is one cell: each object takes the place of
    // the one before.
    unsafe {
        let cells = access::cells_of(to, right);
        let ledger = Ledger::open(element, segment, &cells);
        staging.exchange(first, CellsMut::new(to.data, to.stride, to.count, right));
        let mut tally = ledger.settle(cells.as_cells());
        // An owner's objects are in no figures. Else, what replaced an object was made as well, and
        // what it replaced is about to end.
        if segment.is_some() || !owner_map::is_adopted(to.data) {
            let replaced = made - tally.constructed.min(made);
            tally.constructed += replaced;
            tally.destroyed += replaced;
            if segment.is_none() {
                tally.foreign += replaced;
            }
        }
        if tally != CountDelta::default() {
            element.record(tally, Location::Cells(cells.as_cells()));
        }
    }
}

/// Whether the cells belong to a client's owner, which expects an object in each of them at all
/// times.
fn is_adopted(element: &ElementType, run: Run) -> bool {
    !element.zero_is_default() && owner_map::is_adopted(run.data)
}

/// Fails where a copy of these cells would leave a cell of an owner without an object.
///
/// # Safety
/// The run is cells of `element` under rule 1, readable.
unsafe fn refuse_to_vacate(element: &ElementType, from: Run) -> Result<(), Failure> {
    // SAFETY: the caller's promise.
    let cells = unsafe { Cells::new(from.data, from.stride, from.count) };
    if !element.has_default() && element.vacancy().count_live(cells) < cells.len() {
        return Err(element.no_default());
    }
    Ok(())
}

/// Builds defaults where a copy left cells of an owner vacant.
///
/// # Safety
/// The run is cells of `element` under rule 1, exclusively this thread's.
unsafe fn fill_vacant(
    element: &'static ElementType,
    to: Run,
    right: Exclusive<'_>,
) -> Result<(), Failure> {
    // SAFETY: the caller's promise.
    unsafe { aligned(element, to, right, |cells| rules::materialise(element, cells)) }
}

/// Moves cell by cell, in order, as [`rules::relocate`] does.
///
/// # Errors
/// A destructor failed; all cells have moved.
///
/// # Safety
/// As for [`copy_cells`], and the source may be written.
pub unsafe fn move_cells(element: &'static ElementType, to: Run, from: Run) -> Result<(), Failure> {
    // Before any lock.
    let _gil = loan::gil_for(element);
    let operands = [Some((element, to)), Some((element, from))];
    if !element.is_thread_safe() {
        let mut staging = Staging::new(element, to.count)?;
        let mut outcome = Ok(());
        pieces(to, from, staging.capacity(), |to, from| {
            let operands = [Some((element, to)), Some((element, from))];
            let moved = access::replacing(operands, &mut staging, |segments, right, staging| {
                // SAFETY: the caller's promise; the memory of both is locked.
                unsafe { move_locked(element, (to, from), segments, right, Some(staging)) }
            });
            outcome = std::mem::replace(&mut outcome, Ok(())).and(moved);
            Ok(())
        })?;
        return outcome;
    }
    access::with_operands(operands, |segments, right| {
        let mut outcome = Ok(());
        blocks(to, from, |to, from| {
            // SAFETY: the caller's promise; the memory of both is locked.
            let result = unsafe { move_locked(element, (to, from), segments, right, None) };
            outcome = std::mem::replace(&mut outcome, Ok(())).and(result);
            Ok(())
        })?;
        outcome
    })
}

/// [`move_cells`] of one block.
///
/// # Safety
/// As for [`move_block`].
unsafe fn move_locked(
    element: &'static ElementType,
    (to, from): (Run, Run),
    [segment, source_segment]: [Option<Segment>; 2],
    right: Exclusive<'_>,
    staging: Option<&mut Staging<'static>>,
) -> Result<(), Failure> {
    // SAFETY: the caller's promise.
    unsafe {
        loan::take_back_run(element, to)?;
        let adopted = segment.is_none() && is_adopted(element, to);
        if adopted {
            refuse_to_vacate(element, from)?;
        }
        let moved = move_block(element, (to, segment), (from, source_segment), right, staging);
        if adopted { moved.and(fill_vacant(element, to, right)) } else { moved }
    }
}

/// Moves one block and keeps the books: a move constructs and destroys nothing but the old
/// objects of the destination. Those go to `staging`, where there is one.
///
/// # Safety
/// As for [`move_cells`]; the runs are of at most [`BLOCK`] cells, and the segments theirs. They are
/// exclusively this thread's for the reason given.
pub(super) unsafe fn move_block(
    element: &'static ElementType,
    (to, segment): (Run, Option<Segment>),
    (from, source_segment): (Run, Option<Segment>),
    right: Exclusive<'_>,
    staging: Option<&mut Staging<'static>>,
) -> Result<(), Failure> {
    if to.data == from.data && to.stride == from.stride {
        return Ok(());
    }
    let vacancy = element.vacancy();
    // SAFETY: the caller's promise.
    unsafe {
        let target = access::cells_of(to, right);
        let source = access::cells_of(from, right);
        let moved = vacancy.count_live(source.as_cells()) as u64;
        let target_ledger = Ledger::open(element, segment, &target);
        let source_ledger = Ledger::open(element, source_segment, &source);
        let outcome = match staging {
            Some(staging) => {
                move_over(element, to, from, right, staging);
                Ok(())
            }
            None if is_aligned(element, to) && is_aligned(element, from) => rules::relocate(
                element,
                CellsMut::new(to.data, to.stride, to.count, right),
                CellsMut::new(from.data, from.stride, from.count, right),
            ),
            None => move_unaligned(element, to, from, right),
        };
        // An object that moves to an owner leaves the figures.
        let destroyed = if target_ledger.is_adopted(target.as_cells()) {
            moved
        } else {
            target_ledger.live_before(target.as_cells())
        };
        let target_tally = target_ledger.settle(target.as_cells());
        let source_tally = source_ledger.settle(source.as_cells());
        let tally = CountDelta {
            destroyed,
            relocated: moved,
            reconciled: target_tally.reconciled + source_tally.reconciled,
            ..CountDelta::default()
        };
        element.record(tally, Location::Moved { to: target.as_cells(), from: source.as_cells() });
        outcome
    }
}

/// Moves cells over others, one after the other; what was there is staged.
///
/// # Safety
/// As for [`move_block`]; there is room for as many cells in `staging`.
unsafe fn move_over(
    element: &'static ElementType,
    to: Run,
    from: Run,
    right: Exclusive<'_>,
    staging: &mut Staging<'static>,
) {
    let size = element.size();
    for index in 0..to.count {
        let (target, source) = (to.part(index, 1).data, from.part(index, 1).data);
        if target == source {
            continue;
        }
        // SAFETY: single cells that differ, the caller's.
        unsafe {
            staging.take(index, CellsMut::new(target, size as isize, 1, right));
            target.copy_from(source, size);
            source.write_bytes(0, size);
        }
    }
}

/// Moves cells of which some are unaligned: the old objects end in aligned memory, the bytes of
/// the new ones move as they are.
///
/// # Safety
/// As for [`move_cells`].
unsafe fn move_unaligned(
    element: &'static ElementType,
    to: Run,
    from: Run,
    right: Exclusive<'_>,
) -> Result<(), Failure> {
    let mut outcome = Ok(());
    for index in 0..to.count {
        let (target, source) = (to.part(index, 1), from.part(index, 1));
        if target.data == source.data {
            continue;
        }
        // SAFETY: single cells that differ, the caller's.
        unsafe {
            let cleared = aligned(element, target, right, |cells| rules::clear(element, cells));
            outcome = outcome.and(cleared);
            target.data.copy_from(source.data, element.size());
            source.data.write_bytes(0, element.size());
        }
    }
    outcome
}

/// Cuts two runs into blocks.
fn blocks(
    to: Run,
    from: Run,
    body: impl FnMut(Run, Run) -> Result<(), Failure>,
) -> Result<(), Failure> {
    pieces(to, from, BLOCK, body)
}

/// Cuts two runs into pieces of at most `most` cells.
fn pieces(
    to: Run,
    from: Run,
    most: usize,
    mut body: impl FnMut(Run, Run) -> Result<(), Failure>,
) -> Result<(), Failure> {
    let mut start = 0;
    while start < to.count {
        let count = (to.count - start).min(most);
        body(to.part(start, count), from.part(start, count))
            .map_err(|failure| failure.after(start))?;
        start += count;
    }
    Ok(())
}

/// Whether all cells of a run are aligned.
#[inline]
pub(super) fn is_aligned(element: &ElementType, run: Run) -> bool {
    (run.data as usize | run.stride.unsigned_abs()) & (element.align() - 1) == 0
}

/// Copies cells of which some are unaligned: each visits aligned memory for the copy. Cells in
/// NumPy arrays are trivially relocatable, so moving their bytes there and back is a move.
unsafe fn copy_unaligned(
    element: &'static ElementType,
    to: Run,
    from: Run,
    right: Exclusive<'_>,
) -> Result<(), Failure> {
    for index in 0..to.count {
        let at = |run: Run| run.part(index, 1).data;
        if at(to) == at(from) {
            continue;
        }
        // SAFETY: the caller's promise, cell by cell.
        unsafe {
            with_aligned_source(element, at(from), |source| {
                with_aligned_cell(element, at(to), right, |target| {
                    rules::copy(element, target, Cells::new(source, element.size() as isize, 1))
                })
            })
        }
        .map_err(|failure| failure.after(index))?;
    }
    Ok(())
}

/// Lends a cell that is only read at an aligned address: itself, or a copy of its bytes.
///
/// # Safety
/// `cell` is a cell of `element` under rule 1 that is not written meanwhile.
#[inline]
pub(super) unsafe fn with_aligned_source<R>(
    element: &'static ElementType,
    cell: *const u8,
    work: impl FnOnce(*const u8) -> Result<R, Failure>,
) -> Result<R, Failure> {
    if cell.addr() & (element.align() - 1) == 0 {
        return work(cell);
    }
    let mut spare = SpareCell::new(element)?;
    let place = spare.cells().address(0);
    // SAFETY: both are `size` bytes. The object is still in its cell, where nobody writes; what is
    // in the spare cell is looked at and forgotten.
    unsafe {
        place.copy_from_nonoverlapping(cell, element.size());
        work(place)
    }
}

/// Lends a cell at an aligned address: itself, or a place that its bytes visit meanwhile.
///
/// # Safety
/// `cell` is a cell of `element` under rule 1, exclusively this thread's for the reason given.
#[inline]
pub(super) unsafe fn with_aligned_cell<R>(
    element: &'static ElementType,
    cell: *mut u8,
    right: Exclusive<'_>,
    work: impl FnOnce(CellsMut<'_>) -> Result<R, Failure>,
) -> Result<R, Failure> {
    if cell.addr() & (element.align() - 1) == 0 {
        // SAFETY: the caller's promise.
        return work(unsafe { CellsMut::new(cell, element.size() as isize, 1, right) });
    }
    let mut spare = SpareCell::new(element)?;
    let mut place = spare.cells();
    // SAFETY: both are `size` bytes; the object moves there and, whatever happens, back. Nobody
    // else reads or writes the cell meanwhile.
    unsafe {
        place.address(0).copy_from_nonoverlapping(cell, element.size());
        let result = work(place.reborrow());
        cell.copy_from_nonoverlapping(place.address(0), element.size());
        place.zero(element.size());
        result
    }
}

/// Runs `work` on the cells of a run, all at once where they are aligned, else one by one.
///
/// # Safety
/// The run is cells of `element` under rule 1, exclusively this thread's for the reason given.
pub(super) unsafe fn aligned(
    element: &'static ElementType,
    run: Run,
    right: Exclusive<'_>,
    mut work: impl FnMut(CellsMut<'_>) -> Result<(), Failure>,
) -> Result<(), Failure> {
    if is_aligned(element, run) {
        // SAFETY: the caller's promise.
        return work(unsafe { CellsMut::new(run.data, run.stride, run.count, right) });
    }
    let mut outcome = Ok(());
    for index in 0..run.count {
        let cell = run.part(index, 1).data;
        // SAFETY: the caller's promise, cell by cell.
        let result = unsafe { with_aligned_cell(element, cell, right, &mut work) };
        outcome = outcome.and(result.map_err(|failure| failure.after(index)));
    }
    outcome
}

/// The failure of an operation that a type does not have.
#[cold]
pub(super) fn missing(element: &ElementType, operation: &str) -> Failure {
    Failure::new(abi::ERROR_TYPE, format!("{} has no {operation}", element.name()))
}
