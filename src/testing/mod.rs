//! Tools that prove an element type, without Python.
//!
//! # For your own type
//! [`lifecheck!`](crate::lifecheck) makes a cargo-fuzz target in one line, and with the feature
//! `proptest` `lifecheck_proptest!` makes a test for a stable compiler:
//!
//! ```toml
//! [dev-dependencies]
//! denizen = { path = "path/to/denizen", default-features = false, features = ["proptest"] }
//! ```
//! ```
//! # fn main() {}
//! #[global_allocator]
//! static HEAP: denizen::testing::Heap = denizen::testing::Heap;
//!
//! denizen::lifecheck_proptest!(fn texts: String, |u| u.arbitrary());
//! ```
//!
//! Both run random sequences of [`Operation`]s on segments of the type: what NumPy does to an array,
//! with failing allocations, elements and destructors in between. The functions are those that
//! [`denizen::element`](crate::client::element) makes for the type, the segments are the runtime's own.
//! After each operation every cell is compared with a plain `Vec<Option<value>>`. A finding is printed
//! as a test that repeats it ([`lifecheck_replay!`](crate::lifecheck_replay)); `docs/testing-your-type.md` shows
//! one, and says what is found and what is not.
//!
//! [`Heap`] watches the memory that the type's own code allocates. [`Tracer`] is a field or an element
//! that knows its own life.
//!
//! # For denizen's own core
//! [`TracerType`]s are element types as a client in any language could register them, one for each
//! [`Storage`]; [`run`] puts them through the same sequences, and [`Allocator`] hosts
//! segments in memory that is not ours.

mod allocator;
mod checked;
mod fault_injected;
mod finding;
mod generate;
mod heap;
mod hooks;
#[doc(hidden)]
pub mod legacy;
mod lifecheck;
mod model;
mod operation;
#[doc(hidden)]
pub mod probe;
mod random;
mod reduced;
mod subject;
mod tracer;
mod tracer_model;
mod tracer_type;

pub use crate::faults::type_code::Fault;
pub use allocator::Allocator;
pub use arbitrary;
#[doc(hidden)]
pub use checked::Checked;
#[doc(hidden)]
pub use generate::{Generate, Generator};
pub use heap::Heap;
#[cfg(feature = "proptest")]
#[doc(hidden)]
pub use lifecheck::random;
#[doc(hidden)]
pub use lifecheck::{Input, Target, fuzz, replay};
pub use operation::{Operation, Run};
pub use tracer::{Step, Tracer, TracerCounts};
pub use tracer_model::run;
pub use tracer_type::{Counts, Storage, TracerType};
