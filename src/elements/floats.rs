//! Comparisons with floats, by the exact values, as Python compares an `int` or a `Fraction` with a
//! `float`. Through a common type, values would be rounded before they are compared.

use super::{Integer, Rational};
use crate::client::{ElementBuilder, LongDouble, NumpyScalar, StorageChoice};
use std::cmp::Ordering;

/// Loops that compare cells with floats, on either side.
pub trait FloatComparisons<T: 'static, S: StorageChoice<T>> {
    /// The six comparisons with `float64` (narrower floats widen to it) and with `longdouble`.
    fn float_comparisons(self) -> ElementBuilder<T, S::Decided>;
}

impl<T, S> FloatComparisons<T, S> for ElementBuilder<T, S>
where
    T: PartialOrd<f64> + PartialOrd<LongDouble> + 'static,
    S: StorageChoice<T>,
{
    fn float_comparisons(self) -> ElementBuilder<T, S::Decided> {
        comparisons::<LongDouble, T, _>(comparisons::<f64, T, _>(self))
    }
}

/// `(T, U) -> bool` and `(U, T) -> bool`.
fn comparisons<U, T, S>(builder: ElementBuilder<T, S>) -> ElementBuilder<T, S::Decided>
where
    U: NumpyScalar,
    T: PartialOrd<U> + 'static,
    S: StorageChoice<T>,
{
    builder
        .comparison_with("equal", |x: &T, y: U| *x == y)
        .comparison_with("not_equal", |x: &T, y: U| *x != y)
        .comparison_with("less", |x: &T, y: U| *x < y)
        .comparison_with("less_equal", |x: &T, y: U| *x <= y)
        .comparison_with("greater", |x: &T, y: U| *x > y)
        .comparison_with("greater_equal", |x: &T, y: U| *x >= y)
        .comparison_from("equal", |x: U, y: &T| *y == x)
        .comparison_from("not_equal", |x: U, y: &T| *y != x)
        .comparison_from("less", |x: U, y: &T| *y > x)
        .comparison_from("less_equal", |x: U, y: &T| *y >= x)
        .comparison_from("greater", |x: U, y: &T| *y < x)
        .comparison_from("greater_equal", |x: U, y: &T| *y <= x)
}

/// The order of an exact number and a `longdouble`; NaN has none.
macro_rules! compare_with_long_doubles {
    ($($type:ty: $rational:expr),*) => {$(
        impl PartialEq<LongDouble> for $type {
            fn eq(&self, other: &LongDouble) -> bool {
                self.partial_cmp(other) == Some(Ordering::Equal)
            }
        }

        impl PartialOrd<LongDouble> for $type {
            fn partial_cmp(&self, other: &LongDouble) -> Option<Ordering> {
                if let Some(float) = other.to_f64() {
                    return self.partial_cmp(&float);
                }
                // A finite number that no `f64` is.
                let other = Rational::try_from(*other).ok()?;
                Some($rational(self).cmp(&other))
            }
        }
    )*};
}

compare_with_long_doubles!(Integer: Rational::from, Rational: Rational::clone);
