//! Store your own Rust type in NumPy arrays.
//!
//! `docs/rust.md` is the guide, from the first type to views and Python objects; this is the reference.
//!
//! # The builder
//! [`element`] begins the description of a type; there is no trait to implement, so the type may come
//! from another crate. Each method asks for the standard trait that it is named after.
//!
//! ```text
//! denizen::element::<BigDecimal>("BigDecimal")
//!     .clone().default().arithmetic().ordering().text()
//!     .module("decimals").add_to(module)?;
//! ```
//!
//! The client holds no runtime: it finds the one of the installed `denizen` package when the first
//! type is added. Without the feature `pyo3`, [`ElementBuilder::add_to_raw`] takes a raw pointer.
//!
//! # What a type can do
//! | method | for | gives |
//! |---|---|---|
//! | [`clone`](ElementBuilder::clone) | `T: Clone` | copies: nearly everything NumPy does |
//! | [`default`](ElementBuilder::default), [`default_with`](ElementBuilder::default_with) | `T: Default` | the value of cells that were never filled (`np.zeros`) |
//! | [`arithmetic`](ElementBuilder::arithmetic) | `&T + &T`, `-`, `*`, unary `-` | the ufuncs; one by one: `add`, `sub`, `mul`, `neg`, `div`, `rem` |
//! | [`ordering`](ElementBuilder::ordering), [`partial_ordering`](ElementBuilder::partial_ordering), [`equality`](ElementBuilder::equality) | `T: Ord`, `PartialOrd`, `PartialEq` | comparisons, sorting, `maximum`, .. |
//! | [`text`](ElementBuilder::text), [`display`](ElementBuilder::display) | `T: Display + FromStr` | printing, reading strings, pickle |
//! | [`linear_algebra`](ElementBuilder::linear_algebra) | `&T + &T`, `&T * &T` | `matmul`, `vecdot`, `matvec`, `vecmat` |
//! | [`zero`](ElementBuilder::zero), [`one`](ElementBuilder::one), [`identity`](ElementBuilder::identity) | | sums and products of nothing |
//! | [`cast`](ElementBuilder::cast), [`cast_from`](ElementBuilder::cast_from), [`cast_to`](ElementBuilder::cast_to) | NumPy's numbers | `astype`, `np.array([1, 2], ..)`, and with `cast_from` also `a * 2` and `a == 1` |
//! | [`unary`](ElementBuilder::unary), [`binary`](ElementBuilder::binary), [`predicate`](ElementBuilder::predicate), .. | closures | any ufunc, also with NumPy's numbers as operands |
//! | [`float_functions`](ElementBuilder::float_functions) | a cast to `f64` | `sqrt`, `exp`, .. by NumPy's own loops, as `float64` |
//! | [`thread_safe`](ElementBuilder::thread_safe) | `T: Send + Sync` | loops run without the GIL |
//! | [`nonzero`](ElementBuilder::nonzero), [`hash`](ElementBuilder::hash), [`heap_bytes`](ElementBuilder::heap_bytes), [`codec`](ElementBuilder::codec), [`from_python`](ElementBuilder::from_python) | | truth, hash, memory figures, pickle, Python objects (with pyo3's types: `from_python_with`, `python_with`) |
//!
//! Operators are asked for on references, as in `impl Add for &T`. A scalar (`a[0]`) is an opaque
//! object with the type's operators; for fields in Python, give it a class of your own with
//! [`python`](ElementBuilder::python), or write a function over [`read_raw`] or `denizen::read`.
//!
//! A closure returns the value, a `Result` with an [`Error`] (or a string), or an `Option`. Errors
//! and panics become Python exceptions: elements before the one that failed are done, the others
//! are as they were.
//!
//! # How elements are stored
//! Without a word from you a cell is the object and a tag byte, which needs no promise. Rust
//! objects may be moved byte by byte, so all of this is safe:
//!
//! | storage | chosen by | the cell |
//! |---|---|---|
//! | tagged | nothing | T and a tag; boxed where T is aligned to more than 16 bytes |
//! | inline | [`zero_is_vacant`](ElementBuilder::zero_is_vacant) (unsafe) | exactly T; zero bytes are no value of T (it holds a `Vec`, a `Box`, ..) |
//! | inline | [`zero_is_default`](ElementBuilder::zero_is_default) (unsafe) | exactly T; zero bytes are the default value |
//! | boxed | [`boxed`](ElementBuilder::boxed) | a pointer to T, whose address stays |
//!
//! The choice comes first, as the loops are compiled for it:
//! ```
//! // SAFETY: the pointer of a Vec is never null, and a Vec has no padding.
//! let polynomial = unsafe { denizen::element::<Vec<f64>>("Polynomial").zero_is_vacant() };
//! let polynomial = polynomial
//!     .clone()
//!     .default()
//!     .unary("negative", |p: &Vec<f64>| p.iter().map(|c| -c).collect::<Vec<f64>>());
//! ```
//! ```compile_fail,E0599
//! let _ = denizen::element::<Vec<f64>>("Polynomial").clone().boxed();
//! ```
//!
//! # Data
//! With the feature `pyo3`: `denizen::adopt` makes an array of a `Vec` without a copy (inline
//! types), `take` and `from_iter` move elements into a new array (all types), `read` and `write`
//! lend the elements of an array as a [`ReadView`] or [`WriteView`]: N-d and strided for all types,
//! slices and `ndarray` views for inline ones. [`adopt_raw`], [`take_raw`], [`read_raw`] and
//! [`write_raw`] are the same on raw pointers. A view excludes conflicting use of the array
//! while it lasts: the second access gets `denizen.BorrowError`.
//!
//! # Threads
//! Without [`thread_safe`](ElementBuilder::thread_safe) every loop holds the GIL, which is enough
//! for a `T: Send`. A type that is not `Send` needs [`element_under_gil`], whose `unsafe` says what
//! must hold.
//!
//! # Elements that hold Python objects
//! With the feature `pyo3` the functions of a type run as pyo3 sees a thread that is attached, so that
//! a `Py<..>` can be cloned and drops its reference at once. Say
//! [`needs_gil`](ElementBuilder::needs_gil) where elements may end in a thread without the GIL, and
//! never [`thread_safe`](ElementBuilder::thread_safe), whose loops run without it.

mod attachment;
mod batch;
mod builder;
mod casts;
mod convert;
mod data;
mod definition;
mod error;
mod float_functions;
mod floats;
mod geometry;
mod groups;
mod guard;
mod handle;
mod identities;
mod linear_algebra;
mod loops;
#[cfg(feature = "ndarray")]
mod nd;
mod order;
mod parts;
#[cfg(feature = "pyo3")]
mod pyo3_interop;
mod register;
mod runtime;
mod scalar;
mod shared;
mod storage;
mod ufuncs;
mod values;
mod view;

pub use builder::{ElementBuilder, element, element_under_gil};
pub use casts::Casting;
pub use data::{adopt_raw, take_raw};
pub use definition::Definition;
pub use error::{Error, ErrorKind, Failure, Outcome, Raised};
pub use floats::{Decoded, Half, LongDouble};
pub use handle::ElementHandle;
pub use loops::RawLoop;
#[cfg(feature = "pyo3")]
pub use pyo3_interop::{adopt, from_iter, read, take, write};
pub use runtime::runtime;
pub use scalar::{NumpyScalar, OperandType};
pub use storage::{
    Automatic, Boxed, InlineDefault, InlineVacant, Storage, StorageChoice, Tagged, Undecided,
};
pub use view::{Iter, IterMut, ReadView, WriteView, read_raw, write_raw};

#[cfg(all(test, feature = "testing"))]
mod tests;
