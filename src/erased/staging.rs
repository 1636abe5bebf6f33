//! Cells beside an array, where new objects are made before they take their places, and where those
//! that leave an array wait for their end.

use super::{CELLS_PER_MASK, Cells, CellsMut, ElementType, Exclusive, Failure, rules};
use crate::abi;
use std::{alloc::Layout, mem::MaybeUninit, ptr};

/// Bytes of cells that need no allocation.
const SMALL: usize = 256;
/// Most bytes of cells at once, where more than one fits.
const MOST: usize = 64 * 1024;
/// Most cells at once.
const MOST_CELLS: usize = 16 * CELLS_PER_MASK;

#[repr(align(16))]
struct Small {
    _bytes: [u8; SMALL],
}

/// Contiguous, aligned cells of one type outside any array.
///
/// Where a destructor may run Python code, an operation makes its objects here while the locks of
/// its operands are held ([`Self::cells`]), lets them change places with what is in the array
/// ([`Self::exchange`]), and ends what came back when no lock is held any more ([`Self::end`]). Until
/// the exchange the array is as it was, and afterwards no cell is half gone: whatever looks at it
/// from a destructor, or from any other client code, finds whole objects.
///
/// Invariant (`staged`): the cells are under rule 1, and those from `used` on are vacant.
pub struct Staging<'e> {
    element: &'e ElementType,
    /// NULL where the cells are in `small`.
    heap: *mut u8,
    capacity: usize,
    used: usize,
    small: MaybeUninit<Small>,
}

impl<'e> Staging<'e> {
    /// Vacant cells: `count`, or as many as are worked on at once.
    ///
    /// # Errors
    /// There is no memory for them.
    pub fn new(element: &'e ElementType, count: usize) -> Result<Self, Failure> {
        let most = (MOST / element.size()).clamp(1, MOST_CELLS);
        Staging::exact(element, count.clamp(1, most))
    }

    /// Vacant cells, all of them.
    ///
    /// # Errors
    /// There is no memory for them.
    pub fn exact(element: &'e ElementType, count: usize) -> Result<Self, Failure> {
        let no_memory = || {
            let what = format!("no memory for {count} {}", element.name());
            Failure::new(abi::ERROR_MEMORY, what)
        };
        let bytes = element.size().checked_mul(count).ok_or_else(no_memory)?;
        let mut small = MaybeUninit::<Small>::uninit();
        let mut heap = ptr::null_mut();
        if bytes <= SMALL && element.align() <= align_of::<Small>() {
            // SAFETY: the first `bytes` of `SMALL`.
            unsafe { small.as_mut_ptr().cast::<u8>().write_bytes(0, bytes) };
        } else {
            let layout =
                Layout::from_size_align(bytes, element.align()).map_err(|_| no_memory())?;
            // SAFETY: an element's size is not 0, nor is `count` here.
            heap = unsafe { std::alloc::alloc_zeroed(layout) };
            if heap.is_null() {
                return Err(no_memory());
            }
        }
        Ok(Staging { element, heap, capacity: count, used: 0, small })
    }

    /// The type of the cells.
    #[inline]
    pub fn element(&self) -> &'e ElementType {
        self.element
    }

    /// How many cells there are.
    #[inline]
    pub fn capacity(&self) -> usize {
        self.capacity
    }

    /// Whether there is no object, so that [`Self::end`] has nothing to do.
    #[inline]
    pub fn is_empty(&mut self) -> bool {
        let (used, first) = (self.used, self.address(0));
        if used == 0 {
            return true;
        }
        // SAFETY: cells of ours.
        let cells = unsafe { Cells::new(first, self.element.size() as isize, used) };
        if self.element.vacancy().count_live(cells) > 0 {
            return false;
        }
        self.used = 0;
        true
    }

    /// `count` cells from `start` on, to make objects in.
    #[inline]
    pub fn cells(&mut self, start: usize, count: usize) -> CellsMut<'_> {
        assert!(start + count <= self.capacity, "staged cells are asked for within the capacity");
        self.used = self.used.max(start + count);
        let first = self.address(start);
        // SAFETY: cells of ours, while `self` is lent.
        unsafe { CellsMut::new(first, self.element.size() as isize, count, Exclusive::own()) }
    }

    /// The address of a cell.
    #[inline]
    fn address(&mut self, index: usize) -> *mut u8 {
        let first = if self.heap.is_null() { self.small.as_mut_ptr().cast() } else { self.heap };
        first.wrapping_add(index * self.element.size())
    }

    /// Lets staged cells, from `start` on, change places with `cells`, one after the other: aligned
    /// or not, and one cell several times where their stride is 0.
    ///
    /// # Safety
    /// `cells` are cells of the type under rule 1, which is trivially relocatable, and none of ours.
    #[inline]
    pub unsafe fn exchange(&mut self, start: usize, cells: CellsMut<'_>) {
        let size = self.element.size();
        let staged = self.cells(start, cells.len());
        for index in 0..cells.len() {
            // SAFETY: single cells that differ, ours and the caller's.
            unsafe { ptr::swap_nonoverlapping(cells.address(index), staged.address(index), size) };
        }
    }

    /// Moves `cells` into staged ones that are vacant, from `start` on, and leaves them vacant.
    ///
    /// # Safety
    /// As for [`Self::exchange`], and the stride is not 0 where there are several.
    #[inline]
    pub unsafe fn take(&mut self, start: usize, mut cells: CellsMut<'_>) {
        let element = self.element;
        let staged = self.cells(start, cells.len());
        // SAFETY: the staged cells are vacant, the others the caller's.
        unsafe { element.move_bytes(staged, cells.reborrow()) };
        cells.zero(element.size());
    }

    /// Ends all objects that are here, in batches; all cells are vacant afterwards. No lock is held,
    /// and the GIL is where the type asks for it.
    ///
    /// # Errors
    /// A destructor failed; every object is gone all the same.
    pub fn end(&mut self) -> Result<(), Failure> {
        let used = std::mem::take(&mut self.used);
        let (element, first) = (self.element, self.address(0));
        if used == 0 {
            return Ok(());
        }
        // SAFETY: cells of ours under rule 1; nothing else has their address.
        let mut cells =
            unsafe { CellsMut::new(first, element.size() as isize, used, Exclusive::own()) };
        // SAFETY: as above.
        let outcome = unsafe { rules::end(element, cells.reborrow()) };
        cells.zero(element.size());
        outcome
    }
}

impl Drop for Staging<'_> {
    fn drop(&mut self) {
        // An operation that ended early leaves nothing behind; those that end as they should have
        // told of failures by `end`.
        let _ = self.end();
        if !self.heap.is_null() {
            let size = self.element.size() * self.capacity;
            // SAFETY: allocated in `exact` with this layout, which was valid there.
            unsafe {
                let layout = Layout::from_size_align_unchecked(size, self.element.align());
                std::alloc::dealloc(self.heap, layout);
            }
        }
    }
}
