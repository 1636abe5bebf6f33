//! What every loop does around the work of a client's function.
//!
//! * [`access`]: segments, locks, ledger; [`alone`]: when a lock costs nothing;
//! * [`align`]: cells at any address; [`transfer`]: copies and moves of cells;
//! * [`compare`]: order and truth; [`sink`]: bytes that a client writes;
//! * [`flags`]: what NumPy is told of a loop; [`audited`]: loops that say what they are while an
//!   audit runs.

pub mod access;
pub mod align;
pub mod alone;
pub mod audited;
pub mod compare;
pub mod flags;
pub mod sink;
pub mod transfer;
