//! Views of the `ndarray` crate over lent cells.

use super::error::Error;
use super::geometry::Geometry;
use super::storage::CellLayout;
use ndarray::{ArrayViewD, ArrayViewMutD, Axis, IxDyn, ShapeBuilder, StrideShape};

/// How to make an `ndarray` view of a geometry: its strides are not negative there, so axes that
/// run backwards start at their lowest cell and are inverted afterwards.
struct Plan<T> {
    start: *mut T,
    shape: StrideShape<IxDyn>,
    inverted: Vec<usize>,
}

impl<T: 'static> Plan<T> {
    fn new(cell: CellLayout<T>, geometry: &Geometry) -> Result<Self, Error> {
        let name = std::any::type_name::<T>();
        if !cell.is_inline() {
            return Err(Error::type_error(format!(
                "{name} is not stored inline, which ndarray needs: promise zero_is_vacant or \
                 zero_is_default when building the type"
            )));
        }
        let size = size_of::<T>() as isize;
        let empty = geometry.len() == 0;
        let mut start = geometry.data;
        let mut inverted = Vec::new();
        let mut strides = Vec::with_capacity(geometry.shape.len());
        for (axis, (&length, &stride)) in geometry.shape.iter().zip(&geometry.strides).enumerate() {
            // Strides of axes that are not walked may be anything.
            let stride = if empty || length == 1 { 0 } else { stride };
            if stride % size != 0 {
                return Err(Error::value(format!(
                    "stride {stride} of axis {axis} is no multiple of {size}, the size of {name}"
                )));
            }
            if stride < 0 {
                start = start.wrapping_offset(stride * (length as isize - 1));
                inverted.push(axis);
            }
            strides.push((stride / size).unsigned_abs());
        }
        let start = if empty { std::ptr::dangling_mut() } else { start.cast() };
        let shape = IxDyn(&geometry.shape).strides(IxDyn(&strides));
        Ok(Plan { start, shape, inverted })
    }
}

/// A view of all cells.
///
/// # Safety
/// The cells are live and unchanged during `'a`.
pub(super) unsafe fn borrow<'a, T: 'static>(
    cell: CellLayout<T>,
    geometry: &Geometry,
) -> Result<ArrayViewD<'a, T>, Error> {
    let plan = Plan::new(cell, geometry)?;
    // SAFETY: the plan covers exactly the cells, which are values of T as the caller promises.
    let mut view = unsafe { ArrayViewD::from_shape_ptr(plan.shape, plan.start) };
    for axis in plan.inverted {
        view.invert_axis(Axis(axis));
    }
    Ok(view)
}

/// A mutable view of all cells.
///
/// # Safety
/// The cells are live, disjoint, and the caller's alone during `'a`.
pub(super) unsafe fn borrow_mut<'a, T: 'static>(
    cell: CellLayout<T>,
    geometry: &Geometry,
) -> Result<ArrayViewMutD<'a, T>, Error> {
    let plan = Plan::new(cell, geometry)?;
    // SAFETY: the plan covers exactly the cells, which are values of T and disjoint as the caller
    // promises.
    let mut view = unsafe { ArrayViewMutD::from_shape_ptr(plan.shape, plan.start) };
    for axis in plan.inverted {
        view.invert_axis(Axis(axis));
    }
    Ok(view)
}
