//! The objects of one array: those of its cells, owned by the array's segment.
//!
//! They lie in a segment of their own, whose init bitmap is the truth about which of them live.
//! The array's cells only name them, so whatever NumPy does to the cells, each object is destroyed
//! once: when its slot is used again, when the array shrinks, or when it is freed.

use super::handle::{CELL_SIZE, Content, Generations, Handle, SlotRef};
use crate::{
    abi,
    erased::{ElementType, Failure},
    segment::{Segment, SegmentRequest},
};

/// No cell.
const NO_CELL: u32 = u32::MAX;

/// What is known of one object's place.
#[derive(Clone, Copy, Debug)]
struct Slot {
    /// The cell that the object is the value of, when it was last looked at; or [`NO_CELL`].
    owner: u32,
    /// What a name of the object says; 0 for none.
    generation: u64,
}

const EMPTY: Slot = Slot { owner: NO_CELL, generation: 0 };

/// The objects of one array's cells. There are at least as many slots as cells.
pub(super) struct Owned {
    pub(super) element: &'static ElementType,
    /// The objects: cell `slot` of this segment.
    pub(super) objects: Segment,
    id: u32,
    slots: Vec<Slot>,
    /// Where the search for a slot without an owner begins.
    hint: usize,
}

/// How many cells a segment has.
pub(super) fn cell_count(segment: Segment) -> usize {
    segment.byte_len() / CELL_SIZE
}

fn no_memory(element: &ElementType, count: usize) -> Failure {
    Failure::new(
        abi::ERROR_MEMORY,
        format!("no memory for {count} objects of {} beside an array", element.name()),
    )
}

impl Owned {
    /// Room for the objects of an array of so many cells.
    ///
    /// # Errors
    /// There is no memory.
    pub(super) fn new(
        element: &'static ElementType,
        id: u32,
        count: usize,
    ) -> Result<Owned, Failure> {
        let memory = |_| no_memory(element, count);
        let bytes = count.checked_mul(element.size()).ok_or_else(|| no_memory(element, count))?;
        let mut slots = Vec::new();
        slots.try_reserve_exact(count).map_err(|_| no_memory(element, count))?;
        let objects = SegmentRequest::new(bytes, element.align())
            .hint(element)
            .zeroed()
            .allocate()
            .map_err(|_| no_memory(element, count))?;
        // The hint is right, so that this cannot fail.
        objects.bind(element).map_err(|_| ()).map_err(memory)?;
        slots.resize(count, EMPTY);
        Ok(Owned { element, objects, id, slots, hint: 0 })
    }

    /// Makes room for the objects of an array that grew. Addresses of objects change.
    ///
    /// # Errors
    /// There is no memory, or an object would not move.
    pub(super) fn grow(&mut self, count: usize) -> Result<(), Failure> {
        if count <= self.slots.len() {
            return Ok(());
        }
        let refused = || no_memory(self.element, count);
        let bytes = count.checked_mul(self.element.size()).ok_or_else(refused)?;
        self.slots.try_reserve(count - self.slots.len()).map_err(|_| refused())?;
        // SAFETY: only the tables know the segment, and no code keeps an address of an object while
        // its array is resized.
        let resized = unsafe { self.objects.resize(bytes) }
            .map_err(|error| Failure::new(abi::ERROR_MEMORY, error.to_string()))?;
        self.objects = resized.segment;
        self.slots.resize(count, EMPTY);
        Ok(())
    }

    /// The slot that a name means, if it is still what it was.
    pub(super) fn slot_of(&self, name: Handle) -> Option<u32> {
        let slot = self.slots.get(name.slot as usize)?;
        (name.store == self.id && slot.generation == name.generation && name.generation != 0)
            .then_some(name.slot)
    }

    /// The slot of this store that a cell names.
    ///
    /// # Safety
    /// `cell` is below the cell count of `array`, whose cells may be read.
    unsafe fn named(&self, array: Segment, cell: u32) -> Option<u32> {
        // SAFETY: the caller's promise.
        match unsafe { Handle::read(array.cells().as_ptr().add(cell as usize * CELL_SIZE)) } {
            Content::Name(name) => self.slot_of(name),
            Content::Nothing => None,
        }
    }

    /// Whether a slot's owner is a cell that names it.
    ///
    /// # Safety
    /// As for [`Self::look_again`].
    unsafe fn still_owns(&self, array: Segment, owner: u32, slot: u32) -> bool {
        // SAFETY: the caller's promise.
        (owner as usize) < cell_count(array) && unsafe { self.named(array, owner) } == Some(slot)
    }

    /// Finds out which cell each object belongs to, after NumPy moved or copied cells as bytes: a
    /// cell keeps its object where it still names it, else the first one that names it takes it
    /// over.
    ///
    /// # Safety
    /// The store is that of `array`, whose cells may be read.
    unsafe fn look_again(&mut self, array: Segment) {
        let count = cell_count(array) as u32;
        for index in 0..self.slots.len() {
            // SAFETY: the caller's promise.
            if !unsafe { self.still_owns(array, self.slots[index].owner, index as u32) } {
                self.slots[index].owner = NO_CELL;
            }
        }
        for cell in 0..count {
            // SAFETY: the caller's promise.
            if let Some(slot) = unsafe { self.named(array, cell) }
                && self.slots[slot as usize].owner == NO_CELL
            {
                self.slots[slot as usize].owner = cell;
            }
        }
        self.hint = 0;
    }

    /// The slot whose object is the value of a cell that holds `content`: `None` where it has none
    /// of its own.
    ///
    /// # Safety
    /// As for [`Self::look_again`].
    pub(super) unsafe fn own(
        &mut self,
        array: Segment,
        cell: u32,
        content: Content,
    ) -> Option<u32> {
        let Content::Name(name) = content else { return None };
        let slot = self.slot_of(name)?;
        let owner = self.slots[slot as usize].owner;
        if owner != cell {
            // SAFETY: the caller's promise.
            if unsafe { self.still_owns(array, owner, slot) } {
                return None;
            }
            // SAFETY: the caller's promise.
            unsafe { self.look_again(array) };
        }
        (self.slots[slot as usize].owner == cell).then_some(slot)
    }

    /// The slot of a cell, or a slot without an owner, which is now the cell's.
    ///
    /// # Safety
    /// As for [`Self::look_again`]; `cell` is below the number of slots.
    pub(super) unsafe fn claim(&mut self, array: Segment, cell: u32, content: Content) -> SlotRef {
        // SAFETY: the caller's promise.
        if let Some(slot) = unsafe { self.own(array, cell, content) } {
            return SlotRef { slot, kept: true };
        }
        if self.slots[cell as usize].owner == cell {
            // What was the cell's may live on in another one.
            // SAFETY: the caller's promise.
            unsafe { self.look_again(array) };
        }
        let mut slot = self.unowned(cell as usize);
        if slot.is_none() {
            // Owners that do not name their objects any more.
            // SAFETY: the caller's promise.
            unsafe { self.look_again(array) };
            slot = self.unowned(cell as usize);
        }
        // Each owner is another cell, and this one is none of them.
        let slot = slot.unwrap_or(cell as usize);
        self.slots[slot] = Slot { owner: cell, generation: 0 };
        SlotRef { slot: slot as u32, kept: false }
    }

    /// A slot without an owner: `preferred` or the next one.
    fn unowned(&mut self, preferred: usize) -> Option<usize> {
        if self.slots[preferred].owner == NO_CELL {
            return Some(preferred);
        }
        let free = |slot: &usize| self.slots[*slot].owner == NO_CELL;
        let found =
            (self.hint..self.slots.len()).find(free).or_else(|| (0..self.hint).find(free))?;
        self.hint = found;
        Some(found)
    }

    /// The name of what is in a slot now; names from before are void.
    pub(super) fn name(&mut self, slot: u32, generations: &mut Generations) -> Handle {
        let generation = generations.next();
        self.slots[slot as usize].generation = generation;
        Handle { store: self.id, slot, generation }
    }

    /// Gives a slot up; names of it are void.
    pub(super) fn disown(&mut self, slot: u32) {
        self.slots[slot as usize] = EMPTY;
    }

    /// Gives up every slot that no cell names, and returns them: there may be objects in them.
    ///
    /// # Safety
    /// As for [`Self::look_again`].
    pub(super) unsafe fn drop_unnamed(&mut self, array: Segment) -> Vec<u32> {
        // SAFETY: the caller's promise.
        unsafe { self.look_again(array) };
        let mut dropped = Vec::new();
        for (index, slot) in self.slots.iter_mut().enumerate() {
            if slot.owner == NO_CELL {
                *slot = EMPTY;
                dropped.push(index as u32);
            }
        }
        dropped
    }
}
