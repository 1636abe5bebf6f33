//! A range of cells with the kind of access, and its one-word form.

use std::ops::Range;

/// Bits of each end in the packed form.
const END_BITS: u32 = 29;
const END_MASK: u64 = (1 << END_BITS) - 1;

/// A range of cells that a thread reads or writes. Never empty.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Span {
    pub start: usize,
    pub end: usize,
    pub write: bool,
}

impl Span {
    /// `None` for an empty range, which conflicts with nothing.
    #[inline]
    pub fn new(range: &Range<usize>, write: bool) -> Option<Span> {
        (range.start < range.end).then_some(Span { start: range.start, end: range.end, write })
    }

    /// Whether the two must not be inside at once: they share a cell and one of them writes it.
    #[inline]
    pub fn conflicts(&self, other: &Span) -> bool {
        (self.write || other.write) && self.start < other.end && other.start < self.end
    }

    /// The smallest span that does what both do: the hull, a write if either writes.
    #[inline]
    pub fn union(&self, other: &Span) -> Span {
        Span {
            start: self.start.min(other.start),
            end: self.end.max(other.end),
            write: self.write || other.write,
        }
    }
}

/// The range of a [`Span`] in one word: both ends and a shift, rounded outward where they are too
/// big. Zero stands for "not known", which [`PackedRange::span`] reads as all cells; no span packs
/// to it, since its end is at least 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct PackedRange(pub u64);

impl PackedRange {
    pub const UNKNOWN: PackedRange = PackedRange(0);

    #[inline]
    pub fn new(span: &Span) -> PackedRange {
        let (start, end) = (span.start as u64, span.end as u64);
        if end <= END_MASK {
            return PackedRange(start | end << END_BITS);
        }
        // One bit less than there is room for, so that rounding up the end cannot overflow.
        let shift = (u64::BITS - end.leading_zeros()) - (END_BITS - 1);
        let end = ((end - 1) >> shift) + 1;
        PackedRange(start >> shift | end << END_BITS | u64::from(shift) << (2 * END_BITS))
    }

    /// A span that covers at least the packed one.
    #[inline]
    pub fn span(self, write: bool) -> Span {
        if self == PackedRange::UNKNOWN {
            return Span { start: 0, end: usize::MAX, write };
        }
        let shift = self.0 >> (2 * END_BITS);
        let start = (self.0 & END_MASK) << shift;
        let end = (self.0 >> END_BITS & END_MASK).saturating_mul(1 << shift);
        Span { start: start as usize, end: usize::try_from(end).unwrap_or(usize::MAX), write }
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn small_ranges_pack_exactly() {
        for (start, end) in [(0, 1), (7, 8), (0, (1 << 29) - 1), ((1 << 29) - 2, (1 << 29) - 1)] {
            let span = Span { start, end, write: true };
            assert_eq!(PackedRange::new(&span).span(true), span);
        }
    }

    proptest! {
        #[test]
        fn packing_never_loses_a_cell_and_adds_few(start in any::<usize>(), length in 1_usize..) {
            let span = Span { start, end: start.saturating_add(length), write: false };
            prop_assume!(span.start < span.end);
            let packed = PackedRange::new(&span);
            prop_assert_ne!(packed, PackedRange::UNKNOWN);
            let back = packed.span(false);
            prop_assert!(back.start <= span.start && back.end >= span.end);
            let slack = span.end >> 27;
            prop_assert!(span.start - back.start <= slack && back.end - span.end <= slack);
        }
    }
}
