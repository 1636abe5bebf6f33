//! Comparison, sort and argsort of the vtable.

use super::batch::shared;
use super::guard::batch;
use super::shared::Reader;
use super::storage::Storage;
use crate::abi::{ErrorOut, Status};
use std::cmp::Ordering;
use std::ffi::c_void;

/// A total order on T.
pub(super) trait Order<T>: 'static {
    /// Compares two values.
    fn compare(left: &T, right: &T) -> Ordering;
    /// Whether the value compares with nothing, itself included (NaN).
    fn unordered(value: &T) -> bool;
}

/// The order of [`Ord`].
pub(super) enum Total {}

impl<T: Ord> Order<T> for Total {
    #[inline(always)]
    fn compare(left: &T, right: &T) -> Ordering {
        left.cmp(right)
    }

    #[inline(always)]
    fn unordered(_: &T) -> bool {
        false
    }
}

/// The order of [`PartialOrd`], unordered values last.
pub(super) enum UnorderedLast {}

impl<T: PartialOrd> Order<T> for UnorderedLast {
    #[inline(always)]
    fn compare(left: &T, right: &T) -> Ordering {
        left.partial_cmp(right)
            .unwrap_or_else(|| Self::unordered(left).cmp(&Self::unordered(right)))
    }

    #[inline(always)]
    fn unordered(value: &T) -> bool {
        value.partial_cmp(value).is_none()
    }
}

/// See [`crate::abi::CompareFn`].
///
/// # Safety
/// As [`crate::abi::CompareFn`] says, with the context of this type.
pub(super) unsafe extern "C" fn compare<T: 'static, S: Storage<T>, O: Order<T>>(
    context: *mut c_void,
    left: *const u8,
    right: *const u8,
    result: *mut i32,
    error_out: *mut ErrorOut,
) -> Status {
    // SAFETY: the context is ours, the `ErrorOut` the caller's.
    let shared = unsafe { shared::<T>(context) };
    // SAFETY: both cells are readable, `result` is writable.
    unsafe {
        batch(shared, error_out, |_| {
            let reader = Reader::<T, S>::new(shared);
            *result = O::compare(reader.value(left)?, reader.value(right)?) as i32;
            Ok(())
        })
    }
}

/// See [`crate::abi::SortFn`].
///
/// # Safety
/// As [`crate::abi::SortFn`] says, with the context of this type.
pub(super) unsafe extern "C" fn sort<T: 'static, S: Storage<T>, O: Order<T>>(
    context: *mut c_void,
    cells: *mut u8,
    count: usize,
    error_out: *mut ErrorOut,
) -> Status {
    // SAFETY: the context is ours, the `ErrorOut` the caller's.
    let shared = unsafe { shared::<T>(context) };
    // SAFETY: `cells` are `count` contiguous cells, the caller's alone meanwhile.
    unsafe {
        batch(shared, error_out, |done| {
            let reader = Reader::<T, S>::new(shared);
            // The comparison cannot fail: a vacant cell without a default is found first.
            for index in 0..count {
                *done = index;
                reader.value(cells.add(index * S::SIZE))?;
            }
            *done = 0;
            S::sort_by(cells, count, |left, right| {
                match (reader.value(left), reader.value(right)) {
                    (Ok(left), Ok(right)) => O::compare(left, right),
                    _ => Ordering::Equal,
                }
            });
            Ok(())
        })
    }
}

/// See [`crate::abi::ArgsortFn`].
///
/// # Safety
/// As [`crate::abi::ArgsortFn`] says, with the context of this type.
pub(super) unsafe extern "C" fn argsort<T: 'static, S: Storage<T>, O: Order<T>>(
    context: *mut c_void,
    cells: *const u8,
    stride: isize,
    count: usize,
    indices: *mut isize,
    error_out: *mut ErrorOut,
) -> Status {
    // SAFETY: the context is ours, the `ErrorOut` the caller's.
    let shared = unsafe { shared::<T>(context) };
    // SAFETY: `cells` are `count` readable cells, `indices` as many writable indices of them.
    unsafe {
        batch(shared, error_out, |done| {
            let reader = Reader::<T, S>::new(shared);
            let mut values = Vec::with_capacity(count);
            for index in 0..count {
                *done = index;
                values.push(reader.value(cells.wrapping_offset(index as isize * stride))?);
            }
            *done = 0;
            let indices = std::slice::from_raw_parts_mut(indices, count);
            indices.sort_by(|&left, &right| {
                match (values.get(left as usize), values.get(right as usize)) {
                    (Some(left), Some(right)) => O::compare(left, right),
                    _ => left.cmp(&right),
                }
            });
            Ok(())
        })
    }
}
