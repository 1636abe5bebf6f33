//! The parts of an exclusive run are lent one at a time.

use denizen::erased::{CellsMut, Exclusive};

fn main() {
    let mut memory = [0u64; 2];
    // SAFETY: two cells of 8 bytes, ours alone.
    let mut cells = unsafe { CellsMut::new(memory.as_mut_ptr().cast(), 8, 2, Exclusive::own()) };
    let mut first = cells.part(0, 2);
    let mut second = cells.part(1, 1);
    first.zero(8);
    second.zero(8);
}
