//! What the core's tests, benchmarks and fuzz targets share: element types that count and check
//! themselves, and a model of every operation on segments.

mod allocator;
mod operations;
mod tracer;

pub use allocator::Allocator;
pub use operations::{Operation, Run, run};
pub use tracer::{Counts, Kind, Mishap, Tracer};
