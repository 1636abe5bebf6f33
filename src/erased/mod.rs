//! Objects without their type: batches of cells, element types, the registry.
//!
//! [`Cells`] and [`CellsMut`] carry the lifetime and the access right of a strided run of cells.
//! [`ElementType`] wraps a client's vtable: what is function pointers and reports outside is
//! methods and `Result`s inside. [`rules`] applies the rules of life to cells in any state.

mod cells;
mod counters;
mod element;
mod failure;
pub mod observer;
mod registry;
pub mod rules;
mod spare_cell;
mod staging;
mod vacancy;
mod vtable;

pub use cells::{Cells, CellsMut, Exclusive};
pub use counters::{CountDelta, Counters};
pub use element::{ElementType, Mismatch};
pub use failure::{Details, Failure};
pub use observer::Location;
pub use registry::{Registry, RegistryError};
pub use spare_cell::SpareCell;
pub use staging::Staging;
pub use vacancy::{CELLS_PER_MASK, Vacancy};
pub use vtable::{InvalidElement, read_prefixed, read_vtable};
