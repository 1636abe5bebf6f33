//! An exclusive run cannot be copied.

use denizen::erased::{CellsMut, Exclusive};

fn zero_both(mut left: CellsMut<'_>, mut right: CellsMut<'_>) {
    left.zero(8);
    right.zero(8);
}

fn main() {
    let mut memory = [0u64; 2];
    // SAFETY: two cells of 8 bytes, ours alone.
    let cells = unsafe { CellsMut::new(memory.as_mut_ptr().cast(), 8, 2, Exclusive::own()) };
    zero_both(cells, cells);
}
