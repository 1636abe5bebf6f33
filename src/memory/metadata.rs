//! Memory for records that are never freed.

use std::{
    alloc::Layout,
    ptr::{self, NonNull},
};

use super::{lock::Lock, os};

/// Bytes mapped at a time.
const CHUNK: usize = 256 << 10;

/// What is left of the last chunk.
pub(super) struct Chunk {
    next: *mut u8,
    left: usize,
}

// SAFETY: the chunk is memory that no other code knows; it may be cut by any thread.
unsafe impl Send for Chunk {}

pub(super) static CHUNKS: Lock<Chunk> = Lock::new(Chunk { next: ptr::null_mut(), left: 0 });

/// Zero bytes of this layout, for ever.
pub(super) fn allocate(layout: Layout) -> Option<NonNull<u8>> {
    if layout.size() > CHUNK / 4 || layout.align() > os::PAGE {
        return os::map(layout.size().next_multiple_of(os::PAGE), layout.align().max(os::PAGE));
    }
    let mut chunk = CHUNKS.lock();
    let mut skip = chunk.next.align_offset(layout.align());
    if chunk.next.is_null() || skip.saturating_add(layout.size()) > chunk.left {
        *chunk = Chunk { next: os::map(CHUNK, os::PAGE)?.as_ptr(), left: CHUNK };
        skip = 0;
    }
    // SAFETY: `skip + size` bytes are left, so both pointers stay in the chunk or at its end.
    let start = unsafe { chunk.next.add(skip) };
    // SAFETY: as above.
    chunk.next = unsafe { start.add(layout.size()) };
    chunk.left -= skip + layout.size();
    NonNull::new(start)
}
