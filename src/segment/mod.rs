//! Segments: one allocation each that holds cells, with a record of which of them are live.
//!
//! ```text
//! | header | init bitmap | pad | cells ... |
//! ^ block                      ^ 64-byte aligned or more; what everybody else points at
//! ```
//!
//! A segment may be allocated with a *hint*, the element type it is meant for: the bitmap is then
//! sized for it and lies behind the header. The type is settled ([`Segment::bind`]) when an
//! operation of that type first touches the cells. A segment without a hint, or with one that turns
//! out wrong, gets its bitmap at that moment, in an allocation of its own: an inline bitmap for the
//! smallest possible cell would make every untyped array an eighth larger.
//!
//! # What is the truth
//! Where the type has a zero promise, the cells' bytes (`rules of life`, 1); the bits are a record
//! that is checked against them. Where it has none, the bits.
//!
//! # Invariants
//! * `segment-live`: the handle's block is live and starts with a sealed header. Code that holds a
//!   handle has to know that no code frees or resizes the segment meanwhile.
//! * `segment-cells`: code that reads (writes) cells or their bits holds the right to read (write)
//!   those cells, by the segment's lock ([`Segment::lock`]) or because no other code knows the segment.
//! * `segment-bits`: in a segment whose type has no zero promise a bit is 1 exactly where there is
//!   a live object; in the others where the last operation of ours left one.
//! * `segment-hinted`: a hint says which type the memory was asked for with, not that every byte is
//!   a cell of it: a structured array may lie there, with other fields between the objects. Loops
//!   set bits of cells that are theirs. So as long as no caller binds the type, an object is where cell
//!   *and* bit say so; a live cell that bytes were moved to without us has no bit, and is leaked
//!   rather than guessed at if it is never cleared before the segment is freed.

mod bitmap;
#[cfg(test)]
mod failing_tests;
mod header;
mod inspect;
mod integrity;
mod layout;
mod ledger;
mod lifecycle;
#[cfg(all(test, loom))]
mod loom_tests;
mod operations;
mod proxies;
mod relocate;
mod source;
#[cfg(test)]
mod tests;

pub use bitmap::InitBitmap;
pub use header::{Header, ReleaseFn};
pub use inspect::Snapshot;
pub use integrity::{Corruption, Lost, Part, is_checking, set_checked, set_site_hook};
pub use ledger::{Ledger, RUN};
pub use lifecycle::SegmentRequest;
pub use proxies::{ProxyHooks, may_have_proxies, proxy_begins, proxy_ends, set_proxy_hooks};
pub use relocate::{ResizeError, Resized};
pub use source::{Source, Upstream};

use crate::{
    erased::{CELLS_PER_MASK, Cells, CellsMut, ElementType, Exclusive},
    lock::SegmentLock,
    memory::AllocError,
    owner_map,
};
use header::{BINDING, BOUND, BUILT, HINTED, SideBitmap};
use std::{fmt, ops::Range, ptr::NonNull, slice};

/// A live segment.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Segment(NonNull<Header>);

// SAFETY: a segment belongs to no thread; what may be done with one at once is `segment-cells`.
unsafe impl Send for Segment {}
// SAFETY: as above.
unsafe impl Sync for Segment {}

/// Why a segment cannot take an element type.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum BindError {
    /// It holds cells of another type.
    Taken {
        /// Name of the type it holds.
        already: String,
        /// Name of the type that was to be bound.
        wanted: String,
    },
    /// The type's alignment is larger than the segment's.
    Misaligned {
        /// Alignment of the segment.
        align: usize,
        /// Alignment of the type.
        wanted: usize,
    },
    /// No memory for the bitmap.
    Memory(AllocError),
}

impl fmt::Display for BindError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            BindError::Taken { already, wanted } => write!(
                f,
                "this memory holds objects of {already}; it cannot hold {wanted} as well before it \
                 is freed"
            ),
            BindError::Misaligned { align, wanted } => {
                write!(f, "this memory is aligned to {align} bytes, the type needs {wanted}")
            }
            BindError::Memory(error) => error.fmt(f),
        }
    }
}

impl std::error::Error for BindError {}

impl Segment {
    /// The segment whose cells contain the byte at `pointer`; any address whatever may be asked
    /// for. The address of the cells of an empty segment counts as inside.
    ///
    /// # Safety
    /// If `pointer` is in a segment, no code frees or resizes that segment during the call.
    #[inline]
    pub unsafe fn find(pointer: *const u8) -> Option<Segment> {
        let block = owner_map::block_of(pointer)?;
        if block.size < size_of::<Header>() {
            return None;
        }
        // The block's start has the provenance of the whole block, `pointer` perhaps not.
        let segment = Segment(block.start.cast());
        // SAFETY: the block is large enough for a header, and readable; only the atomic magic is
        // read before it is known to be one.
        let header = unsafe { segment.0.as_ref() };
        if !header.is_genuine() {
            return None;
        }
        // Wrapping: the fields may be overwritten.
        let cells = block.start.as_ptr().addr().wrapping_add(header.cells_offset);
        (pointer.addr().wrapping_sub(cells) < header.bytes.max(1)).then_some(segment)
    }

    #[inline]
    fn header(&self) -> &Header {
        // SAFETY: `segment-live`.
        unsafe { self.0.as_ref() }
    }

    /// The first cell.
    #[inline]
    pub fn cells(self) -> NonNull<u8> {
        // SAFETY: `segment-live`: the cells lie in the same block.
        unsafe { self.0.cast::<u8>().add(self.header().cells_offset) }
    }

    /// Bytes of cells, as asked for.
    #[inline]
    pub fn byte_len(self) -> usize {
        self.header().bytes
    }

    /// The lock of the cells.
    #[inline]
    pub fn lock(&self) -> &SegmentLock {
        &self.header().lock
    }

    /// Alignment of the first cell, in bytes.
    #[inline]
    pub fn align(self) -> usize {
        self.header().align()
    }

    /// Whether all bytes were known to be zero when the segment was allocated.
    #[inline]
    pub fn allocated_zeroed(self) -> bool {
        self.header().is(header::ZEROED)
    }

    /// Where the segment's memory comes from.
    #[inline]
    pub fn source(self) -> Source {
        // SAFETY: `segment-live`; `SegmentRequest::allocate` noted what the block is made of.
        unsafe { Source::of_block(self.0.cast(), self.header().is(header::UPSTREAM)) }
    }

    /// The type of the cells, once it is settled.
    #[inline]
    pub fn element(self) -> Option<&'static ElementType> {
        match self.header().type_word() {
            (element, flags) if flags & BOUND != 0 => element,
            _ => None,
        }
    }

    /// Whether the segment was made for, or is bound to, this very type.
    #[inline]
    pub fn is_for(self, element: &ElementType) -> bool {
        matches!(self.header().type_word(),
            (Some(known), flags) if std::ptr::eq(known, element) && flags & BINDING == 0)
    }

    /// How many whole cells there are; 0 before the type is settled.
    #[inline]
    pub fn cell_count(self) -> usize {
        self.element().map_or(0, |element| divide(self.byte_len(), element.size()))
    }

    /// Whether no object was ever built here.
    #[inline]
    pub fn untouched(self) -> bool {
        self.header().type_word().1 & BUILT == 0
    }

    /// Settles the type of the cells. Binding to the type that is bound already costs next to
    /// nothing.
    ///
    /// A segment that was hinted at the same type keeps its cells: the allocation answers for the
    /// rules of life, and the caller of `bind` says that all its bytes are cells of the type (it is
    /// too late for that once a loop has settled the type: `segment-hinted` goes on). In any other
    /// case no code of ours has ever written the cells, and for a type with a zero promise they are
    /// zeroed, that is made vacant: raw copies of other objects' bytes must not pass for objects.
    ///
    /// # Errors
    /// Another type is bound; the type needs a larger alignment; there is no memory for the bitmap.
    pub fn bind(self, element: &'static ElementType) -> Result<(), BindError> {
        loop {
            let (known, flags) = self.header().type_word();
            let same = known.is_some_and(|known| std::ptr::eq(known, element));
            if flags & BINDING != 0 {
                crate::sync::thread::yield_now();
            } else if flags & BOUND != 0 {
                return match known {
                    Some(known) if !same => Err(BindError::Taken {
                        already: known.name().to_owned(),
                        wanted: element.name().to_owned(),
                    }),
                    _ => Ok(()),
                };
            } else if element.align() > self.align() {
                return Err(BindError::Misaligned { align: self.align(), wanted: element.align() });
            } else if same {
                // The hint has sized the bitmap, and its giver answers for the cells.
                if self.header().exchange_type((known, flags), (known, BOUND)) {
                    return Ok(());
                }
            } else if self.header().exchange_type((known, flags), (Some(element), BINDING)) {
                let settled = self.prepare(element);
                // The checksum is of the type that the segment ends up with.
                let kept = if settled.is_ok() { Some(element) } else { known };
                self.header().sign_for(kept);
                let after = if settled.is_ok() { (Some(element), BOUND) } else { (known, flags) };
                let changed = self.header().exchange_type((Some(element), BINDING), after);
                debug_assert!(changed, "nobody else changes the word while it is being settled");
                return settled;
            }
        }
    }

    /// Makes bitmap and cells ready for a type that was not hinted at, with the type word held.
    fn prepare(self, element: &'static ElementType) -> Result<(), BindError> {
        let count = self.byte_len() / element.size();
        if self.header().bitmap_capacity() < count {
            let side = SideBitmap::new(count).ok_or(BindError::Memory(AllocError {
                size: count.div_ceil(8),
                align: align_of::<u64>(),
            }))?;
            if let Some(old) = self.header().replace_side_bitmap(Some(side)) {
                // SAFETY: made for the hint when the segment grew, and never used.
                unsafe { old.release() };
            }
        }
        if element.has_zero_promise() {
            // SAFETY: `byte_len` bytes of cells; nothing was ever built in them.
            unsafe { self.cells().write_bytes(0, self.byte_len()) };
        }
        Ok(())
    }

    /// Records that an object was built, which also settles a hinted type.
    #[inline]
    pub fn note_built(self) {
        if self.header().type_word().1 & BUILT == 0 {
            self.note_first_built();
        }
    }

    #[cold]
    fn note_first_built(self) {
        loop {
            let (element, flags) = self.header().type_word();
            debug_assert!(element.is_some(), "an object needs a type");
            if flags & BINDING != 0 {
                crate::sync::thread::yield_now();
            } else if flags & BUILT != 0
                || self.header().exchange_type((element, flags), (element, flags | BOUND | BUILT))
            {
                return;
            }
        }
    }

    /// Records that cells `pointer .. pointer + bytes` were made vacant and their bits cleared;
    /// where that is all of them, the segment counts as untouched again, and freeing it takes
    /// constant time.
    ///
    /// # Safety
    /// `segment-cells` for writing, and the statement is true.
    pub unsafe fn note_vacated(self, pointer: *const u8, bytes: usize) {
        if pointer.addr() <= self.cells().as_ptr().addr() && bytes >= self.byte_len() {
            self.header().forget_built();
        }
    }

    /// The init bitmap, once the type is settled.
    #[inline]
    pub fn bitmap(&self) -> Option<InitBitmap<'_>> {
        self.element().map(|element| self.bitmap_for(element))
    }

    /// Gives the bits of at most 64 cells the values in `live`, which is what the cells are: they had
    /// moved without their bits. Returns how many bits were wrong.
    pub fn follow(&self, element: &ElementType, start: usize, count: usize, live: u64) -> u32 {
        let bitmap = self.bitmap_for(element);
        let wrong = bitmap.get(start, count) ^ live;
        if wrong != 0 {
            bitmap.put(start, count, live);
            self.header().note_drift(wrong & live, wrong & !live);
        }
        wrong.count_ones()
    }

    /// The init bitmap of a segment that is hinted at or bound to `element`.
    #[inline]
    fn bitmap_for(&self, element: &ElementType) -> InitBitmap<'_> {
        self.bitmap_of(divide(self.byte_len(), element.size()))
    }

    /// The init bitmap of a segment with so many cells of the type it is hinted at or bound to.
    #[inline]
    fn bitmap_of(&self, bits: usize) -> InitBitmap<'_> {
        // SAFETY: `segment-live`.
        let words = unsafe { Header::bitmap_words(self.0) }.cast();
        // SAFETY: `segment-live`; hint and `prepare` make the bitmap large enough for the type's
        // cells; its words are only ever used as atomics while the segment is shared.
        let words = unsafe { slice::from_raw_parts(words.as_ptr(), layout::words_for(bits)) };
        InitBitmap::new(words, bits)
    }

    /// Index of the cell that `pointer` lies in, and whether it is the cell's first byte. `None`
    /// outside the whole cells or before the type is settled.
    #[inline]
    pub fn cell_index(self, pointer: *const u8) -> Option<(usize, bool)> {
        let size = self.element()?.size();
        let offset = pointer.addr().wrapping_sub(self.cells().as_ptr().addr());
        let index = divide(offset, size);
        (index < self.cell_count()).then_some((index, index * size == offset))
    }

    /// Has `release(context)` called once, when the segment is freed. One dependency a segment: a
    /// second call replaces the first without running it.
    ///
    /// # Safety
    /// No other code uses the segment during the call; `release` may be called with `context` from
    /// any thread, and does not unwind.
    pub unsafe fn set_dependency(self, context: *mut std::ffi::c_void, release: Option<ReleaseFn>) {
        let mut header = self.0;
        // SAFETY: `segment-live`, and the caller is alone.
        let header = unsafe { header.as_mut() };
        header.dependency = header::Dependency { context, release };
        header.sign();
    }

    /// What [`Self::set_dependency`] was called with.
    #[inline]
    pub fn dependency(self) -> (*mut std::ffi::c_void, Option<ReleaseFn>) {
        let header::Dependency { context, release } = self.header().dependency;
        (context, release)
    }

    /// The type that the segment was made for or is bound to.
    #[inline]
    pub fn intended(self) -> Option<&'static ElementType> {
        self.header().type_word().0
    }

    /// Address of a cell of the bound type.
    #[inline]
    pub fn cell_address(self, index: usize) -> NonNull<u8> {
        debug_assert!(index < self.cell_count());
        let size = self.element().map_or(0, ElementType::size);
        // SAFETY: the cells lie in the block.
        unsafe { self.cells().add(index * size) }
    }

    /// Whether there is a live object in a cell of the bound type.
    ///
    /// # Safety
    /// `segment-cells` for reading the cell.
    #[inline]
    pub unsafe fn holds(self, index: usize) -> bool {
        // SAFETY: the same contract.
        self.element().is_some_and(|element| unsafe { self.live_mask(element, index, 1) } != 0)
    }

    /// Cells `range` to read.
    ///
    /// # Safety
    /// The range lies in the segment's whole cells; `segment-cells` for reading, for `'a`.
    #[inline]
    unsafe fn run<'a>(self, element: &ElementType, range: Range<usize>) -> Cells<'a> {
        // SAFETY: the caller's promise; the address is inside the block.
        unsafe {
            let first = self.cells().add(range.start * element.size());
            Cells::new(first.as_ptr(), element.size() as isize, range.len())
        }
    }

    /// Cells `range` to write.
    ///
    /// # Safety
    /// The range lies in the segment's whole cells; `segment-cells` for writing, for `'a`.
    #[inline]
    unsafe fn run_mut<'a>(self, element: &ElementType, range: Range<usize>) -> CellsMut<'a> {
        // SAFETY: the caller's promise; the address is inside the block.
        unsafe {
            let first = self.cells().add(range.start * element.size());
            CellsMut::new(first.as_ptr(), element.size() as isize, range.len(), Exclusive::own())
        }
    }

    /// Which of at most 64 cells are live, by the truth of the type and of `segment-hinted`.
    ///
    /// # Safety
    /// As for [`Self::run`].
    #[inline]
    unsafe fn live_mask(self, element: &ElementType, start: usize, count: usize) -> u64 {
        if element.has_zero_promise() {
            // SAFETY: the same contract.
            let live =
                element.vacancy().live_mask(unsafe { self.run(element, start..start + count) });
            if live != 0 && self.header().type_word().1 & HINTED != 0 {
                // `segment-hinted`
                return live & self.bitmap_for(element).get(start, count);
            }
            live
        } else {
            self.bitmap_for(element).get(start, count)
        }
    }

    /// Calls `visit` with each stretch of live cells in `range`, in order; long stretches come in
    /// pieces that fit in the fastest cache, since the scan and the visit both read them.
    ///
    /// # Safety
    /// As for [`Self::run`]; `visit` may change the cells it is given and their bits.
    unsafe fn for_live(
        self,
        element: &ElementType,
        range: Range<usize>,
        mut visit: impl FnMut(Range<usize>),
    ) {
        let longest = (16 << 10) / element.size().clamp(1, 256);
        let mut pending = range.start..range.start;
        let mut start = range.start;
        while start < range.end {
            let count = CELLS_PER_MASK.min(range.end - start);
            // SAFETY: the same contract; the cells of `pending` lie before these.
            let mut mask = unsafe { self.live_mask(element, start, count) };
            let mut offset = 0;
            while mask != 0 {
                let vacant = mask.trailing_zeros() as usize;
                // Not one shift: a stretch may be all 64 bits.
                mask >>= vacant;
                let length = mask.trailing_ones() as usize;
                mask = mask.checked_shr(length as u32).unwrap_or(0);
                let first = start + offset + vacant;
                offset += vacant + length;
                if pending.end != first || pending.len() >= longest {
                    if !pending.is_empty() {
                        visit(pending);
                    }
                    pending = first..first;
                }
                pending.end = first + length;
            }
            start += count;
        }
        if !pending.is_empty() {
            visit(pending);
        }
    }
}

/// `value / divisor`, quick for the powers of two that most cell sizes are.
#[inline]
fn divide(value: usize, divisor: usize) -> usize {
    if divisor.is_power_of_two() { value >> divisor.trailing_zeros() } else { value / divisor }
}
