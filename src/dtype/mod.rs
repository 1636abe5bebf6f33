//! One NumPy DType per registered element type, built from its vtable alone.
//!
//! * [`class`]: the DType class, its one descriptor and its slots; [`register`]: how a client's
//!   [`spec`] becomes one, by way of a checked [`plan`], and its [`library`] stays loaded;
//! * [`arming`]: how new arrays get managed segments;
//! * [`access`]: what every loop does around the work: find segments, lock, keep the ledger;
//!   [`alone`]: when a lock costs nothing;
//! * [`traverse`]: clear and fill-zero, [`later`]: what a resize clears; [`within`]: copy and move;
//! * [`casts`]: to and from NumPy's types, of which [`numbers`] are converted in blocks and text
//!   one by one, and [`void_casts`] not at all; [`promotion`]: where two types meet, [`choice`]: in
//!   which loop; [`ufuncs`]: loops, identities;
//! * [`sort`]: sort and argsort; [`arrfuncs`]: compare, argmin, nonzero, fill, dot;
//! * [`convert`]: to and from Python objects; [`scalar`], [`scalar_math`], [`scalar_index`]: the
//!   scalar class that the runtime makes, its operators and its subscript;
//! * [`loan`], [`loan_math`]: scalars of types that only move, which show cells in place;
//! * [`watched`]: loops that say what they are while an audit runs;
//! * [`guards`], [`methods`]: against what NumPy does wrong; [`linalg_guard`]: against silent
//!   rounding.

mod casts;
mod cells;
pub mod class;
mod convert;
pub mod guards;
mod handle;
mod linalg_guard;
mod loops;
mod methods;
pub mod register;
mod scalar_class;
mod scalars;
mod slots;
mod ufuncs;
mod void_casts;

use casts::numbers;
use cells::later;
pub use class::DType;
use handle::pyobj as fallible;
pub(crate) use handle::trampoline;
pub use handle::{errors, library};
pub use loops::{access, alone};
use loops::{audited as watched, transfer as within};
use register::{plan, spec};
use scalar_class::{operators as scalar_math, proxy_array as loan_math};
pub use scalar_class::{subscript as scalar_index, values as scalar};
pub use scalars::proxy as loan;
pub use slots::arming;
use slots::{arrfuncs, sort, traverse};
use ufuncs::{promote as promotion, resolve as choice};
