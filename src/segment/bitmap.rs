//! The init bitmap: one bit a cell, 1 where an object was built.
//!
//! Threads that work on neighbouring cells share words, never bits: a thread that holds the right to
//! write cells writes their bits. So whole words of a range are stored plainly and only the two at
//! its ends need an atomic read-modify-write. Order between threads comes with the right to the
//! cells, not from here.

use crate::sync::{AtomicU64, Ordering::Relaxed};
use bitvec::{order::Lsb0, vec::BitVec};

/// Bits of one word.
const WORD: usize = u64::BITS as usize;

/// The bits of one segment.
#[derive(Clone, Copy)]
pub struct InitBitmap<'a> {
    words: &'a [AtomicU64],
    bits: usize,
}

/// A mask of the lowest `count` bits, `count` from 0 to 64.
#[inline]
pub(super) fn low_bits(count: usize) -> u64 {
    if count >= WORD { u64::MAX } else { (1 << count) - 1 }
}

/// Gives the `affected` bits of a word their `value`.
#[inline]
fn write(word: &AtomicU64, affected: u64, value: u64) {
    let wrong = (word.load(Relaxed) ^ value) & affected;
    if wrong == 0 {
        return;
    }
    if affected == u64::MAX {
        word.store(value, Relaxed);
    } else {
        // No other thread writes the affected bits, so what was wrong still is.
        word.fetch_xor(wrong, Relaxed);
    }
}

impl<'a> InitBitmap<'a> {
    /// `bits` bits in `words`.
    ///
    /// # Panics
    /// There are fewer bits in `words`.
    #[inline]
    pub fn new(words: &'a [AtomicU64], bits: usize) -> Self {
        assert!(bits <= words.len() * WORD, "{bits} bits do not fit in {} words", words.len());
        InitBitmap { words, bits }
    }

    /// How many bits, one a cell.
    #[inline]
    pub fn len(self) -> usize {
        self.bits
    }

    /// Whether there is no bit.
    #[inline]
    pub fn is_empty(self) -> bool {
        self.bits == 0
    }

    /// Bits `start .. start + count` as a mask, `count` at most 64.
    #[inline]
    pub fn get(self, start: usize, count: usize) -> u64 {
        debug_assert!(count <= WORD && start + count <= self.bits);
        if count == 0 {
            return 0;
        }
        let (word, shift) = (start / WORD, start % WORD);
        let mut mask = self.words[word].load(Relaxed) >> shift;
        if shift + count > WORD {
            mask |= self.words[word + 1].load(Relaxed) << (WORD - shift);
        }
        mask & low_bits(count)
    }

    /// Gives bits `start .. start + count` the values in `mask`, `count` at most 64.
    #[inline]
    pub fn put(self, start: usize, count: usize, mask: u64) {
        debug_assert!(count <= WORD && start + count <= self.bits);
        if count == 0 {
            return;
        }
        let (word, shift) = (start / WORD, start % WORD);
        let affected = low_bits(count);
        write(&self.words[word], affected << shift, mask << shift);
        if shift + count > WORD {
            let above = WORD - shift;
            write(&self.words[word + 1], affected >> above, mask >> above);
        }
    }

    /// Sets or clears bits `start .. start + count`.
    pub fn fill(self, start: usize, count: usize, live: bool) {
        debug_assert!(start + count <= self.bits);
        let value = if live { u64::MAX } else { 0 };
        let (mut start, end) = (start, start + count);
        while start < end {
            let shift = start % WORD;
            let count = (WORD - shift).min(end - start);
            write(&self.words[start / WORD], low_bits(count) << shift, value);
            start += count;
        }
    }

    /// How many of the bits `start .. start + count` are 1.
    pub fn count(self, start: usize, count: usize) -> usize {
        let (mut start, end) = (start, start + count);
        let mut ones = 0;
        while start < end {
            let count = WORD.min(end - start);
            ones += self.get(start, count).count_ones() as usize;
            start += count;
        }
        ones
    }

    /// A copy of all bits.
    pub fn snapshot(self) -> BitVec<u64, Lsb0> {
        let words = self.words.iter().map(|word| word.load(Relaxed)).collect();
        let mut bits = BitVec::from_vec(words);
        bits.truncate(self.bits);
        bits
    }
}

impl std::fmt::Debug for InitBitmap<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "InitBitmap({} of {} live)", self.count(0, self.bits), self.bits)
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    fn words(count: usize, value: u64) -> Vec<AtomicU64> {
        (0..count).map(|_| AtomicU64::new(value)).collect()
    }

    #[test]
    fn ranges_at_any_start_agree_with_a_plain_bit_vector() {
        for (start, count) in
            [(0, 0), (0, 1), (63, 1), (63, 2), (1, 63), (0, 64), (5, 64), (60, 190), (0, 250)]
        {
            for live in [true, false] {
                let words = words(4, if live { 0 } else { u64::MAX });
                let bitmap = InitBitmap::new(&words, 250);
                let mut model = bitmap.snapshot();
                bitmap.fill(start, count, live);
                model[start..start + count].fill(live);
                assert_eq!(bitmap.snapshot(), model);
                assert_eq!(bitmap.count(0, 250), model.count_ones());
                assert_eq!(bitmap.count(start, count), if live { count } else { 0 });
            }
        }
    }

    #[test]
    fn masks_are_read_back_and_touch_nothing_else() {
        let pattern = 0x9234_5678_9abc_def1;
        for start in [0, 1, 37, 63, 64, 100] {
            for count in [0, 1, 2, 27, 63, 64] {
                for background in [0, u64::MAX] {
                    let words = words(3, background);
                    let bitmap = InitBitmap::new(&words, 190);
                    let mut model = bitmap.snapshot();
                    bitmap.put(start, count, pattern);
                    for index in 0..count {
                        model.set(start + index, (pattern >> index) & 1 == 1);
                    }
                    assert_eq!(bitmap.snapshot(), model, "{count} bits at {start}");
                    assert_eq!(bitmap.get(start, count), pattern & low_bits(count));
                }
            }
        }
    }
}

#[cfg(all(test, loom))]
mod loom_tests {
    use super::*;
    use crate::sync::{Arc, thread};

    #[test]
    fn loom_neighbouring_ranges_that_share_a_word_do_not_lose_bits() {
        loom::model(|| {
            let words: Arc<Vec<AtomicU64>> =
                Arc::new([0, 1 << 5].into_iter().map(AtomicU64::new).collect());
            let other = words.clone();
            let neighbour = thread::spawn(move || {
                let bitmap = InitBitmap::new(&other, 128);
                bitmap.fill(40, 27, true);
                bitmap.put(40, 3, 0b010);
            });
            let bitmap = InitBitmap::new(&words, 128);
            bitmap.fill(0, 40, true);
            bitmap.fill(67, 10, true);
            bitmap.put(69, 1, 0);
            neighbour.join().unwrap();
            let low = low_bits(40) | (0b010 << 40) | !low_bits(43);
            assert_eq!(bitmap.get(0, 64), low);
            assert_eq!(bitmap.get(64, 64), low_bits(13) & !(1 << 5));
        });
    }
}
