//! Resize: allocate, move, drop; or growth in place where no code can tell the difference.

use super::{
    Header, Segment, SegmentRequest,
    header::{BOUND, HINTED, SideBitmap},
    integrity,
};
use crate::{
    erased::{ElementType, Failure, observer},
    lock::LockError,
    memory::{AllocError, BlockInfo},
};
use std::{fmt, ops::Range};

/// A segment after [`Segment::resize`].
#[derive(Debug)]
#[must_use]
pub struct Resized {
    /// The segment; the old handle is void even where the address is the same.
    pub segment: Segment,
    /// A destructor of the shrunk tail failed; its objects are gone all the same.
    pub destructor: Option<Failure>,
}

/// Why a segment could not be resized. Its cells are as they were.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ResizeError {
    /// There is no memory.
    Memory(AllocError),
    /// An object would not move.
    Element(Failure),
    /// A thread works on the cells, or they are lent.
    InUse(LockError),
    /// Something is overwritten ([`super::Corruption`]). No lookup finds the segment any more.
    Corrupted(Failure),
}

impl fmt::Display for ResizeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ResizeError::Memory(error) => error.fmt(f),
            ResizeError::InUse(error) => error.fmt(f),
            ResizeError::Corrupted(failure) => f.write_str(&failure.message),
            ResizeError::Element(failure) => write!(f, "could not move an object: {failure}"),
        }
    }
}

impl std::error::Error for ResizeError {}

impl From<AllocError> for ResizeError {
    fn from(error: AllocError) -> Self {
        ResizeError::Memory(error)
    }
}

impl Segment {
    /// Makes the cells `new_bytes` long. Objects in a shrunk tail are destroyed, once; a grown tail
    /// is zero and vacant. Cells of trivially relocatable types (and untyped ones) may stay, grow
    /// in place or move as bytes; all others move through the vtable.
    ///
    /// # Errors
    /// There is no memory, an object would not move, or the segment's lock is held or lent. The
    /// segment is then as it was, with one exception: objects that had moved and would not move back either are destroyed.
    ///
    /// # Safety
    /// No other code uses the segment during the call. On success no code uses the old handle, or
    /// addresses of the old cells, afterwards.
    pub unsafe fn resize(self, new_bytes: usize) -> Result<Resized, ResizeError> {
        self.check_frame().map_err(ResizeError::Corrupted)?;
        let (element, flags) = self.header().type_word();
        // A reader of NumPy's documentation of `refcheck=False` knows better; a view of client
        // code that is still alive would not survive it.
        self.lock().check_idle().map_err(ResizeError::InUse)?;
        if self.is_checked() {
            // SAFETY: as below: no thread works on the cells.
            unsafe { self.check_at_end() }.map_err(ResizeError::Corrupted)?;
        }
        let mut header = self.0;
        // SAFETY: the caller is alone with the segment; no thread held the lock a moment ago.
        unsafe { header.as_mut() }.lock.retire();
        // No code uses a lent cell: that would hold the lock.
        if new_bytes < self.byte_len() {
            self.detach_proxies(new_bytes).map_err(ResizeError::Element)?;
        }
        let (old_start, kept) = (self.cells().as_ptr().addr(), self.byte_len().min(new_bytes));
        let observer = if observer::is_watching() { observer::get() } else { None };
        let left = observer.map(|observer| (observer.segment_leaves)(self.cells()));
        // Destructors of a tail may run code that wants to resize once more.
        self.lock().set_resizing(true);
        // SAFETY: the same contract.
        let resized = unsafe { self.resize_cells(element, flags, new_bytes) };
        resized.as_ref().map_or(self, |resized| resized.segment).lock().set_resizing(false);
        if let (Some(observer), Some(left)) = (observer, left) {
            let segment = resized.as_ref().map_or(self, |resized| resized.segment);
            (observer.segment_arrives)(left, segment.cells());
        }
        let resized = resized?;
        resized.segment.proxies_moved(old_start, kept);
        Ok(resized)
    }

    /// [`Self::resize`] with the lock and the proxies seen to.
    ///
    /// # Safety
    /// As for [`Self::resize`]; `element` and `flags` are the type word.
    unsafe fn resize_cells(
        self,
        element: Option<&'static ElementType>,
        flags: usize,
        new_bytes: usize,
    ) -> Result<Resized, ResizeError> {
        let bound = element.filter(|_| flags & BOUND != 0);
        match bound {
            Some(element) if !element.is_trivially_relocatable() && !self.untouched() => {
                // SAFETY: the same contract.
                unsafe { self.resize_objects(element, new_bytes) }
            }
            // SAFETY: the same contract; the cells are bytes, or may move as bytes.
            _ if new_bytes >= self.byte_len() => unsafe {
                self.grow_bytes(element, flags & (BOUND | HINTED) == BOUND, new_bytes)
            },
            // SAFETY: as above.
            _ => unsafe { Ok(self.shrink_bytes(bound, new_bytes)) },
        }
    }

    /// Growth of cells that are only bytes to us. `element` is the type, `bound` (all bytes are its
    /// cells) or hinted at.
    ///
    /// # Safety
    /// As for [`Self::resize`]; `new_bytes` is not smaller than before.
    unsafe fn grow_bytes(
        self,
        element: Option<&'static ElementType>,
        bound: bool,
        new_bytes: usize,
    ) -> Result<Resized, ResizeError> {
        let error = AllocError { size: new_bytes, align: self.align() };
        let (old_bytes, offset) = (self.byte_len(), self.header().cells_offset);
        // The cells stay where they are in the block: a bitmap that no longer fits moves out.
        let behind = integrity::zone_behind(new_bytes, self.is_checked());
        let total = offset.checked_add(new_bytes.max(1)).and_then(|end| end.checked_add(behind));
        let total = total.ok_or(error)?;
        let side = match element {
            Some(element) if self.header().bitmap_capacity() < new_bytes / element.size() => {
                // Room for as much again, so that growing step by step allocates seldom.
                let bits = (new_bytes / element.size()).saturating_mul(2);
                let side = SideBitmap::new(bits).ok_or(error)?;
                let words = super::layout::words_for(old_bytes / element.size());
                // SAFETY: both bitmaps hold at least as many words as there were cells; the new
                // one is the caller's alone.
                unsafe {
                    side.words().copy_from_nonoverlapping(Header::bitmap_words(self.0), words)
                };
                Some(side)
            }
            _ => None,
        };
        // SAFETY: the block is ours; its contents may move, the header is sealed again below.
        let grown = unsafe { self.source().resize(self.block(), total, self.align()) };
        let grown = match grown {
            Ok(grown) => grown,
            Err(error) => {
                if let Some(side) = side {
                    // SAFETY: never published.
                    unsafe { side.release() };
                }
                return Err(error.into());
            }
        };
        let segment = Segment(grown.start.cast());
        // SAFETY: the block begins with the header, moved as bytes; no other code knows it.
        let header = unsafe { &mut *segment.0.as_ptr() };
        header.bytes = new_bytes;
        header.block_size = grown.size;
        if let Some(old) = side.and_then(|side| header.replace_side_bitmap(Some(side))) {
            // SAFETY: replaced; no code uses the old one any more.
            unsafe { old.release() };
        }
        header.seal();
        segment.clear_grown_bits(old_bytes, new_bytes);
        // Bytes behind the last whole cell belonged to no cell; now they may be part of a cell.
        let kept = match element {
            Some(element) if bound => old_bytes / element.size() * element.size(),
            _ => old_bytes,
        };
        // SAFETY: the tail lies in the block, holds no object, and no other code uses it.
        unsafe { segment.zero_tail(kept, grown.zeroed_from.saturating_sub(offset)) };
        segment.set_canaries();
        Ok(Resized { segment, destructor: None })
    }

    /// Shrinking of cells that are only bytes to us, but for the objects of `element` in the tail.
    /// Never fails: where the block cannot shrink it stays as large as it is.
    ///
    /// # Safety
    /// As for [`Self::resize`]; `new_bytes` is smaller than before.
    unsafe fn shrink_bytes(
        self,
        element: Option<&'static ElementType>,
        new_bytes: usize,
    ) -> Resized {
        let mut destructor = None;
        if let Some(element) = element {
            let (kept, old) = (new_bytes / element.size(), self.cell_count());
            // SAFETY: the caller is alone with the segment.
            destructor = unsafe { self.destroy_live(kept..old, true) }.err();
        }
        let offset = self.header().cells_offset;
        let mut segment = self;
        let behind = integrity::zone_behind(new_bytes, self.is_checked());
        let total = offset + new_bytes.max(1) + behind;
        if self.header().block_size > 2 * total {
            // SAFETY: the block is ours; failing leaves it as it was, which is good enough.
            let smaller = unsafe { self.source().resize(self.block(), total, self.align()) };
            if let Ok(smaller) = smaller {
                segment = Segment(smaller.start.cast());
                // SAFETY: as in `grow_bytes`.
                unsafe { segment.0.as_mut() }.block_size = smaller.size;
            }
        }
        // SAFETY: the block begins with the header; no other code knows it.
        let header = unsafe { segment.0.as_mut() };
        header.bytes = new_bytes;
        header.seal();
        segment.set_canaries();
        Resized { segment, destructor }
    }

    /// The block that the segment lies in.
    fn block(self) -> BlockInfo {
        BlockInfo { start: self.0.cast(), size: self.header().block_size }
    }

    /// Zeroes the cells' bytes from `from` to the end, of which those from `zeroed_from` on are
    /// known to be zero.
    ///
    /// # Safety
    /// The bytes are the caller's, and hold no object.
    unsafe fn zero_tail(self, from: usize, zeroed_from: usize) {
        let end = zeroed_from.min(self.byte_len());
        if from < end {
            // SAFETY: inside the cells.
            unsafe { self.cells().add(from).write_bytes(0, end - from) };
        }
    }

    /// Bits beyond the old cells may be left over from a time when the segment was larger.
    fn clear_grown_bits(&self, old_bytes: usize, new_bytes: usize) {
        if let Some(element) = self.header().type_word().0 {
            let (old, new) = (old_bytes / element.size(), new_bytes / element.size());
            self.bitmap_for(element).fill(old, new - old, false);
        }
    }

    /// Allocate, move through the vtable, drop.
    ///
    /// # Safety
    /// As for [`Self::resize`]; `element` is the bound type.
    unsafe fn resize_objects(
        self,
        element: &'static ElementType,
        new_bytes: usize,
    ) -> Result<Resized, ResizeError> {
        let (source, align, checked) = (self.source(), self.align(), self.is_checked());
        let new = SegmentRequest::new(new_bytes, align)
            .from_source(source)
            .hint(element)
            .zeroed()
            .checked(checked)
            .allocate()?;
        if self.header().type_word().1 & HINTED == 0 {
            // Cannot fail: the hint is right.
            let _bound = new.bind(element);
        }
        new.note_built();
        let old_count = self.cell_count();
        let kept = new.cell_count().min(old_count);
        // SAFETY: both segments are ours alone; the new one is vacant.
        if let Err(failure) = unsafe { move_objects(element, self, new, 0..kept) } {
            // SAFETY: as above; `free` destroys what would not move back.
            unsafe {
                let back = move_objects(element, new, self, 0..kept);
                let destroyed = new.free();
                drop((back, destroyed));
            }
            return Err(ResizeError::Element(failure));
        }
        // SAFETY: the tail is what is still live in the old segment; afterwards nothing is.
        let destructor = unsafe { self.destroy_live(kept..old_count, false) }.err();
        let mut header = new.0;
        // SAFETY: the new segment is ours alone, the old one is used no more.
        unsafe {
            header.as_mut().dependency = self.header().dependency;
            header.as_ref().sign();
            self.release();
        }
        Ok(Resized { segment: new, destructor })
    }
}

/// Moves the live objects among cells `range` to the same cells of another segment, all vacant, and
/// keeps bits, bytes and counters right, also when it stops on the way.
///
/// # Safety
/// The caller is alone with both segments, which are bound to `element` and hold `range`.
unsafe fn move_objects(
    element: &'static ElementType,
    from: Segment,
    to: Segment,
    range: Range<usize>,
) -> Result<(), Failure> {
    let mut outcome = Ok(());
    let mut visit = |live: Range<usize>| {
        if outcome.is_ok() {
            let first = live.start;
            // SAFETY: live sources and vacant destinations in two blocks.
            outcome = unsafe { from.move_stretch(element, live, to, first) }
                .map_err(|failure| failure.after(first));
        }
    };
    // SAFETY: the same contract.
    unsafe { from.for_live(element, range, &mut visit) };
    outcome
}
