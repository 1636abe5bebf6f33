//! Dual numbers: a value and its partial derivatives, for forward differentiation.

use pyo3::prelude::*;
use std::cmp::Ordering;
use std::fmt;
use std::ops::{Add, Div, Mul, Neg, Sub};
use std::sync::atomic::{AtomicIsize, Ordering::Relaxed};

static LIVE: AtomicIsize = AtomicIsize::new(0);

/// How many are alive.
pub fn live() -> isize {
    LIVE.load(Relaxed)
}

/// A value and its partial derivatives; missing ones are 0.
pub struct Dual {
    pub value: f64,
    partials: Vec<f64>,
}

/// Registers the type.
pub fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    // SAFETY: the pointer of a Vec is never null, and there is no padding: the fields are an
    // f64 and three words.
    let dual = unsafe { denizen::element::<Dual>("Dual").zero_is_vacant() };
    dual.clone()
        .default()
        .arithmetic()
        .div()
        .partial_ordering()
        .display()
        .thread_safe()
        .default_is_zero()
        .linear_algebra()
        .unary("sqrt", |x: &Dual| x.chain(x.value.sqrt(), 0.5 / x.value.sqrt()))
        .unary("exp", |x: &Dual| x.chain(x.value.exp(), x.value.exp()))
        .predicate("isnan", |x: &Dual| x.value.is_nan())
        .heap_bytes(|x| size_of::<f64>() * x.partials.capacity())
        .cast_from(denizen::Casting::Safe, |x: f64| Dual::new(x, Vec::new()))
        .cast_to::<f64, _>(denizen::Casting::Unsafe, |x: &Dual| x.value)
        .from_python_with(|object| {
            if let Ok(value) = object.extract::<f64>() {
                return Ok(Dual::new(value, Vec::new()));
            }
            let (value, partials) = object.extract()?;
            Ok(Dual::new(value, partials))
        })
        .codec(
            |dual| {
                std::iter::once(&dual.value)
                    .chain(&dual.partials)
                    .flat_map(|number| number.to_le_bytes())
                    .collect::<Vec<u8>>()
            },
            |bytes| {
                let (numbers, rest) = bytes.as_chunks::<8>();
                let mut numbers = numbers.iter().map(|bytes| f64::from_le_bytes(*bytes));
                match (numbers.next(), rest.is_empty()) {
                    (Some(value), true) => Ok(Dual::new(value, numbers.collect())),
                    _ => Err("a dual number is pickled as whole float64 numbers"),
                }
            },
        )
        .module("denizen_example")
        .add_to(module)?;
    Ok(())
}

impl Dual {
    fn new(value: f64, partials: Vec<f64>) -> Self {
        LIVE.fetch_add(1, Relaxed);
        Dual { value, partials }
    }

    /// The `index`-th of `count` independent variables.
    pub fn variable(value: f64, index: usize, count: usize) -> Self {
        Dual::new(value, (0..count).map(|i| f64::from(u8::from(i == index))).collect())
    }

    /// Multiplies by a constant.
    pub fn scale(&mut self, factor: f64) {
        self.value *= factor;
        self.partials.iter_mut().for_each(|partial| *partial *= factor);
    }

    /// A function's value, and the chain rule with its derivative.
    fn chain(&self, value: f64, derivative: f64) -> Self {
        Dual::new(value, self.partials.iter().map(|partial| partial * derivative).collect())
    }

    /// A function's value, and the chain rule with its two derivatives.
    fn chain2(&self, other: &Self, value: f64, by_self: f64, by_other: f64) -> Self {
        let count = self.partials.len().max(other.partials.len());
        let partial = |dual: &Dual, i: usize| dual.partials.get(i).copied().unwrap_or(0.0);
        let partials =
            (0..count).map(|i| partial(self, i) * by_self + partial(other, i) * by_other);
        Dual::new(value, partials.collect())
    }
}

impl Default for Dual {
    fn default() -> Self {
        Dual::new(0.0, Vec::new())
    }
}

impl Clone for Dual {
    fn clone(&self) -> Self {
        Dual::new(self.value, self.partials.clone())
    }
}

impl Drop for Dual {
    fn drop(&mut self) {
        LIVE.fetch_sub(1, Relaxed);
    }
}

impl Add for &Dual {
    type Output = Dual;
    fn add(self, other: &Dual) -> Dual {
        self.chain2(other, self.value + other.value, 1.0, 1.0)
    }
}

impl Sub for &Dual {
    type Output = Dual;
    fn sub(self, other: &Dual) -> Dual {
        self.chain2(other, self.value - other.value, 1.0, -1.0)
    }
}

impl Mul for &Dual {
    type Output = Dual;
    fn mul(self, other: &Dual) -> Dual {
        self.chain2(other, self.value * other.value, other.value, self.value)
    }
}

impl Div for &Dual {
    type Output = Dual;
    fn div(self, other: &Dual) -> Dual {
        let value = self.value / other.value;
        self.chain2(other, value, 1.0 / other.value, -value / other.value)
    }
}

impl Neg for &Dual {
    type Output = Dual;
    fn neg(self) -> Dual {
        self.chain(-self.value, -1.0)
    }
}

impl PartialEq for Dual {
    fn eq(&self, other: &Self) -> bool {
        self.value == other.value
    }
}

impl PartialOrd for Dual {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        self.value.partial_cmp(&other.value)
    }
}

impl fmt::Display for Dual {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} d{:?}", self.value, self.partials)
    }
}
