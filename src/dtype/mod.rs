//! One NumPy DType per registered element type, built from its vtable alone.
//!
//! * [`class`]: the DType class, its one descriptor and its slots; [`register`]: how a client's
//!   [`spec`] becomes one, by way of a checked [`plan`], and its [`library`] stays loaded;
//! * [`arming`]: how new arrays get managed segments;
//! * [`access`]: what every loop does around the work: find segments, lock, keep the ledger;
//!   [`alone`]: when a lock costs nothing;
//! * [`traverse`]: clear and fill-zero, [`later`]: what a resize clears; [`within`]: copy and move;
//! * [`casts`]: to and from NumPy's types, of which [`numbers`] are converted in blocks and text
//!   one by one; [`promotion`]: where two types meet, [`choice`]: in
//!   which loop; [`ufuncs`]: loops, identities;
//! * [`sort`]: sort and argsort; [`arrfuncs`]: compare, argmin, nonzero, fill, dot;
//! * [`convert`]: to and from Python objects; [`scalar`], [`scalar_math`], [`scalar_index`]: the
//!   scalar class that the runtime makes, its operators and its subscript;
//! * [`loan`], [`loan_math`]: scalars of types that only move, which show cells in place;
//! * [`watched`]: loops that say what they are while an audit runs;
//! * [`numpy_patches`]: against what NumPy does wrong, and against silent rounding.

pub mod access;
pub mod alone;
pub mod arming;
mod arrfuncs;
mod casts;
mod choice;
pub mod class;
pub mod convert;
pub mod errors;
mod fallible;
mod later;
pub mod library;
pub mod loan;
mod loan_math;
mod numbers;
pub mod numpy_patches;
mod plan;
mod promotion;
pub mod register;
pub mod scalar;
pub mod scalar_index;
mod scalar_math;
mod sort;
mod spec;
pub(crate) mod trampoline;
pub mod traverse;
pub mod ufuncs;
mod watched;
pub mod within;

pub use class::DType;
