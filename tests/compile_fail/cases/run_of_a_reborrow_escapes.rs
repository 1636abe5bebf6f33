//! What was read from a lent run does not outlive the loan.

use denizen::erased::{Cells, CellsMut, Exclusive};

fn main() {
    let mut memory = [0u64; 2];
    let escaped: Cells<'_>;
    {
        // SAFETY: two cells of 8 bytes, ours alone.
        let cells = unsafe { CellsMut::new(memory.as_mut_ptr().cast(), 8, 2, Exclusive::own()) };
        escaped = cells.as_cells();
    }
    assert_eq!(escaped.len(), 2);
}
