//! The element proxies, by the cells that they stand for.
//!
//! The table is used under the GIL. Invariants:
//! * `proxy-recorded`: a scalar with an address in `cell` is in [`PROXIES`] under that address, and the
//!   other way round; the address is a cell of the scalar's type, aligned, in a managed segment or
//!   an adopted range whose owner is the scalar's base. `Segment::free` and `resize`, the clear loop
//!   and moves see to it that it stays so (`segment::ProxyHooks`, [`super::proxy::detach_run`]).
//! * `proxy-used`: while `readers` is not 0 the scalar's cell is being read. The cell is borrowed from
//!   its segment's lock then, and a segment that is freed all the same is leaked.

use crate::segment;
use pyo3::ffi;
use std::{
    collections::BTreeMap,
    ops::Range,
    ptr::{self, NonNull},
    sync::{Mutex, MutexGuard},
};

/// What a scalar of a type without copies has behind its head. All zero: it owns its object.
#[repr(C)]
pub struct Proxy {
    /// The cell of an array that the scalar stands for, or NULL.
    cell: *mut u8,
    /// What keeps an adopted cell alive (a reference), or NULL.
    base: *mut ffi::PyObject,
    /// How many read the cell at this moment.
    readers: usize,
}

/// A scalar in the table; borrowed, since its end removes it.
#[derive(Clone, Copy)]
pub struct Listed(pub *mut ffi::PyObject);

// SAFETY: used with the GIL only.
unsafe impl Send for Listed {}

/// The element proxies, by the address of the cell. A thread that locks the table holds the GIL and
/// does not let it go meanwhile: so no fork finds it locked.
static PROXIES: Mutex<BTreeMap<usize, Listed>> = Mutex::new(BTreeMap::new());

fn proxies() -> MutexGuard<'static, BTreeMap<usize, Listed>> {
    PROXIES.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
}

impl Proxy {
    /// The cell that the scalar stands for, if it does not own its object.
    pub fn cell(&self) -> Option<*mut u8> {
        (!self.cell.is_null()).then_some(self.cell)
    }

    /// Whether the cell is being read.
    pub fn is_read(&self) -> bool {
        self.readers > 0
    }

    /// Counts a reader; `false` where there are too many.
    pub fn begin_reading(&mut self) -> bool {
        let more = self.readers.checked_add(1);
        self.readers = more.unwrap_or(self.readers);
        more.is_some()
    }

    /// A reader is done.
    pub fn end_reading(&mut self) {
        self.readers -= 1;
    }

    /// From here on the scalar stands for a cell.
    ///
    /// # Safety
    /// `self` is that of `object`, which stands for no cell and whose own cell is vacant; no other
    /// scalar stands for `cell`, which `base` keeps alive, or which is in a managed segment; GIL held.
    pub unsafe fn attach(
        &mut self,
        object: *mut ffi::PyObject,
        cell: *mut u8,
        base: *mut ffi::PyObject,
    ) {
        self.cell = cell;
        self.base = base;
        // SAFETY: GIL held; the base is alive, or NULL.
        unsafe { ffi::Py_XINCREF(base) };
        let before = proxies().insert(cell.addr(), Listed(object));
        debug_assert!(before.is_none(), "one scalar a cell");
        segment::proxy_begins();
    }

    /// The scalar stands for its cell no more. Returns the base, for the caller to release last.
    pub fn remove(&mut self) -> *mut ffi::PyObject {
        let gone = proxies().remove(&self.cell.addr());
        debug_assert!(gone.is_some(), "a proxy is listed");
        segment::proxy_ends();
        self.cell = ptr::null_mut();
        std::mem::replace(&mut self.base, ptr::null_mut())
    }

    /// A scalar that ends stands for nothing any more.
    ///
    /// # Safety
    /// `this` is that of a scalar without references; GIL held.
    pub unsafe fn forget(this: *mut Proxy) {
        // SAFETY: the caller's promise; the base was a reference.
        unsafe {
            if !(*this).cell.is_null() {
                ffi::Py_XDECREF((*this).remove());
            }
        }
    }
}

/// The scalar that stands for a cell, borrowed.
pub fn at(cell: *const u8) -> Option<*mut ffi::PyObject> {
    proxies().get(&cell.addr()).map(|listed| listed.0)
}

/// The first cell of a range that a scalar stands for, and the scalar, borrowed.
pub fn first_in(cells: Range<usize>) -> Option<(usize, Listed)> {
    if cells.is_empty() {
        return None;
    }
    proxies().range(cells).next().map(|(cell, listed)| (*cell, *listed))
}

/// The same cells at another address. `proxy_of` finds the proxy of a scalar.
///
/// # Safety
/// GIL held.
pub unsafe fn moved(
    cells: Range<usize>,
    new_start: NonNull<u8>,
    proxy_of: impl Fn(*mut ffi::PyObject) -> *mut Proxy,
) {
    let mut table = proxies();
    let mut after = table.split_off(&cells.start);
    let mut rest = after.split_off(&cells.end);
    table.append(&mut rest);
    for (cell, Listed(object)) in after {
        let moved = new_start.as_ptr().wrapping_add(cell - cells.start);
        // SAFETY: listed scalars are alive; GIL held.
        unsafe { (*proxy_of(object)).cell = moved };
        table.insert(moved.addr(), Listed(object));
    }
}
