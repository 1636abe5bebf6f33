//! From a `Vec` to an array: adopted without a copy, or moved element by element.

use super::attachment::attached;
use super::error::{Error, Raised};
use super::handle::ElementHandle;
use super::runtime::{raise_error, release_reference};
use super::storage::CellLayout;
use super::view::BorrowedCells;
use crate::abi::{self, PyObject};
use crate::boundary::{catch, discard};
use std::ffi::c_void;
use std::mem::ManuallyDrop;

/// What is left of a `Vec` whose elements are lent to an array.
pub(super) struct Adopted<T> {
    elements: *mut T,
    length: usize,
    capacity: usize,
    cell: CellLayout<T>,
}

impl<T: 'static> Adopted<T> {
    pub(super) fn new(elements: Vec<T>, cell: CellLayout<T>) -> Self {
        let mut elements = ManuallyDrop::new(elements);
        let (length, capacity) = (elements.len(), elements.capacity());
        Adopted { elements: elements.as_mut_ptr(), length, capacity, cell }
    }

    /// Ends the elements and frees the memory; see [`abi::Api::adopt`].
    ///
    /// # Safety
    /// `owner` is a boxed `Adopted<T>` that no code uses any more.
    pub(super) unsafe extern "C" fn release(owner: *mut c_void) {
        // SAFETY: the caller's promise.
        let adopted = unsafe { Box::from_raw(owner.cast::<Self>()) };
        // SAFETY: the parts of the Vec; its length is taken to be 0, so that it frees only its
        // memory, after the loop below.
        let memory = unsafe { Vec::from_raw_parts(adopted.elements, 0, adopted.capacity) };
        let mut next = 0;
        // Whether the type's operations hold the GIL is not known here; where this thread holds it,
        // no harm is done.
        attached(true, || {
            while next < adopted.length {
                let ended = catch(|| {
                    while next < adopted.length {
                        // SAFETY: the index lies inside; the cell is an inline one, vacant or live
                        // (NumPy may have cleared it). It is not used again: the index moves on
                        // before a destructor runs, and one that panics has ended its value.
                        unsafe {
                            let element = adopted.elements.add(next);
                            next += 1;
                            if !adopted.cell.is_vacant(element.cast()) {
                                element.drop_in_place();
                            }
                        }
                    }
                });
                if let Err(payload) = ended {
                    discard(payload);
                }
            }
        });
        drop(memory);
    }
}

/// The shape as the runtime takes it, if it has `count` elements.
fn checked_shape(shape: &[usize], count: usize) -> Result<Vec<isize>, Error> {
    let elements = shape.iter().try_fold(1usize, |product, &length| product.checked_mul(length));
    if elements != Some(count) {
        return Err(Error::value(format!("{count} elements do not fit the shape {shape:?}")));
    }
    if shape.len() > abi::MAX_DIMENSIONS {
        let most = abi::MAX_DIMENSIONS;
        return Err(Error::value(format!("an array has at most {most} dimensions")));
    }
    shape
        .iter()
        .map(|&length| isize::try_from(length))
        .collect::<Result<_, _>>()
        .map_err(Error::from)
}

impl<T: 'static> ElementHandle<T> {
    /// Makes an array of `shape` out of a `Vec`, without a copy: the array uses its memory, which
    /// is freed when the last view of the array is gone. For types stored inline.
    ///
    /// Returns a new reference.
    ///
    /// # Safety
    /// The GIL is held.
    ///
    /// # Errors
    /// With a Python exception set.
    pub unsafe fn adopt_raw(
        &self,
        elements: Vec<T>,
        shape: &[usize],
    ) -> Result<*mut PyObject, Raised> {
        // SAFETY: the GIL is held.
        let raise = |error| unsafe { raise_error(Some(self.api), error) };
        if !self.cell.is_inline() {
            return Err(raise(Error::type_error(format!(
                "{} is not stored inline, so an array cannot adopt a Vec of it: promise \
                 zero_is_vacant or zero_is_default when building the type, or use take",
                std::any::type_name::<T>()
            ))));
        }
        let shape = checked_shape(shape, elements.len()).map_err(raise)?;
        // A length of 0 makes no difference here; the product of the others may overflow.
        let mut step = size_of::<T>() as isize;
        let mut strides = vec![0; shape.len()];
        for (stride, &length) in strides.iter_mut().zip(&shape).rev() {
            *stride = step;
            step = step.saturating_mul(length.max(1));
        }
        let owner = Box::new(Adopted::new(elements, self.cell));
        let data = owner.elements.cast();
        // SAFETY: the GIL is held; the memory holds as many elements as the shape, and lives
        // until `release` gets the owner, which the callee sees to in every case.
        let array = unsafe {
            (self.api.adopt)(
                self.element,
                data,
                shape.len(),
                shape.as_ptr(),
                strides.as_ptr(),
                Box::into_raw(owner).cast(),
                Some(Adopted::<T>::release),
                0,
            )
        };
        if array.is_null() { Err(Raised) } else { Ok(array) }
    }

    /// Makes an array of `shape` and moves elements into it, for types of any storage.
    ///
    /// Returns a new reference.
    ///
    /// # Safety
    /// The GIL is held.
    ///
    /// # Errors
    /// With a Python exception set.
    pub unsafe fn take_raw(
        &self,
        elements: Vec<T>,
        shape: &[usize],
    ) -> Result<*mut PyObject, Raised> {
        let shape = checked_shape(shape, elements.len())
            // SAFETY: the GIL is held.
            .map_err(|error| unsafe { raise_error(Some(self.api), error) })?;
        // SAFETY: the GIL is held, the shape has as many lengths as it says.
        let array = unsafe { (self.api.empty)(self.element, shape.len(), shape.as_ptr()) };
        if array.is_null() {
            return Err(Raised);
        }
        let flags = abi::VIEW_WRITE | abi::VIEW_KEEP_VACANT;
        // SAFETY: the GIL is held while this function runs; the array is new.
        match unsafe { BorrowedCells::new(*self, array, flags) } {
            Ok(lent) => {
                for (cell, value) in lent.cells().zip(elements) {
                    // SAFETY: the cell is vacant or live, and lent to us alone.
                    unsafe { self.cell.store(cell, value) };
                }
                Ok(array)
            }
            Err(raised) => {
                // SAFETY: the GIL is held; the reference is ours.
                unsafe { release_reference(array) };
                Err(raised)
            }
        }
    }
}

/// [`ElementHandle::adopt_raw`] for the T that this client registered.
///
/// # Safety
/// The GIL is held.
///
/// # Errors
/// As there, and where T is not registered.
pub unsafe fn adopt_raw<T: 'static>(
    elements: Vec<T>,
    shape: &[usize],
) -> Result<*mut PyObject, Raised> {
    // SAFETY: the caller's promise.
    unsafe { ElementHandle::of_raised()?.adopt_raw(elements, shape) }
}

/// [`ElementHandle::take_raw`] for the T that this client registered.
///
/// # Safety
/// The GIL is held.
///
/// # Errors
/// As there, and where T is not registered.
pub unsafe fn take_raw<T: 'static>(
    elements: Vec<T>,
    shape: &[usize],
) -> Result<*mut PyObject, Raised> {
    // SAFETY: the caller's promise.
    unsafe { ElementHandle::of_raised()?.take_raw(elements, shape) }
}
