//! The elements of an array as Rust sees them: strided N-d views, and slices where cells are
//! exactly T.

use super::error::{Error, ErrorKind, Raised};
use super::geometry::{Geometry, Positions};
use super::handle::ElementHandle;
use super::runtime::raise_error;
use super::storage::CellLayout;
use crate::abi::{self, MAX_DIMENSIONS, PyObject, View, ViewFlags};
use std::marker::PhantomData;
use std::ops::{Index, IndexMut};

/// Cells borrowed from the runtime, given back on drop.
pub(super) struct BorrowedCells<T: 'static> {
    view: Box<View>,
    handle: ElementHandle<T>,
    geometry: Geometry,
}

impl<T: 'static> Drop for BorrowedCells<T> {
    fn drop(&mut self) {
        // SAFETY: the maker of the view promised that the GIL is held as long as it lasts; the
        // view is the one that was borrowed, and this runs once.
        unsafe { (self.handle.api().release_view)(&raw mut *self.view) };
    }
}

impl<T: 'static> BorrowedCells<T> {
    /// Borrows the cells of an array.
    ///
    /// # Safety
    /// The GIL is held until the result is dropped, and `array` is a live object.
    pub(super) unsafe fn new(
        handle: ElementHandle<T>,
        array: *mut PyObject,
        flags: ViewFlags,
    ) -> Result<Self, Raised> {
        let mut view = Box::new(View {
            struct_size: size_of::<View>(),
            data: std::ptr::null_mut(),
            dimension_count: 0,
            shape: [0; MAX_DIMENSIONS],
            strides: [0; MAX_DIMENSIONS],
            element: std::ptr::null(),
            array: std::ptr::null_mut(),
            token: std::ptr::null_mut(),
        });
        // SAFETY: the caller's promise; the view is ours to fill.
        let status = unsafe { (handle.api().view)(array, handle.as_ptr(), flags, &raw mut *view) };
        if status != abi::OK {
            return Err(Raised);
        }
        let rank = view.dimension_count.min(MAX_DIMENSIONS);
        let geometry = Geometry {
            data: view.data,
            shape: view.shape[..rank].iter().map(|&size| size as usize).collect(),
            strides: view.strides[..rank].to_vec(),
        };
        Ok(BorrowedCells { view, handle, geometry })
    }

    pub(super) fn cells(&self) -> Positions<'_> {
        self.geometry.positions()
    }

    fn cell(&self) -> CellLayout<T> {
        self.handle.cell
    }

    /// First element of contiguous inline cells.
    fn contiguous(&self) -> Result<*mut T, Error> {
        let name = || std::any::type_name::<T>();
        if !self.cell().is_inline() {
            return Err(Error::type_error(format!(
                "{} is not stored inline, so its cells are no slice: promise zero_is_vacant or \
                 zero_is_default when building the type, or use iter and get",
                name()
            )));
        }
        if !self.geometry.is_contiguous(size_of::<T>()) {
            return Err(Error::value(format!(
                "the array of {} is not contiguous, so it is no slice: use iter, get or a copy",
                name()
            )));
        }
        // A dangling pointer serves for no elements.
        let empty = self.geometry.len() == 0;
        Ok(if empty { std::ptr::dangling_mut() } else { self.geometry.data.cast() })
    }
}

/// Elements of a view in row-major order.
pub struct Iter<'a, T: 'static> {
    positions: Positions<'a>,
    cell: CellLayout<T>,
    marker: PhantomData<&'a T>,
}

impl<'a, T> Iterator for Iter<'a, T> {
    type Item = &'a T;

    fn next(&mut self) -> Option<&'a T> {
        // SAFETY: every cell of a view is live, and stays so while the view is borrowed.
        self.positions.next().map(|cell| unsafe { &*self.cell.object(cell) })
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        self.positions.size_hint()
    }
}

impl<T> ExactSizeIterator for Iter<'_, T> {}

/// Elements of a writing view in row-major order.
pub struct IterMut<'a, T: 'static> {
    positions: Positions<'a>,
    cell: CellLayout<T>,
    marker: PhantomData<&'a mut T>,
}

impl<'a, T> Iterator for IterMut<'a, T> {
    type Item = &'a mut T;

    fn next(&mut self) -> Option<&'a mut T> {
        // SAFETY: every cell of a view is live; the view is borrowed exclusively, its cells are
        // disjoint, and each is visited once.
        self.positions.next().map(|cell| unsafe { &mut *self.cell.object(cell) })
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        self.positions.size_hint()
    }
}

impl<T> ExactSizeIterator for IterMut<'_, T> {}

/// The elements of an array, shared with other readers; no code writes them while it lasts.
///
/// Nothing that it lends outlives it:
/// ```compile_fail,E0505
/// fn outlive(view: denizen::client::ReadView<'_, String>) {
///     let slice = view.as_slice().unwrap();
///     drop(view);
///     println!("{}", slice.len());
/// }
/// ```
/// ```compile_fail,E0515
/// fn outlive<'a>(view: denizen::client::ReadView<'a, String>) -> &'a String {
///     view.get(&[0]).unwrap()
/// }
/// ```
/// It ends on the thread that made it, with the GIL held:
/// ```compile_fail,E0277
/// fn sent<T: Send>(_: T) {}
/// fn outlive(view: denizen::client::ReadView<'static, i32>) {
///     sent(view);
/// }
/// ```
pub struct ReadView<'py, T: 'static> {
    cells: BorrowedCells<T>,
    marker: PhantomData<(&'py (), *const T)>,
}

/// The elements of an array, this view's alone while it lasts.
///
/// Nothing that it lends outlives it, and nothing is lent twice:
/// ```compile_fail,E0499
/// fn twice(mut view: denizen::client::WriteView<'_, String>) {
///     let (one, two) = (view.get_mut(&[0]).unwrap(), view.get_mut(&[0]).unwrap());
///     one.push_str(two);
/// }
/// ```
/// ```compile_fail,E0505
/// fn outlive(mut view: denizen::client::WriteView<'_, String>) {
///     let slice = view.as_mut_slice().unwrap();
///     drop(view);
///     slice[0].clear();
/// }
/// ```
pub struct WriteView<'py, T: 'static> {
    cells: BorrowedCells<T>,
    marker: PhantomData<(&'py (), *mut T)>,
}

macro_rules! reading {
    ($view:ident) => {
        impl<T: 'static> $view<'_, T> {
            /// Elements along each dimension.
            pub fn shape(&self) -> &[usize] {
                &self.cells.geometry.shape
            }

            /// Bytes from one element to the next along each dimension.
            pub fn strides(&self) -> &[isize] {
                &self.cells.geometry.strides
            }

            /// How many elements.
            pub fn len(&self) -> usize {
                self.cells.geometry.len()
            }

            /// Whether there are none.
            pub fn is_empty(&self) -> bool {
                self.len() == 0
            }

            /// The element at an index; `None` outside the shape.
            pub fn get(&self, index: &[usize]) -> Option<&T> {
                let cell = self.cells.geometry.cell(index)?;
                // SAFETY: every cell of a view is live, and stays so while it is borrowed.
                Some(unsafe { &*self.cells.cell().object(cell) })
            }

            /// All elements in row-major order.
            pub fn iter(&self) -> Iter<'_, T> {
                Iter { positions: self.cells.cells(), cell: self.cells.cell(), marker: PhantomData }
            }

            /// All elements of a contiguous array, without a copy.
            ///
            /// # Errors
            /// T is not stored inline, or the array is not contiguous in row-major order.
            pub fn as_slice(&self) -> Result<&[T], Error> {
                let data = self.cells.contiguous()?;
                // SAFETY: contiguous inline cells are `len` values of T, all live and unchanged
                // while the view is borrowed.
                Ok(unsafe { std::slice::from_raw_parts(data, self.len()) })
            }

            /// The elements as a view of `ndarray`, without a copy.
            ///
            /// # Errors
            /// T is not stored inline, or strides are no multiples of its size.
            #[cfg(feature = "ndarray")]
            pub fn as_ndarray(&self) -> Result<ndarray::ArrayViewD<'_, T>, Error> {
                // SAFETY: every cell of a view is live and unchanged while it is borrowed.
                unsafe { super::nd::borrow(self.cells.cell(), &self.cells.geometry) }
            }
        }

        /// # Panics
        /// Outside the shape.
        impl<T: 'static, const N: usize> Index<[usize; N]> for $view<'_, T> {
            type Output = T;

            fn index(&self, index: [usize; N]) -> &T {
                self.get(&index).unwrap_or_else(|| outside(&index, self.shape()))
            }
        }
    };
}

reading!(ReadView);
reading!(WriteView);

#[cold]
fn outside(index: &[usize], shape: &[usize]) -> ! {
    std::panic::panic_any(Error::new(
        ErrorKind::Index,
        format!("index {index:?} is outside the shape {shape:?}"),
    ))
}

impl<T: 'static> WriteView<'_, T> {
    /// The element at an index; `None` outside the shape.
    pub fn get_mut(&mut self, index: &[usize]) -> Option<&mut T> {
        let cell = self.cells.geometry.cell(index)?;
        // SAFETY: every cell of a view is live, and the view is borrowed exclusively.
        Some(unsafe { &mut *self.cells.cell().object(cell) })
    }

    /// All elements in row-major order.
    pub fn iter_mut(&mut self) -> IterMut<'_, T> {
        IterMut { positions: self.cells.cells(), cell: self.cells.cell(), marker: PhantomData }
    }

    /// All elements of a contiguous array, without a copy.
    ///
    /// # Errors
    /// T is not stored inline, or the array is not contiguous in row-major order.
    pub fn as_mut_slice(&mut self) -> Result<&mut [T], Error> {
        let data = self.cells.contiguous()?;
        // SAFETY: contiguous inline cells are `len` values of T, all live, and the view is
        // borrowed exclusively.
        Ok(unsafe { std::slice::from_raw_parts_mut(data, self.len()) })
    }

    /// The elements as a mutable view of `ndarray`, without a copy.
    ///
    /// # Errors
    /// T is not stored inline, or strides are no multiples of its size.
    #[cfg(feature = "ndarray")]
    pub fn as_ndarray_mut(&mut self) -> Result<ndarray::ArrayViewMutD<'_, T>, Error> {
        // SAFETY: every cell of a view is live, they are disjoint, and the view is borrowed
        // exclusively.
        unsafe { super::nd::borrow_mut(self.cells.cell(), &self.cells.geometry) }
    }
}

impl<T: 'static, const N: usize> IndexMut<[usize; N]> for WriteView<'_, T> {
    fn index_mut(&mut self, index: [usize; N]) -> &mut T {
        match self.cells.geometry.cell(&index) {
            // SAFETY: every cell of a view is live, and the view is borrowed exclusively.
            Some(cell) => unsafe { &mut *self.cells.cell().object(cell) },
            None => outside(&index, &self.cells.geometry.shape),
        }
    }
}

impl<T: 'static> ElementHandle<T> {
    /// Lends the elements of an array of this type to read.
    ///
    /// # Safety
    /// The GIL is held, and again when the view is dropped, on this thread, within `'py`; `array`
    /// is a live object.
    ///
    /// # Errors
    /// With a Python exception set: not an array of this type, or other code writes to it.
    pub unsafe fn read_raw<'py>(&self, array: *mut PyObject) -> Result<ReadView<'py, T>, Raised> {
        // SAFETY: the caller's promise.
        let cells = unsafe { BorrowedCells::new(*self, array, 0) }?;
        Ok(ReadView { cells, marker: PhantomData })
    }

    /// Lends the elements of an array of this type to write.
    ///
    /// # Safety
    /// As [`read_raw`](Self::read_raw).
    ///
    /// # Errors
    /// With a Python exception set: not a writeable array of this type, its cells overlap (a
    /// broadcast array), or other code uses it.
    pub unsafe fn write_raw<'py>(&self, array: *mut PyObject) -> Result<WriteView<'py, T>, Raised> {
        // SAFETY: the caller's promise.
        let cells = unsafe { BorrowedCells::new(*self, array, abi::VIEW_WRITE) }?;
        if !cells.geometry.is_disjoint(self.cell.size) {
            let error = Error::new(
                ErrorKind::Borrow,
                "cells of the array overlap, so they cannot be lent to write",
            );
            // SAFETY: the GIL is held.
            return Err(unsafe { raise_error(Some(self.api), error) });
        }
        Ok(WriteView { cells, marker: PhantomData })
    }
}

/// [`ElementHandle::read_raw`] for the T that this client registered.
///
/// # Safety
/// As there.
///
/// # Errors
/// As there, and where T is not registered.
pub unsafe fn read_raw<'py, T: 'static>(array: *mut PyObject) -> Result<ReadView<'py, T>, Raised> {
    // SAFETY: the caller's promise.
    unsafe { ElementHandle::of_raised()?.read_raw(array) }
}

/// [`ElementHandle::write_raw`] for the T that this client registered.
///
/// # Safety
/// As there.
///
/// # Errors
/// As there, and where T is not registered.
pub unsafe fn write_raw<'py, T: 'static>(
    array: *mut PyObject,
) -> Result<WriteView<'py, T>, Raised> {
    // SAFETY: the caller's promise.
    unsafe { ElementHandle::of_raised()?.write_raw(array) }
}
