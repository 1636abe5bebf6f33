//! Blocks from the system's allocator and a locked map.
//!
//! It stands in where the real thing cannot run: Miri knows no `mremap`, and loom's atomics cannot
//! live in statics. The lock is std's on purpose there: it is not part of what loom explores.
//!
//! AddressSanitizer sees more with it (`--cfg plain_memory`): a segment is a block of `malloc`'s then,
//! with poisoned bytes behind it, and poisoned itself for a while after it is freed.

use std::{
    alloc::{self, Layout},
    ops::DerefMut,
    ptr::NonNull,
};

use super::block::{AllocError, Block, BlockInfo, MIN_ALIGN, Resized};

/// The layout that each live block was allocated with, by its start.
#[cfg(not(plain_memory))]
type Layouts = std::collections::BTreeMap<usize, Layout>;
#[cfg(plain_memory)]
use super::plain_blocks::Layouts;

#[cfg(not(plain_memory))]
fn blocks() -> impl DerefMut<Target = Layouts> {
    use std::sync::{Mutex, PoisonError};
    static BLOCKS: Mutex<Layouts> = Mutex::new(Layouts::new());
    BLOCKS.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(plain_memory)]
fn blocks() -> impl DerefMut<Target = Layouts> {
    super::fork::arm();
    super::plain_blocks::BLOCKS.lock()
}

pub(super) fn allocate(size: usize, align: usize) -> Result<Block, AllocError> {
    insert(size, align, false)
}

pub(super) fn allocate_zeroed(size: usize, align: usize) -> Result<Block, AllocError> {
    insert(size, align, true)
}

fn insert(size: usize, align: usize, zeroed: bool) -> Result<Block, AllocError> {
    let error = AllocError { size, align };
    let layout = Layout::from_size_align(size.next_multiple_of(MIN_ALIGN), align.max(MIN_ALIGN))
        .map_err(|_| error)?;
    // SAFETY: the layout's size is at least 64: the interface asks for at least one byte.
    let start = unsafe { if zeroed { alloc::alloc_zeroed(layout) } else { alloc::alloc(layout) } };
    let start = NonNull::new(start).ok_or(error)?;
    blocks().insert(start.as_ptr().expose_provenance(), layout);
    Ok(Block { start, size: layout.size(), zeroed })
}

/// # Safety
/// As [`super::release`].
pub(super) unsafe fn release(start: NonNull<u8>, _zeroed: bool) {
    if let Some(layout) = blocks().remove(&start.as_ptr().addr()) {
        // SAFETY: the map holds exactly the blocks of `insert` that were not released.
        unsafe { alloc::dealloc(start.as_ptr(), layout) };
    }
}

/// # Safety
/// As [`super::try_grow_in_place`].
pub(super) unsafe fn try_grow_in_place(start: NonNull<u8>, new_size: usize) -> Option<Resized> {
    let size = blocks().get(&start.as_ptr().addr())?.size();
    (new_size <= size).then_some(Resized { start, size, zeroed_from: size })
}

/// # Safety
/// As [`super::remap`].
pub(super) unsafe fn remap(
    start: NonNull<u8>,
    new_size: usize,
    align: usize,
) -> Result<Resized, AllocError> {
    let old = blocks().get(&start.as_ptr().addr()).map_or(0, Layout::size);
    let new = insert(new_size, align, true)?;
    let kept = old.min(new.size);
    // SAFETY: the old block has `old` bytes, the new one `new.size`, and they are distinct.
    unsafe { new.start.copy_from_nonoverlapping(start, kept) };
    // SAFETY: the caller gives the old block up, which the map still holds.
    unsafe { release(start, false) };
    Ok(Resized { start: new.start, size: new.size, zeroed_from: kept })
}

pub(super) fn block_of(pointer: *const u8) -> Option<BlockInfo> {
    let blocks = blocks();
    let (&start, layout) = blocks.range(..=pointer.addr()).next_back()?;
    let inside = pointer.addr() - start < layout.size();
    let start = NonNull::new(std::ptr::with_exposed_provenance_mut(start))?;
    inside.then_some(BlockInfo { start, size: layout.size() })
}

/// As [`super::for_each_block`].
pub(super) fn for_each_block(visit: &mut dyn FnMut(BlockInfo)) {
    // Not under the lock: a visitor may look a block up.
    let all: Vec<_> = blocks().iter().map(|(start, layout)| (*start, layout.size())).collect();
    for (start, size) in all {
        if let Some(start) = NonNull::new(std::ptr::with_exposed_provenance_mut(start)) {
            visit(BlockInfo { start, size });
        }
    }
}

/// Nothing is kept.
pub(super) fn trim() {}

pub(super) fn for_ever(layout: Layout) -> Option<NonNull<u8>> {
    // Leak checkers do not look for pointers in mapped memory, which is where those to records are;
    // so records are in mapped memory too.
    #[cfg(plain_memory)]
    return super::metadata::allocate(layout);
    // SAFETY: records are not empty.
    #[cfg(not(plain_memory))]
    NonNull::new(unsafe { alloc::alloc_zeroed(layout) })
}
