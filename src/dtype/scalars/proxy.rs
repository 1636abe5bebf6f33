//! Scalars of types that only move, as element proxies.
//!
//! Such a scalar either *owns* its object, in the cell behind its head, or *stands for* a cell of an
//! array: an element proxy. `a[0]` makes one, the same one while it lives; `a[0] = p` moves the object
//! of `p` into the array, and `p` stands for the cell from then on. Before a cell goes, or takes
//! another object, its proxy is *detached*: the object moves to the scalar, which owns it again. So
//! nothing that Python still holds is lost, and no scalar is left with an address that means nothing.
//!
//! A proxy stands for a cell, not for an object: what a sort puts there is what it is.

use crate::{
    abi,
    audit::Operation,
    dtype::{
        handle::{DType, errors},
        loops::{
            access::{self, Run},
            audited, transfer,
        },
        scalars::{
            object,
            proxy_table::{self, Listed},
        },
    },
    erased::{ElementType, Exclusive, Failure},
    owner_map,
    segment::{self, ProxyHooks},
};
use pyo3::ffi;
use std::{
    ops::Range,
    ptr::{self, NonNull},
};

/// Has segments tell of what happens to their cells. Idempotent.
pub fn install() {
    segment::set_proxy_hooks(ProxyHooks { detach: detach_all, moved });
}

/// Where a cell may hold the only copy of an object for good.
pub struct CellOwner {
    /// What keeps the cell alive where no segment of ours does (borrowed), or NULL.
    pub base: *mut ffi::PyObject,
}

/// What a cell belongs to: a managed segment, or adopted memory. Foreign memory is nothing of the
/// kind: it goes, and moves, without a word.
///
/// # Safety
/// `run-alive` for the cell; GIL held.
pub unsafe fn owner_of(element: &ElementType, cell: *mut u8) -> Option<CellOwner> {
    // SAFETY: the caller's promise.
    if let Some(segment) = unsafe { access::segment_of(cell) } {
        let offset = cell.addr().wrapping_sub(segment.cells().as_ptr().addr());
        let inside = offset.is_multiple_of(element.size())
            && offset.checked_add(element.size()).is_some_and(|end| end <= segment.byte_len());
        return (segment.is_for(element) && inside).then_some(CellOwner { base: ptr::null_mut() });
    }
    let adopted = owner_map::adopted_at(cell)?;
    // SAFETY: the payload of an adopted range is an `AdoptedRange`, alive while the range is adopted.
    let base = unsafe { adopted.payload.cast::<access::AdoptedRange>().as_ref() }.base()?;
    cell.addr().is_multiple_of(element.align()).then_some(CellOwner { base })
}

/// The scalar for a cell: the one that stands for it already, or a new one. A new reference.
///
/// # Errors
/// `VacantError` for a vacant cell of a type without a default; `TypeError` in foreign memory.
///
/// # Safety
/// `cell` is a cell of the type under rule 1, whose scalars are ours and which has no copies; GIL
/// held.
pub unsafe fn of_cell(dtype: &'static DType, cell: *mut u8) -> Result<*mut ffi::PyObject, Failure> {
    let element = dtype.element();
    // SAFETY: the caller's promise; listed scalars are alive.
    unsafe {
        if let Some(object) = existing(dtype, cell) {
            ffi::Py_INCREF(object);
            return Ok(object);
        }
        let Some(owner) = owner_of(element, cell) else {
            return Err(astray(
                element,
                "reading an element lends it to a scalar, which only memory of denizen's own \
                 arrays, or adopted memory, allows",
            ));
        };
        if !element.has_default() {
            let run = Run::read(cell, element.size() as isize, 1);
            access::with_segments(element, [run], |_, _| {
                let live = element.vacancy().is_live(cell);
                if live { Ok(()) } else { Err(element.no_default()) }
            })?;
        }
        let object = object::allocate(dtype)?;
        // The allocation may have collected garbage, whose end may have read the cell.
        if let Some(other) = existing(dtype, cell) {
            ffi::Py_INCREF(other);
            ffi::Py_DECREF(object);
            return Ok(other);
        }
        (*object::proxy_of(object)).attach(object, cell, owner.base);
        Ok(object)
    }
}

/// The scalar of this type that stands for a cell, borrowed.
///
/// # Safety
/// GIL held.
unsafe fn existing(dtype: &'static DType, cell: *const u8) -> Option<*mut ffi::PyObject> {
    let object = proxy_table::at(cell)?;
    // SAFETY: listed scalars are alive.
    let (other, _) = unsafe { object::scalar_cell(object) }?;
    ptr::eq(dtype, other).then_some(object)
}

/// Moves the object in the cell that the scalar stands for, or the vacancy, to the scalar, which owns
/// it then.
///
/// # Safety
/// `object` is a listed scalar that is not being read; the cell's lock is held for writing, or the cell
/// is the caller's alone; GIL held.
unsafe fn detach(object: *mut ffi::PyObject) {
    // SAFETY: the caller's promise; `proxy-recorded`. The scalar's own cell is vacant, so that the move
    // ends no object and cannot fail.
    unsafe {
        let Some((dtype, cell)) = object::scalar_cell(object) else { return };
        let _at_work = audited::at_work(Operation::PROXY);
        let element = dtype.element();
        let base = (*object::proxy_of(object)).remove();
        let size = element.size() as isize;
        let own = object::own_address(object, element);
        let to = (Run::write(own, size, 1), None);
        let from = (Run::write(cell, size, 1), access::segment_of(cell));
        let moved = transfer::move_block(element, to, from, Exclusive::own(), None);
        debug_assert!(moved.is_ok(), "nothing ends in a vacant cell");
        ffi::Py_XDECREF(base);
    }
}

/// The hook of segments: detaches the proxies of all cells of a range, but for those that are being
/// read, whose number it returns.
fn detach_all(cells: Range<usize>) -> usize {
    errors::with_gil(|| {
        let (mut used, mut next) = (0, cells.start);
        while let Some((cell, Listed(object))) = proxy_table::first_in(next..cells.end) {
            next = cell + 1;
            // SAFETY: listed scalars are alive; a thread that frees or resizes a segment is alone with it;
            // GIL held.
            unsafe {
                if (*object::proxy_of(object)).is_read() {
                    used += 1;
                } else {
                    detach(object);
                }
            }
        }
        used
    })
}

/// The hook of segments: the same cells at another address.
fn moved(cells: Range<usize>, new_start: NonNull<u8>) {
    errors::with_gil(|| {
        // SAFETY: GIL held; the table lists scalars of types without copies.
        unsafe { proxy_table::moved(cells, new_start, |object| object::proxy_of(object)) };
    });
}

/// The GIL, where cells of such a type may have proxies and this thread does not hold it. To be taken
/// before locks are.
pub fn gil_for(element: &ElementType) -> Option<Gil> {
    // SAFETY: the interpreter is initialised: there are scalars.
    segment::may_have_proxies(element).then(|| Gil(unsafe { ffi::PyGILState_Ensure() }))
}

/// The GIL, until it is dropped.
pub struct Gil(ffi::PyGILState_STATE);

impl Drop for Gil {
    fn drop(&mut self) {
        // SAFETY: pairs with the call in `gil_for`, in the same thread.
        unsafe { ffi::PyGILState_Release(self.0) };
    }
}

/// Detaches the proxies of the cells of a run, before a loop ends what is in them.
///
/// # Errors
/// One of them is being read.
///
/// # Safety
/// The run is cells of `element`, locked for writing; the GIL is held ([`gil_for`]).
pub unsafe fn detach_run(element: &ElementType, run: Run) -> Result<(), Failure> {
    if !segment::may_have_proxies(element) || run.count == 0 {
        return Ok(());
    }
    // A proxy that was made after `gil_for` found none is of other cells: no scalar reads these. The
    // table is not locked without the GIL, so that no fork finds them locked.
    // SAFETY: callable in any thread.
    if unsafe { ffi::PyGILState_Check() } == 0 {
        return Ok(());
    }
    let step = run.stride.unsigned_abs();
    let last = run.part(run.count - 1, 1).data.addr();
    let (low, high) = (run.data.addr().min(last), run.data.addr().max(last));
    let mut next = low;
    while let Some((cell, Listed(object))) = proxy_table::first_in(next..high + 1) {
        next = cell + 1;
        if step != 0 && !(cell - low).is_multiple_of(step) {
            continue;
        }
        // SAFETY: listed scalars are alive; the caller's promise.
        unsafe {
            if (*object::proxy_of(object)).is_read() {
                return Err(in_use(element));
            }
            detach(object);
        }
    }
    Ok(())
}

/// Runs `work` on the cell of a scalar of any type. The cell of a type without copies stays where it
/// is meanwhile, and no thread writes to it.
///
/// # Errors
/// What `work` fails with; `BorrowError` where a thread writes to the cell.
///
/// # Safety
/// `object` is a scalar of ours; `work` only reads the cell; GIL held.
pub unsafe fn with_cell<R>(
    object: *mut ffi::PyObject,
    work: impl FnOnce(&'static DType, *mut u8) -> Result<R, Failure>,
) -> Result<R, Failure> {
    // SAFETY: the caller's promise.
    unsafe {
        let Some((dtype, cell)) = object::scalar_cell(object) else {
            return Err(Failure::new(abi::ERROR_TYPE, "not a scalar of an element type"));
        };
        if dtype.element().is_copyable() {
            return work(dtype, cell);
        }
        let used = Use::begin(object, dtype.element())?;
        let result = with_borrow(dtype.element(), cell, || work(dtype, cell));
        drop(used);
        result
    }
}

/// Runs `work` while a cell is borrowed for reading from the lock of its memory.
///
/// # Errors
/// As for [`with_cell`].
///
/// # Safety
/// `run-alive` for the cell; GIL held.
pub unsafe fn with_borrow<R>(
    element: &ElementType,
    cell: *mut u8,
    work: impl FnOnce() -> Result<R, Failure>,
) -> Result<R, Failure> {
    // SAFETY: the caller's promise.
    let segment = unsafe { access::segment_of(cell) };
    // SAFETY: as above.
    let Some(place) = (unsafe { access::lock_range_of(segment.as_ref(), cell) }) else {
        return work();
    };
    let first = cell.addr() - place.base;
    let borrow = place.lock.try_borrow(first..first + element.size(), false);
    let borrow = borrow.map_err(access::refused)?;
    let result = work();
    drop(borrow);
    result
}

/// A scalar whose cell is read: it lives, and its object stays where it is.
pub struct Use(*mut ffi::PyObject);

impl Use {
    /// # Safety
    /// `object` is a scalar of `element`, which has no copies; GIL held, also when this is dropped.
    pub unsafe fn begin(object: *mut ffi::PyObject, element: &ElementType) -> Result<Use, Failure> {
        // SAFETY: the caller's promise.
        if !unsafe { (*object::proxy_of(object)).begin_reading() } {
            return Err(in_use(element));
        }
        // SAFETY: a live object; GIL held.
        unsafe { ffi::Py_INCREF(object) };
        Ok(Use(object))
    }
}

impl Drop for Use {
    fn drop(&mut self) {
        // SAFETY: the scalar lives by the reference taken in `begin`; GIL held.
        unsafe {
            (*object::proxy_of(self.0)).end_reading();
            ffi::Py_DECREF(self.0);
        }
    }
}

#[cold]
pub fn in_use(element: &ElementType) -> Failure {
    Failure::new(
        abi::ERROR_BORROW,
        format!("this {} is in use, and cannot move meanwhile", element.name()),
    )
}

#[cold]
pub fn astray(element: &ElementType, why: &str) -> Failure {
    Failure::new(abi::ERROR_TYPE, format!("{} is not copyable: {why}", element.name()))
}
