//! Birth and death of a segment.

use super::{
    Header, Segment, Source,
    header::{BOUND, BUILT, CHECKED, UPSTREAM, ZEROED},
    integrity,
    layout::SegmentLayout,
};
use crate::{
    abi,
    erased::{CountDelta, ElementType, Failure, Location, observer},
    memory::AllocError,
};

/// A segment to be: how large it is, for what, and of which memory.
#[derive(Clone, Copy)]
#[must_use = "a request does nothing before `allocate`"]
pub struct SegmentRequest {
    bytes: usize,
    align: usize,
    element: Option<&'static ElementType>,
    zeroed: bool,
    source: Source,
    checked: bool,
}

impl SegmentRequest {
    /// `bytes` bytes of cells, aligned to `align` (a power of two up to 4096; 64 at least), in blocks
    /// of `memory`, for no type in particular. The cells hold anything.
    #[inline]
    pub fn new(bytes: usize, align: usize) -> SegmentRequest {
        let checked = integrity::is_checking();
        SegmentRequest {
            bytes,
            align,
            element: None,
            zeroed: false,
            source: Source::MEMORY,
            checked,
        }
    }

    /// For cells of this type: a hint that sizes the bitmap; a wrong one is harmless. Where the type
    /// has a zero promise, and the memory was not asked for zeroed, the caller zeroes the cells
    /// before the first operation of that type.
    #[inline]
    pub fn hint(self, element: impl Into<Option<&'static ElementType>>) -> SegmentRequest {
        SegmentRequest { element: element.into(), ..self }
    }

    /// All cells vacant from the start.
    #[inline]
    pub fn zeroed(self) -> SegmentRequest {
        self.zeroed_if(true)
    }

    /// [`Self::zeroed`], or cells that hold anything.
    #[inline]
    pub fn zeroed_if(self, zeroed: bool) -> SegmentRequest {
        SegmentRequest { zeroed, ..self }
    }

    /// Made of another source's memory.
    #[inline]
    pub fn from_source(self, source: Source) -> SegmentRequest {
        SegmentRequest { source, ..self }
    }

    /// With or without the integrity checks that touch memory, whatever [`is_checking`] says.
    ///
    /// [`is_checking`]: super::is_checking
    #[inline]
    pub(super) fn checked(self, checked: bool) -> SegmentRequest {
        SegmentRequest { checked, ..self }
    }

    /// The segment.
    ///
    /// # Errors
    /// There is no memory, the size overflows, or the alignment is none that [`Self::new`] takes.
    pub fn allocate(self) -> Result<Segment, AllocError> {
        let SegmentRequest { bytes, align, element, zeroed, source, checked } = self;
        let behind = integrity::zone_behind(bytes, checked);
        let layout = SegmentLayout::new(bytes, align, element.map(ElementType::size), behind)?;
        let block = source.allocate(layout.total, layout.align, zeroed)?;
        let flag = |flag: u8, set: bool| if set { flag } else { 0 };
        let flags = flag(ZEROED, block.zeroed)
            | flag(UPSTREAM, source.is_upstream())
            | flag(CHECKED, checked);
        let header = block.start.cast::<Header>();
        // SAFETY: the block is ours, aligned to 64 or more, and holds `layout.total` bytes: header,
        // bitmap, pad and cells.
        unsafe {
            header.write(Header::new(
                bytes,
                layout.cells_offset,
                block.size,
                layout.align,
                flags,
                element,
            ));
            if !block.zeroed {
                let area = layout.cells_offset - size_of::<Header>();
                header.add(1).cast::<u8>().write_bytes(0, area);
            }
        }
        let segment = Segment(header);
        segment.header().seal();
        segment.set_canaries();
        observer::segment_made(|| segment.cells());
        Ok(segment)
    }
}

impl Segment {
    /// Destroys every live object, once, and makes all cells vacant: zero where the type has a zero
    /// promise. The segment keeps its type. (Where the type is only hinted at, cells that no loop
    /// ever recorded are left alone: `segment-hinted`.)
    ///
    /// # Errors
    /// A destructor failed; every object is gone all the same.
    ///
    /// # Safety
    /// `segment-cells` for writing all cells.
    pub unsafe fn clear_all(self) -> Result<(), Failure> {
        // SAFETY: the same contract.
        unsafe { self.destroy_live(0..self.cell_count(), true) }
    }

    /// Destroys what is still live, once, runs the release function of the dependency, and gives
    /// the memory back. Where nothing was ever built that takes constant time and touches no cell.
    ///
    /// # Errors
    /// A destructor failed; every object and the segment are gone all the same. Or other code still
    /// works on the cells or was lent some (the lock is not idle, [`super::ProxyHooks`]), or the
    /// segment is corrupted ([`super::Corruption`]): nothing is destroyed then, and the memory is never
    /// given back.
    ///
    /// # Safety
    /// No code uses the segment, its cells or a copy of the handle during the call and afterwards.
    pub unsafe fn free(self) -> Result<(), Failure> {
        // SAFETY: the caller is alone with the segment.
        unsafe { self.check_at_end() }?;
        if !self.lock().is_idle() {
            return Err(self.freed_in_use());
        }
        self.detach_proxies(0)?;
        let outcome = if self.untouched() {
            Ok(())
        } else {
            // SAFETY: the caller is alone with the segment.
            unsafe { self.destroy_live(0..self.cell_count(), false) }
        };
        let dependency = self.header().dependency;
        // SAFETY: what was live is gone, and no code uses the segment any more.
        unsafe { self.release() };
        if let Some(release) = dependency.release {
            // SAFETY: `set_dependency`: callable from any thread; called once, the segment is gone.
            unsafe { release(dependency.context) };
        }
        outcome
    }

    #[cold]
    fn freed_in_use(self) -> Failure {
        let name = self.element().map_or("memory without a type", ElementType::name);
        Failure::new(
            abi::ERROR_BORROW,
            format!(
                "memory of {name} ({} bytes) was freed while an operation or a view of client code \
                 used it; it is leaked",
                self.byte_len()
            ),
        )
    }

    /// Gives block and side bitmap back, whatever is in the cells.
    ///
    /// # Safety
    /// No code uses the segment any more.
    pub(super) unsafe fn release(self) {
        observer::segment_gone(|| self.cells());
        let mut header = self.0;
        let source = self.source();
        let side = self.header().replace_side_bitmap(None);
        self.header().poison();
        // SAFETY: all belongs to the segment, which no code uses any more.
        unsafe {
            header.as_mut().lock.retire();
            if let Some(side) = side {
                side.release();
            }
            source.release(self.0.cast());
        }
    }

    /// Destroys the live objects among cells `range`; `vacate` also zeroes their bytes (where that
    /// means vacant) and clears their bits.
    ///
    /// # Errors
    /// A destructor failed; every object is gone all the same.
    ///
    /// # Safety
    /// `segment-cells` for writing `range`, which lies in the whole cells. Without `vacate` no code
    /// takes these cells or bits for objects afterwards.
    pub(super) unsafe fn destroy_live(
        self,
        range: std::ops::Range<usize>,
        vacate: bool,
    ) -> Result<(), Failure> {
        let (Some(element), flags) = self.header().type_word() else {
            return Ok(());
        };
        if flags & (BOUND | BUILT) != BOUND | BUILT {
            return Ok(());
        }
        let bitmap = self.bitmap_for(element);
        let mut outcome = Ok(());
        let mut delta = CountDelta::default();
        // Bits that are 1 where there is a live cell, to find the wrong ones by subtraction.
        let mut agreeing = 0;
        let mut visit = |live: std::ops::Range<usize>| {
            delta.destroyed += live.len() as u64;
            if element.has_zero_promise() {
                agreeing += bitmap.count(live.start, live.len());
            }
            // SAFETY: live cells of ours; destroyed once, since each is visited once.
            unsafe {
                let destroyed = element.destroy(self.run_mut(element, live.clone()));
                if outcome.is_ok() {
                    outcome = destroyed.map_err(|failure| failure.after(live.start));
                }
                if vacate && element.has_zero_promise() {
                    self.run_mut(element, live).zero(element.size());
                }
            }
        };
        // SAFETY: the same contract.
        unsafe { self.for_live(element, range.clone(), &mut visit) };
        if element.has_zero_promise() {
            let set = bitmap.count(range.start, range.len()) as u64;
            let agreeing = agreeing as u64;
            delta.reconciled = (delta.destroyed - agreeing) + (set - agreeing);
            if vacate && delta.reconciled != 0 {
                self.header().add_drift(delta.destroyed as usize, set as usize);
            }
        }
        if vacate {
            bitmap.fill(range.start, range.len(), false);
        }
        // SAFETY: the same contract.
        let cells = unsafe { self.run(element, range) };
        element.record(delta, Location::Cells(cells));
        outcome
    }
}
