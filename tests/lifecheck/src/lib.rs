//! Small types as anybody writes them: one that is right, and in `broken` each that breaks one rule.

pub mod broken;
pub mod shown;

use std::ops::{Add, Mul, Neg};

/// A polynomial over the integers modulo a prime. Trailing zeros are cut off.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Polynomial {
    coefficients: Vec<u32>,
}

const PRIME: u64 = 4_294_967_291;

impl Polynomial {
    /// From the coefficient of x^0 on.
    pub fn new(coefficients: Vec<u32>) -> Self {
        Self::reduced(coefficients.into_iter().map(u64::from))
    }

    fn reduced(coefficients: impl Iterator<Item = u64>) -> Self {
        let mut coefficients: Vec<u32> = coefficients.map(|c| (c % PRIME) as u32).collect();
        while coefficients.last() == Some(&0) {
            coefficients.pop();
        }
        Polynomial { coefficients }
    }

    fn coefficient(&self, power: usize) -> u64 {
        self.coefficients.get(power).copied().unwrap_or(0).into()
    }
}

impl Add for &Polynomial {
    type Output = Polynomial;

    fn add(self, other: &Polynomial) -> Polynomial {
        let length = self.coefficients.len().max(other.coefficients.len());
        Polynomial::reduced((0..length).map(|i| self.coefficient(i) + other.coefficient(i)))
    }
}

impl Mul for &Polynomial {
    type Output = Polynomial;

    fn mul(self, other: &Polynomial) -> Polynomial {
        let mut product = vec![0; self.coefficients.len() + other.coefficients.len()];
        for (i, &a) in self.coefficients.iter().enumerate() {
            for (j, &b) in other.coefficients.iter().enumerate() {
                product[i + j] = (product[i + j] + u64::from(a) * u64::from(b)) % PRIME;
            }
        }
        Polynomial::reduced(product.into_iter())
    }
}

impl Neg for &Polynomial {
    type Output = Polynomial;

    fn neg(self) -> Polynomial {
        Polynomial::reduced(self.coefficients.iter().map(|&c| PRIME - u64::from(c)))
    }
}
