//! The client.

mod batch;
mod builder;
mod convert;
mod data;
mod definition;
mod error;
mod guard;
mod handle;
mod loops;
#[cfg(feature = "ndarray")]
mod nd;
mod order;
#[cfg(feature = "pyo3")]
mod pyo3_interop;
mod runtime;
mod scalar;
mod shared;
mod storage;
mod ufuncs;
mod view;

pub use builder::{Casting, ElementBuilder, RawLoop, element, element_under_gil};
pub use data::{adopt_raw, take_raw};
pub use definition::Definition;
pub use error::{Error, ErrorKind, Failure, Outcome, Raised};
pub use handle::ElementHandle;
#[cfg(feature = "pyo3")]
pub use pyo3_interop::{adopt, from_iter, read, take, write};
pub use runtime::runtime;
pub use scalar::{NumpyScalar, OperandType};
pub use storage::{
    Automatic, Boxed, InlineDefault, InlineVacant, Storage, StorageChoice, Tagged, Undecided,
};
pub use view::{Iter, IterMut, ReadView, WriteView, read_raw, write_raw};

#[cfg(test)]
mod tests;
