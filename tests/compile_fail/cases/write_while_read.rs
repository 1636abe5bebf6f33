//! While a run is lent to readers nobody writes through it.

use denizen::erased::{CellsMut, Exclusive};

fn main() {
    let mut memory = [0u64; 2];
    // SAFETY: two cells of 8 bytes, ours alone.
    let mut cells = unsafe { CellsMut::new(memory.as_mut_ptr().cast(), 8, 2, Exclusive::own()) };
    let reader = cells.as_cells();
    cells.zero(8);
    assert_eq!(reader.len(), 2);
}
