pub mod errors;
pub mod library;
pub mod pyobj;
pub mod trampoline;
