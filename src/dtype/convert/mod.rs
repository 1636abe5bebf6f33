//! Between cells and Python objects.
//!
//! * [`item`]: the `setitem` and `getitem` slots, and what they do for types that can be copied;
//! * [`move_only`]: the same of types whose objects only move;
//! * [`python`]: a Python object from a cell, and a cell from a Python object.

mod item;
mod move_only;
pub mod python;

use crate::{erased::ElementType, numpy_abi::slots};
use item::{Copyable, Item, getitem, setitem};
use move_only::MoveOnly;
use pyo3::ffi;

/// The slots of a type.
pub fn slots(element: &ElementType) -> [ffi::PyType_Slot; 2] {
    fn of<I: Item>() -> [ffi::PyType_Slot; 2] {
        [slots::dtype::setitem(setitem::<I>), slots::dtype::getitem(getitem::<I>)]
    }
    if element.is_copyable() { of::<Copyable>() } else { of::<MoveOnly>() }
}
