//! Sizes of small blocks: steps of 64 bytes up to 1 KiB, then four steps a doubling up to 32 KiB.
//! At most a quarter of a block larger than 256 bytes is waste.

/// The largest small block, in bytes; what is larger owns whole slabs.
pub(crate) const SMALL_MAX: usize = 32 << 10;

/// Number of classes.
pub(crate) const CLASSES: usize = 36;

/// Classes below this one are spaced evenly.
const EVEN: usize = 16;

/// Spacing of the even classes, and the alignment of every class.
const STEP: usize = 64;

/// The smallest class whose blocks hold `size` bytes (1 to [`SMALL_MAX`]) and are aligned to
/// `align`; `None` where no small block will do.
#[inline]
pub(crate) fn class_for(size: usize, align: usize) -> Option<usize> {
    // Slots start at multiples of their size from an aligned start, and every power of two is a
    // class: rounding up to one gives any alignment.
    let size = if align <= STEP { size } else { size.max(align).next_power_of_two() };
    if size <= EVEN * STEP {
        Some((size - 1) / STEP)
    } else if size <= SMALL_MAX {
        // 1 KiB < size: `doubling` counts from 1 KiB, `quarter` is the step within it.
        let doubling = (usize::BITS - 1 - (size - 1).leading_zeros()) as usize - 10;
        let quarter = ((size - 1) >> (doubling + 8)) & 3;
        Some(EVEN + 4 * doubling + quarter)
    } else {
        None
    }
}

/// Bytes of a block of a class.
pub(crate) const fn class_size(class: usize) -> usize {
    if class < EVEN {
        (class + 1) * STEP
    } else {
        let (doubling, quarter) = ((class - EVEN) / 4, (class - EVEN) % 4);
        (5 + quarter) << (doubling + 8)
    }
}

/// Bytes of the address range that a class cuts into slots at a time: few slots are lost at its
/// end, and at least eight fit.
pub(crate) const fn span_size(class: usize) -> usize {
    if class_size(class) <= 4096 { 64 << 10 } else { 256 << 10 }
}

/// How many free blocks of a class one thread keeps.
pub(crate) const fn cached_blocks(class: usize) -> usize {
    match class_size(class) {
        ..=1024 => 64,
        1025..=4096 => 32,
        4097..=8192 => 16,
        _ => 8,
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn a_class_is_the_smallest_that_fits_and_is_aligned() {
        for align in [1, 64, 128, 1024, 4096] {
            for size in 1..=SMALL_MAX {
                let class = class_for(size, align).unwrap();
                assert!(class_size(class) >= size && class_size(class).is_multiple_of(align));
                if align <= STEP && class > 0 {
                    assert!(class_size(class - 1) < size, "{size}");
                }
            }
        }
        assert_eq!(class_for(SMALL_MAX, 1), Some(CLASSES - 1));
        assert_eq!(class_for(SMALL_MAX + 1, 1), None);
    }

    #[test]
    fn one_thread_keeps_less_than_three_mebibytes() {
        let kept: usize = (0..CLASSES).map(|class| class_size(class) * cached_blocks(class)).sum();
        assert!(kept < 3 << 20, "{kept}");
    }
}
