//! The hidden block in front of a segment's cells.

use super::layout::words_for;
use crate::{
    erased::ElementType,
    lock::SegmentLock,
    sync::{
        AtomicPtr, AtomicU16, AtomicU32, AtomicU64,
        Ordering::{AcqRel, Acquire, Relaxed, Release},
    },
};
use std::{ffi::c_void, ptr::NonNull};

/// "denizen" and a version of this layout.
const MAGIC: u64 = 0x6465_6e69_7a65_6e01;
/// What stands in the place of the magic once a segment is gone.
const POISON: u64 = 0xdead_dead_dead_dead;
/// What stands in the place of the magic once a segment was found corrupted: it is no segment any more,
/// but it is reported once.
const QUARANTINED: u64 = 0x6465_6e69_7a65_6eff;

/// The type word's flag: the element type is settled, not only hinted at.
pub(super) const BOUND: usize = 1;
/// The type word's flag: an object was built here once.
pub(super) const BUILT: usize = 2;
/// The type word's flag: one thread is settling the type right now.
pub(super) const BINDING: usize = 4;
/// The type word's flag: the type is a hint from the allocation, or was settled by a loop of the
/// hinted type, and no bind said that *all* bytes are cells of it.
pub(super) const HINTED: usize = 8;
const FLAGS: usize = BOUND | BUILT | BINDING | HINTED;

/// The flags byte: the cells were zero when the segment was allocated.
pub(super) const ZEROED: u8 = 1;
/// The flags byte: the block is another allocator's memory.
pub(super) const UPSTREAM: u8 = 2;
/// The flags byte: made while integrity checks were on ([`super::set_checked`]).
pub(super) const CHECKED: u8 = 4;

/// Runs once, when the segment is freed.
pub type ReleaseFn = unsafe extern "C" fn(context: *mut c_void);

/// What the segment keeps alive.
#[derive(Clone, Copy)]
pub(super) struct Dependency {
    pub(super) context: *mut c_void,
    pub(super) release: Option<ReleaseFn>,
}

/// The header of one segment. Only [`super::Segment`] reads and writes it.
#[repr(C, align(64))]
pub struct Header {
    /// [`MAGIC`] mixed with the header's own address, so that a copied header is no header.
    magic: AtomicU64,
    /// Pointer to the element type (NULL: none) with [`FLAGS`] in its low bits. One word, so that
    /// type and state change together.
    type_word: AtomicPtr<ElementType>,
    /// Bytes of cells.
    pub(super) bytes: usize,
    /// Bytes from the header to the first cell.
    pub(super) cells_offset: usize,
    /// Usable bytes of the block.
    pub(super) block_size: usize,
    /// A bitmap of its own allocation ([`SideBitmap`]), where the inline one has no room; else NULL.
    side_bitmap: AtomicPtr<u64>,
    /// What is released with the segment.
    pub(super) dependency: Dependency,
    /// Alignment of block and cells, as a power of two.
    align_log2: u8,
    /// [`ZEROED`], [`UPSTREAM`], [`CHECKED`].
    pub(super) flags: u8,
    /// Bits that were set, less those that were cleared, only because cells had moved without us,
    /// modulo 2^16. So there always are as many live cells as bits less these.
    drift: AtomicU16,
    /// Of all above but the flags of the type word and the drift; see [`Self::digest`].
    checksum: AtomicU32,
    /// Who works on which cells.
    pub(super) lock: SegmentLock,
}

// The flags live in pointer bits that alignment keeps zero. Loom's atomics are larger.
const _: () =
    assert!(align_of::<ElementType>() > FLAGS && (cfg!(loom) || size_of::<Header>() <= 128));

impl Header {
    pub(super) fn new(
        bytes: usize,
        cells_offset: usize,
        block_size: usize,
        align: usize,
        flags: u8,
        hint: Option<&'static ElementType>,
    ) -> Self {
        Header {
            magic: AtomicU64::new(POISON),
            type_word: AtomicPtr::new(hint.map_or(std::ptr::null_mut(), |element| {
                std::ptr::from_ref(element).cast_mut().map_addr(|address| address | HINTED)
            })),
            bytes,
            cells_offset,
            block_size,
            side_bitmap: AtomicPtr::new(std::ptr::null_mut()),
            dependency: Dependency { context: std::ptr::null_mut(), release: None },
            align_log2: align.trailing_zeros() as u8,
            flags,
            drift: AtomicU16::new(0),
            checksum: AtomicU32::new(0),
            lock: SegmentLock::new(),
        }
    }

    fn expected_magic(&self) -> u64 {
        self.here(MAGIC)
    }

    /// A word mixed with the header's own address.
    fn here(&self, word: u64) -> u64 {
        word ^ (std::ptr::from_ref(self).addr() as u64).rotate_left(16)
    }

    /// Whether this is the header of a live segment, at the place where it was made.
    #[inline]
    pub(super) fn is_genuine(&self) -> bool {
        self.magic.load(Acquire) == self.expected_magic()
    }

    /// Declares the header valid at its present address.
    pub(super) fn seal(&self) {
        self.sign();
        self.magic.store(self.expected_magic(), Release);
    }

    /// Makes the checksum fit the fields, after one of them was changed on purpose. The caller is
    /// alone with the segment.
    pub(super) fn sign(&self) {
        self.sign_for(self.type_word().0);
    }

    /// As [`Self::sign`], for the thread that settles the type: signs what the segment will be for.
    pub(super) fn sign_for(&self, element: Option<&'static ElementType>) {
        let address = element.map_or(0, |element| std::ptr::from_ref(element).addr());
        self.checksum.store(self.digest(address), Relaxed);
    }

    /// Whether the fields are what was signed. Meaningless while a thread settles the type.
    #[inline]
    pub(super) fn is_signed(&self) -> bool {
        let element = self.type_word.load(Acquire).addr() & !FLAGS;
        self.checksum.load(Relaxed) == self.digest(element)
    }

    /// Every field has an odd factor of its own: no change of one field goes unseen before the sum
    /// is folded, and nothing waits for anything else.
    #[inline]
    fn digest(&self, element: usize) -> u32 {
        let Dependency { context, release } = self.dependency;
        let fields = [
            std::ptr::from_ref(self).addr(),
            element,
            self.bytes,
            self.cells_offset,
            self.block_size,
            self.side_bitmap.load(Relaxed).addr(),
            context.addr(),
            release.map_or(0, |release| release as usize),
            usize::from(self.align_log2) << 8 | usize::from(self.flags),
        ];
        let mut factor = 0x9e37_79b9_7f4a_7c15_u64;
        let mut sum = 0_u64;
        for field in fields {
            sum = sum.wrapping_add((field as u64).wrapping_mul(factor));
            factor = factor.wrapping_mul(0xd134_2543_de82_ef95);
        }
        (sum ^ sum >> 32) as u32
    }

    /// Declares that the segment was found corrupted: it is found no more.
    pub(super) fn quarantine(&self) {
        self.magic.store(self.here(QUARANTINED), Release);
    }

    /// Whether the segment was found corrupted before.
    pub(super) fn is_quarantined(&self) -> bool {
        self.magic.load(Acquire) == self.here(QUARANTINED)
    }

    /// Alignment of block and cells, in bytes.
    pub(super) fn align(&self) -> usize {
        1_usize.wrapping_shl(u32::from(self.align_log2))
    }

    /// Notes that the bits `set` were set and the bits `cleared` were cleared because cells had moved.
    #[cold]
    pub(super) fn note_drift(&self, set: u64, cleared: u64) {
        self.add_drift(set.count_ones() as usize, cleared.count_ones() as usize);
    }

    /// As [`Self::note_drift`], with how many bits they are.
    #[cold]
    pub(super) fn add_drift(&self, set: usize, cleared: usize) {
        self.drift.fetch_add(set.wrapping_sub(cleared) as u16, Relaxed);
    }

    /// Whether bits beyond those of live cells, and live cells beyond bits, can come from moves
    /// alone.
    pub(super) fn explains(&self, missing: usize, surplus: usize) -> bool {
        missing.wrapping_sub(surplus) as u16 == self.drift.load(Relaxed)
    }

    /// Whether the segment is gone, or being made.
    pub(super) fn is_unborn(&self) -> bool {
        self.magic.load(Acquire) == POISON
    }

    /// Whether a flag of [`Self::flags`] is set.
    #[inline]
    pub(super) fn is(&self, flag: u8) -> bool {
        self.flags & flag != 0
    }

    /// Declares that nothing is built here any more.
    pub(super) fn forget_built(&self) {
        let (element, flags) = self.type_word();
        self.drift.store(0, Relaxed);
        // A thread that writes cells holds them alone, so none builds meanwhile; a lost exchange means
        // that a thread settles the type, and then there is nothing to forget.
        self.exchange_type((element, flags), (element, flags & !BUILT));
    }

    /// Declares the header invalid.
    pub(super) fn poison(&self) {
        self.magic.store(POISON, Relaxed);
    }

    /// The type word: element type or NULL, and the flags.
    #[inline]
    pub(super) fn type_word(&self) -> (Option<&'static ElementType>, usize) {
        let word = self.type_word.load(Acquire);
        // SAFETY: without its flags the word is NULL or came from a `&'static ElementType`.
        let element = unsafe { word.map_addr(|address| address & !FLAGS).as_ref() };
        (element, word.addr() & FLAGS)
    }

    /// Replaces the type word if it still is `from`.
    pub(super) fn exchange_type(
        &self,
        from: (Option<&'static ElementType>, usize),
        to: (Option<&'static ElementType>, usize),
    ) -> bool {
        let word = |(element, flags): (Option<&'static ElementType>, usize)| {
            element
                .map_or(std::ptr::null_mut(), |element| std::ptr::from_ref(element).cast_mut())
                .map_addr(|address| address | flags)
        };
        self.type_word.compare_exchange(word(from), word(to), AcqRel, Acquire).is_ok()
    }

    /// First bitmap word. Takes the pointer to the whole block, not a reference to the header alone:
    /// an inline bitmap lies behind it.
    ///
    /// # Safety
    /// `header` is the header of a live segment.
    #[inline]
    pub(super) unsafe fn bitmap_words(header: NonNull<Header>) -> NonNull<u64> {
        // SAFETY: the caller's promise; header and bitmap are in one block.
        unsafe {
            match NonNull::new(header.as_ref().side_bitmap.load(Acquire)) {
                None => header.add(1).cast(),
                Some(side) => SideBitmap(side).words(),
            }
        }
    }

    /// How many bits there is room for.
    pub(super) fn bitmap_capacity(&self) -> usize {
        let words = match NonNull::new(self.side_bitmap.load(Acquire)) {
            // The last word in front of the cells is a canary.
            None => {
                ((self.cells_offset - size_of::<Header>()) / size_of::<u64>()).saturating_sub(1)
            }
            Some(side) => SideBitmap(side).capacity(),
        };
        words * u64::BITS as usize
    }

    /// Puts a side bitmap in place (or none) and returns the one that was there.
    pub(super) fn replace_side_bitmap(&self, side: Option<SideBitmap>) -> Option<SideBitmap> {
        let new = side.map_or(std::ptr::null_mut(), |side| side.0.as_ptr());
        NonNull::new(self.side_bitmap.swap(new, AcqRel)).map(SideBitmap)
    }
}

/// A bitmap allocated on its own, from the system's allocator: its address is in no block, so no
/// lookup can mistake it for a segment. The first word holds the capacity in words.
pub(super) struct SideBitmap(NonNull<u64>);

impl SideBitmap {
    /// A bitmap of `bits` zeros.
    pub(super) fn new(bits: usize) -> Option<Self> {
        if crate::faults::is_due() {
            return None;
        }
        let words = words_for(bits);
        let layout = std::alloc::Layout::array::<u64>(words.checked_add(1)?).ok()?;
        // SAFETY: the layout has at least one word.
        let start = NonNull::new(unsafe { std::alloc::alloc_zeroed(layout) })?.cast::<u64>();
        // SAFETY: just allocated.
        unsafe { start.write(words as u64) };
        Some(SideBitmap(start))
    }

    fn capacity(&self) -> usize {
        // SAFETY: the first word of a live side bitmap, never written after `new`.
        unsafe { self.0.read() as usize }
    }

    /// First word of bits.
    pub(super) fn words(&self) -> NonNull<u64> {
        // SAFETY: the allocation is one word longer than its bits.
        unsafe { self.0.add(1) }
    }

    /// # Safety
    /// No thread uses the bitmap any more.
    pub(super) unsafe fn release(self) {
        if let Ok(layout) = std::alloc::Layout::array::<u64>(self.capacity() + 1) {
            // SAFETY: allocated in `new` with this layout.
            unsafe { std::alloc::dealloc(self.0.as_ptr().cast(), layout) };
        }
    }
}
