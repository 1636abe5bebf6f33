//! A part of an exclusive run lives only as long as the run is lent.

use denizen::erased::{CellsMut, Exclusive};

fn second_half<'a>(mut cells: CellsMut<'a>) -> CellsMut<'a> {
    cells.part(1, 1)
}

fn main() {
    let mut memory = [0u64; 2];
    // SAFETY: two cells of 8 bytes, ours alone.
    let cells = unsafe { CellsMut::new(memory.as_mut_ptr().cast(), 8, 2, Exclusive::own()) };
    second_half(cells);
}
