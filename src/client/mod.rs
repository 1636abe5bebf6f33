//! The client.

mod batch;
mod builder;
mod convert;
mod definition;
mod error;
mod guard;
mod handle;
mod loops;
mod order;
#[cfg(feature = "pyo3")]
mod pyo3_interop;
mod runtime;
mod scalar;
mod shared;
mod storage;
mod ufuncs;

pub use builder::{Casting, ElementBuilder, RawLoop, element, element_under_gil};
pub use definition::Definition;
pub use error::{Error, ErrorKind, Failure, Outcome, Raised};
pub use handle::ElementHandle;
pub use runtime::runtime;
pub use scalar::{NumpyScalar, OperandType};
pub use storage::{
    Automatic, Boxed, InlineDefault, InlineVacant, Storage, StorageChoice, Tagged, Undecided,
};

#[cfg(test)]
mod tests;
