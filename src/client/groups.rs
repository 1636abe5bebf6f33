//! Groups of ufuncs, from the standard traits.

use super::builder::ElementBuilder;
use super::error::Failure;
use super::loops::Signature;
use super::order::{Order, Total, UnorderedLast};
use super::storage::{Storage, StorageChoice};
use super::ufuncs::{OWN, signature};
use std::ops::{Add, Div, Mul, Neg, Rem, Sub};

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
        if let Some(entry) = self.parts.loops.last_mut() {
            entry.needs_clone = true;
        }
    }
}
