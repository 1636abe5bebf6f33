//! What a ufunc says of itself: its name, its operands, its signature.

use crate::dtype::handle::pyobj::text;
use pyo3::{ffi, prelude::*};
use std::ffi::c_int;

/// The name of a ufunc.
///
/// # Safety
/// A ufunc; GIL held.
pub unsafe fn name_of(ufunc: *mut ffi::PyObject) -> String {
    // SAFETY: the caller's promise.
    let ufunc = unsafe { Bound::from_borrowed_ptr(Python::assume_attached(), ufunc) };
    let name = || ufunc.getattr(text(ufunc.py(), "__name__")?)?.extract();
    name().unwrap_or_default()
}

/// How many operands a ufunc has (`PyUFuncObject.nargs`, third int of the struct).
///
/// # Safety
/// `ufunc` is a ufunc.
pub unsafe fn ufunc_operand_count(ufunc: *mut ffi::PyObject) -> usize {
    // SAFETY: the caller's promise: `nin`, `nout`, `nargs` follow the object's head.
    unsafe { (*ufunc.cast::<UfuncHead>()).nargs as usize }
}

/// How many inputs and how many operands a ufunc has.
///
/// # Safety
/// `ufunc` is a ufunc.
pub unsafe fn ufunc_operand_counts(ufunc: *mut ffi::PyObject) -> (usize, usize) {
    // SAFETY: as for `ufunc_operand_count`.
    unsafe { ((*ufunc.cast::<UfuncHead>()).nin as usize, ufunc_operand_count(ufunc)) }
}

/// The head of `PyUFuncObject`, unchanged since NumPy 1.
#[repr(C)]
struct UfuncHead {
    ob_base: ffi::PyObject,
    nin: c_int,
    nout: c_int,
    nargs: c_int,
}

/// The core dimensions of each operand, as indices into a ufunc's own list: `None` without a
/// signature. `(n?,k),(k,m?)->(n?,m?)` gives `[[0, 1], [1, 2], [0, 2]]`.
pub fn core_dimensions(signature: Option<&str>) -> Option<Vec<Vec<usize>>> {
    let signature = signature?;
    let mut names: Vec<&str> = Vec::new();
    let mut operands = Vec::new();
    for operand in signature.split("->").flat_map(|side| side.split("),")) {
        let inside = operand.trim().trim_matches(|bracket| bracket == '(' || bracket == ')');
        let mut dimensions = Vec::new();
        for name in inside.split(',').map(|name| name.trim().trim_end_matches('?')) {
            if name.is_empty() {
                continue;
            }
            let index = names.iter().position(|known| *known == name).unwrap_or_else(|| {
                names.push(name);
                names.len() - 1
            });
            dimensions.push(index);
        }
        operands.push(dimensions);
    }
    Some(operands)
}

#[cfg(test)]
mod tests {
    use super::core_dimensions;

    #[test]
    fn signatures_give_each_operand_its_dimensions() {
        let parsed = |signature| core_dimensions(Some(signature));
        assert_eq!(
            parsed("(n?,k),(k,m?)->(n?,m?)"),
            Some(vec![vec![0, 1], vec![1, 2], vec![0, 2]])
        );
        assert_eq!(parsed("(n),(n)->()"), Some(vec![vec![0], vec![0], vec![]]));
        assert_eq!(parsed("(m,n),(n)->(m)"), Some(vec![vec![0, 1], vec![1], vec![0]]));
        assert_eq!(core_dimensions(None), None);
    }
}
