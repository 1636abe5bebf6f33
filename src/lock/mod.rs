//! The segment lock: readers share the cells of a segment, a writer excludes, disjoint ranges run
//! in parallel.
//!
//! # How it works
//! Uncontended, everything happens on one word ([`SegmentLock`]): a compare-and-swap takes a
//! *slot* of the lock and a plain store publishes the range there; a release is one atomic subtraction.
//! Readers take a slot each as long as there is no writer; a writer takes one when no thread is in.
//!
//! A thread that cannot enter that way takes the mutex of the lock's *shard* (`parking`) and raises the
//! SLOW bit, which closes the fast path. From then on the *range table* of the lock (`ranges`)
//! decides, cell range by cell range, seeing the published ranges of those who came in by the
//! word. It admits a request that conflicts neither with a holder nor with an earlier waiter, so a
//! stream of readers cannot starve a writer. The last one out removes the table and lowers the
//! bit.
//!
//! Under the shard's mutex this always holds: **the SLOW bit is up exactly while the lock has a
//! range table.**
//!
//! # Several operands
//! [`acquire_all`] merges requests for the same segment and takes the rest in address order.
//! A thread that waits for a lock holds only locks at lower addresses, so there is no cycle of
//! waiters.
//!
//! # Re-entry
//! Client code runs while its operands are locked, and may begin operations of its own. A thread
//! that holds a lock never waits for another: what conflicts with one of its own locks is refused
//! with [`LockError::Reentrant`], what conflicts with another thread's with [`LockError::Busy`].
//!
//! # Pins
//! An operation that has released its locks, but still has addresses in the memory, *pins* it
//! ([`Pins`], [`Pin`]). A pin excludes no thread; it only says that the memory must not go or move
//! ([`SegmentLock::is_idle`]).
//!
//! # Alone
//! A thread that knows that it is alone ([`AloneCheck`]) takes a free lock with a load and a store
//! instead of an atomic step, and releases it so if it is still alone.
//!
//! # Borrows
//! A view in the hands of client code is a [`Borrow`]: taken without waiting, conflicting with
//! loops by returning an error to the later of the two, at once.
//!
//! # Fork
//! The word carries the generation of the process (`fork`). A child of `fork` is a new
//! generation: what its parent's threads held or waited for counts as released there, and a guard
//! that was alive in the forking thread releases nothing. That thread goes on in the child, perhaps
//! in the middle of an operation: what it held is refused to its nested operations there as well. Borrows survive: the view that holds
//! one was copied into the child like all memory, is as usable there as before, and gives its
//! borrow back there. A borrow of a thread that does not exist in the child stays until the
//! segment goes; its cells may be half written, and the error says that they are lent.
//!
//! It follows that this is no lock between processes: memory that parent and child share after a
//! fork is not excluded by it.

mod borrow;
mod error;
mod fork;
mod held;
mod parking;
mod ranges;
mod request;
mod segment_lock;
mod span;

#[cfg(all(test, not(loom)))]
mod fork_tests;
#[cfg(all(test, loom))]
mod loom_tests;
#[cfg(all(test, not(loom)))]
mod tests;

pub use borrow::{Borrow, RawBorrow};
pub use error::LockError;
pub use held::{Operation, is_in_operation};
pub use parking::{WaitCheck, WaitHook, set_wait_check, set_wait_hook};
pub use request::{Guard, Pin, Pins, Request, Requests, acquire_all, try_acquire_all};
pub use segment_lock::{AloneCheck, SegmentLock};
