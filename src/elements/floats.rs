//! Comparisons with floats, by the exact values, as Python compares an `int` or a `Fraction` with a
//! `float`. Through the common type `float64`, values would be rounded before they are compared.

use crate::client::{ElementBuilder, StorageChoice};

/// Loops that compare cells with `float64`, on either side.
pub trait FloatComparisons<T: 'static, S: StorageChoice<T>> {
    /// The six comparisons, `(T, float64) -> bool` and `(float64, T) -> bool`.
    fn float_comparisons(self) -> ElementBuilder<T, S::Decided>;
}

impl<T: PartialOrd<f64> + 'static, S: StorageChoice<T>> FloatComparisons<T, S>
    for ElementBuilder<T, S>
{
    fn float_comparisons(self) -> ElementBuilder<T, S::Decided> {
        self.comparison_with("equal", |x: &T, y: f64| *x == y)
            .comparison_with("not_equal", |x: &T, y: f64| *x != y)
            .comparison_with("less", |x: &T, y: f64| *x < y)
            .comparison_with("less_equal", |x: &T, y: f64| *x <= y)
            .comparison_with("greater", |x: &T, y: f64| *x > y)
            .comparison_with("greater_equal", |x: &T, y: f64| *x >= y)
            .comparison_from("equal", |x: f64, y: &T| *y == x)
            .comparison_from("not_equal", |x: f64, y: &T| *y != x)
            .comparison_from("less", |x: f64, y: &T| *y > x)
            .comparison_from("less_equal", |x: f64, y: &T| *y >= x)
            .comparison_from("greater", |x: f64, y: &T| *y < x)
            .comparison_from("greater_equal", |x: f64, y: &T| *y <= x)
    }
}
