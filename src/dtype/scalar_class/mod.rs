pub mod operators;
pub mod proxy_array;
pub mod subscript;
pub mod values;
