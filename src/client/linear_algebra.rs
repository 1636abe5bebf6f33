//! Matrix and vector products, from the standard traits.

use super::builder::ElementBuilder;
use super::error::{Error, Failure};
use super::loops::{Core, LoopContext, Owner, generalised};
use super::shared::Reader;
use super::storage::{Storage, StorageChoice};
use super::ufuncs::OWN;
use crate::abi::LoopFn;
use std::ops::{Add, Mul};
use std::sync::Arc;

impl<T: 'static, S: StorageChoice<T>> ElementBuilder<T, S> {
    /// `matmul`, `vecdot`, `matvec` and `vecmat`: sums of products, from left to right, without
    /// conjugation. A sum of no products needs [`zero`](Self::zero).
    pub fn linear_algebra(self) -> ElementBuilder<T, S::Decided>
    where
        for<'a> &'a T: Add<&'a T, Output = T> + Mul<&'a T, Output = T>,
    {
        let mut this = self.decided();
        // (m,n),(n,p)->(m,p)
        this.push_generalised::<_, 3, 6>("matmul", |reader, [x, y, out], core| {
            let &[m, n, p] = core.sizes else { return Ok(()) };
            let &[x_m, x_n, y_n, y_p, out_m, out_p] = core.strides else { return Ok(()) };
            for i in 0..m {
                for j in 0..p {
                    let x = (x.wrapping_offset(i * x_m), x_n);
                    let y = (y.wrapping_offset(j * y_p), y_n);
                    let out = out.wrapping_offset(i * out_m + j * out_p);
                    // SAFETY: the operands are matrices of our cells of these sizes.
                    unsafe { store_dot::<T, S::Decided>(reader, x, y, n, out)? };
                }
            }
            Ok(())
        });
        // (n),(n)->()
        this.push_generalised::<_, 1, 2>("vecdot", |reader, [x, y, out], core| {
            let &[n] = core.sizes else { return Ok(()) };
            let &[x_n, y_n] = core.strides else { return Ok(()) };
            // SAFETY: the operands are vectors of our cells of this size.
            unsafe { store_dot::<T, S::Decided>(reader, (x, x_n), (y, y_n), n, out) }
        });
        // (m,n),(n)->(m)
        this.push_generalised::<_, 2, 4>("matvec", |reader, [x, y, out], core| {
            let &[m, n] = core.sizes else { return Ok(()) };
            let &[x_m, x_n, y_n, out_m] = core.strides else { return Ok(()) };
            for i in 0..m {
                let x = (x.wrapping_offset(i * x_m), x_n);
                let out = out.wrapping_offset(i * out_m);
                // SAFETY: the operands are a matrix and vectors of our cells of these sizes.
                unsafe { store_dot::<T, S::Decided>(reader, x, (y, y_n), n, out)? };
            }
            Ok(())
        });
        // (n),(n,m)->(m)
        this.push_generalised::<_, 2, 4>("vecmat", |reader, [x, y, out], core| {
            let &[n, m] = core.sizes else { return Ok(()) };
            let &[x_n, y_n, y_m, out_m] = core.strides else { return Ok(()) };
            for j in 0..m {
                let y = (y.wrapping_offset(j * y_m), y_n);
                let out = out.wrapping_offset(j * out_m);
                // SAFETY: the operands are a vector, a matrix and a vector of our cells.
                unsafe { store_dot::<T, S::Decided>(reader, (x, x_n), y, n, out)? };
            }
            Ok(())
        });
        this
    }

    fn push_generalised<F, const D: usize, const C: usize>(&mut self, ufunc: &str, step: F)
    where
        F: Fn(&Reader<'_, T, S::Decided>, [*mut u8; 3], Core<'_>) -> Result<(), Failure>
            + Send
            + Sync
            + 'static,
    {
        let owner = Owner::new(LoopContext { shared: Arc::clone(&self.parts.shared), step });
        let function: LoopFn = generalised::<T, S::Decided, F, 3, D, C>;
        self.push_entry(ufunc, &[OWN, OWN, OWN], 2, function, owner.context());
        self.parts.owners.push(owner);
    }
}

/// Stores the sum of the products of two vectors.
///
/// # Safety
/// `x` and `y` are `n` readable cells of storage S with their strides, `out` is a writable one.
unsafe fn store_dot<T, S>(
    reader: &Reader<'_, T, S>,
    x: (*mut u8, isize),
    y: (*mut u8, isize),
    n: isize,
    out: *mut u8,
) -> Result<(), Failure>
where
    T: 'static,
    S: Storage<T>,
    for<'a> &'a T: Add<&'a T, Output = T> + Mul<&'a T, Output = T>,
{
    let mut sum: Option<T> = None;
    for k in 0..n {
        let (left, right) = (x.0.wrapping_offset(k * x.1), y.0.wrapping_offset(k * y.1));
        // SAFETY: the caller's promise.
        let product = unsafe { reader.value(left)? * reader.value(right)? };
        // The new sum is in its place before the old one ends: a destructor may panic.
        match &mut sum {
            None => sum = Some(product),
            Some(sum) => {
                let next = &*sum + &product;
                drop(std::mem::replace(sum, next));
            }
        }
    }
    let sum = match sum {
        Some(sum) => sum,
        None => reader.shared.zero.get().ok_or_else(|| {
            Failure::Error(Error::value(format!(
                "{} has no zero, which a sum of no products needs",
                reader.shared.name()
            )))
        })?(),
    };
    // SAFETY: the caller's promise; no reference into `out` is in use.
    unsafe { S::store(out, sum) };
    Ok(())
}
