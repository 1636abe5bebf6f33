//! The two words: a small fraction, or an owning pointer to a big one.

use crate::elements::integer::gcd_u64;
use crate::elements::{Integer, NumberError, boxed};
use dashu_base::{BitTest, Sign};
use dashu_int::{IBig, UBig};
use dashu_ratio::RBig;
use std::ops::Deref;
use std::ptr;

const _: () = assert!(size_of::<usize>() == 8, "Rational needs 64-bit words");

/// An exact fraction of any size in two words, always reduced, with a positive denominator.
///
/// # Representation
/// * `second` at least 0: the numerator is `first` as a signed number, the denominator is
///   `second + 1`. So zero bytes are 0/1.
/// * `second` is [`BIG`]: `first` is an owning pointer to a heap cell with a fraction whose
///   numerator does not fit 64 signed bits, or whose denominator is above 2^63 - 1.
///
/// A value has one representation: what fits the words is never on the heap.
#[repr(C)]
pub struct Rational {
    first: *mut RBig,
    second: i64,
}

/// `second` of a big value.
const BIG: i64 = -1;

/// The largest denominator in the words: with it, the sum of two cross products fits an i128.
pub(crate) const DENOMINATOR_MAX: u64 = i64::MAX as u64;

// SAFETY: a Rational owns its heap cell and shares nothing; `RBig` is Send.
unsafe impl Send for Rational {}
// SAFETY: a shared Rational only reads its heap cell; `RBig` is Sync.
unsafe impl Sync for Rational {}

/// What the words hold.
pub(crate) enum Parts<'a> {
    /// Numerator and denominator.
    Small(i64, u64),
    /// A value that does not fit them.
    Big(&'a RBig),
}

/// An operand of a big operation.
pub(crate) enum Wide<'a> {
    Own(RBig),
    Ref(&'a RBig),
}

impl Deref for Wide<'_> {
    type Target = RBig;

    fn deref(&self) -> &RBig {
        match self {
            Wide::Own(value) => value,
            Wide::Ref(value) => value,
        }
    }
}

impl Rational {
    /// The value 0: zero bytes.
    pub const ZERO: Rational = Rational { first: ptr::null_mut(), second: 0 };
    /// The value 1.
    pub const ONE: Rational = Rational { first: ptr::without_provenance_mut(1), second: 0 };

    /// A small fraction: reduced, the denominator from 1 to [`DENOMINATOR_MAX`].
    #[inline(always)]
    pub(crate) fn small(numerator: i64, denominator: u64) -> Self {
        debug_assert!((1..=DENOMINATOR_MAX).contains(&denominator));
        debug_assert!(gcd_u64(numerator.unsigned_abs(), denominator) == 1);
        Rational {
            first: ptr::without_provenance_mut(numerator as usize),
            second: (denominator - 1) as i64,
        }
    }

    /// A reduced fraction of any size that machine words hold; the denominator is not 0.
    #[inline]
    pub(crate) fn reduced(numerator: i128, denominator: u128) -> Self {
        match (i64::try_from(numerator), u64::try_from(denominator)) {
            (Ok(numerator), Ok(denominator)) if denominator <= DENOMINATOR_MAX => {
                Self::small(numerator, denominator)
            }
            _ => Self::boxed(RBig::from_parts(numerator.into(), denominator.into())),
        }
    }

    #[cold]
    fn boxed(value: RBig) -> Self {
        Rational { first: boxed::into_heap(value), second: BIG }
    }

    /// Whether the value is on the heap.
    #[inline(always)]
    pub(crate) fn is_big(&self) -> bool {
        self.second < 0
    }

    #[inline(always)]
    pub(crate) fn parts(&self) -> Parts<'_> {
        if self.is_big() {
            // SAFETY: `second` says that `first` is a heap cell, owned by this value, and no other code
            // changes it while it is borrowed.
            Parts::Big(unsafe { &*self.first })
        } else {
            Parts::Small(self.first.addr() as i64, self.second as u64 + 1)
        }
    }

    /// The value as an operand of a big operation.
    #[inline]
    pub(crate) fn wide(&self) -> Wide<'_> {
        match self.parts() {
            Parts::Small(numerator, denominator) => {
                Wide::Own(RBig::from_parts(numerator.into(), denominator.into()))
            }
            Parts::Big(value) => Wide::Ref(value),
        }
    }

    /// `numerator / denominator`, reduced; a denominator of 0 is an error.
    pub fn new(numerator: IBig, denominator: IBig) -> Result<Self, NumberError> {
        if denominator.is_zero() {
            return Err(NumberError::DivisionByZero);
        }
        let (sign, magnitude) = denominator.into_parts();
        let numerator = if sign == Sign::Negative { -numerator } else { numerator };
        Ok(RBig::from_parts(numerator, magnitude).into())
    }

    /// The numerator, with the sign of the value.
    pub fn numerator(&self) -> Integer {
        match self.parts() {
            Parts::Small(numerator, _) => numerator.into(),
            Parts::Big(value) => value.numerator().clone().into(),
        }
    }

    /// The denominator, at least 1.
    pub fn denominator(&self) -> Integer {
        match self.parts() {
            Parts::Small(_, denominator) => denominator.into(),
            Parts::Big(value) => IBig::from(value.denominator().clone()).into(),
        }
    }

    /// Whether the denominator is 1.
    #[inline]
    pub fn is_integer(&self) -> bool {
        match self.parts() {
            Parts::Small(_, denominator) => denominator == 1,
            Parts::Big(value) => value.is_int(),
        }
    }

    /// Bits of numerator and denominator together.
    pub(crate) fn bits(&self) -> usize {
        match self.parts() {
            Parts::Small(..) => 128,
            Parts::Big(value) => value.numerator().bit_len() + value.denominator().bit_len(),
        }
    }

    /// Heap bytes that the value owns: the heap cell and the words in use.
    pub fn heap_bytes(&self) -> usize {
        // Two words fit a big integer itself.
        let words = |count: usize| if count > 2 { count * 8 } else { 0 };
        match self.parts() {
            Parts::Small(..) => 0,
            Parts::Big(value) => {
                size_of::<RBig>()
                    + words(value.numerator().as_sign_words().1.len())
                    + words(value.denominator().as_words().len())
            }
        }
    }
}

impl From<RBig> for Rational {
    fn from(value: RBig) -> Self {
        let denominator = u64::try_from(value.denominator()).ok().filter(|&d| d <= DENOMINATOR_MAX);
        match (i64::try_from(value.numerator()), denominator) {
            (Ok(numerator), Some(denominator)) => Self::small(numerator, denominator),
            _ => Self::boxed(value),
        }
    }
}

impl From<i64> for Rational {
    #[inline]
    fn from(value: i64) -> Self {
        Self::small(value, 1)
    }
}

impl From<i32> for Rational {
    #[inline]
    fn from(value: i32) -> Self {
        Self::small(value.into(), 1)
    }
}

impl From<IBig> for Rational {
    fn from(value: IBig) -> Self {
        RBig::from_parts(value, UBig::ONE).into()
    }
}

impl Clone for Rational {
    #[inline]
    fn clone(&self) -> Self {
        match self.parts() {
            Parts::Small(..) => Rational { first: self.first, second: self.second },
            Parts::Big(value) => Self::boxed(value.clone()),
        }
    }
}

impl Drop for Rational {
    #[inline]
    fn drop(&mut self) {
        if self.is_big() {
            // SAFETY: the cell is from `into_heap` (`boxed` is its only source), owned by this
            // value, which ends here.
            drop(unsafe { boxed::from_heap(self.first) });
        }
    }
}

impl Default for Rational {
    #[inline]
    fn default() -> Self {
        Self::ZERO
    }
}
