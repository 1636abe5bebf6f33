//! Setting and getting elements of types whose objects only move: a value moves in, and what is read is
//! the cell itself.

use crate::{
    abi,
    audit::Operation,
    dtype::{
        convert::{
            item::Item,
            python::{self, Object},
        },
        handle::{DType, errors},
        loops::{
            access::{self, Run},
            align, audited, transfer,
        },
        scalars::{object, proxy, proxy_table::Proxy},
    },
    erased::{CountDelta, ElementType, Exclusive, Failure, Location, SpareCell, rules},
    segment,
};
use pyo3::ffi;
use std::ptr;

/// Types whose objects only move: their scalars may stand for a cell.
pub struct MoveOnly;

impl Item for MoveOnly {
    /// Moves the object of a scalar, or makes one of anything else that the type takes. What was in the
    /// cell goes to its element proxy, or is destroyed.
    ///
    /// # Errors
    /// `TypeError` where an object would be lost, or taken out of its array, before it is moved;
    /// `BorrowError` where cell or scalar are in use; what making an object fails with. Where a
    /// destructor fails, the new object is in the cell.
    #[inline]
    unsafe fn set(
        dtype: &'static DType,
        object: *mut ffi::PyObject,
        cell: *mut u8,
    ) -> Result<(), Failure> {
        // SAFETY: a live object; `run-alive` for the cell, whose memory stays where it is while client
        // code makes the object, and ends the one that was there. NumPy lends an item of a list, which
        // that code may empty.
        unsafe {
            ffi::Py_INCREF(object);
            let outcome = access::pinned(cell, || put(dtype, object, cell));
            ffi::Py_DECREF(object);
            outcome
        }
    }

    #[inline]
    unsafe fn get(dtype: &'static DType, cell: *mut u8) -> Result<*mut ffi::PyObject, Failure> {
        // SAFETY: the caller's promise.
        unsafe {
            if dtype.element().vtable().to_python.is_some() {
                to_python_in_place(dtype, cell)
            } else {
                proxy::of_cell(dtype, cell)
            }
        }
    }
}

/// The client's Python object for a cell that cannot be copied, made from the cell itself; a vacant
/// one gets its default first.
///
/// # Safety
/// As for [`Item::set`]; the type has a conversion of its own.
unsafe fn to_python_in_place(
    dtype: &'static DType,
    cell: *mut u8,
) -> Result<*mut ffi::PyObject, Failure> {
    let element = dtype.element();
    let size = element.size() as isize;
    // SAFETY: one cell, the caller's.
    let is_live = || unsafe { element.vacancy().is_live(cell) };
    if !element.zero_is_default() && !is_live() {
        let run = Run::write(cell, size, 1);
        access::with_segments(element, [run], |[segment], right| {
            // SAFETY: one cell of the type, locked.
            unsafe {
                access::with_ledger(element, segment, run, right, || {
                    align::aligned(element, run, right, |cells| rules::materialise(element, cells))
                })
            }
        })?;
    }
    // SAFETY: the caller's promise; no thread writes the cell while it is borrowed.
    unsafe {
        proxy::with_borrow(element, cell, || {
            align::with_aligned_source(element, cell, |cell| python::to_python(dtype, cell))
        })
    }
}

/// # Safety
/// As for [`Item::set`], of an object and memory that stay.
unsafe fn put(
    dtype: &'static DType,
    object: *mut ffi::PyObject,
    cell: *mut u8,
) -> Result<(), Failure> {
    let element = dtype.element();
    // SAFETY: the caller's promise.
    unsafe {
        if let Some((other, _)) = object::scalar_cell(object)
            && ptr::eq(dtype, other)
        {
            return put_scalar(dtype, object, cell);
        }
        if element.vtable().from_python.is_some() && proxy::owner_of(element, cell).is_none() {
            return Err(lost(element));
        }
        let mut made = Object::new(element)?;
        python::from_python(dtype, object, made.address())?;
        put_made(element, made, cell)
    }
}

/// # Safety
/// As for [`Item::set`], with a scalar of the type.
unsafe fn put_scalar(
    dtype: &'static DType,
    object: *mut ffi::PyObject,
    cell: *mut u8,
) -> Result<(), Failure> {
    let element = dtype.element();
    let run = Run::write(cell, element.size() as isize, 1);
    // SAFETY: the caller's promise; the references to the proxy end before another may be made.
    unsafe {
        if (*object::proxy_of(object)).cell() == Some(cell) {
            return Ok(());
        }
        let Some(owner) = proxy::owner_of(element, cell) else { return Err(lost(element)) };
        may_move(element, &*object::proxy_of(object))?;
        let _at_work = audited::at_work(Operation::PROXY);
        let own = object::own_address(object, element);
        let own_run = Run::write(own, element.size() as isize, 1);
        if !element.zero_is_default() && !element.vacancy().is_live(own) {
            // The default is made beside the scalar: its hook may put the very scalar.
            let mut made = Object::new(element)?;
            rules::materialise(element, made.cells())?;
            may_move(element, &*object::proxy_of(object))?;
            if !element.vacancy().is_live(own) {
                access::with_ledger(element, None, own_run, Exclusive::own(), || {
                    rules::relocate(element, object::own_cell(object, element), made.cells())
                })?;
            }
        }
        let mut evicted = Evicted::new(element)?;
        access::with_segments(element, [run], |[segment], right| {
            // Client code, or other threads, may have run meanwhile.
            may_move(element, &*object::proxy_of(object))?;
            evicted.evict(run, segment, right)?;
            let from = (Run::write(own, run.stride, 1), None);
            transfer::move_block(element, (run, segment), from, right, None)?;
            (*object::proxy_of(object)).attach(object, cell, owner.base);
            Ok(())
        })?;
        evicted.destroy()
    }
}

/// # Safety
/// As for [`Item::set`], with an object of the type on its way.
unsafe fn put_made(
    element: &'static ElementType,
    mut made: Object<'_>,
    cell: *mut u8,
) -> Result<(), Failure> {
    let size = element.size() as isize;
    let run = Run::write(cell, size, 1);
    let mut evicted = Evicted::new(element)?;
    access::with_segments(element, [run], |[segment], right| {
        // SAFETY: one cell of the type, locked, vacant once its object is evicted.
        unsafe {
            evicted.evict(run, segment, right)?;
            access::with_ledger(element, segment, run, right, || {
                align::with_aligned_cell(element, cell, right, |cell| {
                    rules::relocate(element, cell, made.cells())
                })
            })
        }
    })?;
    evicted.destroy()
}

/// Whether the object of a scalar may move to another place.
fn may_move(element: &ElementType, proxy: &Proxy) -> Result<(), Failure> {
    if proxy.cell().is_some() {
        return Err(Failure::new(
            abi::ERROR_TYPE,
            format!(
                "{} is not copyable, and this scalar shows an element of an array: putting it \
                 anywhere else would take it out of that array",
                element.name()
            ),
        ));
    }
    if proxy.is_read() { Err(proxy::in_use(element)) } else { Ok(()) }
}

/// An object that left its cell for another to come, destroyed when no lock is held any more.
struct Evicted {
    element: &'static ElementType,
    spare: SpareCell<'static>,
}

impl Evicted {
    fn new(element: &'static ElementType) -> Result<Self, Failure> {
        Ok(Evicted { element, spare: SpareCell::new(element)? })
    }

    /// Makes a cell vacant: its object goes to the scalar that stands for it, else here.
    ///
    /// # Safety
    /// The run is one cell of the type, aligned or not, in `segment`, exclusively this thread's for
    /// the reason given; GIL held.
    unsafe fn evict(
        &mut self,
        run: Run,
        segment: Option<segment::Segment>,
        right: Exclusive<'_>,
    ) -> Result<(), Failure> {
        let _at_work = audited::at_work(Operation::PROXY);
        // SAFETY: the caller's promise; the spare cell is vacant, ours and aligned.
        unsafe {
            proxy::detach_run(self.element, run)?;
            let spare = Run::write(self.spare.cells().address(0), run.stride, 1);
            transfer::move_block(self.element, (spare, None), (run, segment), right, None)
        }
    }

    /// Ends the object, if there is one.
    ///
    /// # Errors
    /// The destructor failed.
    fn destroy(&mut self) -> Result<(), Failure> {
        let destroyed = self.element.vacancy().count_live(self.spare.cells().as_cells()) as u64;
        // SAFETY: a cell under rule 1, ours alone.
        let outcome = unsafe { rules::clear(self.element, self.spare.cells()) };
        let cells = self.spare.cells();
        let delta = CountDelta { destroyed, ..CountDelta::default() };
        self.element.record(delta, Location::Cells(cells.as_cells()));
        outcome
    }
}

impl Drop for Evicted {
    fn drop(&mut self) {
        if let Err(failure) = self.destroy() {
            errors::write_unraisable(&failure, errors::DESTRUCTOR);
        }
    }
}

/// The failure of a destination that would lose the object.
#[cold]
fn lost(element: &ElementType) -> Failure {
    proxy::astray(
        element,
        "this memory is a temporary of NumPy's or a field of a structure, where an \
         object that moved in would be lost; assign single elements of an array: a[0] = x",
    )
}
