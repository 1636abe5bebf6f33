//! Handler mode for dtypes that are not ours: the objects behind their cells.
//!
//! # How it works
//! A legacy dtype cannot ask NumPy for copy, move and clear loops: NumPy copies its elements as
//! bytes in many places (`docs/handler-mode.md`), and overwrites them too. An object in the cell
//! would then be lost here and destroyed twice there, and nothing in its bytes could tell. So the
//! cell holds a *name* ([`handle`]), and the object lies in a store:
//!
//! * that of the array, where the cell is in a segment of ours ([`owned`]). The objects are cells of
//!   a second segment, which goes with the array's, and whose init bitmap is the truth: what it says
//!   is live is destroyed once when the array is freed or shrinks, whatever the array's bytes are;
//! * that of the type, where it is not: in NumPy's buffers ([`foreign`]). They are kept by age.
//!
//! A name at an address where it was not written is a raw copy. Reading one reads the original, as
//! long as that is as it was; writing one first makes it a cell of its own. A name of what is gone
//! or has another value by now is *stale*: known, counted, and never followed.
//!
//! # What callers promise
//! One thread at a time works on cells (the GIL), and no address of an object is kept beyond the
//! call of NumPy's that asked for it. Functions of clients that run here may let other threads in;
//! the objects' own locks exclude them.

mod foreign;
mod handle;
mod owned;
mod tables;
#[cfg(all(test, feature = "testing", not(loom)))]
mod tests;

pub use foreign::LENT_LIMIT;
pub use handle::{CELL_ALIGN, CELL_SIZE};

use super::unraisable::{guarded, unraisable};
use crate::{
    abi,
    erased::{self, CountDelta, ElementType, Failure},
    lock::{Request, acquire_all},
    segment::Segment,
};
use handle::{Content, Handle, SlotRef, erase};
use owned::cell_count;
use std::{ffi::c_void, ptr::NonNull};

/// What [`peek`] found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Peeked {
    /// No object: the cell's value is the type's default.
    Vacant,
    /// A raw copy of a cell whose object is gone or has another value by now.
    Stale,
    /// The object.
    Object(NonNull<u8>),
}

/// A cell by its address.
#[derive(Clone, Copy)]
enum Cell {
    /// A cell of an array in a segment of ours.
    Managed(Segment, u32),
    /// Any other memory.
    Foreign(usize),
}

/// A claimed slot.
struct Claimed {
    store: u32,
    slot: u32,
    /// Where the object is or will be.
    objects: Segment,
    index: usize,
    /// What is in the slot is the cell's value.
    kept: bool,
}

/// Runs when an array's segment is freed. The context is the number of its store.
unsafe extern "C" fn release(context: *mut c_void) {
    guarded("release", (), || {
        let store = tables::lock().stores.remove(&(context.addr() as u32));
        if let Some(tables::Store::Owned(owned)) = store {
            // SAFETY: the store is out of the tables, and the array that its objects belong to is
            // gone.
            if let Err(failure) = unsafe { owned.objects.free() } {
                unraisable(&failure);
            }
        }
    });
}

/// The number of the store of an array's segment, if it has one.
fn store_of(segment: Segment) -> Option<u32> {
    let (context, function) = segment.dependency();
    let ours: unsafe extern "C" fn(*mut c_void) = release;
    function
        .is_some_and(|function| std::ptr::fn_addr_eq(function, ours))
        .then(|| context.addr() as u32)
}

/// Which cell is at an address, after the checks that every access makes.
///
/// # Errors
/// The segment holds objects of another type, or no cell begins there.
///
/// # Safety
/// If `pointer` is in a segment, no code frees or resizes that meanwhile.
unsafe fn cell_at(pointer: *const u8, element: &ElementType) -> Result<Cell, Failure> {
    // SAFETY: the caller's promise.
    let Some(segment) = (unsafe { Segment::find(pointer) }) else {
        return Ok(Cell::Foreign(pointer.addr()));
    };
    let taken = |already: &str| {
        Failure::new(
            abi::ERROR_TYPE,
            format!(
                "this array holds objects of {already}; it cannot hold {} as well before it is \
                 freed",
                element.name()
            ),
        )
    };
    if let Some(other) = segment.intended() {
        return Err(taken(other.name()));
    }
    if let Some(store) = store_of(segment)
        && let Some(owned) = tables::lock().owned(store)
        && !std::ptr::eq(owned.element, element)
    {
        return Err(taken(owned.element.name()));
    }
    let offset = pointer.addr() - segment.cells().as_ptr().addr();
    if !offset.is_multiple_of(CELL_SIZE) || offset / CELL_SIZE >= cell_count(segment) {
        return Err(Failure::new(
            abi::ERROR_VALUE,
            format!(
                "no cell of {} begins {offset} bytes into this memory of {}: cells have {CELL_SIZE} \
                 bytes and begin with the memory",
                element.name(),
                segment.byte_len()
            ),
        ));
    }
    Ok(Cell::Managed(segment, (offset / CELL_SIZE) as u32))
}

/// Finds or makes a slot for a cell, and what its present name means elsewhere (for a raw copy).
///
/// # Safety
/// `cell` is the cell at `pointer`, [`CELL_SIZE`] readable bytes; the caller is alone with it.
unsafe fn claim(
    cell: Cell,
    pointer: *const u8,
    element: &'static ElementType,
) -> Result<(Claimed, Option<(Segment, usize)>), Failure> {
    // SAFETY: the caller's promise.
    let content = unsafe { Handle::read(pointer) };
    let mut tables = tables::lock();
    let claimed = match cell {
        Cell::Managed(segment, index) => {
            let count = cell_count(segment);
            if count > u32::MAX as usize - 1 {
                return Err(Failure::new(
                    abi::ERROR_MEMORY,
                    format!("arrays of {} have at most 2**32 - 2 elements", element.name()),
                ));
            }
            let store = match store_of(segment) {
                Some(store) => store,
                None => {
                    let store = tables.new_owned(element, count)?;
                    let context = std::ptr::without_provenance_mut(store as usize);
                    // SAFETY: the caller is alone; the release function may be called anywhere.
                    unsafe { segment.set_dependency(context, Some(release)) };
                    store
                }
            };
            let Some(owned) = tables.owned(store) else {
                return Err(Failure::new(abi::ERROR_RUNTIME, "an array lost its objects"));
            };
            owned.grow(count)?;
            // SAFETY: the store of this segment, whose cells the caller may read.
            let SlotRef { slot, kept } = unsafe { owned.claim(segment, index, content) };
            Claimed { store, slot, objects: owned.objects, index: slot as usize, kept }
        }
        Cell::Foreign(cell) => {
            let store = tables.ensure_foreign(element);
            let Some(foreign) = tables.foreign(element) else {
                return Err(Failure::new(abi::ERROR_RUNTIME, "a type lost its lent objects"));
            };
            let before = foreign.count();
            let (SlotRef { slot, kept }, evicted) = foreign.claim(cell, content)?;
            let (objects, index) = foreign.place_of(slot);
            element.counters().lent(foreign.count() as i64 - before as i64);
            if !evicted.is_empty() {
                drop(tables);
                // SAFETY: taken back: no name leads to them.
                unsafe { end_foreign(element, &evicted) };
                tables = tables::lock();
            }
            Claimed { store, slot, objects, index, kept }
        }
    };
    let source = match content {
        Content::Name(name) if !claimed.kept => tables.resolve(name),
        _ => None,
    };
    drop(tables);
    let same = |(other, ..): &(&'static ElementType, _, _)| std::ptr::eq(*other, element);
    Ok((claimed, source.filter(same).map(|(_, segment, index)| (segment, index))))
}

/// Destroys objects that were taken back.
///
/// # Safety
/// No code uses them, and no name leads to them.
unsafe fn end_foreign(element: &'static ElementType, slots: &[u32]) {
    for slot in slots {
        let place = tables::lock().foreign(element).map(|foreign| foreign.place_of(*slot));
        if let Some((objects, index)) = place
            // SAFETY: the caller's promise.
            && let Err(failure) = unsafe { destroy(objects, index) }
        {
            unraisable(&failure);
        }
    }
    if let Some(foreign) = tables::lock().foreign(element) {
        foreign.reuse(slots);
    }
}

/// The request for one cell of objects.
fn request(objects: &Segment, index: usize, write: bool) -> Request<'_> {
    let size = objects.element().map_or(1, ElementType::size);
    Request::new(objects.lock(), index * size..(index + 1) * size, write)
}

fn locked<R>(
    requests: &mut [Request<'_>],
    work: impl FnOnce() -> Result<R, Failure>,
) -> Result<R, Failure> {
    let _guard = acquire_all(requests)
        .map_err(|error| Failure::new(abi::ERROR_BORROW, error.to_string()))?;
    work()
}

/// # Safety
/// No other code uses the object.
unsafe fn destroy(objects: Segment, index: usize) -> Result<(), Failure> {
    locked(&mut [request(&objects, index, true)], || {
        // SAFETY: the caller's promise, and the lock.
        unsafe { objects.destroy(index..index + 1) }
    })
}

impl Claimed {
    /// Writes the name of the slot's object into the cell.
    ///
    /// # Safety
    /// [`CELL_SIZE`] bytes at `pointer` are writable, and the slot was claimed for that cell.
    unsafe fn publish(&self, pointer: *mut u8) {
        if let Some(name) = tables::lock().name(self.store, self.slot) {
            // SAFETY: the caller's promise.
            unsafe { name.write(pointer) };
        }
    }

    fn address(&self) -> NonNull<u8> {
        self.objects.cell_address(self.index)
    }

    /// Gives the slot up again; what is left in it goes.
    ///
    /// # Safety
    /// The caller is alone with the slot's object.
    unsafe fn give_up(&self) -> Result<(), Failure> {
        // SAFETY: the caller's promise.
        let outcome = unsafe { destroy(self.objects, self.index) };
        let mut tables = tables::lock();
        tables.disown(self.store, self.slot);
        if let Some(tables::Store::Foreign(foreign)) = tables.stores.get_mut(&self.store) {
            foreign.reuse(&[self.slot]);
            foreign.element.counters().lent(-1);
        }
        outcome
    }
}

/// The object of a cell, to be changed: built by default where there is none, and the cell's own
/// where the cell was a raw copy. Raw copies of this cell are stale from now on.
///
/// # Errors
/// The type has no default, or an operation failed; the memory is another type's, or no cell begins
/// there. The cell is as it was.
///
/// # Safety
/// [`CELL_SIZE`] bytes at `pointer` are readable and writable, the module's promises hold, and if it
/// is in a segment, that segment was made by this module's handler.
pub unsafe fn touch(
    pointer: *mut u8,
    element: &'static ElementType,
) -> Result<NonNull<u8>, Failure> {
    // SAFETY: the caller's promise.
    let (claimed, source) = unsafe { claim(cell_at(pointer, element)?, pointer, element)? };
    let Claimed { objects, index, .. } = claimed;
    let made = match source {
        Some((from, at)) => {
            let both = &mut [request(&from, at, false), request(&objects, index, true)];
            // SAFETY: two cells of objects of the same type, locked.
            locked(both, || unsafe { from.copy(at..at + 1, objects, index) })
                // SAFETY: a vacant original is copied as one.
                .and_then(|()| unsafe { materialise(objects, index) })
        }
        // SAFETY: the slot is the cell's; a leftover is not its value.
        None => (if claimed.kept { Ok(()) } else { unsafe { destroy(objects, index) } })
            // SAFETY: as above.
            .and_then(|()| unsafe { materialise(objects, index) }),
    };
    if let Err(failure) = made {
        if !claimed.kept {
            // SAFETY: claimed a moment ago for a cell that does not name it.
            let _second = unsafe { claimed.give_up() };
        }
        return Err(failure);
    }
    note_foreign(&claimed, pointer, element);
    // SAFETY: the caller's promise.
    unsafe { claimed.publish(pointer) };
    Ok(claimed.address())
}

/// # Safety
/// The caller is alone with the cell of objects.
unsafe fn materialise(objects: Segment, index: usize) -> Result<(), Failure> {
    locked(&mut [request(&objects, index, true)], || {
        // SAFETY: the caller's promise, and the lock.
        unsafe { objects.materialise(index..index + 1) }
    })
}

/// Counts an object that was built for foreign memory.
fn note_foreign(claimed: &Claimed, pointer: *const u8, element: &ElementType) {
    // SAFETY: any address may be asked for; the caller of ours answers for the segment.
    if !claimed.kept && unsafe { Segment::find(pointer) }.is_none() {
        element
            .record(CountDelta { foreign: 1, ..CountDelta::default() }, erased::Location::Passing);
    }
}

/// The object that a cell names, to be read. Changes nothing, and builds nothing: bytes that are no
/// name, as in an array that was never written, are a vacant cell.
///
/// # Errors
/// The memory is another type's, no cell begins there, or the bytes are a raw copy of another type's
/// cell.
///
/// # Safety
/// As for [`touch`]; reading is enough.
pub unsafe fn peek(pointer: *const u8, element: &'static ElementType) -> Result<Peeked, Failure> {
    // SAFETY: the caller's promise.
    let content = unsafe {
        cell_at(pointer, element)?;
        Handle::read(pointer)
    };
    let Content::Name(name) = content else { return Ok(Peeked::Vacant) };
    let found = tables::lock().resolve(name);
    match found {
        None => {
            element.counters().note_stale();
            Ok(Peeked::Stale)
        }
        Some((other, ..)) if !std::ptr::eq(other, element) => Err(Failure::new(
            abi::ERROR_TYPE,
            format!(
                "expected a cell of {}, met the bytes of a cell of {}",
                element.name(),
                other.name()
            ),
        )),
        // SAFETY: a cell of objects, which the caller may read.
        Some((_, objects, index)) if unsafe { objects.holds(index) } => {
            Ok(Peeked::Object(objects.cell_address(index)))
        }
        Some(_) => Ok(Peeked::Vacant),
    }
}

/// Copies an object into a cell: assigned to the cell's own object, or built. Raw copies of this
/// cell are stale from now on.
///
/// # Errors
/// As for [`touch`], but no default is needed.
///
/// # Safety
/// As for [`touch`], and `object` is a live object of the type.
pub unsafe fn store(
    pointer: *mut u8,
    element: &'static ElementType,
    object: *const u8,
) -> Result<(), Failure> {
    // SAFETY: the caller's promise.
    let (claimed, _) = unsafe { claim(cell_at(pointer, element)?, pointer, element)? };
    let Claimed { objects, index, .. } = claimed;
    if object != claimed.address().as_ptr().cast_const() {
        // SAFETY: a leftover that is not the cell's value goes first.
        let vacated = if claimed.kept { Ok(()) } else { unsafe { destroy(objects, index) } };
        let stored = vacated.and_then(|()| {
            locked(&mut [request(&objects, index, true)], || {
                // SAFETY: a cell of objects, locked; the caller's object.
                unsafe { objects.put(index, object) }
            })
        });
        if let Err(failure) = stored {
            if !claimed.kept {
                // SAFETY: claimed a moment ago for a cell that does not name it.
                let _second = unsafe { claimed.give_up() };
            }
            return Err(failure);
        }
        note_foreign(&claimed, pointer, element);
    }
    // SAFETY: the caller's promise.
    unsafe { claimed.publish(pointer) };
    Ok(())
}

/// Makes a cell vacant: its own object is destroyed, the name of another's forgotten.
///
/// # Errors
/// A destructor failed, and the cell is vacant all the same; or as for [`peek`].
///
/// # Safety
/// As for [`touch`].
pub unsafe fn vacate(pointer: *mut u8, element: &'static ElementType) -> Result<(), Failure> {
    // SAFETY: the caller's promise.
    let (cell, content) = unsafe { (cell_at(pointer, element)?, Handle::read(pointer)) };
    let mut tables = tables::lock();
    let own = match cell {
        Cell::Managed(segment, index) => store_of(segment).and_then(|store| {
            let owned = tables.owned(store)?;
            // SAFETY: the store of this segment, whose cells the caller may read.
            let slot = unsafe { owned.own(segment, index, content) }?;
            Some(Claimed { store, slot, objects: owned.objects, index: slot as usize, kept: true })
        }),
        Cell::Foreign(cell) => tables.foreign(element).and_then(|foreign| {
            let slot = foreign.own(cell, content)?;
            let (objects, index) = foreign.place_of(slot);
            Some(Claimed { store: foreign.id(), slot, objects, index, kept: true })
        }),
    };
    drop(tables);
    // SAFETY: the caller's promise; the slot is the cell's, which forgets it.
    unsafe {
        erase(pointer);
        own.map_or(Ok(()), |own| own.give_up())
    }
}

/// Destroys all objects of a type that are lent to foreign memory, and returns how many those were.
/// Cells that still name them are stale.
///
/// # Safety
/// No code uses such an object.
pub unsafe fn sweep(element: &'static ElementType) -> usize {
    let taken = tables::lock()
        .foreign(element)
        .map_or_else(Vec::new, |foreign| foreign.take_back(usize::MAX));
    element.counters().lent(-(taken.len() as i64));
    // SAFETY: the caller's promise; taken back: no name leads to them.
    unsafe { end_foreign(element, &taken) };
    taken.len()
}

/// What the handler does after a segment was resized: objects of cells that are gone are destroyed,
/// and there is room for those of new ones.
///
/// # Safety
/// The caller is alone with the segment.
pub(super) unsafe fn resized(segment: Segment) {
    let Some(store) = store_of(segment) else { return };
    let dropped = {
        let mut tables = tables::lock();
        let Some(owned) = tables.owned(store) else { return };
        // Without memory the next access tries again, and can say so.
        let _later = owned.grow(cell_count(segment));
        // SAFETY: the store of this segment.
        let dropped = unsafe { owned.drop_unnamed(segment) };
        (owned.objects, dropped)
    };
    let (objects, slots) = dropped;
    for slot in slots {
        // SAFETY: given up, so that no other code knows the object.
        if let Err(failure) = unsafe { destroy(objects, slot as usize) } {
            unraisable(&failure);
        }
    }
}
