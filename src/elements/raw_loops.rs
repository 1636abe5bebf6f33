//! Builder methods for loops over whole batches of cells, so that a table of operations reads the
//! same for them as for closures.

use super::NumberError;
use super::call::Call;
use crate::abi::LoopFn;
use crate::client::{ElementBuilder, OperandType, StorageChoice};
use std::ptr;

const OWN: OperandType = OperandType::OWN;

/// Loops over cells.
///
/// # Safety
/// Of each method: the loop is one for these operands, as [`crate::abi::LoopFn`] asks.
pub trait RawLoops<T: 'static, S: StorageChoice<T>> {
    /// `T -> T`.
    unsafe fn raw_unary(self, ufunc: &str, f: LoopFn) -> ElementBuilder<T, S::Decided>;
    /// `(T, T) -> T`; also sums of products, whose operands are arrays.
    unsafe fn raw_binary(self, ufunc: &str, f: LoopFn) -> ElementBuilder<T, S::Decided>;
    /// `(T, T, T) -> T`.
    unsafe fn raw_ternary(self, ufunc: &str, f: LoopFn) -> ElementBuilder<T, S::Decided>;
    /// `(T, T) -> bool`.
    unsafe fn raw_comparison(self, ufunc: &str, f: LoopFn) -> ElementBuilder<T, S::Decided>;
}

impl<T: 'static, S: StorageChoice<T>> RawLoops<T, S> for ElementBuilder<T, S> {
    unsafe fn raw_unary(self, ufunc: &str, f: LoopFn) -> ElementBuilder<T, S::Decided> {
        // SAFETY: the caller's promise; the loops take no context.
        unsafe { self.raw_loop(ufunc, &[OWN], &[OWN], f, ptr::null_mut()) }
    }

    unsafe fn raw_binary(self, ufunc: &str, f: LoopFn) -> ElementBuilder<T, S::Decided> {
        // SAFETY: the caller's promise; the loops take no context.
        unsafe { self.raw_loop(ufunc, &[OWN, OWN], &[OWN], f, ptr::null_mut()) }
    }

    unsafe fn raw_ternary(self, ufunc: &str, f: LoopFn) -> ElementBuilder<T, S::Decided> {
        // SAFETY: the caller's promise; the loops take no context.
        unsafe { self.raw_loop(ufunc, &[OWN, OWN, OWN], &[OWN], f, ptr::null_mut()) }
    }

    unsafe fn raw_comparison(self, ufunc: &str, f: LoopFn) -> ElementBuilder<T, S::Decided> {
        let bool_type = OperandType::numpy::<bool>();
        // SAFETY: the caller's promise; the loops take no context.
        unsafe { self.raw_loop(ufunc, &[OWN, OWN], &[bool_type], f, ptr::null_mut()) }
    }
}

/// `clip`: the value, but at least the second operand and at most the third.
///
/// # Safety
/// All four operands are aligned cells of T, valid at any bytes that cells hold.
pub unsafe fn clip<T: Ord + Clone>(call: &Call) -> Result<(), NumberError> {
    for index in 0..call.count() {
        call.done(index);
        let at = |operand| {
            call.pointer(operand).wrapping_offset(index as isize * call.stride(operand)).cast::<T>()
        };
        // SAFETY: the caller's cells; the borrows end before the store, which drops the old
        // value.
        unsafe {
            let clipped = (&*at(0)).max(&*at(1)).min(&*at(2)).clone();
            *at(3) = clipped;
        }
    }
    Ok(())
}
