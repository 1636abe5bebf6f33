//! What the core's tests, benchmarks and fuzz targets share: element types that count and check
//! themselves.

mod tracer;

pub use tracer::{Counts, Kind, Mishap, Tracer};
