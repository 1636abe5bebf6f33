//! The builder's methods that add a ufunc loop.

use super::builder::ElementBuilder;
use super::error::{Failure, Outcome};
use super::loops::{RawLoop, Signature};
use super::scalar::{NumpyScalar, OperandType};
use super::storage::{Storage, StorageChoice};
use crate::abi::Operand;
use std::ffi::c_void;

pub(super) const OWN: Operand = OperandType::OWN.operand();

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
pub(super) use signature;

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
