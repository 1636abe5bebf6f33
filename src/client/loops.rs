//! Inner loops: one generic strided driver, and a step closure for each shape of operation.

use super::error::Failure;
use super::guard::batch;
use super::shared::{Reader, Shared};
use super::storage::Storage;
use crate::abi::{ErrorOut, LoopFn, Operand, Status};
use std::ffi::{CString, c_void};
use std::marker::PhantomData;
use std::sync::Arc;

/// The context of a loop: the type's shared part and the closure.
pub(super) struct LoopContext<T, F> {
    pub(super) shared: Arc<Shared<T>>,
    pub(super) step: F,
}

/// The types of the operands of a loop.
pub(super) struct Signature<const N: usize> {
    pub(super) operands: [Operand; N],
    pub(super) inputs: usize,
}

/// One loop, cast or identity that waits for registration.
pub(super) struct Entry {
    pub(super) ufunc: CString,
    pub(super) operands: Vec<Operand>,
    pub(super) input_count: usize,
    /// NumPy's own loop where there is none.
    pub(super) function: Option<LoopFn>,
    pub(super) context: *mut c_void,
    /// Left out where the type cannot be cloned.
    pub(super) needs_clone: bool,
}

/// Runs `step` for every element. `step` gets one pointer an operand.
///
/// # Safety
/// As [`crate::abi::LoopFn`] says, with a `LoopContext<T, F>` as context, N operands, and operand types
/// as `step` expects them.
pub(super) unsafe extern "C" fn elementwise<T, S, F, const N: usize>(
    context: *mut c_void,
    arguments: *const *mut u8,
    dimensions: *const isize,
    strides: *const isize,
    error_out: *mut ErrorOut,
) -> Status
where
    T: 'static,
    S: Storage<T>,
    F: Fn(&Reader<'_, T, S>, [*mut u8; N]) -> Result<(), Failure> + 'static,
{
    // SAFETY: the context is the one made for this function; it is never freed once registered.
    let LoopContext { shared, step } = unsafe { &*context.cast::<LoopContext<T, F>>() };
    // SAFETY: there are N arguments and strides, and one dimension.
    let (mut pointers, strides, count) = unsafe {
        (
            arguments.cast::<[*mut u8; N]>().read(),
            strides.cast::<[isize; N]>().read(),
            dimensions.read() as usize,
        )
    };
    // SAFETY: the `ErrorOut` is the caller's.
    unsafe {
        batch(shared, error_out, |done| {
            let reader = Reader::<T, S>::new(shared);
            for index in 0..count {
                *done = index;
                step(&reader, pointers)?;
                for (pointer, stride) in pointers.iter_mut().zip(strides) {
                    *pointer = pointer.wrapping_offset(stride);
                }
            }
            Ok(())
        })
    }
}

/// A view of the core dimensions of one iteration of a generalised ufunc.
pub(super) struct Core<'a> {
    /// Sizes of the core dimensions.
    pub(super) sizes: &'a [isize],
    /// Strides of the operands' core dimensions, in the order of the signature.
    pub(super) strides: &'a [isize],
}

/// Runs `step` for every iteration of a generalised ufunc with N operands, D core sizes and C
/// core strides.
///
/// # Safety
/// As [`crate::abi::LoopFn`] says, with a `LoopContext<T, F>` as context and a ufunc of that signature.
pub(super) unsafe extern "C" fn generalised<
    T,
    S,
    F,
    const N: usize,
    const D: usize,
    const C: usize,
>(
    context: *mut c_void,
    arguments: *const *mut u8,
    dimensions: *const isize,
    strides: *const isize,
    error_out: *mut ErrorOut,
) -> Status
where
    T: 'static,
    S: Storage<T>,
    F: Fn(&Reader<'_, T, S>, [*mut u8; N], Core<'_>) -> Result<(), Failure> + 'static,
{
    // SAFETY: the context is the one made for this function; it is never freed once registered.
    let LoopContext { shared, step } = unsafe { &*context.cast::<LoopContext<T, F>>() };
    // SAFETY: N arguments, 1 + D dimensions and N + C strides come with this signature.
    let (mut pointers, sizes, outer, inner, count) = unsafe {
        (
            arguments.cast::<[*mut u8; N]>().read(),
            std::slice::from_raw_parts(dimensions.add(1), D),
            strides.cast::<[isize; N]>().read(),
            std::slice::from_raw_parts(strides.add(N), C),
            dimensions.read() as usize,
        )
    };
    // SAFETY: the `ErrorOut` is the caller's.
    unsafe {
        batch(shared, error_out, |done| {
            let reader = Reader::<T, S>::new(shared);
            for index in 0..count {
                *done = index;
                step(&reader, pointers, Core { sizes, strides: inner })?;
                for (pointer, stride) in pointers.iter_mut().zip(outer) {
                    *pointer = pointer.wrapping_offset(stride);
                }
            }
            Ok(())
        })
    }
}

/// Context of an identity.
pub(super) struct IdentityContext<T, S, F> {
    pub(super) shared: Arc<Shared<T>>,
    pub(super) make: F,
    pub(super) storage: PhantomData<fn() -> S>,
}

/// Builds an identity; see [`crate::abi::Identity`].
///
/// # Safety
/// As [`crate::abi::ConstructFn`] says, with an `IdentityContext<T, S, F>` as context.
pub(super) unsafe extern "C" fn identity<T, S, F>(
    context: *mut c_void,
    cells: *mut u8,
    stride: isize,
    count: usize,
    error_out: *mut ErrorOut,
) -> Status
where
    T: 'static,
    S: Storage<T>,
    F: Fn() -> T + 'static,
{
    // SAFETY: the context is the one made for this function.
    let context = unsafe { &*context.cast::<IdentityContext<T, S, F>>() };
    // SAFETY: `count` vacant cells, the `ErrorOut` is the caller's.
    unsafe {
        batch(&context.shared, error_out, |done| {
            let mut cell = cells;
            while *done < count {
                S::write(cell, (context.make)());
                cell = cell.wrapping_offset(stride);
                *done += 1;
            }
            Ok(())
        })
    }
}

/// Owns the context of one loop, cast or identity.
pub(super) struct Owner {
    context: *mut c_void,
    drop: unsafe fn(*mut c_void),
}

impl Owner {
    /// Moves a context to the heap, where its address stays the same.
    pub(super) fn new<C: 'static>(context: C) -> Self {
        /// # Safety
        /// `context` came from `Box::<C>::into_raw` and is not used again.
        unsafe fn free<C>(context: *mut c_void) {
            // SAFETY: the caller's promise.
            drop(unsafe { Box::from_raw(context.cast::<C>()) });
        }
        Owner { context: Box::into_raw(Box::new(context)).cast(), drop: free::<C> }
    }

    pub(super) fn context(&self) -> *mut c_void {
        self.context
    }
}

impl Drop for Owner {
    fn drop(&mut self) {
        // SAFETY: `new` made the pair, and this runs once.
        unsafe { (self.drop)(self.context) }
    }
}

/// A loop of the author's own, in NumPy's convention. See [`super::ElementBuilder::raw_loop`].
pub type RawLoop = unsafe extern "C" fn(
    context: *mut c_void,
    arguments: *const *mut u8,
    dimensions: *const isize,
    strides: *const isize,
    report: *mut ErrorOut,
) -> Status;
