//! Where things lie in a segment's block: `[header | bitmap | pad | canary | cells | canary]`.

use super::Header;
use crate::memory::{AllocError, MAX_ALIGN, MIN_ALIGN};

/// Bits of one bitmap word.
const WORD_BITS: usize = u64::BITS as usize;

/// The checked layout of one block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct SegmentLayout {
    /// Words of the inline bitmap, right behind the header.
    pub(super) bitmap_words: usize,
    /// Bytes from the header to the first cell, a multiple of `align`.
    pub(super) cells_offset: usize,
    /// Alignment of the block and of the first cell.
    pub(super) align: usize,
    /// Bytes of the whole block. At least one byte of cells is counted, so that the address of the
    /// cells of an empty segment is an address of the block.
    pub(super) total: usize,
}

impl SegmentLayout {
    /// For `bytes` of cells, of which each `cell_size` bytes have one bit (none: no inline bitmap),
    /// and `behind` more bytes that are no cells.
    ///
    /// Behind a bitmap there is always one word more, for a canary. Without a bitmap the lock is
    /// next to the cells, whose unused slots show an overwrite as well.
    ///
    /// # Errors
    /// The size overflows, or the alignment is not a power of two up to [`MAX_ALIGN`].
    pub(super) fn new(
        bytes: usize,
        align: usize,
        cell_size: Option<usize>,
        behind: usize,
    ) -> Result<Self, AllocError> {
        let error = AllocError { size: bytes, align };
        if !align.is_power_of_two() || align > MAX_ALIGN {
            return Err(error);
        }
        let align = align.max(MIN_ALIGN);
        let bitmap_words = cell_size.map_or(0, |size| words_for(bytes / size.max(1)));
        let checked = || {
            let canary = usize::from(cell_size.is_some());
            let cells_offset = (bitmap_words + canary)
                .checked_mul(size_of::<u64>())?
                .checked_add(size_of::<Header>())?
                .checked_next_multiple_of(align)?;
            let total = cells_offset.checked_add(bytes.max(1))?.checked_add(behind)?;
            Some(SegmentLayout { bitmap_words, cells_offset, align, total })
        };
        checked().ok_or(error)
    }
}

/// How many words hold `bits` bits.
pub(super) fn words_for(bits: usize) -> usize {
    bits.div_ceil(WORD_BITS)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_follow_each_other_and_cells_are_aligned() {
        for bytes in [0, 1, 63, 64, 100, 4096, 1 << 20] {
            for shift in 0..=12 {
                for cell_size in [None, Some(1), Some(8), Some(24), Some(4096)] {
                    let align = 1 << shift;
                    let layout = SegmentLayout::new(bytes, align, cell_size, 64).unwrap();
                    let bits = cell_size.map_or(0, |size| bytes / size);
                    assert!(layout.bitmap_words * 64 >= bits);
                    let canary = if cell_size.is_some() { 8 } else { 0 };
                    let front = size_of::<Header>() + layout.bitmap_words * 8 + canary;
                    assert!(layout.cells_offset >= front);
                    assert!(layout.cells_offset.is_multiple_of(align.max(64)));
                    assert!(layout.total > layout.cells_offset);
                    assert!(layout.total >= layout.cells_offset + bytes + 64);
                }
            }
        }
    }

    #[test]
    fn sizes_that_overflow_and_odd_alignments_are_errors() {
        for (bytes, align) in
            [(usize::MAX, 64), (usize::MAX - 100, 1), (1, 0), (1, 3), (1, 8192), (usize::MAX, 4096)]
        {
            for cell_size in [None, Some(1), Some(8)] {
                let error = SegmentLayout::new(bytes, align, cell_size, 0).unwrap_err();
                assert_eq!((error.size, error.align), (bytes, align));
            }
        }
    }
}
