//! Order and truth of cells, as the client says them.

use crate::{
    abi::ErrorOut,
    dtype::handle::errors,
    erased::{ElementType, Failure},
};
use std::cmp::Ordering;

/// Compares two cells, vacant or live.
///
/// # Errors
/// What the client's comparison fails with; `TypeError` where there is none.
///
/// # Safety
/// Both are aligned cells of `element` under rule 1 that no thread writes.
#[inline]
pub unsafe fn compare(
    element: &ElementType,
    left: *const u8,
    right: *const u8,
) -> Result<Ordering, Failure> {
    let Some(compare) = element.vtable().compare else {
        return Err(errors::missing(element, "ordering"));
    };
    let mut report = ErrorOut::new();
    let mut result = 0;
    // SAFETY: the vtable's contract and the caller's promise.
    let status =
        unsafe { compare(element.vtable().context, left, right, &mut result, &mut report) };
    Failure::check(status, &report).map(|()| result.cmp(&0))
}

/// Whether a value is true.
///
/// # Errors
/// `TypeError` where the type has no truth; what the client fails with.
///
/// # Safety
/// `cell` is an aligned cell of `element` under rule 1 that no thread writes.
pub unsafe fn truth(element: &ElementType, cell: *const u8) -> Result<bool, Failure> {
    let Some(nonzero) = element.vtable().nonzero else {
        return Err(errors::missing(element, "truth value"));
    };
    let (mut result, mut report) = (0u8, ErrorOut::new());
    // SAFETY: the vtable's contract and the caller's promise.
    let status = unsafe {
        nonzero(
            element.vtable().context,
            cell,
            element.size() as isize,
            1,
            &mut result,
            1,
            &mut report,
        )
    };
    Failure::check(status, &report).map(|()| result != 0)
}
