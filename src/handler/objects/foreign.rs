//! Objects lent to cells in foreign memory: NumPy's buffers, and arrays that another
//! handler made. No call says when such memory goes, so the objects are kept by age.

use super::handle::{Content, Generations, Handle, SlotRef};
use crate::{
    abi,
    erased::{ElementType, Failure},
    segment::{Segment, SegmentRequest},
};
use std::collections::HashMap;

/// Most objects of one type that are lent at once: eight operands of NumPy's usual buffers of
/// 8192 elements.
pub const LENT_LIMIT: usize = abi::LENT_LIMIT;
/// How many are taken back at once where there would be more.
const BATCH: usize = LENT_LIMIT / 4;
/// Objects of one allocation.
const CHUNK: usize = 64;

#[derive(Clone, Copy)]
struct Slot {
    /// Address of the cell that the object was lent to; 0: it is another's by now.
    cell: usize,
    generation: u64,
    /// When the object was last asked for; 0: the slot is not in use.
    used: u64,
}

const UNUSED: Slot = Slot { cell: 0, generation: 0, used: 0 };

/// All objects of one type that are lent.
pub(super) struct ForeignStore {
    pub(super) element: &'static ElementType,
    id: u32,
    /// The objects; a chunk never moves.
    chunks: Vec<Segment>,
    slots: Vec<Slot>,
    /// Slots that may be used again.
    free: Vec<u32>,
    slots_by_cell: HashMap<usize, u32>,
    /// How many slots are in use.
    count: usize,
    clock: u64,
}

impl ForeignStore {
    pub(super) fn new(element: &'static ElementType, id: u32) -> ForeignStore {
        ForeignStore {
            element,
            id,
            chunks: Vec::new(),
            slots: Vec::new(),
            free: Vec::new(),
            slots_by_cell: HashMap::new(),
            count: 0,
            clock: 0,
        }
    }

    /// The number of the store.
    pub(super) fn id(&self) -> u32 {
        self.id
    }

    /// How many objects are lent.
    pub(super) fn count(&self) -> usize {
        self.count
    }

    /// Where the object of a slot lies: a segment and its cell.
    pub(super) fn place_of(&self, slot: u32) -> (Segment, usize) {
        (self.chunks[slot as usize / CHUNK], slot as usize % CHUNK)
    }

    /// The slot that a name means, if it is still what it was; it counts as used.
    pub(super) fn slot_of(&mut self, name: Handle) -> Option<u32> {
        let slot = self.slots.get_mut(name.slot as usize)?;
        if name.store != self.id || slot.generation != name.generation || name.generation == 0 {
            return None;
        }
        self.clock += 1;
        slot.used = self.clock;
        Some(name.slot)
    }

    /// The slot whose object is the value of the cell at `cell`.
    pub(super) fn own(&mut self, cell: usize, content: Content) -> Option<u32> {
        let Content::Name(name) = content else { return None };
        let slot = self.slot_of(name)?;
        (self.slots[slot as usize].cell == cell).then_some(slot)
    }

    /// The slot of the cell at `cell`, or another one, which is now the cell's. Where too many
    /// objects are lent, the slots of those that were not asked for longest come along: their
    /// names are void, and once they are vacant they go to [`Self::reuse`].
    ///
    /// # Errors
    /// There is no memory.
    pub(super) fn claim(
        &mut self,
        cell: usize,
        content: Content,
    ) -> Result<(SlotRef, Vec<u32>), Failure> {
        if let Some(slot) = self.own(cell, content) {
            return Ok((SlotRef { slot, kept: true }, Vec::new()));
        }
        self.clock += 1;
        let used = self.clock;
        if let Some(&slot) = self.slots_by_cell.get(&cell) {
            if content == Content::Nothing {
                // New memory at an old address.
                self.slots[slot as usize] = Slot { cell, generation: 0, used };
                return Ok((SlotRef { slot, kept: false }, Vec::new()));
            }
            // Cells were moved as bytes, and another one may have this one's object: it stays
            // until its time is over.
            self.slots[slot as usize].cell = 0;
        }
        let slot = match self.free.pop() {
            Some(slot) => slot,
            None => {
                if self.slots.len().is_multiple_of(CHUNK) {
                    self.chunks.push(chunk(self.element)?);
                }
                self.slots.push(UNUSED);
                self.slots.len() as u32 - 1
            }
        };
        self.slots[slot as usize] = Slot { cell, generation: 0, used };
        self.slots_by_cell.insert(cell, slot);
        self.count += 1;
        let evicted = if self.count() > LENT_LIMIT { self.take_back(BATCH) } else { Vec::new() };
        Ok((SlotRef { slot, kept: false }, evicted))
    }

    /// Takes back what was not asked for longest, at most `count` objects. The slots are to be made
    /// vacant and given to [`Self::reuse`].
    pub(super) fn take_back(&mut self, count: usize) -> Vec<u32> {
        let mut lent: Vec<u32> = (0..self.slots.len() as u32)
            .filter(|slot| self.slots[*slot as usize].used > 0)
            .collect();
        lent.sort_unstable_by_key(|slot| self.slots[*slot as usize].used);
        lent.truncate(count);
        for slot in &lent {
            self.disown(*slot);
        }
        lent
    }

    /// Slots, vacant now, for other cells.
    pub(super) fn reuse(&mut self, slots: &[u32]) {
        self.free.extend_from_slice(slots);
    }

    /// The name of what is in a slot now; names from before are void.
    pub(super) fn name(&mut self, slot: u32, generations: &mut Generations) -> Handle {
        let generation = generations.next();
        self.slots[slot as usize].generation = generation;
        Handle { store: self.id, slot, generation }
    }

    /// Gives a slot up; names of it are void.
    pub(super) fn disown(&mut self, slot: u32) {
        let before = std::mem::replace(&mut self.slots[slot as usize], UNUSED);
        if before.cell != 0 {
            self.slots_by_cell.remove(&before.cell);
        }
        if before.used != 0 {
            self.count -= 1;
        }
    }
}

/// Room for [`CHUNK`] objects.
fn chunk(element: &'static ElementType) -> Result<Segment, Failure> {
    let memory = || {
        Failure::new(
            abi::ERROR_MEMORY,
            format!("no memory for objects of {} in NumPy's buffers", element.name()),
        )
    };
    let bytes = element.size().checked_mul(CHUNK).ok_or_else(memory)?;
    let objects = SegmentRequest::new(bytes, element.align())
        .hint(element)
        .zeroed()
        .allocate()
        .map_err(|_| memory())?;
    // The hint is right, so that this cannot fail.
    objects.bind(element).map_err(|_| memory())?;
    Ok(objects)
}
