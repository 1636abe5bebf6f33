//! Equality, order, hash and sort.

use super::Integer;
use super::value::{BIG_TAG, Parts, SMALL_MIN};
use dashu_int::IBig;
use std::cmp::Ordering;
use std::hash::{Hash, Hasher};

impl PartialEq for Integer {
    #[inline]
    fn eq(&self, other: &Self) -> bool {
        // One representation a value: different words are equal only where both are big.
        self.word() == other.word()
            || match (self.parts(), other.parts()) {
                (Parts::Big(left), Parts::Big(right)) => left == right,
                _ => false,
            }
    }
}

impl Eq for Integer {}

impl PartialOrd for Integer {
    #[inline]
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Integer {
    #[inline]
    fn cmp(&self, other: &Self) -> Ordering {
        if (self.word() | other.word()) & BIG_TAG == 0 {
            return self.word().cmp(&other.word());
        }
        match (self.parts(), other.parts()) {
            (Parts::Big(left), Parts::Big(right)) => left.cmp(right),
            // A big value lies beyond all small ones, on the side of its sign.
            (Parts::Big(_), _) => self.sign(),
            _ => other.sign().reverse(),
        }
    }
}

/// The order of an integer and a float, both exact; `None` for NaN.
#[inline]
pub(crate) fn compare_word(value: i64, float: f64) -> Option<Ordering> {
    /// Exact as a float, as is its negative.
    const LIMIT: f64 = -(i64::MIN as f64);
    if float.is_nan() {
        return None;
    }
    if float >= LIMIT {
        return Some(Ordering::Less);
    }
    if float < -LIMIT {
        return Some(Ordering::Greater);
    }
    // Of a float with a fraction the whole part has 53 bits at most, so both parts are exact.
    let whole = float as i64;
    let fraction = float - whole as f64;
    // The whole part is the float rounded towards 0: an integer above or below the one is above or
    // below the other.
    Some(value.cmp(&whole).then(0.0.partial_cmp(&fraction)?))
}

impl PartialEq<f64> for Integer {
    #[inline]
    fn eq(&self, other: &f64) -> bool {
        self.partial_cmp(other) == Some(Ordering::Equal)
    }
}

/// By the exact values, as Python compares an `int` and a `float`; NaN has no order.
impl PartialOrd<f64> for Integer {
    #[inline]
    fn partial_cmp(&self, other: &f64) -> Option<Ordering> {
        match self.parts() {
            Parts::Small(value) => compare_word(value, *other),
            Parts::Big(value) => compare_big(value, self.sign(), *other),
        }
    }
}

/// The order of a big value, whose sign is given, and a float.
fn compare_big(value: &IBig, sign: Ordering, float: f64) -> Option<Ordering> {
    if float.is_nan() {
        return None;
    }
    let small = SMALL_MIN as f64..-(SMALL_MIN as f64);
    if small.contains(&float) || float.is_sign_negative() != sign.is_lt() {
        // The value lies beyond all small ones, on the side of its sign.
        return Some(sign);
    }
    match IBig::try_from(float) {
        // A finite float this large is integral.
        Ok(float) => Some(value.cmp(&float)),
        // Infinite, of the same sign: farther out than the value.
        Err(_) => Some(sign.reverse()),
    }
}

/// The modulus of Python's numeric hash: 2^61 - 1.
pub(crate) const HASH_MODULUS: u64 = (1 << 61) - 1;

/// The magnitude of a number given by its words, least first, modulo [`HASH_MODULUS`].
pub(crate) fn reduce_words(words: &[u64]) -> u64 {
    // 2^64 is 8 modulo 2^61 - 1.
    words.iter().rev().fold(0u64, |hash, &word| {
        ((u128::from(hash) * 8 + u128::from(word)) % u128::from(HASH_MODULUS)) as u64
    })
}

/// Gives a reduced magnitude its sign; -1 is no hash in Python.
pub(crate) fn signed_hash(magnitude: u64, negative: bool) -> i64 {
    match (magnitude as i64, negative) {
        (1, true) => -2,
        (magnitude, true) => -magnitude,
        (magnitude, false) => magnitude,
    }
}

impl Integer {
    /// The hash of Python's `int` of this value.
    pub fn python_hash(&self) -> i64 {
        match self.parts() {
            Parts::Small(value) => signed_hash(value.unsigned_abs() % HASH_MODULUS, value < 0),
            Parts::Big(value) => {
                signed_hash(reduce_words(value.as_sign_words().1), self.is_negative())
            }
        }
    }
}

impl Hash for Integer {
    fn hash<H: Hasher>(&self, state: &mut H) {
        state.write_i64(self.python_hash());
    }
}

fn all_small(cells: &[Integer]) -> bool {
    cells.iter().fold(0, |tags, cell| tags | cell.word()) & BIG_TAG == 0
}

/// Sorts. Equal values have nothing that tells them apart, so this counts as stable; it
/// allocates nothing.
pub fn sort(cells: &mut [Integer]) {
    if !all_small(cells) {
        cells.sort_unstable();
        return;
    }
    // SAFETY: an Integer is one word of the size and alignment of i64, and no word here owns
    // anything, so any integers may be read and any permutation of them written back; the cells
    // are borrowed exclusively meanwhile.
    let words =
        unsafe { std::slice::from_raw_parts_mut(cells.as_mut_ptr().cast::<i64>(), cells.len()) };
    words.sort_unstable();
}

/// Permutes `indices` so that they sort the cells that `cell` finds, stably where they start in
/// rising order.
pub fn argsort<'a>(indices: &mut [isize], cell: impl Fn(isize) -> &'a Integer) {
    let all_small = indices.iter().fold(0, |tags, &index| tags | cell(index).word()) & BIG_TAG == 0;
    let mut keys: Vec<(i64, isize)> = Vec::new();
    if all_small && keys.try_reserve_exact(indices.len()).is_ok() {
        keys.extend(indices.iter().map(|&index| (cell(index).word(), index)));
        keys.sort_unstable();
        for (index, key) in indices.iter_mut().zip(keys) {
            *index = key.1;
        }
    } else {
        indices
            .sort_unstable_by(|&left, &right| cell(left).cmp(cell(right)).then(left.cmp(&right)));
    }
}
