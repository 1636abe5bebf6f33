//! The word: a small value, or an owning pointer to a big one.

use crate::elements::boxed;
use dashu_int::IBig;
use std::ops::Deref;
use std::ptr;

const _: () = assert!(size_of::<usize>() == 8, "Integer needs 64-bit words");

/// An exact integer of any size in one word.
///
/// # Representation
/// * Bit 0 clear: the word is twice the value, for values from -2^62 to 2^62 - 1. So zero bytes
///   are the value 0, words of small values add, subtract and compare as signed integers, and
///   overflow of the word is overflow of the range.
/// * Bit 0 set: the rest is an owning pointer to a heap cell with an `IBig` outside that range.
///
/// A value has one representation: what fits the word is never on the heap.
#[repr(transparent)]
pub struct Integer(*mut IBig);

// SAFETY: an Integer owns its heap cell and shares nothing; `IBig` is Send.
unsafe impl Send for Integer {}
// SAFETY: a shared Integer only reads its heap cell; `IBig` is Sync.
unsafe impl Sync for Integer {}

/// The smallest small value.
pub(crate) const SMALL_MIN: i64 = -(1 << 62);
/// The largest small value.
pub(crate) const SMALL_MAX: i64 = (1 << 62) - 1;
/// The bit of the word that says "pointer".
pub(crate) const BIG_TAG: i64 = 1;

/// What a word holds.
pub(crate) enum Parts<'a> {
    /// The value.
    Small(i64),
    /// A value outside the small range.
    Big(&'a IBig),
}

/// An operand of a big operation: the big value itself, or a small one widened on the stack.
pub(crate) enum Wide<'a> {
    Own(IBig),
    Ref(&'a IBig),
}

impl Deref for Wide<'_> {
    type Target = IBig;

    fn deref(&self) -> &IBig {
        match self {
            Wide::Own(value) => value,
            Wide::Ref(value) => value,
        }
    }
}

impl Integer {
    /// The value 0: a word of zeros.
    pub const ZERO: Integer = Integer(ptr::null_mut());
    /// The value 1.
    pub const ONE: Integer = Integer(ptr::without_provenance_mut(2));

    /// A small value. `value` is within the small range.
    #[inline(always)]
    fn small(value: i64) -> Self {
        debug_assert!((SMALL_MIN..=SMALL_MAX).contains(&value));
        Self::from_word(value << 1)
    }

    /// The value of a word whose bit 0 is clear.
    #[inline(always)]
    pub(crate) fn from_word(word: i64) -> Self {
        debug_assert!(word & BIG_TAG == 0);
        Integer(ptr::without_provenance_mut(word as usize))
    }

    /// The word as a number.
    #[inline(always)]
    pub(crate) fn word(&self) -> i64 {
        self.0.addr() as i64
    }

    /// Whether the value is on the heap.
    #[inline(always)]
    pub(crate) fn is_big(&self) -> bool {
        self.word() & BIG_TAG != 0
    }

    /// The heap cell of a big value.
    #[inline(always)]
    fn heap(&self) -> *mut IBig {
        debug_assert!(self.is_big());
        self.0.map_addr(|address| address & !(BIG_TAG as usize))
    }

    #[inline(always)]
    pub(crate) fn parts(&self) -> Parts<'_> {
        if self.is_big() {
            // SAFETY: bit 0 is set, so the rest is a heap cell that this value owns and no other code
            // changes while it is borrowed.
            Parts::Big(unsafe { &*self.heap() })
        } else {
            Parts::Small(self.word() >> 1)
        }
    }

    /// The small value, if it is one.
    #[inline(always)]
    pub(crate) fn as_small(&self) -> Option<i64> {
        if self.is_big() { None } else { Some(self.word() >> 1) }
    }

    /// The big value for changing it; [`Integer::normalise`] must follow.
    #[inline]
    pub(crate) fn big_mut(&mut self) -> Option<&mut IBig> {
        if self.is_big() {
            // SAFETY: as in `parts`, and the borrow is exclusive.
            Some(unsafe { &mut *self.heap() })
        } else {
            None
        }
    }

    /// Brings a value back into the word where it fits.
    #[inline]
    pub(crate) fn normalise(&mut self) {
        if let Parts::Big(value) = self.parts()
            && let Some(small) = fitting(value)
        {
            *self = Self::small(small);
        }
    }

    /// The value as an operand of a big operation.
    #[inline]
    pub(crate) fn wide(&self) -> Wide<'_> {
        match self.parts() {
            Parts::Small(value) => Wide::Own(IBig::from(value)),
            Parts::Big(value) => Wide::Ref(value),
        }
    }

    /// A value outside the small range.
    fn boxed(value: IBig) -> Self {
        Integer(boxed::into_heap(value).map_addr(|address| address | BIG_TAG as usize))
    }

    /// Heap bytes that the value owns: the heap cell and the words in use.
    pub fn heap_bytes(&self) -> usize {
        // Two words fit the big integer itself.
        const INLINE_WORDS: usize = 2;
        match self.parts() {
            Parts::Small(_) => 0,
            Parts::Big(value) => {
                let words = value.as_sign_words().1.len();
                size_of::<IBig>() + if words > INLINE_WORDS { words * 8 } else { 0 }
            }
        }
    }
}

/// The value where it is in the small range.
#[inline]
fn fitting(value: &IBig) -> Option<i64> {
    let (sign, words) = value.as_sign_words();
    let magnitude = match *words {
        [] => 0,
        [word] if word <= 1 << 62 => word as i64,
        _ => return None,
    };
    let value = if sign == dashu_base::Sign::Negative { -magnitude } else { magnitude };
    (value <= SMALL_MAX).then_some(value)
}

impl From<IBig> for Integer {
    #[inline]
    fn from(value: IBig) -> Self {
        match fitting(&value) {
            Some(small) => Self::small(small),
            None => Self::boxed(value),
        }
    }
}

impl From<i64> for Integer {
    #[inline]
    fn from(value: i64) -> Self {
        if (SMALL_MIN..=SMALL_MAX).contains(&value) {
            Self::small(value)
        } else {
            Self::boxed(IBig::from(value))
        }
    }
}

impl Clone for Integer {
    #[inline]
    fn clone(&self) -> Self {
        match self.parts() {
            Parts::Small(_) => Integer(self.0),
            Parts::Big(value) => Self::boxed(value.clone()),
        }
    }

    #[inline]
    fn clone_from(&mut self, source: &Self) {
        match (self.big_mut(), source.parts()) {
            (Some(old), Parts::Big(value)) => old.clone_from(value),
            _ => *self = source.clone(),
        }
    }
}

impl Drop for Integer {
    #[inline]
    fn drop(&mut self) {
        if self.is_big() {
            // SAFETY: the cell is from `into_heap` (`boxed` is its only source), owned by this
            // value, which ends here.
            drop(unsafe { boxed::from_heap(self.heap()) });
        }
    }
}

impl Default for Integer {
    #[inline]
    fn default() -> Self {
        Self::ZERO
    }
}
