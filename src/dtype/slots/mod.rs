pub mod arming;
pub mod arrfuncs;
pub mod sort;
pub mod traverse;
