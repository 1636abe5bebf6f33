//! Proxies hear in time of what happens to their cells.
#![expect(
    clippy::undocumented_unsafe_blocks,
    reason = "every block works on segments that its test owns alone"
)]

use super::{
    super::{
        ResizeError, Segment,
        tests::{bound, live},
    },
    ProxyHooks, proxy_begins, proxy_ends, set_proxy_hooks,
};
use crate::testing::{Storage, TracerType};

/// What segments tell proxies of cells on this thread: which, from where on, and how many.
mod proxies {
    use super::*;
    use std::cell::{Cell, RefCell};

    thread_local! {
        pub static SAID: RefCell<Vec<(&'static str, usize, usize)>> = const { RefCell::new(Vec::new()) };
        pub static USED: Cell<usize> = const { Cell::new(0) };
    }

    pub fn install() {
        set_proxy_hooks(ProxyHooks {
            detach: |cells| {
                SAID.with_borrow_mut(|said| said.push(("detach", cells.start, cells.len() / 8)));
                USED.get()
            },
            moved: |cells, new_start| {
                assert_ne!(cells.start, new_start.as_ptr().addr());
                SAID.with_borrow_mut(|said| said.push(("moved", cells.start, cells.len() / 8)));
            },
        });
    }

    pub fn said() -> Vec<(&'static str, usize, usize)> {
        SAID.take()
    }
}

#[test]
fn proxies_hear_before_cells_go_and_after_they_moved() {
    proxies::install();
    let tracer = TracerType::new(Storage::MoveOnly);
    let mut segment = bound(tracer, 10);
    unsafe { segment.materialise(0..10).unwrap() };
    let at = |segment: Segment, index: usize| segment.cell_address(index).as_ptr().addr();
    proxy_begins();
    // In use: nothing goes.
    proxies::USED.set(1);
    let refused = unsafe { segment.resize(4 * 8) };
    assert!(matches!(refused, Err(ResizeError::Element(_))), "{refused:?}");
    assert_eq!(proxies::said(), [("detach", at(segment, 4), 6)]);
    assert_eq!((live(tracer), segment.cell_count()), (10, 10));
    proxies::USED.set(0);
    // Half a cell is a cell that goes.
    for (bytes, kept) in [(7 * 8 + 4, 7), (3 * 8, 3)] {
        let (start, count) = (at(segment, kept), segment.byte_len() / 8 - kept);
        segment = unsafe { segment.resize(bytes).unwrap().segment };
        assert_eq!(proxies::said(), [("detach", start, count)]);
        assert_eq!(live(tracer), kept as i64);
    }
    let start = at(segment, 0);
    segment = unsafe { segment.resize(80_000).unwrap().segment };
    assert_ne!(at(segment, 0), start);
    assert_eq!(proxies::said(), [("moved", start, 3)]);
    let start = at(segment, 0);
    unsafe { segment.free().unwrap() };
    assert_eq!(proxies::said(), [("detach", start, 10_000)]);
    // Cells of types with copies never have proxies.
    let other = TracerType::new(Storage::Boxed);
    unsafe { bound(other, 10).resize(8000).unwrap().segment.free().unwrap() };
    assert_eq!((proxies::said(), live(tracer)), (vec![], 0));
    proxy_ends();
    unsafe { bound(tracer, 10).free().unwrap() };
    assert_eq!(proxies::said(), []);
}
