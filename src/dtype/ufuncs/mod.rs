//! Ufuncs of element types.
//!
//! * [`call`]: a loop at work, element by element; [`grid`]: generalised loops;
//! * [`add_loop`]: how NumPy gets to know the loops, and finds them;
//! * [`promote`]: what NumPy asks where it has no loop, [`resolve`]: the answer;
//! * [`ufunc`]: what a ufunc says of itself.

pub mod add_loop;
mod call;
mod grid;
pub mod promote;
mod resolve;
pub mod ufunc;
