//! The NumPy C API as it is used here: structs, slots, flags, function tables.
//!
//! Own bindings, because the `numpy` crate lacks what a dtype needs (the functions newer than
//! NumPy 1.15, the slots, the loop types, `mem_handler`). They are written for NumPy 2.4 and
//! later; [`import`] finds NumPy at run time, refuses others with an explanation, and checks the
//! layouts against the NumPy it found. The test `test_numpy_layout.py` compares [`layout()`] with
//! the real headers.
//!
//! Nothing here knows about elements or segments.

mod api;
mod array;
pub mod callbacks;
mod check;
pub mod flags;
mod functions;
mod layout;
pub mod slots;
mod structs;
mod types;
mod version;

pub use api::{NumpyApi, get, import};
pub use array::{Array, Descr, handler_in};
pub use layout::layout;
pub use structs::*;
pub use version::NumpyVersion;
