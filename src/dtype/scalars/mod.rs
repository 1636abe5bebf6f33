//! A scalar as an object in memory.
//!
//! * [`object`]: its layout, its beginning and its end;
//! * [`proxy`]: scalars of types that only move may stand for a cell of an array;
//! * [`proxy_table`]: which scalar stands for which cell.

pub mod object;
pub mod proxy;
pub mod proxy_table;
