//! Numbers made of the fuzzer's bytes: mostly near the limits where representations change.

use arbitrary::{Arbitrary, Unstructured};
use num_bigint::BigInt;
use num_rational::BigRational;
use num_traits::{One, Zero};

/// Longest integers, in bytes.
const LONGEST: usize = 160;

/// Bits at which something changes: mantissas, words, the largest floats.
const EDGES: [u16; 20] =
    [10, 11, 23, 24, 31, 52, 53, 61, 62, 63, 64, 65, 113, 126, 127, 128, 129, 1022, 1023, 1024];

/// An integer.
#[derive(Arbitrary, Clone, Debug)]
pub enum Whole {
    /// A small one.
    Tiny(i8),
    /// One of a word.
    Word(i64),
    /// One near a power of two.
    Edge { bits: u8, near: i8, negative: bool },
    /// Any, from two's complement.
    Long(Bytes),
}

/// A few bytes.
#[derive(Clone, Debug)]
pub struct Bytes(pub Vec<u8>);

impl<'a> Arbitrary<'a> for Bytes {
    fn arbitrary(u: &mut Unstructured<'a>) -> arbitrary::Result<Self> {
        let length = usize::from(u.arbitrary::<u8>()?) % LONGEST;
        Ok(Bytes(u.bytes(length.min(u.len()))?.to_vec()))
    }
}

impl Whole {
    /// The number.
    pub fn value(&self) -> BigInt {
        match self {
            Whole::Tiny(value) => (*value).into(),
            Whole::Word(value) => (*value).into(),
            Whole::Edge { bits, near, negative } => {
                let bits = EDGES[usize::from(*bits) % EDGES.len()];
                let value = (BigInt::one() << bits) + *near;
                if *negative { -value } else { value }
            }
            Whole::Long(Bytes(bytes)) => BigInt::from_signed_bytes_le(bytes),
        }
    }
}

/// A number: a fraction, or an integer where the type is one.
#[derive(Arbitrary, Clone, Debug)]
pub enum Seed {
    /// An integer.
    Whole(Whole),
    /// A fraction; the sign of the denominator counts, 0 is taken for 1.
    Fraction(Whole, Whole),
}

impl Seed {
    /// The number; of a fraction the numerator, where only integers will do.
    pub fn value(&self, fractions: bool) -> BigRational {
        match self {
            Seed::Fraction(numerator, denominator) if fractions => {
                let denominator = Some(denominator.value()).filter(|value| !value.is_zero());
                BigRational::new(numerator.value(), denominator.unwrap_or_else(BigInt::one))
            }
            Seed::Whole(whole) | Seed::Fraction(whole, _) => whole.value().into(),
        }
    }
}

/// A float, as bits of whichever width is asked for.
#[derive(Arbitrary, Clone, Debug)]
pub enum FloatSeed {
    /// Any bits.
    Bits(u64, u16),
    /// Near a number of the other operand.
    Near { which: u8, steps: i8 },
    /// A small integer.
    Tiny(i8),
}

/// The element that stands for position `index`: seeds are used over and over.
pub fn pick<S>(seeds: &[S], index: usize) -> Option<&S> {
    seeds.get(index.checked_rem(seeds.len())?)
}
