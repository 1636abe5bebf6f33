//! Whether a segment still is what its loops left: what was overwritten, found and named.
//!
//! ```text
//! | header: magic, fields, checksum, lock | bitmap | pad | canary | cells ... | canary |
//! ```
//!
//! Looked at whenever a segment is freed or resized: the checksum over the header's fields, the form
//! of its lock, and both canaries, as far as they share a page with something that is touched
//! anyway. A segment that was made while checks were on ([`set_checked`]) has both canaries at any
//! size, and its cells are compared with the init bitmap as well.
//!
//! # What becomes of a corrupted segment
//! It is *quarantined*: no lookup finds it any more, no object in it is destroyed, its memory is never
//! used again, and what it keeps alive stays alive. Some code wrote where it should not have; which
//! of the objects are still objects cannot be told, and a leak is always sound.

mod canary;
mod corruption;

pub(super) use canary::zone_behind;
pub use corruption::{Corruption, Lost, Part};

use super::{
    Segment,
    header::{BINDING, BOUND, CHECKED, HINTED, Header, UPSTREAM},
    layout::words_for,
};
use crate::{
    erased::{CELLS_PER_MASK, ElementType, Failure, observer},
    lock::{Request, try_acquire_all},
    memory::BlockInfo,
    owner_map,
};
use canary::{BEHIND, CANARY};
use std::{
    fmt::Write as _,
    ptr::NonNull,
    slice,
    sync::{
        OnceLock,
        // A static, which loom's types cannot be; nothing is published through it.
        atomic::{AtomicBool, Ordering::Relaxed},
    },
};

static CHECKING: AtomicBool = AtomicBool::new(false);
static SITE_HOOK: OnceLock<fn(usize) -> Option<String>> = OnceLock::new();

/// Whether segments that are allocated from now on are checked as thoroughly as can be; says what
/// was so before. For the whole process.
pub fn set_checked(checked: bool) -> bool {
    CHECKING.swap(checked, Relaxed)
}

/// What [`set_checked`] was last told.
#[inline]
pub fn is_checking() -> bool {
    CHECKING.load(Relaxed)
}

/// Has `hook` asked where a segment was made, by the address of its first cell: "script.py:12". The
/// first hook stays.
pub fn set_site_hook(hook: fn(usize) -> Option<String>) {
    let _ = SITE_HOOK.set(hook);
}

/// How the bits differ from the cells. Moves of cells as bytes change which, not how many.
#[derive(Clone, Copy, Default)]
struct Comparison {
    /// Bits without a live cell, and the first such cell.
    missing: usize,
    first_missing: usize,
    /// Live cells without a bit, and the first such cell.
    surplus: usize,
    first_surplus: usize,
}

/// Bytes as they stand in memory.
fn hex(bytes: &[u8]) -> String {
    let mut text = String::with_capacity(3 * bytes.len());
    for byte in &bytes[..bytes.len().min(16)] {
        let _ = write!(text, "{}{byte:02x}", if text.is_empty() { "" } else { " " });
    }
    if bytes.len() > 16 {
        text.push_str(" ..");
    }
    text
}

impl Segment {
    /// As [`Self::diagnose`], and what was overwritten is quarantined: it was to be freed, or used as
    /// if it were whole.
    ///
    /// # Safety
    /// As for [`Segment::find`].
    #[cold]
    pub unsafe fn lost(pointer: *const u8) -> Lost {
        // SAFETY: the same contract.
        let lost = unsafe { Segment::diagnose(pointer) };
        if let Lost::Corrupted(corruption) = &lost
            && let Some(block) = owner_map::block_of(pointer)
        {
            Segment(block.start.cast()).quarantine(corruption);
        }
        lost
    }

    /// What is wrong at an address that a caller takes for the cells of a segment and that
    /// [`Segment::find`] does not.
    ///
    /// # Safety
    /// As for [`Segment::find`].
    #[cold]
    pub unsafe fn diagnose(pointer: *const u8) -> Lost {
        let Some(block) = owner_map::block_of(pointer) else { return Lost::Foreign };
        if block.size < size_of::<Header>() {
            return Lost::Foreign;
        }
        let segment = Segment(block.start.cast());
        // SAFETY: a live block of ours holds a segment, whose header has room; all its fields are
        // plain numbers and pointers that are not followed here.
        let header = unsafe { segment.0.as_ref() };
        if header.is_quarantined() {
            return Lost::Quarantined;
        }
        // SAFETY: as above.
        Lost::Corrupted(Box::new(unsafe { segment.broken_header(block) }))
    }

    /// Checks every living segment, as [`Self::check_integrity`] does; the cells of those that
    /// a thread is at work on are not looked at. Segments that were quarantined before are left out.
    ///
    /// # Safety
    /// No segment is freed or resized meanwhile (NumPy does so with the GIL held).
    pub unsafe fn check_all() -> Vec<Corruption> {
        let mut found = Vec::new();
        owner_map::for_each_block(&mut |block| {
            if block.size < size_of::<Header>() {
                return;
            }
            let segment = Segment(block.start.cast());
            // SAFETY: a live block of ours has room for a header, and is not freed meanwhile.
            let header = unsafe { segment.0.as_ref() };
            if header.is_quarantined() || header.is_unborn() {
                return;
            }
            let corruption = segment.frame_corruption().or_else(|| {
                let mut cells = [Request::new(&header.lock, 0..header.bytes.max(1), false)];
                let guard = try_acquire_all(&mut cells).ok()?;
                // SAFETY: the cells are locked for reading.
                let corruption = unsafe { segment.check_integrity() }.err();
                drop(guard);
                corruption
            });
            found.extend(corruption);
        });
        found
    }

    /// The corruption of a segment whose header says that it is none, or that contradicts its block.
    ///
    /// # Safety
    /// The block is live, and there is room for a header.
    unsafe fn broken_header(self, block: BlockInfo) -> Corruption {
        // SAFETY: the caller's promise.
        let begins = unsafe { bytes_at(block.start, size_of::<Header>().min(32)) };
        let genuine = self.header().is_genuine();
        let (part, what) = if genuine {
            (Part::Fields, "a field of its header (size, place, type, what it keeps alive) changed")
        } else {
            (Part::Header, "its header was overwritten")
        };
        let mut found = format!("{what}; the header begins with {}", hex(begins));
        if !genuine && let Some(neighbour) = in_front_of(block) {
            let _ = write!(found, "; in front of it lies {neighbour}");
        }
        self.corruption(part, found)
    }

    /// Whether header, lock and canaries are what they should be. The fast half of
    /// [`Self::frame_corruption`].
    #[inline]
    pub(super) fn is_whole(self) -> bool {
        let header = self.header();
        header.is_genuine()
            && header.is_signed()
            && header.lock.is_well_formed()
            && self.front_canary().is_none_or(|canary| {
                // SAFETY: inside the block, in front of the cells.
                unsafe { canary.read() == CANARY }
            })
            && self.behind() == &BEHIND[..self.behind().len()]
            && (!header.is(UPSTREAM) || self.has_upstream_record())
    }

    /// What is broken around the cells.
    #[cold]
    fn frame_corruption(self) -> Option<Corruption> {
        let header = self.header();
        let block = owner_map::block_of(self.0.as_ptr().cast());
        let fits = header.is_genuine()
            && header.is_signed()
            && block.is_some_and(|block| {
                block.start == self.0.cast() && block.size == header.block_size
            });
        if !fits {
            let block =
                block.unwrap_or(BlockInfo { start: self.0.cast(), size: size_of::<Header>() });
            // SAFETY: `segment-live`: at least the header is there.
            return Some(unsafe { self.broken_header(block) });
        }
        // From here on the fields are what was signed.
        if !header.lock.is_well_formed() {
            let lock = NonNull::from(&header.lock).cast();
            // SAFETY: the lock is a part of the header.
            let bytes = unsafe { bytes_at(lock, size_of_val(&header.lock)) };
            let found = format!("the lock in its header was overwritten: {}", hex(bytes));
            return Some(self.corruption(Part::Lock, found));
        }
        if header.is(UPSTREAM) && !self.has_upstream_record() {
            let found = "what stands in front of its header, in the memory of another allocator, was \
                         overwritten";
            return Some(self.corruption(Part::UpstreamRecord, found.to_owned()));
        }
        if let Some(canary) = self.front_canary() {
            // SAFETY: inside the block, in front of the cells.
            let bytes = unsafe { bytes_at(canary.cast(), size_of::<u64>()) };
            if bytes != CANARY.to_ne_bytes() {
                let found = format!(
                    "the 8 bytes in front of its first cell were overwritten: {}",
                    hex(bytes)
                );
                return Some(self.corruption(Part::Front, found));
            }
        }
        let behind = self.behind();
        let wrong = |index: &usize| behind[*index] != BEHIND[*index];
        if let Some(last) = (0..behind.len()).rev().find(wrong) {
            let first = (0..behind.len()).find(wrong).unwrap_or(last);
            let (wrong, more) = (last + 1 - first, last + 1 == behind.len());
            let found = format!(
                "{}{wrong} {} behind its last cell{} overwritten: {}",
                if more { "at least " } else { "" },
                if wrong == 1 { "byte" } else { "bytes" },
                match (first, wrong) {
                    (0, 1) => " was".to_owned(),
                    (0, _) => " were".to_owned(),
                    (_, 1) => format!(" (byte {first} behind it) was"),
                    _ => format!(" (from byte {first} behind it on) were"),
                },
                hex(&behind[first..=last])
            );
            return Some(self.corruption(Part::Behind, found));
        }
        None
    }

    /// Checks all that can be checked without knowing whether every byte of the cells is a cell;
    /// returns how many bits differ from the cells (always 0 where the bits are the truth). A
    /// difference that a permutation of the cells explains is no error: NumPy moves cells as bytes.
    ///
    /// # Errors
    /// Something is overwritten.
    ///
    /// # Safety
    /// `segment-cells` for reading all cells. The header itself may be corrupted.
    pub unsafe fn check_integrity(self) -> Result<usize, Corruption> {
        // SAFETY: the same contract.
        unsafe { self.check(None) }
    }

    /// As [`Self::check_integrity`], for a caller who knows that all bytes are cells of `element`,
    /// as an array of that type does.
    ///
    /// # Errors
    /// As for [`Self::check_integrity`].
    ///
    /// # Safety
    /// As for [`Self::check_integrity`].
    pub unsafe fn check_cells(self, element: &'static ElementType) -> Result<usize, Corruption> {
        // SAFETY: the same contract.
        unsafe { self.check(Some(element)) }
    }

    /// # Safety
    /// As for [`Self::check_integrity`].
    unsafe fn check(self, all_cells_of: Option<&'static ElementType>) -> Result<usize, Corruption> {
        if !self.is_whole()
            && let Some(corruption) = self.frame_corruption()
        {
            return Err(corruption);
        }
        let (known, flags) = self.header().type_word();
        let Some(element) = known.filter(|_| flags & BINDING == 0) else { return Ok(0) };
        if let Some(corruption) = self.bitmap_corruption(element) {
            return Err(corruption);
        }
        if !element.has_zero_promise() {
            return Ok(0);
        }
        let all_cells = all_cells_of.is_some_and(|all| std::ptr::eq(all, element))
            || flags & (BOUND | HINTED) == BOUND;
        // SAFETY: the same contract.
        let found = unsafe { self.compare(element) };
        let Comparison { missing, surplus, .. } = found;
        // Other fields of a structured array look like live cells (`segment-hinted`).
        if self.header().explains(missing, surplus) || !all_cells && surplus != 0 {
            return Ok(if all_cells { missing + surplus } else { missing });
        }
        Err(self.cells_corruption(element, found))
    }

    /// Compares bits and cells of a type with a zero promise.
    ///
    /// # Safety
    /// As for [`Self::check_integrity`].
    unsafe fn compare(self, element: &'static ElementType) -> Comparison {
        let bitmap = self.bitmap_for(element);
        let mut found = Comparison::default();
        for start in (0..bitmap.len()).step_by(CELLS_PER_MASK) {
            let count = CELLS_PER_MASK.min(bitmap.len() - start);
            // SAFETY: the same contract; the range lies in the whole cells.
            let cells = unsafe { self.run(element, start..start + count) };
            let (live, bits) = (element.vacancy().live_mask(cells), bitmap.get(start, count));
            let note = |wrong: u64, sum: &mut usize, first: &mut usize| {
                if wrong != 0 && *sum == 0 {
                    *first = start + wrong.trailing_zeros() as usize;
                }
                *sum += wrong.count_ones() as usize;
            };
            note(bits & !live, &mut found.missing, &mut found.first_missing);
            note(live & !bits, &mut found.surplus, &mut found.first_surplus);
        }
        found
    }

    #[cold]
    fn cells_corruption(self, element: &'static ElementType, found: Comparison) -> Corruption {
        let Comparison { missing, first_missing, surplus, first_surplus } = found;
        let cell = |index: usize| {
            // SAFETY: a whole cell of the segment, which the caller may read.
            unsafe {
                let start = self.cells().add(index * element.size());
                format!("{index} at {start:p}, {}", hex(bytes_at(start, element.size())))
            }
        };
        let mut text = Vec::new();
        if missing != 0 {
            text.push(format!(
                "{missing} of its cells lost their objects to zeros (the first is cell {})",
                cell(first_missing)
            ));
        }
        if surplus != 0 {
            text.push(format!(
                "{surplus} of its cells hold bytes where no object was built (the first is cell {})",
                cell(first_surplus)
            ));
        }
        if text.is_empty() {
            text.push("the count of cells that had moved, in its header, was changed".to_owned());
        }
        self.corruption(Part::Cells, text.join("; "))
    }

    /// Bits of cells that do not exist are zero.
    fn bitmap_corruption(self, element: &'static ElementType) -> Option<Corruption> {
        let bits = super::divide(self.byte_len(), element.size());
        let words = words_for(bits);
        // A side bitmap has room to grow into, where bits may be left over.
        if !bits.is_multiple_of(64) && words * 64 <= self.header().bitmap_capacity() {
            let beyond = self.bitmap_of(words * 64).get(bits, words * 64 - bits);
            if beyond != 0 {
                let found = format!(
                    "its init bitmap was overwritten: it has bits ({beyond:#x}) of cells that do not \
                     exist"
                );
                return Some(self.corruption(Part::Bitmap, found));
            }
        }
        None
    }

    /// Checks what is around the cells of a segment that is to move, while a thread may be at work
    /// on the cells; quarantines it where it is corrupted.
    ///
    /// # Errors
    /// It is corrupted; no code uses it from now on.
    #[inline]
    pub(super) fn check_frame(self) -> Result<(), Failure> {
        if self.is_whole() {
            return Ok(());
        }
        self.frame_corruption().map_or(Ok(()), |corruption| {
            self.quarantine(&corruption);
            Err(corruption.into())
        })
    }

    /// Checks a segment that goes or moves; quarantines it where it is corrupted.
    ///
    /// # Errors
    /// It is corrupted; no code uses it from now on.
    ///
    /// # Safety
    /// The caller is alone with the segment.
    #[inline]
    pub(super) unsafe fn check_at_end(self) -> Result<(), Failure> {
        if self.is_whole() && !self.header().is(CHECKED) {
            return Ok(());
        }
        // SAFETY: the same contract.
        unsafe { self.check_at_length(None) }
    }

    /// Checks a segment for `element` before cells of it are cleared: what is garbage now would be
    /// taken for objects. `all` says that all its bytes are cells of `element`, and all are cleared.
    ///
    /// # Errors
    /// It is corrupted; no code uses it from now on.
    ///
    /// # Safety
    /// The caller is alone with the segment.
    #[inline]
    pub unsafe fn check_before_clearing(
        self,
        element: &'static ElementType,
        all: bool,
    ) -> Result<(), Failure> {
        if self.is_whole() && !(all && self.header().is(CHECKED)) {
            return Ok(());
        }
        // SAFETY: the same contract.
        unsafe { self.check_at_length(Some(element)) }
    }

    /// # Safety
    /// As for [`Self::check_at_end`].
    #[cold]
    unsafe fn check_at_length(self, element: Option<&'static ElementType>) -> Result<(), Failure> {
        // SAFETY: the caller's promise.
        match unsafe { self.check(element) } {
            Ok(_) => Ok(()),
            Err(corruption) => {
                self.quarantine(&corruption);
                Err(corruption.into())
            }
        }
    }

    /// What is broken around the cells, the lock among it; `None` where nothing is.
    pub fn corruption_around(self) -> Option<Corruption> {
        if self.is_whole() { None } else { self.frame_corruption() }
    }

    /// Whether the fields of the header are those that were written there.
    pub fn is_trusted(self) -> bool {
        self.header().is_genuine() && self.header().is_signed()
    }

    /// Whether the segment was made while checks were on.
    #[inline]
    pub fn is_checked(self) -> bool {
        self.header().is(CHECKED)
    }

    fn quarantine(self, corruption: &Corruption) {
        self.header().quarantine();
        let start = corruption.block.start;
        observer::corrupted(&observer::Corrupted {
            block: corruption.block.clone(),
            cells: corruption.cells.clone().unwrap_or(start..start),
            what: &corruption.to_string(),
        });
    }

    fn corruption(self, part: Part, found: String) -> Corruption {
        let header = self.header();
        let start = self.0.as_ptr().addr();
        let block = owner_map::block_of(self.0.as_ptr().cast());
        let size = block.map_or(size_of::<Header>(), |block| block.size);
        let believed = header.is_genuine() && header.is_signed();
        let cells = believed.then(|| {
            let first = start + header.cells_offset;
            first..first + header.bytes
        });
        let site = cells.as_ref().zip(SITE_HOOK.get()).and_then(|(cells, hook)| hook(cells.start));
        let element = if believed { header.type_word().0 } else { None };
        Corruption {
            part,
            block: start..start + size,
            cells,
            element: element.map(ElementType::name),
            count: element.map_or(0, |element| super::divide(header.bytes, element.size())),
            found,
            site,
        }
    }

    fn has_upstream_record(self) -> bool {
        // SAFETY: `segment-live`: an upstream block has a record in front of it, whatever is in there.
        unsafe { super::Source::has_record(self.0.cast()) }
    }
}

/// The segment right in front of a block, from which an overrun may have come.
fn in_front_of(block: BlockInfo) -> Option<String> {
    let last = block.start.as_ptr().wrapping_sub(1);
    let before = owner_map::block_of(last)?;
    let segment = Segment(before.start.cast());
    // SAFETY: a live block of ours begins with a header; nothing is followed before it is checked.
    let header = unsafe { segment.0.as_ref() };
    if !header.is_genuine() || !header.is_signed() {
        return None;
    }
    let corruption = segment.frame_corruption();
    let whole = corruption.is_none();
    let mut text =
        corruption.unwrap_or_else(|| segment.corruption(Part::Behind, String::new())).segment();
    text.push_str(if whole {
        ", whose end is intact"
    } else {
        ", whose end is overwritten as well"
    });
    Some(text)
}

/// # Safety
/// The bytes are there for `'a`, and no code writes to them.
#[inline]
unsafe fn bytes_at<'a>(start: NonNull<u8>, length: usize) -> &'a [u8] {
    // SAFETY: the caller's promise.
    unsafe { slice::from_raw_parts(start.as_ptr(), length) }
}

#[cfg(test)]
mod tests;
