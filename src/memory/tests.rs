//! What the interface promises, whatever stands behind it.

use std::ptr;

use super::*;

fn address(pointer: NonNull<u8>) -> usize {
    pointer.as_ptr().addr()
}

#[test]
fn every_interior_pointer_finds_its_block_and_no_other_does() {
    for size in [1, 64, 100, 1000, 5000, 32 << 10, 40_000, 65_536, 300_000, 5 << 20] {
        let block = allocate(size, 64).unwrap();
        assert!(block.size >= size);
        let known = Some(BlockInfo { start: block.start, size: block.size });
        let start = block.start.as_ptr().cast_const();
        for offset in [0, 1, size / 2, size - 1, block.size - 1] {
            assert_eq!(block_of(start.wrapping_add(offset)), known, "size {size} at {offset}");
        }
        assert_ne!(block_of(start.wrapping_sub(1)), known);
        assert_ne!(block_of(start.wrapping_add(block.size)), known);
        // SAFETY: allocated above, used no more.
        unsafe { release(block.start) };
        assert_ne!(block_of(start), known, "size {size}: a released block is a miss");
    }
}

#[test]
fn wild_pointers_are_misses() {
    let on_the_stack = 0_u8;
    let on_the_heap = Box::new(0_u8);
    for pointer in [ptr::null(), &raw const on_the_stack, &raw const *on_the_heap] {
        assert_eq!(block_of(pointer), None);
    }
    for shift in 0..usize::BITS {
        assert_eq!(block_of(ptr::without_provenance(1 << shift)), None);
        assert_eq!(block_of(ptr::without_provenance(usize::MAX << shift)), None);
    }
}

#[test]
fn alignment_is_kept_up_to_the_page() {
    for shift in 0..=12 {
        for size in [1, 100, 3000, 9000, 33_000, 1 << 20] {
            let align = 1 << shift;
            let block = allocate(size, align).unwrap();
            assert_eq!(address(block.start) % align.max(MIN_ALIGN), 0, "{size} to {align}");
            // SAFETY: the block is ours, and so is the moved one.
            unsafe {
                let moved = remap(block.start, size * 3, align).unwrap();
                assert_eq!(address(moved.start) % align, 0, "{size} to {align}, moved");
                release(moved.start);
            }
        }
    }
}

#[test]
fn what_cannot_be_had_is_a_typed_error() {
    for (size, align) in [(1, 0), (1, 3), (1, 8192), (usize::MAX, 1), (isize::MAX as usize, 64)] {
        assert_eq!(allocate(size, align), Err(AllocError { size, align }));
        assert_eq!(allocate_zeroed(size, align), Err(AllocError { size, align }));
    }
    let size = 1 << 50;
    assert_eq!(allocate(size, 64), Err(AllocError { size, align: 64 }));
}

#[test]
fn a_failed_remap_leaves_the_block_as_it_was() {
    for size in [100, 100_000, 5 << 20] {
        let block = allocate(size, 64).unwrap();
        // SAFETY: the block is ours and has at least `size` bytes.
        unsafe {
            block.start.write_bytes(7, size);
            assert!(remap(block.start, 1 << 50, 64).is_err());
            let bytes = std::slice::from_raw_parts(block.start.as_ptr(), size);
            assert!(bytes.iter().all(|&byte| byte == 7));
            assert_eq!(
                block_of(block.start.as_ptr()),
                Some(BlockInfo { start: block.start, size: block.size })
            );
            release(block.start);
        }
    }
}

#[test]
fn zeroed_blocks_are_zero_even_where_dirty_ones_were() {
    for size in [64, 1000, 20_000, 100_000, 1 << 20, 6 << 20] {
        for round in 0..6 {
            let block = allocate_zeroed(size, 64).unwrap();
            assert!(block.zeroed);
            let other = allocate(size, 64).unwrap();
            // SAFETY: both are ours, with `size` bytes each.
            unsafe {
                let bytes = std::slice::from_raw_parts(block.start.as_ptr(), block.size);
                assert!(bytes.iter().all(|&byte| byte == 0), "size {size}, round {round}");
                if other.zeroed {
                    let bytes = std::slice::from_raw_parts(other.start.as_ptr(), other.size);
                    assert!(bytes.iter().all(|&byte| byte == 0), "size {size}, round {round}");
                }
                other.start.write_bytes(0xAA, other.size);
                release_zeroed(block.start);
                release(other.start);
            }
        }
    }
}
