//! One NumPy DType per registered element type, built from its vtable alone.
//!
//! The parts, highest first; a part imports only from those below it, as `.ci/imports` checks:
//!
//! ```text
//! register      a client's spec, checked, becomes a DType
//! numpy_patches against what NumPy does wrong, and against silent rounding
//! class         the DType class and its descriptor: all slots in one table
//! scalar_class  the Python class of scalars: operators, subscript, text, pickle
//! slots         what a DType class does: clear, fill-zero, arming, compare, dot, sort
//! ufuncs        a loop at work, how NumPy finds it, which one is taken
//! convert       between cells and Python objects: setitem, getitem
//! casts         between a type and itself, NumPy's types, other clients' types
//! cells         cells that go or move, and the element proxies of those
//! scalars       a scalar as an object in memory; the element proxies
//! loops         what every loop does around the work: segments, locks, ledger, alignment
//! handle        the DType; its registry; errors, panics, Python objects, libraries
//! ```

mod casts;
mod cells;
mod class;
mod convert;
pub(crate) mod handle;
pub(crate) mod loops;
pub(crate) mod numpy_patches;
pub(crate) mod register;
pub(crate) mod scalar_class;
pub(crate) mod scalars;
pub(crate) mod slots;
mod ufuncs;

pub use handle::DType;
