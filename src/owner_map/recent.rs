//! A short memory of the blocks that were looked up last.
//!
//! A copy loop that NumPy calls once an element asks about the same two or three blocks thousands
//! of times. An entry is checked against its block's liveness word at each use, so a block that was
//! released is never returned, whichever thread released it.

use crate::memory::{self, BlockInfo, Witness};

/// How many blocks are remembered.
const ENTRIES: usize = 4;

/// The memory of one thread, or of one loop.
#[derive(Debug, Default)]
pub struct Recent {
    entries: [Option<Entry>; ENTRIES],
    /// The entry that is replaced next.
    next: usize,
}

#[derive(Clone, Copy, Debug)]
struct Entry {
    block: BlockInfo,
    witness: Witness,
}

// SAFETY: an entry's addresses are numbers to this type, and liveness words live for ever.
unsafe impl Send for Recent {}

impl Recent {
    /// Remembers nothing yet.
    #[must_use]
    pub const fn new() -> Self {
        Self { entries: [None; ENTRIES], next: 0 }
    }

    /// As [`memory::block_of`].
    #[inline]
    pub fn block_of(&mut self, pointer: *const u8) -> Option<BlockInfo> {
        let address = pointer.addr();
        for entry in self.entries.iter().flatten() {
            let start = entry.block.start.as_ptr().addr();
            if address.wrapping_sub(start) < entry.block.size && entry.witness.is_live() {
                return Some(entry.block);
            }
        }
        self.look_up(pointer)
    }

    #[cold]
    fn look_up(&mut self, pointer: *const u8) -> Option<BlockInfo> {
        let (block, witness) = memory::witness_of(pointer)?;
        self.entries[self.next % ENTRIES] = Some(Entry { block, witness });
        self.next = self.next.wrapping_add(1);
        Some(block)
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use std::{sync::mpsc, thread};

    use super::*;
    use crate::memory::{allocate, release};

    #[test]
    fn a_remembered_block_is_found_and_a_released_one_is_not() {
        // Sizes on both sides of small and large; released in another thread.
        for size in [100, 20_000, 100_000, 5 << 20] {
            let mut recent = Recent::new();
            let stale = (0..100).all(|_| {
                let block = allocate(size, 64).unwrap();
                let pointer = block.start.as_ptr().wrapping_add(size - 1).cast_const();
                let found = recent.block_of(pointer);
                assert_eq!(found, Some(BlockInfo { start: block.start, size: block.size }));
                assert_eq!(recent.block_of(pointer), found, "from memory");
                let start = block.start.as_ptr().expose_provenance();
                let (sender, receiver) = mpsc::channel::<usize>();
                let other = thread::spawn(move || {
                    let start = std::ptr::with_exposed_provenance_mut(receiver.recv().unwrap());
                    // SAFETY: allocated above, given up by the sender.
                    unsafe { release(std::ptr::NonNull::new(start).unwrap()) };
                });
                sender.send(start).unwrap();
                other.join().unwrap();
                // Another test may have got the same block meanwhile, but hardly each time.
                recent.block_of(pointer).is_some()
            });
            assert!(!stale, "size {size}");
        }
    }

    #[test]
    fn a_block_of_another_size_at_the_same_address_is_seen_as_it_is() {
        let mut recent = Recent::new();
        for round in 1..50 {
            let block = allocate(round * 70_000, 64).unwrap();
            for offset in [0, block.size - 1] {
                let found = recent.block_of(block.start.as_ptr().wrapping_add(offset));
                assert_eq!(found, Some(BlockInfo { start: block.start, size: block.size }));
            }
            // SAFETY: allocated above, used no more.
            unsafe { release(block.start) };
        }
    }

    #[test]
    fn foreign_addresses_are_not_remembered() {
        let mut recent = Recent::new();
        let on_the_stack = 0_u8;
        for _ in 0..3 {
            assert_eq!(recent.block_of(&raw const on_the_stack), None);
        }
        assert!(recent.entries.iter().all(Option::is_none));
    }
}
