//! Blocks of ours in memory that another allocator gave us (handler mode over another handler).
//!
//! They lie anywhere in its heap, so `memory` does not know them; a second map of ranges
//! does. It is asked only about addresses that are in no block of `memory`, and only while there is
//! such a block.

use super::adopted::AdoptedRanges;
#[cfg(not(any(loom, miri)))]
use crate::fork::{self, Layer, Step};
use crate::memory::{self, AllocError, BlockInfo};
use std::ptr::NonNull;

#[cfg(not(loom))]
static UPSTREAM: AdoptedRanges<{ 1 << 16 }, { 1 << 16 }> = AdoptedRanges::new();

#[cfg(loom)]
loom::lazy_static! {
    /// Too small for real addresses, as for adopted ranges.
    static ref UPSTREAM: AdoptedRanges<2, 2> = AdoptedRanges::new();
}

#[cfg(not(any(loom, miri)))]
static STEP: Step = Step { prepare, parent: resume, child: resume };

#[cfg(not(any(loom, miri)))]
fn prepare() {
    UPSTREAM.writers.acquire();
}

#[cfg(not(any(loom, miri)))]
fn resume() {
    // SAFETY: `prepare` took the lock in this thread, or in the one it is a copy of.
    unsafe { UPSTREAM.writers.release() };
}

/// Notes a block of ours in another allocator's memory, until [`remove_upstream`].
///
/// # Errors
/// There is no memory for the note; or a part of the block is in memory of ours already, because
/// the other allocator got it from us or gave it out twice.
pub fn add_upstream(block: BlockInfo) -> Result<(), AllocError> {
    let error = AllocError { size: block.size, align: memory::MIN_ALIGN };
    let start = block.start.as_ptr();
    let end = start.addr().checked_add(block.size).ok_or(error)?;
    if block.size == 0 || memory::block_of(start).is_some() {
        return Err(error);
    }
    // As for adopted ranges: a child of a fork finds no sequence number odd.
    #[cfg(not(any(loom, miri)))]
    fork::arm(Layer::Upstream, &STEP);
    let noted = UPSTREAM.insert(start.addr()..end, block.start.cast()).map_err(|_| error)?;
    if noted.adoptions > 1 {
        // The very same range again.
        UPSTREAM.remove(start.addr());
        return Err(error);
    }
    Ok(())
}

/// Forgets a block, before its memory is given back.
pub fn remove_upstream(start: NonNull<u8>) {
    UPSTREAM.remove(start.as_ptr().addr());
}

/// The upstream block that contains the byte at `pointer`, which may be any address.
#[inline]
pub fn upstream_block_of(pointer: *const u8) -> Option<BlockInfo> {
    let found = UPSTREAM.find(pointer.addr())?;
    Some(BlockInfo { start: found.payload.cast(), size: found.range.len() })
}

/// All upstream blocks of this moment.
pub fn upstream_blocks() -> Vec<BlockInfo> {
    let block =
        |found: super::Adopted| BlockInfo { start: found.payload.cast(), size: found.range.len() };
    UPSTREAM.all().into_iter().map(block).collect()
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;
    use crate::owner_map::{self, AdoptError, Owner};

    #[test]
    fn an_upstream_block_is_found_until_it_is_gone() {
        let mut memory = vec![0_u64; 20_000];
        let start = NonNull::new(memory.as_mut_ptr()).unwrap().cast::<u8>();
        let block = BlockInfo { start, size: 160_000 };
        assert_eq!(upstream_block_of(start.as_ptr()), None);
        add_upstream(block).unwrap();
        for offset in [0, 1, 70_000, 159_999] {
            let pointer = start.as_ptr().wrapping_add(offset);
            assert_eq!(upstream_block_of(pointer), Some(block));
            assert_eq!(owner_map::find(pointer), Owner::Block(block));
        }
        // It touches three slabs, and is listed once.
        assert_eq!(upstream_blocks().iter().filter(|listed| **listed == block).count(), 1);
        assert_eq!(upstream_block_of(start.as_ptr().wrapping_add(160_000)), None);
        assert!(add_upstream(block).is_err(), "one block at a place");
        assert!(add_upstream(BlockInfo { start, size: 10 }).is_err(), "a part of it");
        assert_eq!(upstream_block_of(start.as_ptr()), Some(block));
        let lent = start.as_ptr().addr()..start.as_ptr().addr() + 8;
        assert_eq!(owner_map::adopt(lent, block.start.cast()), Err(AdoptError::Managed));
        remove_upstream(start);
        assert_eq!(upstream_block_of(start.as_ptr()), None);
    }

    #[test]
    fn memory_of_ours_is_upstream_of_nothing() {
        let block = memory::allocate(1000, 64).unwrap();
        assert!(add_upstream(BlockInfo { start: block.start, size: 500 }).is_err());
        // SAFETY: allocated above, used no more.
        unsafe { memory::release(block.start) };
    }
}
