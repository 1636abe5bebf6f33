pub mod call;
pub(in crate::dtype) use call::*;
pub mod promote;
pub mod resolve;
