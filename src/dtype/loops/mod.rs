pub mod access;
pub mod alone;
pub mod audited;
pub mod transfer;
