//! Whose memory an address is in: a block of ours, memory that a client lent to an array, or
//! anything else.
//!
//! Blocks answer from `memory`'s page map, at the cost of three loads. Blocks in another allocator's
//! memory and adopted ranges have a map each, which is asked only while there are any.

use std::ptr::NonNull;

mod adopted;
mod upstream;

pub use adopted::{AdoptError, Adopted, adopt, disown};
pub use upstream::{add_upstream, remove_upstream, upstream_block_of, upstream_blocks};

use crate::memory::{self, BlockInfo};

/// Whose memory an address is in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Owner {
    /// A live block of `memory`, or one of ours in another allocator's memory.
    Block(BlockInfo),
    /// A range that was lent with [`adopt`].
    Adopted(Adopted),
    /// Not ours.
    Foreign,
}

/// The owner of the byte at `pointer`, which may be any address. Lock-free for blocks and for
/// foreign memory; which races are the caller's stands in [`memory`].
#[inline]
#[must_use]
pub fn find(pointer: *const u8) -> Owner {
    if let Some(block) = block_of(pointer) {
        return Owner::Block(block);
    }
    match adopted::find(pointer.addr()) {
        Some(adopted) => Owner::Adopted(adopted),
        None => Owner::Foreign,
    }
}

/// The adopted range around an address, for those who know that it is in no block. One load while
/// nothing is adopted.
#[inline]
#[must_use]
pub fn adopted_at(pointer: *const u8) -> Option<Adopted> {
    adopted::find(pointer.addr())
}

/// The live block of ours that contains the byte at `pointer`, which may be any address, whatever
/// memory it is made of.
#[inline]
#[must_use]
pub fn block_of(pointer: *const u8) -> Option<BlockInfo> {
    match memory::block_of(pointer) {
        None => upstream_block_of(pointer),
        found => found,
    }
}

/// Calls `visit` with each live block of ours, whatever memory it is made of; see
/// [`memory::for_each_block`].
pub fn for_each_block(visit: &mut dyn FnMut(BlockInfo)) {
    memory::for_each_block(visit);
    upstream_blocks().into_iter().for_each(visit);
}

/// What an adopted range brings along; the owner map only keeps it.
pub type Payload = NonNull<()>;

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn each_kind_of_memory_is_told_from_the_others() {
        let block = memory::allocate(1000, 64).unwrap();
        let lent = vec![0_u64; 100];
        let start = lent.as_ptr().expose_provenance();
        let payload = NonNull::from(&lent).cast::<()>();
        assert_eq!(find(lent.as_ptr().cast()), Owner::Foreign);
        adopt(start..start + 800, payload).unwrap();

        let info = BlockInfo { start: block.start, size: block.size };
        assert_eq!(find(block.start.as_ptr().wrapping_add(999)), Owner::Block(info));
        let Owner::Adopted(found) = find((&raw const lent[99]).cast()) else {
            panic!("the lent range is adopted");
        };
        assert_eq!((found.range, found.payload), (start..start + 800, payload));
        assert_eq!(find(std::ptr::null()), Owner::Foreign);

        assert_eq!(disown(start).map(|gone| gone.adoptions), Some(0));
        assert_eq!(find(lent.as_ptr().cast()), Owner::Foreign);
        // SAFETY: allocated above, used no more.
        unsafe { memory::release(block.start) };
    }

    #[test]
    fn blocks_of_ours_cannot_be_adopted() {
        let block = memory::allocate(1000, 64).unwrap();
        let start = block.start.as_ptr().addr();
        let adopted = adopt(start..start + 10, NonNull::dangling());
        assert_eq!(adopted, Err(AdoptError::Managed));
        // SAFETY: allocated above, used no more.
        unsafe { memory::release(block.start) };
    }

    #[cfg(all(target_os = "linux", not(miri)))]
    #[test]
    fn a_forked_child_adopts_while_the_parents_threads_were_at_it() {
        use std::sync::atomic::{AtomicBool, Ordering};

        fn adopt_all(lent: &[u64]) {
            let adopt_one = |cell: &u64| {
                let start = (&raw const *cell).addr();
                assert!(adopt(start..start + 8, NonNull::dangling()).is_ok());
                assert!(matches!(find((&raw const *cell).cast()), Owner::Adopted(_)));
            };
            lent.iter().for_each(adopt_one);
            lent.iter().for_each(|cell| assert!(disown((&raw const *cell).addr()).is_some()));
        }

        let stop = AtomicBool::new(false);
        std::thread::scope(|scope| {
            scope.spawn(|| {
                let lent = vec![0; 300];
                while !stop.load(Ordering::Relaxed) {
                    adopt_all(&lent);
                }
            });
            let lent = vec![0; 300];
            for _ in 0..50 {
                adopt_all(&lent);
                // SAFETY: the child only looks up and adopts, and leaves by `_exit`.
                let child = unsafe { libc::fork() };
                if child == 0 {
                    // SAFETY: plain system calls; the alarm ends a child that hangs.
                    unsafe {
                        libc::alarm(20);
                        adopt_all(&lent);
                        libc::_exit(0);
                    }
                }
                let mut status = -1;
                // SAFETY: `child` is ours and `status` is writable.
                assert_eq!(unsafe { libc::waitpid(child, &raw mut status, 0) }, child);
                assert_eq!(status, 0, "the child ended well");
            }
            stop.store(true, Ordering::Relaxed);
        });
    }
}

/// Whether an address that is in no block lies in memory that a client's owner lends.
#[inline]
pub fn is_adopted(pointer: *const u8) -> bool {
    adopted_at(pointer).is_some()
}
