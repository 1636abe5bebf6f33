//! Scalars of types that only move, and the cells that they show.
//!
//! Such a scalar either *owns* its object, in the cell behind its head, or *shows* a cell of an
//! array: a loan. `a[0]` makes a loan, the same one while it lives; `a[0] = p` moves the object of
//! `p` into the array, and `p` shows the cell from then on. Before a cell goes, or takes another
//! object, the scalar that shows it takes its object over. So nothing that Python still holds is
//! lost, and no scalar is left with an address that means nothing.
//!
//! A loan shows a cell, not an object: what a sort puts there is what it shows.
//!
//! The books are kept under the GIL. Invariants:
//! * `proxy-recorded`: a scalar with an address in `shown` is in [`SHOWN`] under that address, and the
//!   other way round; the address is a cell of the scalar's type, aligned, in a managed segment or
//!   an adopted range whose owner the scalar keeps. `Segment::free` and `resize`, the clear loop
//!   and moves see to it that it stays so (`segment::ProxyHooks`, [`take_back_run`]).
//! * `proxy-used`: while `uses` is not 0 somebody reads the scalar's cell. The cell is borrowed from
//!   its segment's lock then, and a segment that is freed all the same is leaked.

use super::{
    DType,
    access::{self, Run},
    convert::Object,
    errors, scalar, watched, within,
};
use crate::{
    abi,
    audit::Operation,
    erased::{CountDelta, ElementType, Exclusive, Failure, Location, SpareCell, rules},
    owner_map,
    segment::{self, ProxyHooks},
};
use pyo3::ffi;
use std::{
    collections::BTreeMap,
    ops::Range,
    ptr::{self, NonNull},
    sync::{Mutex, MutexGuard},
};

/// What a scalar of a type without copies has behind its head. All zero: it owns its object.
#[repr(C)]
pub(super) struct Loan {
    /// The cell of an array that it shows, or NULL.
    shown: *mut u8,
    /// What keeps an adopted cell alive (a reference), or NULL.
    keeper: *mut ffi::PyObject,
    /// How many read the cell at this moment.
    uses: usize,
}

/// A scalar that shows a cell; borrowed, since its end removes it.
#[derive(Clone, Copy)]
struct Shower(*mut ffi::PyObject);

// SAFETY: used with the GIL only.
unsafe impl Send for Shower {}

/// The scalars that show a cell, by its address. Whoever locks it holds the GIL, which is not let
/// go meanwhile: so no fork finds it locked.
static SHOWN: Mutex<BTreeMap<usize, Shower>> = Mutex::new(BTreeMap::new());

fn shown() -> MutexGuard<'static, BTreeMap<usize, Shower>> {
    SHOWN.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
}

/// Has segments tell of what happens to their cells. Idempotent.
pub fn install() {
    segment::set_proxy_hooks(ProxyHooks { detach: take_back, moved });
}

/// Where a cell may hold the only copy of an object for good.
struct Home {
    /// What keeps the cell alive where no segment of ours does (borrowed), or NULL.
    keeper: *mut ffi::PyObject,
}

/// The home that a cell is in: a managed segment, or adopted memory. Foreign memory is none: it
/// goes, and moves, without a word.
///
/// # Safety
/// `run-alive` for the cell; GIL held.
unsafe fn home_of(element: &ElementType, cell: *mut u8) -> Option<Home> {
    // SAFETY: the caller's promise.
    if let Some(segment) = unsafe { access::segment_of(cell) } {
        let offset = cell.addr().wrapping_sub(segment.cells().as_ptr().addr());
        let inside = offset.is_multiple_of(element.size())
            && offset.checked_add(element.size()).is_some_and(|end| end <= segment.byte_len());
        return (segment.is_for(element) && inside).then_some(Home { keeper: ptr::null_mut() });
    }
    let adopted = owner_map::adopted_at(cell)?;
    // SAFETY: the payload is an `AdoptedRange`, alive as long as the range is adopted.
    let keeper = unsafe { adopted.payload.cast::<access::AdoptedRange>().as_ref() }.base()?;
    cell.addr().is_multiple_of(element.align()).then_some(Home { keeper })
}

/// The scalar for a cell: the one that shows it already, or a new one. A new reference.
///
/// # Errors
/// `VacantError` for a vacant cell of a type without a default; `TypeError` in foreign memory.
///
/// # Safety
/// `cell` is a cell of the type under rule 1, whose scalars are ours and which has no copies; GIL
/// held.
pub(super) unsafe fn show(
    dtype: &'static DType,
    cell: *mut u8,
) -> Result<*mut ffi::PyObject, Failure> {
    let element = dtype.element();
    // SAFETY: the caller's promise; booked scalars are alive.
    unsafe {
        if let Some(object) = shower_of(dtype, cell) {
            ffi::Py_INCREF(object);
            return Ok(object);
        }
        let Some(home) = home_of(element, cell) else {
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
        let object = scalar::allocate(dtype)?;
        // The allocation may have collected garbage, whose end may have read the cell.
        if let Some(other) = shower_of(dtype, cell) {
            ffi::Py_INCREF(other);
            ffi::Py_DECREF(object);
            return Ok(other);
        }
        begin(object, &mut *scalar::loan_of(object), cell, &home);
        Ok(object)
    }
}

/// The scalar of this type that shows a cell, borrowed.
///
/// # Safety
/// GIL held.
unsafe fn shower_of(dtype: &'static DType, cell: *const u8) -> Option<*mut ffi::PyObject> {
    let object = shown().get(&cell.addr())?.0;
    // SAFETY: booked scalars are alive.
    let (other, _) = unsafe { scalar::scalar_cell(object) }?;
    ptr::eq(dtype, other).then_some(object)
}

/// Books that a scalar shows a cell.
///
/// # Safety
/// `loan` is that of `object`, which shows nothing and whose own cell is vacant; nobody else shows
/// `cell`, which is in `home`; GIL held.
unsafe fn begin(object: *mut ffi::PyObject, loan: &mut Loan, cell: *mut u8, home: &Home) {
    loan.shown = cell;
    loan.keeper = home.keeper;
    // SAFETY: GIL held; the keeper is alive, or NULL.
    unsafe { ffi::Py_XINCREF(home.keeper) };
    let before = shown().insert(cell.addr(), Shower(object));
    debug_assert!(before.is_none(), "one scalar a cell");
    segment::proxy_begins();
}

/// Books that a scalar shows its cell no more. Returns the keeper, for the caller to release last.
fn end(loan: &mut Loan) -> *mut ffi::PyObject {
    let gone = shown().remove(&loan.shown.addr());
    debug_assert!(gone.is_some(), "a loan is booked");
    segment::proxy_ends();
    loan.shown = ptr::null_mut();
    std::mem::replace(&mut loan.keeper, ptr::null_mut())
}

/// A scalar that ends shows nothing any more.
///
/// # Safety
/// `loan` is that of a scalar without references; GIL held.
pub(super) unsafe fn forget(loan: *mut Loan) {
    // SAFETY: the caller's promise; the keeper was a reference.
    unsafe {
        if !(*loan).shown.is_null() {
            ffi::Py_XDECREF(end(&mut *loan));
        }
    }
}

impl Loan {
    /// The cell that is shown, if any.
    pub(super) fn shown(&self) -> Option<*mut u8> {
        (!self.shown.is_null()).then_some(self.shown)
    }

    /// Whether somebody reads the cell.
    fn is_used(&self) -> bool {
        self.uses > 0
    }
}

/// The scalar takes the object in the cell that it shows over, or the vacancy, and owns it.
///
/// # Safety
/// `object` is a booked scalar that nobody uses; the cell's lock is held for writing, or the cell
/// is the caller's alone; GIL held.
unsafe fn take_over(object: *mut ffi::PyObject) {
    // SAFETY: the caller's promise; `proxy-recorded`. The scalar's own cell is vacant, so that the move
    // ends no object and cannot fail.
    unsafe {
        let Some((dtype, cell)) = scalar::scalar_cell(object) else { return };
        let _at_work = watched::at_work(Operation::PROXY);
        let element = dtype.element();
        let keeper = end(&mut *scalar::loan_of(object));
        let size = element.size() as isize;
        let own = scalar::own_address(object, element);
        let to = (Run::write(own, size, 1), None);
        let from = (Run::write(cell, size, 1), access::segment_of(cell));
        let moved = within::move_block(element, to, from, Exclusive::own(), None);
        debug_assert!(moved.is_ok(), "nothing ends in a vacant cell");
        ffi::Py_XDECREF(keeper);
    }
}

/// The hook of segments: [`take_over`] for all cells of a range that nobody uses.
fn take_back(cells: Range<usize>) -> usize {
    errors::with_gil(|| {
        let (mut used, mut next) = (0, cells.start);
        while let Some((cell, Shower(object))) = first_in(next..cells.end) {
            next = cell + 1;
            // SAFETY: booked scalars are alive; who frees or resizes a segment is alone with it;
            // GIL held.
            unsafe {
                if (*scalar::loan_of(object)).is_used() {
                    used += 1;
                } else {
                    take_over(object);
                }
            }
        }
        used
    })
}

fn first_in(cells: Range<usize>) -> Option<(usize, Shower)> {
    if cells.is_empty() {
        return None;
    }
    shown().range(cells).next().map(|(cell, shower)| (*cell, *shower))
}

/// The hook of segments: the same cells at another address.
fn moved(cells: Range<usize>, new_start: NonNull<u8>) {
    errors::with_gil(|| {
        let mut books = shown();
        let mut after = books.split_off(&cells.start);
        let mut rest = after.split_off(&cells.end);
        books.append(&mut rest);
        for (cell, Shower(object)) in after {
            let place = new_start.as_ptr().wrapping_add(cell - cells.start);
            // SAFETY: booked scalars are alive; GIL held.
            unsafe { (*scalar::loan_of(object)).shown = place };
            books.insert(place.addr(), Shower(object));
        }
    });
}

/// The GIL, where cells of such a type may be lent and this thread does not hold it. To be taken
/// before locks are.
pub(super) fn gil_for(element: &ElementType) -> Option<Gil> {
    // SAFETY: the interpreter is initialised: there are scalars.
    segment::may_have_proxies(element).then(|| Gil(unsafe { ffi::PyGILState_Ensure() }))
}

/// The GIL, until it is dropped.
pub(super) struct Gil(ffi::PyGILState_STATE);

impl Drop for Gil {
    fn drop(&mut self) {
        // SAFETY: pairs with the call in `gil_for`, in the same thread.
        unsafe { ffi::PyGILState_Release(self.0) };
    }
}

/// Has the cells of a run taken over by the scalars that show them, before a loop ends what is in
/// them.
///
/// # Errors
/// Somebody uses one of them.
///
/// # Safety
/// The run is cells of `element`, locked for writing; the GIL is held ([`gil_for`]).
pub(super) unsafe fn take_back_run(element: &ElementType, run: Run) -> Result<(), Failure> {
    if !segment::may_have_proxies(element) || run.count == 0 {
        return Ok(());
    }
    // A loan that began after `gil_for` found none is of other cells: nobody reads these. The books
    // are not locked without the GIL, so that no fork finds them locked.
    // SAFETY: callable in any thread.
    if unsafe { ffi::PyGILState_Check() } == 0 {
        return Ok(());
    }
    let step = run.stride.unsigned_abs();
    let last = run.part(run.count - 1, 1).data.addr();
    let (low, high) = (run.data.addr().min(last), run.data.addr().max(last));
    let mut next = low;
    while let Some((cell, Shower(object))) = first_in(next..high + 1) {
        next = cell + 1;
        if step != 0 && !(cell - low).is_multiple_of(step) {
            continue;
        }
        // SAFETY: booked scalars are alive; the caller's promise.
        unsafe {
            if (*scalar::loan_of(object)).is_used() {
                return Err(in_use(element));
            }
            take_over(object);
        }
    }
    Ok(())
}

/// Puts a Python object into a cell of a type without copies: moves the object of a scalar, or
/// makes one of anything else that the type takes. What was in the cell goes to the scalar that
/// shows it, or is destroyed.
///
/// # Errors
/// `TypeError` where an object would be lost, or taken out of its array, before it is moved;
/// `BorrowError` where cell or scalar are in use; what making an object fails with. Where a
/// destructor fails, the new object is in the cell.
///
/// # Safety
/// `object` is a Python object, `cell` a cell of the type under rule 1, aligned or not; GIL held.
pub(super) unsafe fn put(
    dtype: &'static DType,
    object: *mut ffi::PyObject,
    cell: *mut u8,
) -> Result<(), Failure> {
    let element = dtype.element();
    // SAFETY: the caller's promise.
    unsafe {
        match scalar::scalar_cell(object) {
            Some((other, _)) if ptr::eq(dtype, other) => put_scalar(dtype, object, cell),
            _ => {
                if element.vtable().from_python.is_some() && home_of(element, cell).is_none() {
                    return Err(lost(element));
                }
                let mut made = Object::new(element)?;
                super::convert::from_python(dtype, object, made.address())?;
                put_made(element, made, cell)
            }
        }
    }
}

/// # Safety
/// As for [`put`], with a scalar of the type.
unsafe fn put_scalar(
    dtype: &'static DType,
    object: *mut ffi::PyObject,
    cell: *mut u8,
) -> Result<(), Failure> {
    let element = dtype.element();
    let run = Run::write(cell, element.size() as isize, 1);
    // SAFETY: the caller's promise; the references to the loan end before somebody else may make
    // one.
    unsafe {
        if (*scalar::loan_of(object)).shown == cell {
            return Ok(());
        }
        let Some(home) = home_of(element, cell) else { return Err(lost(element)) };
        may_move(element, &*scalar::loan_of(object))?;
        let _at_work = watched::at_work(Operation::PROXY);
        let own = scalar::own_address(object, element);
        let own_run = Run::write(own, element.size() as isize, 1);
        access::with_ledger(element, None, own_run, Exclusive::own(), || {
            rules::materialise(element, scalar::own_cell(object, element))
        })?;
        let mut evicted = Evicted::new(element)?;
        access::with_segments(element, [run], |[segment], right| {
            // Client code, or other threads, may have run meanwhile.
            may_move(element, &*scalar::loan_of(object))?;
            evicted.evict(run, segment, right)?;
            let from = (Run::write(own, run.stride, 1), None);
            within::move_block(element, (run, segment), from, right, None)?;
            begin(object, &mut *scalar::loan_of(object), cell, &home);
            Ok(())
        })?;
        evicted.destroy()
    }
}

/// # Safety
/// As for [`put`], with an object of the type on its way.
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
                within::with_aligned_cell(element, cell, right, |cell| {
                    rules::relocate(element, cell, made.cells())
                })
            })
        }
    })?;
    evicted.destroy()
}

/// Whether the object of a scalar may move to another place.
fn may_move(element: &ElementType, loan: &Loan) -> Result<(), Failure> {
    if !loan.shown.is_null() {
        return Err(Failure::new(
            abi::ERROR_TYPE,
            format!(
                "{} is not copyable, and this scalar shows an element of an array: putting it \
                 anywhere else would take it out of that array",
                element.name()
            ),
        ));
    }
    if loan.is_used() { Err(in_use(element)) } else { Ok(()) }
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

    /// Makes a cell vacant: its object goes to the scalar that shows it, else here.
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
        let _at_work = watched::at_work(Operation::PROXY);
        // SAFETY: the caller's promise; the spare cell is vacant, ours and aligned.
        unsafe {
            take_back_run(self.element, run)?;
            let spare = Run::write(self.spare.cells().address(0), run.stride, 1);
            within::move_block(self.element, (spare, None), (run, segment), right, None)
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
        let tally = CountDelta { destroyed, ..CountDelta::default() };
        self.element.record(tally, Location::Cells(cells.as_cells()));
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

/// Runs `work` on the cell of a scalar of any type. The cell of a type without copies stays where it
/// is meanwhile, and nobody writes to it.
///
/// # Errors
/// What `work` fails with; `BorrowError` where somebody writes to the cell.
///
/// # Safety
/// `object` is a scalar of ours; `work` only reads the cell; GIL held.
pub(super) unsafe fn with_cell<R>(
    object: *mut ffi::PyObject,
    work: impl FnOnce(&'static DType, *mut u8) -> Result<R, Failure>,
) -> Result<R, Failure> {
    // SAFETY: the caller's promise.
    unsafe {
        let Some((dtype, cell)) = scalar::scalar_cell(object) else {
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
pub(super) unsafe fn with_borrow<R>(
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
pub(super) struct Use(*mut ffi::PyObject);

impl Use {
    /// # Safety
    /// `object` is a scalar of `element`, which has no copies; GIL held, also when this is dropped.
    pub(super) unsafe fn begin(
        object: *mut ffi::PyObject,
        element: &ElementType,
    ) -> Result<Use, Failure> {
        // SAFETY: the caller's promise.
        let loan = unsafe { &mut *scalar::loan_of(object) };
        loan.uses = loan.uses.checked_add(1).ok_or_else(|| in_use(element))?;
        // SAFETY: a live object; GIL held.
        unsafe { ffi::Py_INCREF(object) };
        Ok(Use(object))
    }
}

impl Drop for Use {
    fn drop(&mut self) {
        // SAFETY: the scalar lives by the reference taken in `begin`; GIL held.
        unsafe {
            (*scalar::loan_of(self.0)).uses -= 1;
            ffi::Py_DECREF(self.0);
        }
    }
}

#[cold]
fn in_use(element: &ElementType) -> Failure {
    Failure::new(
        abi::ERROR_BORROW,
        format!("this {} is in use, and cannot move meanwhile", element.name()),
    )
}

/// The failure of a destination that would lose the object.
#[cold]
fn lost(element: &ElementType) -> Failure {
    astray(
        element,
        "this memory is a temporary of NumPy's or a field of a structure, where an \
         object that moved in would be lost; assign single elements of an array: a[0] = x",
    )
}

#[cold]
fn astray(element: &ElementType, why: &str) -> Failure {
    Failure::new(abi::ERROR_TYPE, format!("{} is not copyable: {why}", element.name()))
}
