//! The canaries in front of the cells and behind them.

use super::{
    super::{
        Segment,
        header::{CHECKED, Header},
    },
    bytes_at,
};
use std::ptr::NonNull;

/// The canary in front of the cells, and what those behind them repeat.
pub(super) const CANARY: u64 = 0x5e67_0e47_ca4a_12fe;
/// Bytes behind the cells of a checked segment that are no cells.
pub(in crate::segment) const RED_ZONE: usize = 64;
pub(super) const BEHIND: [u8; RED_ZONE] = {
    let (word, mut bytes, mut index) = (CANARY.to_le_bytes(), [0; RED_ZONE], 0);
    while index < RED_ZONE {
        bytes[index] = word[index % 8];
        index += 1;
    }
    bytes
};
/// Bytes of the canary behind cells that are not checked: at least, and at most where the block has
/// more.
pub(super) const SMALL_ZONE: std::ops::RangeInclusive<usize> = 8..=16;
/// Segments with more bytes of cells have no canary behind them unless they are checked: it would
/// touch a page that the cells may never need.
pub(super) const LARGEST_WITH_CANARY: usize = 2048;
/// So far from the header a canary in front of the cells touches no page of its own.
pub(super) const NEAR: usize = 4096;

/// How many bytes a segment has behind its cells that are no cells.
#[inline]
pub(in crate::segment) fn zone_behind(bytes: usize, checked: bool) -> usize {
    match bytes {
        _ if checked => RED_ZONE,
        ..=LARGEST_WITH_CANARY => *SMALL_ZONE.start(),
        _ => 0,
    }
}

impl Segment {
    /// Writes the canaries around the cells, where there is room for them.
    #[inline]
    pub(in crate::segment) fn set_canaries(self) {
        if let Some(canary) = self.front_canary() {
            // SAFETY: inside the block, in front of the cells, behind the bitmap.
            unsafe { canary.write(CANARY) };
        }
        let (start, length) = self.behind_range();
        // SAFETY: inside the block, behind the cells; `BEHIND` is at least as long.
        unsafe { start.copy_from_nonoverlapping(NonNull::from(&BEHIND).cast(), length) };
    }

    /// The canary in front of the cells: the last word before them that is not the header's.
    #[inline]
    pub(super) fn front_canary(self) -> Option<NonNull<u64>> {
        let header = self.header();
        let exists = header.cells_offset > size_of::<Header>()
            && (header.cells_offset <= NEAR || header.is(CHECKED));
        // SAFETY: between header and cells.
        exists.then(|| unsafe { self.0.cast::<u8>().add(header.cells_offset - 8).cast() })
    }

    #[inline]
    pub(super) fn behind_range(self) -> (NonNull<u8>, usize) {
        let header = self.header();
        let end = header.cells_offset + header.bytes.max(1);
        let longest = match header.bytes {
            _ if header.is(CHECKED) => RED_ZONE,
            ..=LARGEST_WITH_CANARY => *SMALL_ZONE.end(),
            _ => 0,
        };
        let length = longest.min(header.block_size.saturating_sub(end));
        // SAFETY: the block has `block_size` bytes; where the length is 0 the address is not used.
        (unsafe { NonNull::new_unchecked(self.0.cast::<u8>().as_ptr().wrapping_add(end)) }, length)
    }

    /// The bytes behind the cells that are the canary's.
    #[inline]
    pub(super) fn behind<'a>(self) -> &'a [u8] {
        let (start, length) = self.behind_range();
        // SAFETY: inside the block; no code writes to a canary.
        unsafe { bytes_at(start, length) }
    }
}
