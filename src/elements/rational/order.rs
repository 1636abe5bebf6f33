//! Equality, order, hash and sort.

use super::Rational;
use super::value::Parts;
use crate::elements::integer::{HASH_MODULUS, compare_word, reduce_words, signed_hash};
use std::cmp::Ordering;
use std::hash::{Hash, Hasher};

impl PartialEq for Rational {
    #[inline]
    fn eq(&self, other: &Self) -> bool {
        // One representation a value.
        match (self.parts(), other.parts()) {
            (Parts::Small(a, b), Parts::Small(c, d)) => a == c && b == d,
            (Parts::Big(left), Parts::Big(right)) => left == right,
            _ => false,
        }
    }
}

impl Eq for Rational {}

impl PartialOrd for Rational {
    #[inline]
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Rational {
    #[inline]
    fn cmp(&self, other: &Self) -> Ordering {
        match (self.parts(), other.parts()) {
            (Parts::Small(a, b), Parts::Small(c, d)) => {
                (i128::from(a) * i128::from(d)).cmp(&(i128::from(c) * i128::from(b)))
            }
            _ => self.wide().cmp(&*other.wide()),
        }
    }
}

impl PartialEq<f64> for Rational {
    #[inline]
    fn eq(&self, other: &f64) -> bool {
        self.partial_cmp(other) == Some(Ordering::Equal)
    }
}

/// By the exact values, as Python compares a `Fraction` and a `float`; NaN has no order.
impl PartialOrd<f64> for Rational {
    #[inline]
    fn partial_cmp(&self, other: &f64) -> Option<Ordering> {
        if let Parts::Small(numerator, denominator) = self.parts() {
            if denominator == 1 {
                return compare_word(numerator, *other);
            }
            // Three roundings, each by at most 2^-53 of the value, and nothing subnormal: this
            // is nearer to the value than a float outside the margin is.
            let near = numerator as f64 / denominator as f64;
            let margin = near.abs() * (8.0 * f64::EPSILON);
            if (*other - near).abs() > margin {
                return near.partial_cmp(other);
            }
        }
        compare_exactly(self, *other)
    }
}

/// The order of a fraction and a float that may be near.
fn compare_exactly(value: &Rational, float: f64) -> Option<Ordering> {
    if float.is_nan() {
        return None;
    }
    if float.is_infinite() {
        return 0.0.partial_cmp(&float);
    }
    // Every finite float is a fraction.
    Rational::try_from(float).ok().map(|float| value.cmp(&float))
}

/// `value ** exponent` modulo [`HASH_MODULUS`].
fn power(value: u64, exponent: u64) -> u64 {
    let times = |a: u64, b: u64| (u128::from(a) * u128::from(b) % u128::from(HASH_MODULUS)) as u64;
    let (mut result, mut base, mut rest) = (1, value % HASH_MODULUS, exponent);
    while rest > 0 {
        if rest & 1 == 1 {
            result = times(result, base);
        }
        base = times(base, base);
        rest >>= 1;
    }
    result
}

impl Rational {
    /// The hash of Python's `Fraction` of this value.
    pub fn python_hash(&self) -> i64 {
        /// Python's hash of infinity, for denominators without an inverse.
        const NO_INVERSE: u64 = 314_159;
        let (numerator, denominator) = match self.parts() {
            Parts::Small(numerator, denominator) => {
                (numerator.unsigned_abs() % HASH_MODULUS, denominator % HASH_MODULUS)
            }
            Parts::Big(value) => (
                reduce_words(value.numerator().as_sign_words().1),
                reduce_words(value.denominator().as_words()),
            ),
        };
        // The inverse by Fermat's theorem: the modulus is prime.
        let magnitude = match denominator {
            0 => NO_INVERSE,
            1 => numerator,
            _ => {
                let inverse = power(denominator, HASH_MODULUS - 2);
                (u128::from(numerator) * u128::from(inverse) % u128::from(HASH_MODULUS)) as u64
            }
        };
        signed_hash(magnitude, self.is_negative())
    }
}

impl Hash for Rational {
    fn hash<H: Hasher>(&self, state: &mut H) {
        state.write_i64(self.python_hash());
    }
}
