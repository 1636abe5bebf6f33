//! What all the rest of [`crate::dtype`] speaks of, and speaks through.
//!
//! * [`dtype`]: one element type in the NumPy layer, and its operations; [`registry`]: all of them;
//! * [`errors`]: failures as Python exceptions; [`trampoline`]: where panics stop;
//! * [`pyobj`]: Python objects, where memory may run out;
//! * [`library`]: a type's functions stay loaded.

pub mod dtype;
pub mod errors;
pub mod library;
pub mod pyobj;
pub mod registry;
pub mod trampoline;

pub use dtype::{
    DType, DTypeClass, Delegated, ElementDescr, IdentityData, LoopData, OperandType, Operations,
    descr_new, immortal_head,
};
