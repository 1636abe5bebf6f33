//! denizen: Rust and C++ objects as elements of NumPy arrays.
//!
//! **To store your own type, start at [`client`]; to prove it, at `testing`.** The rest is the runtime,
//! for those who work on it.
//!
//! The layers, highest first; a module imports only from those below it, as `.ci/imports` checks:
//!
//! ```text
//! testing     tools that prove element types, our own and a user's
//! python      extension module, inspect, stats, scalars
//! elements    bundled element types, written on `client` alone
//! c_api       capsule and function table
//! dtype       arming, descriptor, casts, ufunc loops, sort, pickle
//! numpy_abi   the NumPy C API as it is used here
//! audit       what happened to objects while an audit ran
//! handler     NEP 49 functions, handler mode
//! segment     layout, header, init bitmap, lifecycle, relocation
//! owner_map   address -> block or lender; a miss means foreign
//! memory      raw blocks; which block an address is in
//! erased      pointers with lifetime and ownership, element types, registry
//! lock        the segment lock: cell ranges, borrows, fork generation
//! fork        one handler of `fork`, the steps of the layers in order
//! sync        std or loom
//! faults      steps that fail on request
//! client      what an extension crate needs to register its types (needs `boundary` and `abi`)
//! boundary    where unwinding stops
//! abi         the C types that runtime and clients agree on
//! ```

pub mod abi;

#[cfg(any(feature = "client", feature = "core"))]
mod boundary;
#[cfg(feature = "client")]
pub mod client;
#[cfg(feature = "client")]
pub use client::{
    Casting, ElementBuilder, ElementHandle, Error, ErrorKind, Failure, Raised, element,
    element_under_gil, runtime,
};
#[cfg(feature = "pyo3")]
pub use client::{adopt, from_iter, read, take, write};

#[cfg(all(feature = "core", not(loom)))]
#[doc(hidden)]
pub mod audit;
#[cfg(feature = "runtime")]
mod c_api;
#[cfg(feature = "runtime")]
#[doc(hidden)]
pub mod dtype;
#[cfg(feature = "elements")]
pub mod elements;
#[cfg(feature = "core")]
pub mod erased;
#[cfg(feature = "core")]
pub mod faults;
#[cfg(feature = "core")]
mod fork;
#[cfg(feature = "core")]
pub mod handler;
#[cfg(feature = "core")]
pub mod lock;
#[cfg(feature = "core")]
pub mod memory;
#[cfg(feature = "runtime")]
#[doc(hidden)]
pub mod numpy_abi;
#[cfg(feature = "core")]
pub mod owner_map;
#[cfg(feature = "runtime")]
mod python;
#[cfg(feature = "core")]
pub mod segment;
#[cfg(feature = "core")]
mod sync;
#[cfg(feature = "testing")]
pub mod testing;

#[cfg(feature = "runtime")]
#[global_allocator]
static HEAP: memory::emergency_heap::Heap = memory::emergency_heap::Heap;
