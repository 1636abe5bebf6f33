//! The batch functions of the vtable that build and end objects. The runtime knows the state of
//! every cell it passes to them.

use super::attachment::attached;
use super::error::Failure;
use super::guard::{batch, from_panic};
use super::shared::Shared;
use super::storage::Storage;
use crate::abi::{self, ErrorOut, Status};
use crate::boundary::catch;
use std::ffi::c_void;

/// The context of a vtable.
///
/// # Safety
/// `context` is the `Shared<T>` that the definition of this element type put into its vtable.
#[inline(always)]
pub(super) unsafe fn shared<'a, T>(context: *mut c_void) -> &'a Shared<T> {
    // SAFETY: the caller's promise; a registered type's context is never freed.
    unsafe { &*context.cast::<Shared<T>>() }
}

/// `T::default()` in vacant cells; see [`abi::ConstructFn`].
///
/// # Safety
/// As [`abi::ConstructFn`] says, with the context of this type.
pub(super) unsafe extern "C" fn construct<T: Default + 'static, S: Storage<T>>(
    context: *mut c_void,
    cells: *mut u8,
    stride: isize,
    count: usize,
    error_out: *mut ErrorOut,
) -> Status {
    // SAFETY: the context is ours, the `ErrorOut` the caller's.
    let shared = unsafe { shared::<T>(context) };
    // SAFETY: as above; `cells` are `count` vacant cells, `stride` bytes apart.
    unsafe {
        batch(shared, error_out, |done| {
            let mut cell = cells;
            while *done < count {
                S::write(cell, T::default());
                cell = cell.wrapping_offset(stride);
                *done += 1;
            }
            Ok(())
        })
    }
}

/// The author's default value in vacant cells.
///
/// # Safety
/// As [`abi::ConstructFn`] says, with the context of this type.
pub(super) unsafe extern "C" fn construct_with<T: 'static, S: Storage<T>>(
    context: *mut c_void,
    cells: *mut u8,
    stride: isize,
    count: usize,
    error_out: *mut ErrorOut,
) -> Status {
    // SAFETY: the context is ours, the `ErrorOut` the caller's.
    let shared = unsafe { shared::<T>(context) };
    // SAFETY: as above; `cells` are `count` vacant cells, `stride` bytes apart.
    unsafe {
        batch(shared, error_out, |done| {
            let default = shared.default.get().ok_or(Failure::Vacant)?;
            let mut cell = cells;
            while *done < count {
                S::write(cell, default());
                cell = cell.wrapping_offset(stride);
                *done += 1;
            }
            Ok(())
        })
    }
}

/// `T::clone` into vacant cells; see [`abi::CopyFn`].
///
/// # Safety
/// As [`abi::CopyFn`] says for `copy_construct`, with the context of this type.
pub(super) unsafe extern "C" fn copy_construct<T: Clone + 'static, S: Storage<T>>(
    context: *mut c_void,
    destination: *mut u8,
    destination_stride: isize,
    source: *const u8,
    source_stride: isize,
    count: usize,
    error_out: *mut ErrorOut,
) -> Status {
    // SAFETY: the context is ours, the `ErrorOut` the caller's.
    let shared = unsafe { shared::<T>(context) };
    // SAFETY: as above; sources are live, destinations vacant, and they do not overlap.
    unsafe {
        batch(shared, error_out, |done| {
            let (mut to, mut from) = (destination, source);
            while *done < count {
                S::write(to, (*S::object(from.cast_mut())).clone());
                to = to.wrapping_offset(destination_stride);
                from = from.wrapping_offset(source_stride);
                *done += 1;
            }
            Ok(())
        })
    }
}

/// `T::clone_from` to live cells; see [`abi::CopyFn`]. A `clone_from` that fails half-way leaves
/// its cell a valid object, the old one unless T has a `clone_from` of its own.
///
/// # Safety
/// As [`abi::CopyFn`] says for `assign`, with the context of this type.
pub(super) unsafe extern "C" fn assign<T: Clone + 'static, S: Storage<T>>(
    context: *mut c_void,
    destination: *mut u8,
    destination_stride: isize,
    source: *const u8,
    source_stride: isize,
    count: usize,
    error_out: *mut ErrorOut,
) -> Status {
    // SAFETY: the context is ours, the `ErrorOut` the caller's.
    let shared = unsafe { shared::<T>(context) };
    // SAFETY: as above; both sides are live, and they do not overlap.
    unsafe {
        batch(shared, error_out, |done| {
            let (mut to, mut from) = (destination, source);
            while *done < count {
                (*S::object(to)).clone_from(&*S::object(from.cast_mut()));
                to = to.wrapping_offset(destination_stride);
                from = from.wrapping_offset(source_stride);
                *done += 1;
            }
            Ok(())
        })
    }
}

/// Ends live objects, every one even where a destructor panics; see [`abi::DestroyFn`].
///
/// # Safety
/// As [`abi::DestroyFn`] says, with the context of this type.
pub(super) unsafe extern "C" fn destroy<T: 'static, S: Storage<T>>(
    context: *mut c_void,
    cells: *mut u8,
    stride: isize,
    count: usize,
    error_out: *mut ErrorOut,
) -> Status {
    // SAFETY: the context is ours.
    let shared = unsafe { shared::<T>(context) };
    attached(shared.is_attached(), || {
        let mut next = 0usize;
        let mut cell = cells;
        let mut first_panic = None;
        while next < count {
            let outcome = catch(|| {
                while next < count {
                    let this = cell;
                    cell = cell.wrapping_offset(stride);
                    next += 1;
                    // SAFETY: each live cell is visited once: the cursor moved before the
                    // destructor runs.
                    unsafe { S::destroy(this) };
                }
            });
            if let Err(payload) = outcome {
                let error = from_panic(payload);
                first_panic.get_or_insert((error, next - 1));
            }
        }
        match first_panic {
            None => abi::OK,
            Some((error, index)) => {
                // SAFETY: the `ErrorOut` is the caller's.
                Failure::Error(error).write(unsafe { &mut *error_out }, shared.name(), index)
            }
        }
    })
}
