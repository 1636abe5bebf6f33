//! The interface of this module over small and large blocks.

use std::ptr::NonNull;

use super::{
    block::{AllocError, Block, BlockInfo, MIN_ALIGN, Resized},
    directory::{self, Record},
    large,
    large_block::Large,
    size_class::{class_for, class_size},
    small,
    span::Slot,
};

pub(super) use super::{large::trim, metadata::allocate as for_ever};

#[inline]
pub(super) fn allocate(size: usize, align: usize) -> Result<Block, AllocError> {
    obtain(size, align)
}

#[inline]
pub(super) fn allocate_zeroed(size: usize, align: usize) -> Result<Block, AllocError> {
    let block = obtain(size, align)?;
    // A kept block is cleared, which costs less than the page faults of a fresh one.
    if !block.zeroed {
        // SAFETY: the block is ours and has this size.
        unsafe { block.start.write_bytes(0, block.size) };
    }
    Ok(Block { zeroed: true, ..block })
}

/// A block, and whether it is known to be zero.
#[inline]
fn obtain(size: usize, align: usize) -> Result<Block, AllocError> {
    let error = AllocError { size, align };
    if let Some(class) = class_for(size, align) {
        let (start, zeroed) = match small::allocate(class) {
            Some(found) => found,
            None => {
                trim();
                small::allocate(class).ok_or(error)?
            }
        };
        Ok(Block { start, size: class_size(class), zeroed })
    } else {
        let (start, size, zeroed) = large::allocate(size).ok_or(error)?;
        Ok(Block { start, size, zeroed })
    }
}

/// A live block.
#[derive(Clone, Copy)]
enum Live {
    Small(Slot<'static>),
    Large(&'static Large),
}

/// The live block that starts at `start`.
#[inline]
fn live_at(start: NonNull<u8>) -> Option<Live> {
    let address = start.as_ptr().addr();
    match directory::find(address)? {
        Record::Span(span) => {
            let slot = span.slot_of(address)?;
            (slot.is_live() && slot.start() == address).then_some(Live::Small(slot))
        }
        Record::Large(large) => {
            let info = large.block_at(address)?;
            (info.start == start).then_some(Live::Large(large))
        }
    }
}

/// # Safety
/// As [`super::release`].
#[inline]
pub(super) unsafe fn release(start: NonNull<u8>, zero: bool) {
    match live_at(start) {
        Some(Live::Small(slot)) => small::release(slot, zero),
        Some(Live::Large(large)) => large::release(large, zero),
        // A caller's error; memory stays whole if we do nothing.
        None => debug_assert!(false, "released what is not a live block: {start:p}"),
    }
}

/// # Safety
/// As [`super::try_grow_in_place`].
pub(super) unsafe fn try_grow_in_place(start: NonNull<u8>, new_size: usize) -> Option<Resized> {
    match live_at(start)? {
        Live::Small(slot) => {
            let size = slot.span.slot_size();
            (new_size <= size).then_some(Resized { start, size, zeroed_from: size })
        }
        Live::Large(large) => large::grow_in_place(large, new_size),
    }
}

/// # Safety
/// As [`super::remap`].
pub(super) unsafe fn remap(
    start: NonNull<u8>,
    new_size: usize,
    align: usize,
) -> Result<Resized, AllocError> {
    let error = AllocError { size: new_size, align };
    let old_size = match live_at(start).ok_or(error)? {
        Live::Small(slot) => {
            let size = slot.span.slot_size();
            let aligned = start.as_ptr().addr().is_multiple_of(align.max(MIN_ALIGN));
            if new_size <= size && new_size > size / 2 && aligned {
                return Ok(Resized { start, size, zeroed_from: size });
            }
            size
        }
        Live::Large(large) => {
            let size = large.size();
            if class_for(new_size, align).is_none() {
                if new_size <= size {
                    let size = large::shrink(large, new_size);
                    return Ok(Resized { start, size, zeroed_from: size });
                }
                let grown = large::grow_in_place(large, new_size)
                    .or_else(|| large::move_pages(large, new_size));
                if let Some(grown) = grown {
                    return Ok(grown);
                }
            }
            size
        }
    };
    // Small blocks, and pages that would not move: their bytes do.
    let new = obtain(new_size, align)?;
    let kept = old_size.min(new.size);
    // SAFETY: both blocks have `kept` bytes, and they are distinct live blocks.
    unsafe { new.start.copy_from_nonoverlapping(start, kept) };
    // SAFETY: the caller gives the old block up.
    unsafe { release(start, false) };
    let zeroed_from = if new.zeroed { kept } else { new.size };
    Ok(Resized { start: new.start, size: new.size, zeroed_from })
}

#[inline]
pub(super) fn block_of(pointer: *const u8) -> Option<BlockInfo> {
    let address = pointer.addr();
    match directory::find(address)? {
        Record::Span(span) => {
            let slot = span.slot_of(address)?;
            if slot.is_live() { slot_info(slot) } else { None }
        }
        Record::Large(large) => large.block_at(address),
    }
}

/// As [`super::for_each_block`].
pub(super) fn for_each_block(visit: &mut dyn FnMut(BlockInfo)) {
    directory::for_each(|slab, record| match record {
        // A span of several slabs has a word in each.
        Record::Span(span) if span.start() == slab => {
            span.live_slots().filter_map(slot_info).for_each(&mut *visit);
        }
        Record::Span(_) => {}
        Record::Large(large) => {
            if let Some(block) = large.block_at(slab)
                && block.start.as_ptr().addr() == slab
            {
                visit(block);
            }
        }
    });
}

#[inline]
fn slot_info(slot: Slot<'static>) -> Option<BlockInfo> {
    let start = NonNull::new(std::ptr::with_exposed_provenance_mut(slot.start()))?;
    Some(BlockInfo { start, size: slot.span.slot_size() })
}
