//! The builder's methods that add ufunc loops.

use super::builder::{ElementBuilder, RawLoop};
use super::error::{Failure, Outcome};
use super::loops::{Core, LoopContext, Owner, Signature, generalised};
use super::order::{Order, Total, UnorderedLast};
use super::scalar::{NumpyScalar, OperandType};
use super::shared::Reader;
use super::storage::{Storage, StorageChoice};
use crate::abi::{LoopFn, Operand};
use std::ffi::c_void;
use std::ops::{Add, Div, Mul, Neg, Rem, Sub};
use std::sync::Arc;

const OWN: Operand = OperandType::OWN.operand();

const fn scalar<U: NumpyScalar>() -> Operand {
    OperandType::numpy::<U>().operand()
}

/// The operands of a loop: inputs, then outputs.
macro_rules! signature {
    ([$($input:expr),*] -> [$($output:expr),*]) => {
        Signature {
            operands: [$($input,)* $($output),*],
            inputs: [$($input),*].len(),
        }
    };
}

/// Whether two cells of one size share bytes.
#[inline(always)]
fn overlap(left: *const u8, right: *const u8, size: usize) -> bool {
    left.addr().abs_diff(right.addr()) < size
}

/// Ufuncs of one input and one output, or two inputs and one output. In each, the value is
/// computed before it is stored, so that an output may be an input.
impl<T: 'static, S: StorageChoice<T>> ElementBuilder<T, S> {
    /// `T -> T`.
    pub fn unary<R: Outcome<T>>(
        self,
        ufunc: &str,
        f: impl Fn(&T) -> R + Send + Sync + 'static,
    ) -> ElementBuilder<T, S::Decided> {
        let mut this = self.decided();
        this.push_loop(ufunc, signature!([OWN] -> [OWN]), move |reader, [x, out]| {
            // SAFETY: both operands are cells of ours; the reference ends before the store.
            unsafe {
                let value = f(reader.value(x)?).outcome()?;
                S::Decided::store(out, value);
            }
            Ok(())
        });
        this
    }

    /// `T -> U`, a NumPy type.
    pub fn unary_to<U: NumpyScalar, R: Outcome<U>>(
        self,
        ufunc: &str,
        f: impl Fn(&T) -> R + Send + Sync + 'static,
    ) -> ElementBuilder<T, S::Decided> {
        let mut this = self.decided();
        this.push_loop(ufunc, signature!([OWN] -> [scalar::<U>()]), move |reader, [x, out]| {
            // SAFETY: the operands are a cell of ours and a U.
            unsafe { f(reader.value(x)?).outcome()?.store(out) };
            Ok(())
        });
        this
    }

    /// `T -> bool`.
    pub fn predicate<R: Outcome<bool>>(
        self,
        ufunc: &str,
        f: impl Fn(&T) -> R + Send + Sync + 'static,
    ) -> ElementBuilder<T, S::Decided> {
        self.unary_to::<bool, R>(ufunc, f)
    }

    /// `T -> (T, T)`, as in `modf`.
    pub fn unary_pair<R: Outcome<(T, T)>>(
        self,
        ufunc: &str,
        f: impl Fn(&T) -> R + Send + Sync + 'static,
    ) -> ElementBuilder<T, S::Decided> {
        let mut this = self.decided();
        this.push_loop(ufunc, signature!([OWN] -> [OWN, OWN]), move |reader, [x, out, second]| {
            // SAFETY: all operands are cells of ours; the reference ends before the stores.
            unsafe {
                let (value, other) = f(reader.value(x)?).outcome()?;
                S::Decided::store(out, value);
                S::Decided::store(second, other);
            }
            Ok(())
        });
        this
    }

    /// `T -> (T, U)`, as in `frexp`.
    pub fn unary_with_scalar<U: NumpyScalar, R: Outcome<(T, U)>>(
        self,
        ufunc: &str,
        f: impl Fn(&T) -> R + Send + Sync + 'static,
    ) -> ElementBuilder<T, S::Decided> {
        let mut this = self.decided();
        let signature = signature!([OWN] -> [OWN, scalar::<U>()]);
        this.push_loop(ufunc, signature, move |reader, [x, out, second]| {
            // SAFETY: two cells of ours and a U; the reference ends before the stores.
            unsafe {
                let (value, other) = f(reader.value(x)?).outcome()?;
                S::Decided::store(out, value);
                other.store(second);
            }
            Ok(())
        });
        this
    }

    /// `(T, T) -> T`.
    pub fn binary<R: Outcome<T>>(
        self,
        ufunc: &str,
        f: impl Fn(&T, &T) -> R + Send + Sync + 'static,
    ) -> ElementBuilder<T, S::Decided> {
        let mut this = self.decided();
        this.push_loop(ufunc, signature!([OWN, OWN] -> [OWN]), move |reader, [x, y, out]| {
            // SAFETY: all operands are cells of ours; the references end before the store.
            unsafe {
                let value = f(reader.value(x)?, reader.value(y)?).outcome()?;
                S::Decided::store(out, value);
            }
            Ok(())
        });
        this
    }

    /// `(T, T) -> U`, a NumPy type.
    pub fn binary_to<U: NumpyScalar, R: Outcome<U>>(
        self,
        ufunc: &str,
        f: impl Fn(&T, &T) -> R + Send + Sync + 'static,
    ) -> ElementBuilder<T, S::Decided> {
        let mut this = self.decided();
        let signature = signature!([OWN, OWN] -> [scalar::<U>()]);
        this.push_loop(ufunc, signature, move |reader, [x, y, out]| {
            // SAFETY: the operands are two cells of ours and a U.
            unsafe { f(reader.value(x)?, reader.value(y)?).outcome()?.store(out) };
            Ok(())
        });
        this
    }

    /// `(T, T) -> bool`.
    pub fn comparison<R: Outcome<bool>>(
        self,
        ufunc: &str,
        f: impl Fn(&T, &T) -> R + Send + Sync + 'static,
    ) -> ElementBuilder<T, S::Decided> {
        self.binary_to::<bool, R>(ufunc, f)
    }

    /// `(T, T) -> (T, T)`, as in `divmod`.
    pub fn binary_pair<R: Outcome<(T, T)>>(
        self,
        ufunc: &str,
        f: impl Fn(&T, &T) -> R + Send + Sync + 'static,
    ) -> ElementBuilder<T, S::Decided> {
        let mut this = self.decided();
        let signature = signature!([OWN, OWN] -> [OWN, OWN]);
        this.push_loop(ufunc, signature, move |reader, [x, y, out, second]| {
            // SAFETY: all operands are cells of ours; the references end before the stores.
            unsafe {
                let (value, other) = f(reader.value(x)?, reader.value(y)?).outcome()?;
                S::Decided::store(out, value);
                S::Decided::store(second, other);
            }
            Ok(())
        });
        this
    }

    /// `(T, U) -> T` with a NumPy type on the right.
    pub fn binary_with<U: NumpyScalar, R: Outcome<T>>(
        self,
        ufunc: &str,
        f: impl Fn(&T, U) -> R + Send + Sync + 'static,
    ) -> ElementBuilder<T, S::Decided> {
        let mut this = self.decided();
        let signature = signature!([OWN, scalar::<U>()] -> [OWN]);
        this.push_loop(ufunc, signature, move |reader, [x, y, out]| {
            // SAFETY: the operands are a cell of ours, a U and a cell of ours; the reference
            // ends before the store.
            unsafe {
                let value = f(reader.value(x)?, U::load(y)).outcome()?;
                S::Decided::store(out, value);
            }
            Ok(())
        });
        this
    }

    /// `(U, T) -> T` with a NumPy type on the left.
    pub fn binary_from<U: NumpyScalar, R: Outcome<T>>(
        self,
        ufunc: &str,
        f: impl Fn(U, &T) -> R + Send + Sync + 'static,
    ) -> ElementBuilder<T, S::Decided> {
        let mut this = self.decided();
        let signature = signature!([scalar::<U>(), OWN] -> [OWN]);
        this.push_loop(ufunc, signature, move |reader, [x, y, out]| {
            // SAFETY: the operands are a U and two cells of ours; the reference ends before the
            // store.
            unsafe {
                let value = f(U::load(x), reader.value(y)?).outcome()?;
                S::Decided::store(out, value);
            }
            Ok(())
        });
        this
    }

    /// `(T, U) -> bool` with a NumPy type on the right.
    pub fn comparison_with<U: NumpyScalar, R: Outcome<bool>>(
        self,
        ufunc: &str,
        f: impl Fn(&T, U) -> R + Send + Sync + 'static,
    ) -> ElementBuilder<T, S::Decided> {
        let mut this = self.decided();
        let signature = signature!([OWN, scalar::<U>()] -> [scalar::<bool>()]);
        this.push_loop(ufunc, signature, move |reader, [x, y, out]| {
            // SAFETY: the operands are a cell of ours, a U and a bool.
            unsafe { f(reader.value(x)?, U::load(y)).outcome()?.store(out) };
            Ok(())
        });
        this
    }

    /// `(U, T) -> bool` with a NumPy type on the left.
    pub fn comparison_from<U: NumpyScalar, R: Outcome<bool>>(
        self,
        ufunc: &str,
        f: impl Fn(U, &T) -> R + Send + Sync + 'static,
    ) -> ElementBuilder<T, S::Decided> {
        let mut this = self.decided();
        let signature = signature!([scalar::<U>(), OWN] -> [scalar::<bool>()]);
        this.push_loop(ufunc, signature, move |reader, [x, y, out]| {
            // SAFETY: the operands are a U, a cell of ours and a bool.
            unsafe { f(U::load(x), reader.value(y)?).outcome()?.store(out) };
            Ok(())
        });
        this
    }

    /// `T -> T`, written into the output, which keeps its storage. An output that is vacant or an
    /// input is computed apart, from a default value.
    pub fn unary_in_place<R: Outcome<()>>(
        self,
        ufunc: &str,
        f: impl Fn(&mut T, &T) -> R + Send + Sync + 'static,
    ) -> ElementBuilder<T, S::Decided>
    where
        T: Default,
    {
        let mut this = self.decided();
        this.push_loop(ufunc, signature!([OWN] -> [OWN]), move |reader, [x, out]| {
            // SAFETY: both operands are cells of ours.
            unsafe {
                let apart = overlap(x, out, S::Decided::SIZE);
                write_in_place::<T, S::Decided>(out, apart, |out| {
                    f(out, reader.value(x)?).outcome()
                })
            }
        });
        this
    }

    /// `(T, T) -> T`, written into the output, which keeps its storage. An output that is vacant
    /// or an input is computed apart, from a default value.
    pub fn binary_in_place<R: Outcome<()>>(
        self,
        ufunc: &str,
        f: impl Fn(&mut T, &T, &T) -> R + Send + Sync + 'static,
    ) -> ElementBuilder<T, S::Decided>
    where
        T: Default,
    {
        let mut this = self.decided();
        this.push_loop(ufunc, signature!([OWN, OWN] -> [OWN]), move |reader, [x, y, out]| {
            // SAFETY: all operands are cells of ours.
            unsafe {
                let apart = overlap(x, out, S::Decided::SIZE) || overlap(y, out, S::Decided::SIZE);
                write_in_place::<T, S::Decided>(out, apart, |out| {
                    f(out, reader.value(x)?, reader.value(y)?).outcome()
                })
            }
        });
        this
    }

    /// A loop of the author's own over whole strided batches, for what the closures cannot do. As
    /// everywhere, a later loop for the same ufunc and operands replaces the earlier one.
    ///
    /// # Safety
    /// `function` does what [`crate::abi::LoopFn`] asks for, for operands of these types: it
    /// never unwinds, treats a vacant input cell as the default value, and leaves every output
    /// cell it wrote live, dropping what lived there. `context` may be used from any thread
    /// (with the GIL held unless the type is thread-safe), for the rest of the process.
    pub unsafe fn raw_loop(
        self,
        ufunc: &str,
        inputs: &[OperandType],
        outputs: &[OperandType],
        function: RawLoop,
        context: *mut c_void,
    ) -> ElementBuilder<T, S::Decided> {
        let mut this = self.decided();
        let operands: Vec<Operand> =
            inputs.iter().chain(outputs).map(|operand| operand.operand()).collect();
        this.push_entry(ufunc, &operands, inputs.len(), function, context);
        this
    }
}

/// Computes into a live output, or apart.
///
/// # Safety
/// `out` is a cell of storage S, zeroed or live; `apart` is true where it shares bytes with an
/// input that `f` reads.
#[inline(always)]
unsafe fn write_in_place<T: Default, S: Storage<T>>(
    out: *mut u8,
    apart: bool,
    f: impl FnOnce(&mut T) -> Result<(), Failure>,
) -> Result<(), Failure> {
    // SAFETY: the caller's promise; the exclusive reference shares no bytes with an input.
    unsafe {
        if apart || S::is_vacant(out) {
            let mut value = T::default();
            f(&mut value)?;
            S::store(out, value);
            Ok(())
        } else {
            f(&mut *S::object(out))
        }
    }
}

/// Groups of ufuncs, from the standard traits.
impl<T: 'static, S: StorageChoice<T>> ElementBuilder<T, S> {
    /// `add`, `subtract`, `multiply`, `negative` and `positive`.
    ///
    /// ```compile_fail,E0277
    /// // A String can be neither added by reference nor negated.
    /// denizen::element::<String>("Text").clone().arithmetic();
    /// ```
    pub fn arithmetic(self) -> ElementBuilder<T, S::Decided>
    where
        for<'a> &'a T: Add<&'a T, Output = T>
            + Sub<&'a T, Output = T>
            + Mul<&'a T, Output = T>
            + Neg<Output = T>,
    {
        self.add().sub().mul().neg()
    }

    /// `add`.
    pub fn add(self) -> ElementBuilder<T, S::Decided>
    where
        for<'a> &'a T: Add<&'a T, Output = T>,
    {
        self.binary("add", |x, y| x + y)
    }

    /// `subtract`.
    pub fn sub(self) -> ElementBuilder<T, S::Decided>
    where
        for<'a> &'a T: Sub<&'a T, Output = T>,
    {
        self.binary("subtract", |x, y| x - y)
    }

    /// `multiply`.
    pub fn mul(self) -> ElementBuilder<T, S::Decided>
    where
        for<'a> &'a T: Mul<&'a T, Output = T>,
    {
        self.binary("multiply", |x, y| x * y)
    }

    /// `negative`, and `positive` where the type can be cloned.
    #[expect(clippy::should_implement_trait, reason = "named after the trait it asks for")]
    pub fn neg(self) -> ElementBuilder<T, S::Decided>
    where
        for<'a> &'a T: Neg<Output = T>,
    {
        let mut this = self.unary("negative", |x| -x);
        this.push_cloning("positive", signature!([OWN] -> [OWN]), |x: [&T; 1]| x[0]);
        this
    }

    /// `divide` (Python's `/`).
    ///
    /// Many types panic when they divide by zero, which becomes a `RuntimeError`; a closure with
    /// [`Error::zero_division`](super::Error::zero_division) says it better.
    pub fn div(self) -> ElementBuilder<T, S::Decided>
    where
        for<'a> &'a T: Div<&'a T, Output = T>,
    {
        self.binary("divide", |x, y| x / y)
    }

    /// `fmod`: Rust's `%`, whose result has the sign of the dividend. (Python's `%` is the ufunc
    /// `remainder` and differs for operands of different signs.)
    pub fn rem(self) -> ElementBuilder<T, S::Decided>
    where
        for<'a> &'a T: Rem<&'a T, Output = T>,
    {
        self.binary("fmod", |x, y| x % y)
    }

    /// `equal` and `not_equal`.
    pub fn equality(self) -> ElementBuilder<T, S::Decided>
    where
        T: PartialEq,
    {
        self.comparison("equal", |x: &T, y: &T| x == y)
            .comparison("not_equal", |x: &T, y: &T| x != y)
    }

    /// All six comparisons, sorting, and where the type can be cloned `maximum`, `minimum`,
    /// `fmax` and `fmin`.
    pub fn ordering(self) -> ElementBuilder<T, S::Decided>
    where
        T: Ord,
    {
        self.comparisons::<Total>()
    }

    /// [`ordering`](Self::ordering) for a type with unordered values such as NaN: they compare
    /// false, sort last, and win `maximum` and `minimum`.
    pub fn partial_ordering(self) -> ElementBuilder<T, S::Decided>
    where
        T: PartialOrd,
    {
        self.comparisons::<UnorderedLast>()
    }

    fn comparisons<O: Order<T>>(self) -> ElementBuilder<T, S::Decided>
    where
        T: PartialOrd,
    {
        let mut this = self
            .equality()
            .comparison("less", |x: &T, y: &T| x < y)
            .comparison("less_equal", |x: &T, y: &T| x <= y)
            .comparison("greater", |x: &T, y: &T| x > y)
            .comparison("greater_equal", |x: &T, y: &T| x >= y);
        this.set_order::<O>();
        let pair = || signature!([OWN, OWN] -> [OWN]);
        this.push_cloning("maximum", pair(), |[x, y]: [&T; 2]| {
            if O::unordered(x) || (!O::unordered(y) && x >= y) { x } else { y }
        });
        this.push_cloning("minimum", pair(), |[x, y]: [&T; 2]| {
            if O::unordered(x) || (!O::unordered(y) && x <= y) { x } else { y }
        });
        this.push_cloning("fmax", pair(), |[x, y]: [&T; 2]| {
            if O::unordered(y) || (!O::unordered(x) && x >= y) { x } else { y }
        });
        this.push_cloning("fmin", pair(), |[x, y]: [&T; 2]| {
            if O::unordered(y) || (!O::unordered(x) && x <= y) { x } else { y }
        });
        this
    }

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
        let owner = Owner::new(LoopContext { shared: Arc::clone(&self.shared), step });
        let function: LoopFn = generalised::<T, S::Decided, F, 3, D, C>;
        self.push_entry(ufunc, &[OWN, OWN, OWN], 2, function, owner.context());
        self.owners.push(owner);
    }

    /// Adds a loop whose output is a copy of one of its inputs. Left out of the type where it
    /// cannot be cloned; `clone` may be said before or after.
    fn push_cloning<const I: usize, const N: usize>(
        &mut self,
        ufunc: &str,
        signature: Signature<N>,
        choose: for<'a> fn([&'a T; I]) -> &'a T,
    ) {
        self.push_loop(ufunc, signature, move |reader, pointers: [*mut u8; N]| {
            // SAFETY: all operands are cells of ours; the references end before the store.
            unsafe {
                let mut inputs = [std::ptr::null::<T>(); I];
                for (input, pointer) in inputs.iter_mut().zip(pointers) {
                    *input = reader.value(pointer)?;
                }
                let clone = reader.shared.clone.get().ok_or(Failure::Vacant)?;
                let value = clone(choose(inputs.map(|input| &*input)));
                S::Decided::store(pointers[N - 1], value);
            }
            Ok(())
        });
        if let Some(entry) = self.loops.last_mut() {
            entry.needs_clone = true;
        }
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
            Failure::Error(super::Error::value(format!(
                "{} has no zero, which a sum of no products needs",
                reader.shared.name()
            )))
        })?(),
    };
    // SAFETY: the caller's promise; no reference into `out` is in use.
    unsafe { S::store(out, sum) };
    Ok(())
}
