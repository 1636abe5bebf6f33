//! What the core's tests, benchmarks and fuzz targets share: element types that count and check
//! themselves, and a model of every operation on segments.

mod allocator;
mod model;
mod operation;
mod subject;
mod tracer_model;
mod tracer_type;

pub use allocator::Allocator;
pub use operation::{Operation, Run};
pub use tracer_model::run;
pub use tracer_type::{Counts, Kind, Mishap, TracerType};
