//! A cell for one object that is in no array.

use super::{CellsMut, ElementType, Exclusive, Failure};
use crate::abi;
use std::{alloc::Layout, mem::MaybeUninit};

/// A zeroed, aligned cell outside any array, for one object on its way.
pub struct SpareCell<'a> {
    element: &'a ElementType,
    pointer: *mut u8,
    /// Cells up to this size and alignment need no allocation.
    small: MaybeUninit<SmallCell>,
}

#[repr(align(16))]
struct SmallCell {
    _bytes: [u8; 64],
}

impl<'a> SpareCell<'a> {
    /// A vacant cell.
    ///
    /// # Errors
    /// There is no memory for a large one.
    pub fn new(element: &'a ElementType) -> Result<Self, Failure> {
        let mut pointer = std::ptr::null_mut();
        if !Self::is_small(element) {
            // SAFETY: size and alignment were checked at registration; the size is not 0.
            pointer = unsafe { std::alloc::alloc_zeroed(Self::layout(element)) };
            if pointer.is_null() {
                return Err(Failure::new(
                    abi::ERROR_MEMORY,
                    format!("no memory for one {} of {} bytes", element.name(), element.size()),
                ));
            }
        }
        Ok(SpareCell { element, pointer, small: MaybeUninit::zeroed() })
    }

    fn is_small(element: &ElementType) -> bool {
        element.size() <= size_of::<SmallCell>() && element.align() <= align_of::<SmallCell>()
    }

    fn layout(element: &ElementType) -> Layout {
        Layout::from_size_align(element.size(), element.align()).unwrap_or(Layout::new::<u8>())
    }

    /// The cell. Code that makes it live must make it vacant again (by moving or destroying the
    /// object) before the spare cell goes.
    pub fn cells(&mut self) -> CellsMut<'_> {
        let pointer =
            if self.pointer.is_null() { self.small.as_mut_ptr().cast() } else { self.pointer };
        // SAFETY: one cell's memory, ours alone while `self` is lent.
        unsafe { CellsMut::new(pointer, self.element.size() as isize, 1, Exclusive::own()) }
    }
}

impl Drop for SpareCell<'_> {
    fn drop(&mut self) {
        if !self.pointer.is_null() {
            // SAFETY: allocated in `new` with the same layout.
            unsafe { std::alloc::dealloc(self.pointer, Self::layout(self.element)) };
        }
    }
}
