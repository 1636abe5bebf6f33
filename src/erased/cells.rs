//! Strided runs of cells with a lifetime and an access right.

use crate::lock::{Borrow, Guard};
use std::{marker::PhantomData, ptr::NonNull};

/// Why a run of cells may be changed: [`CellsMut::new`] asks for it. That the GIL is held is no
/// reason, since client code may let it go, or touch the same cells itself.
#[derive(Clone, Copy, Debug)]
pub struct Exclusive<'a>(PhantomData<&'a ()>);

impl<'a> Exclusive<'a> {
    /// The lock of the cells' memory is held for writing.
    #[inline]
    pub fn locked(_guard: &'a Guard<'_, '_>) -> Self {
        Exclusive(PhantomData)
    }

    /// The cells are borrowed from the lock of their memory for writing.
    #[inline]
    pub fn borrowed(_borrow: &'a Borrow<'_>) -> Self {
        Exclusive(PhantomData)
    }

    /// The memory has no lock, and no other code has its address.
    ///
    /// # Safety
    /// For `'a` only the caller uses the cells: a place of its own, a segment or a scalar that is
    /// being made or ended, a buffer that NumPy made for this call, or cells that its own contract
    /// gives it (`segment-cells`).
    #[inline]
    pub unsafe fn own() -> Self {
        Exclusive(PhantomData)
    }
}

/// A run of cells that may be read for `'a`.
///
/// Invariant (`cells-readable`): every cell `pointer + i * stride`, `i < count`, is memory of one
/// element's size, readable for `'a`, and no code writes to it meanwhile but this thread through
/// the destination run of the same call.
#[derive(Clone, Copy, Debug)]
pub struct Cells<'a> {
    pointer: NonNull<u8>,
    stride: isize,
    count: usize,
    _lifetime: PhantomData<&'a [u8]>,
}

/// A run of cells that one owner may change for `'a`.
///
/// Invariant (`cells-writable`): as `cells-readable`, and writable by the holder alone, for the
/// reason that [`Exclusive`] names.
#[derive(Debug)]
pub struct CellsMut<'a> {
    pointer: NonNull<u8>,
    stride: isize,
    count: usize,
    _lifetime: PhantomData<&'a mut [u8]>,
}

macro_rules! strided_run {
    ($name:ident) => {
        impl<'a> $name<'a> {
            /// How many cells.
            #[inline]
            pub fn len(&self) -> usize {
                self.count
            }

            /// Whether there is no cell.
            #[inline]
            pub fn is_empty(&self) -> bool {
                self.count == 0
            }

            /// Bytes from one cell to the next; may be 0 or negative.
            #[inline]
            pub fn stride(&self) -> isize {
                self.stride
            }

            /// Address of cell `index`, which may be one past the end.
            #[inline]
            pub fn address(&self, index: usize) -> *mut u8 {
                debug_assert!(index <= self.count);
                self.pointer.as_ptr().wrapping_offset(self.stride * index as isize)
            }

            /// Whether cells of `size` bytes follow each other without a gap.
            #[inline]
            pub fn is_contiguous(&self, size: usize) -> bool {
                self.stride == size as isize || self.count <= 1
            }
        }
    };
}

strided_run!(Cells);
strided_run!(CellsMut);

impl<'a> Cells<'a> {
    /// # Safety
    /// The invariant `cells-readable` holds for `pointer`, `stride` and `count`. A null pointer
    /// makes an empty run.
    #[inline]
    pub unsafe fn new(pointer: *const u8, stride: isize, count: usize) -> Self {
        let (pointer, count) = match NonNull::new(pointer.cast_mut()) {
            Some(pointer) => (pointer, count),
            None => (NonNull::dangling(), 0),
        };
        Cells { pointer, stride, count, _lifetime: PhantomData }
    }

    /// Cells `start .. start + count` of this run.
    #[inline]
    pub fn part(&self, start: usize, count: usize) -> Cells<'a> {
        debug_assert!(start + count <= self.count);
        // SAFETY: a part of a run that satisfies `cells-readable`; `address` stays inside it.
        unsafe { Cells::new(self.address(start), self.stride, count) }
    }
}

impl<'a> CellsMut<'a> {
    /// # Safety
    /// The invariant `cells-writable` holds for `pointer`, `stride` and `count`, for the reason
    /// given. A null pointer makes an empty run.
    #[inline]
    pub unsafe fn new(
        pointer: *mut u8,
        stride: isize,
        count: usize,
        _right: Exclusive<'a>,
    ) -> Self {
        let (pointer, count) = match NonNull::new(pointer) {
            Some(pointer) => (pointer, count),
            None => (NonNull::dangling(), 0),
        };
        CellsMut { pointer, stride, count, _lifetime: PhantomData }
    }

    /// Cells `start .. start + count` of this run, for as long as `self` is lent.
    #[inline]
    pub fn part(&mut self, start: usize, count: usize) -> CellsMut<'_> {
        debug_assert!(start + count <= self.count);
        // SAFETY: a part of a run that satisfies `cells-writable`; `self` is lent meanwhile.
        unsafe { CellsMut::new(self.address(start), self.stride, count, Exclusive(PhantomData)) }
    }

    /// The same cells, to read.
    #[inline]
    pub fn as_cells(&self) -> Cells<'_> {
        // SAFETY: writable cells are readable, and `self` is borrowed meanwhile.
        unsafe { Cells::new(self.pointer.as_ptr(), self.stride, self.count) }
    }

    /// The same cells, lent on.
    #[inline]
    pub fn reborrow(&mut self) -> CellsMut<'_> {
        self.part(0, self.count)
    }

    /// Sets `size` bytes of every cell to zero.
    pub fn zero(&mut self, size: usize) {
        if self.is_contiguous(size) {
            // SAFETY: `cells-writable`: count * size bytes from the first cell are ours.
            unsafe { self.pointer.as_ptr().write_bytes(0, self.count * size) };
            return;
        }
        for index in 0..self.count {
            // SAFETY: `cells-writable`: each cell is `size` writable bytes.
            unsafe { self.address(index).write_bytes(0, size) };
        }
    }
}
