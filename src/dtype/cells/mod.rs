//! Cells that go or move. The element proxies that stand for them are detached first.
//!
//! * [`clear`]: the objects in cells end; [`later`]: those that a resize gives up;
//! * [`moving`]: cells move over others.

mod clear;
pub mod later;
mod moving;

pub use clear::clear_cells;
pub use moving::move_cells;
