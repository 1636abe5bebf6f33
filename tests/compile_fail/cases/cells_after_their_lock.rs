//! Cells that are changed under a lock are gone with its guard.

use denizen::erased::{CellsMut, Exclusive};
use denizen::lock::{Request, SegmentLock, acquire_all};

fn main() {
    let (lock, mut memory) = (SegmentLock::new(), [0u64; 2]);
    let mut requests = [Request::new(&lock, 0..2, true)];
    let guard = acquire_all(&mut requests).unwrap();
    let right = Exclusive::locked(&guard);
    let mut cells = unsafe { CellsMut::new(memory.as_mut_ptr().cast(), 8, 2, right) };
    drop(guard);
    cells.zero(8);
}
