//! Which cells hold an object, read from the cells' own bytes.

use super::Cells;

/// Most cells that one mask describes.
pub const CELLS_PER_MASK: usize = 64;

/// Where in a cell the bytes lie that are all zero exactly when it is vacant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Vacancy {
    /// One byte (the usual tag).
    Byte(usize),
    /// One 8-byte word at the start (pointers, tagged words).
    Word,
    /// `size` bytes from `offset`.
    Bytes {
        /// First byte.
        offset: usize,
        /// How many.
        size: usize,
    },
}

impl Vacancy {
    /// For vacancy bytes `offset .. offset + size`.
    pub fn new(offset: usize, size: usize) -> Self {
        match (offset, size) {
            (offset, 1) => Vacancy::Byte(offset),
            (0, 8) => Vacancy::Word,
            (offset, size) => Vacancy::Bytes { offset, size },
        }
    }

    /// Whether the cell at `cell` holds an object.
    ///
    /// # Safety
    /// The vacancy bytes of `cell` are readable.
    #[inline]
    pub unsafe fn is_live(self, cell: *const u8) -> bool {
        match self {
            // SAFETY: the caller's promise.
            Vacancy::Byte(offset) => unsafe { *cell.add(offset) != 0 },
            // SAFETY: the caller's promise; cells may be unaligned in structured arrays.
            Vacancy::Word => unsafe { cell.cast::<u64>().read_unaligned() != 0 },
            Vacancy::Bytes { offset, size } => {
                // SAFETY: the caller's promise.
                let bytes = unsafe { std::slice::from_raw_parts(cell.add(offset), size) };
                let (words, rest) = bytes.as_chunks::<8>();
                words.iter().any(|word| *word != [0; 8]) || rest.iter().any(|byte| *byte != 0)
            }
        }
    }

    /// One bit a cell of the first [`CELLS_PER_MASK`] at most, 1 for live.
    #[inline]
    pub fn live_mask(self, cells: Cells<'_>) -> u64 {
        let count = cells.len().min(CELLS_PER_MASK);
        // The question is decided once for all cells, not for each.
        // SAFETY: `cells-readable`: each cell is a whole element, and the vacancy bytes are in it.
        unsafe {
            match self {
                Vacancy::Word if cells.stride() == 8 && count == CELLS_PER_MASK => {
                    mask_of_words(cells.address(0).cast())
                }
                Vacancy::Word => mask_of(cells, count, |cell| any_word::<1>(cell)),
                Vacancy::Bytes { offset, size: 8 } => {
                    mask_of(cells, count, |cell| any_word::<1>(cell.add(offset)))
                }
                Vacancy::Bytes { offset, size: 16 } => {
                    mask_of(cells, count, |cell| any_word::<2>(cell.add(offset)))
                }
                Vacancy::Bytes { offset, size: 24 } => {
                    mask_of(cells, count, |cell| any_word::<3>(cell.add(offset)))
                }
                Vacancy::Bytes { offset, size: 32 } => {
                    mask_of(cells, count, |cell| any_word::<4>(cell.add(offset)))
                }
                Vacancy::Byte(_) | Vacancy::Bytes { .. } => {
                    mask_of(cells, count, |cell| self.is_live(cell))
                }
            }
        }
    }

    /// How many cells of the run hold an object.
    pub fn count_live(self, cells: Cells<'_>) -> usize {
        let mut live = 0;
        let mut start = 0;
        while start < cells.len() {
            let count = (cells.len() - start).min(CELLS_PER_MASK);
            live += self.live_mask(cells.part(start, count)).count_ones() as usize;
            start += count;
        }
        live
    }
}

/// One bit for each of `count` cells (64 at most), 1 where `is_live` says so of its address.
#[inline(always)]
fn mask_of(cells: Cells<'_>, count: usize, is_live: impl Fn(*const u8) -> bool) -> u64 {
    (0..count).fold(0, |mask, index| mask | (u64::from(is_live(cells.address(index))) << index))
}

/// Whether one of N words is not zero, without a branch.
///
/// # Safety
/// `words` points to N readable words, of any alignment.
#[inline(always)]
unsafe fn any_word<const N: usize>(words: *const u8) -> bool {
    // SAFETY: the caller's promise.
    let word = |index: usize| unsafe { words.cast::<u64>().add(index).read_unaligned() };
    (0..N).fold(0, |all, index| all | word(index)) != 0
}

/// One bit for each of 64 words, 1 where it is not zero. Mostly all or none are: those two cases
/// are decided first, in a form that compilers turn into vector instructions.
///
/// # Safety
/// `words` points to 64 readable words, of any alignment.
#[inline]
unsafe fn mask_of_words(words: *const u64) -> u64 {
    // SAFETY: the caller's promise.
    let word = |index: usize| unsafe { words.add(index).read_unaligned() };
    let zeros: u64 = (0..CELLS_PER_MASK).map(|index| u64::from(word(index) == 0)).sum();
    match zeros {
        0 => u64::MAX,
        64 => 0,
        _ => {
            (0..CELLS_PER_MASK).fold(0, |mask, index| mask | (u64::from(word(index) != 0) << index))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn masks_agree_with_single_cells() {
        for size in [1usize, 8, 12, 16, 24, 32, 40, 64] {
            for vacancy in [
                Vacancy::new(0, size),
                Vacancy::new(size - 1, 1),
                Vacancy::new(size / 2, size - size / 2),
            ] {
                let mut bytes = vec![0u8; size * 200];
                for index in (0..200).filter(|index| index % 3 == 0 || *index > 128) {
                    bytes[index * size + (index * 7) % size] = 1;
                }
                // SAFETY: the vector outlives the run.
                let cells = unsafe { Cells::new(bytes.as_ptr(), size as isize, 200) };
                let single: Vec<bool> =
                    // SAFETY: cells of the run.
                    (0..200).map(|i| unsafe { vacancy.is_live(cells.address(i)) }).collect();
                for start in [0, 1, 64, 136, 190] {
                    let count = (200 - start).min(64);
                    let mask = vacancy.live_mask(cells.part(start, count));
                    for index in 0..count {
                        assert_eq!((mask >> index) & 1 == 1, single[start + index]);
                    }
                }
                assert_eq!(vacancy.count_live(cells), single.iter().filter(|live| **live).count());
            }
        }
    }
}
