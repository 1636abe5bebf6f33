//! What the fuzz targets share.

pub mod codec;
pub mod numbers;
pub mod text;
