//! What the core's tests, benchmarks and fuzz targets share: element types that count and check
//! themselves, and a model of every operation on segments.

mod allocator;
mod checked;
mod finding;
mod heap;
mod hooks;
mod injection;
#[doc(hidden)]
pub mod legacy;
mod lifecheck;
mod made;
mod mishap;
mod model;
mod operation;
#[doc(hidden)]
pub mod probe;
mod random;
mod subject;
mod tracer;
mod tracer_model;
mod tracer_type;

pub use allocator::Allocator;
pub use arbitrary;
#[doc(hidden)]
pub use checked::Checked;
pub use heap::Heap;
#[cfg(feature = "proptest")]
#[doc(hidden)]
pub use lifecheck::random;
#[doc(hidden)]
pub use lifecheck::{Input, Target, fuzz, replay};
#[doc(hidden)]
pub use made::{Made, Make};
pub use mishap::Mishap;
pub use operation::{Operation, Run};
pub use tracer::{Step, Tracer, TracerCounts};
pub use tracer_model::run;
pub use tracer_type::{Counts, Kind, TracerType};
