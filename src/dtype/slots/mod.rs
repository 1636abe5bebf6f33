//! What NumPy asks of a DType class.
//!
//! * [`traverse`]: clear and fill-zero; [`arming`]: how new arrays get managed segments;
//! * [`arrfuncs`]: compare, argmin, nonzero, fill, copyswap; [`dot`]: dot;
//! * [`arithmetic`]: loops of the type's own, called from those;
//! * [`sort`]: sort and argsort.

mod arithmetic;
pub mod arming;
pub mod arrfuncs;
mod dot;
pub mod sort;
pub mod traverse;
