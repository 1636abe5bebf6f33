//! Element proxies: Python scalars that show cells in place, and detach before a cell goes.
//!
//! An object that only moves cannot be handed out as a copy. A scalar of such a type is a proxy of
//! the cell instead, for as long as the cell is there; then it takes the object over. Which proxy
//! shows which cell is recorded in a higher layer (`dtype`); here is what a segment does for them.
//! Types with copies never have proxies, and pay nothing.

#[cfg(all(test, feature = "testing", not(loom)))]
mod tests;

use super::Segment;
use crate::erased::{ElementType, Failure};
use std::{
    ops::Range,
    ptr::NonNull,
    sync::{
        OnceLock,
        // Statics, which loom's types cannot be; nothing is published through them.
        atomic::{AtomicUsize, Ordering::Relaxed},
    },
};

/// What a segment tells the proxies of its cells.
#[derive(Clone, Copy)]
pub struct ProxyHooks {
    /// The cells that begin in this range of addresses are about to go. A proxy of one takes its
    /// object over, or the vacancy. Returns how many could not, because they are in use.
    ///
    /// Called without any lock held, with or without the GIL.
    pub detach: fn(cells: Range<usize>) -> usize,
    /// The cells that began in this range of addresses are at `new_start` now, as they were.
    pub moved: fn(cells: Range<usize>, new_start: NonNull<u8>),
}

static HOOKS: OnceLock<ProxyHooks> = OnceLock::new();
static PROXIES: AtomicUsize = AtomicUsize::new(0);

/// Sets the hooks; the first ones stay.
pub fn set_proxy_hooks(hooks: ProxyHooks) {
    let _ = HOOKS.set(hooks);
}

/// Counts a proxy that begins.
pub fn proxy_begins() {
    PROXIES.fetch_add(1, Relaxed);
}

/// Counts a proxy that ends.
pub fn proxy_ends() {
    let before = PROXIES.fetch_sub(1, Relaxed);
    debug_assert!(before > 0, "a proxy ends once");
}

/// Whether any cell of such a type may have a proxy. For types with copies no memory is looked at.
///
/// A thread that may end cells has seen all proxies of them: NumPy's reference counts, and the GIL,
/// stand between.
#[inline]
pub fn may_have_proxies(element: &ElementType) -> bool {
    !element.is_copyable() && PROXIES.load(Relaxed) != 0
}

impl Segment {
    /// Has the proxies of cells from byte `from` on detach.
    ///
    /// # Errors
    /// Some of them are in use: their memory must stay where it is.
    pub(super) fn detach_proxies(self, from: usize) -> Result<(), Failure> {
        match self.proxied_type().zip(HOOKS.get()) {
            Some((element, hooks)) => self.call_detach(element, hooks, from),
            None => Ok(()),
        }
    }

    #[cold]
    fn call_detach(
        self,
        element: &ElementType,
        hooks: &ProxyHooks,
        from: usize,
    ) -> Result<(), Failure> {
        let start = self.cells().as_ptr().addr();
        let first = start + from / element.size() * element.size();
        let used = (hooks.detach)(first..start + self.byte_len());
        if used == 0 {
            return Ok(());
        }
        Err(Failure::new(
            crate::abi::ERROR_BORROW,
            format!(
                "memory of {used} {} was freed while somebody used them through a scalar; it is \
                 leaked",
                element.name()
            ),
        ))
    }

    /// Tells proxies that their cells moved, with all before byte `len`.
    pub(super) fn proxies_moved(self, old_start: usize, len: usize) {
        let start = self.cells();
        if start.as_ptr().addr() != old_start
            && let Some((_, hooks)) = self.proxied_type().zip(HOOKS.get())
        {
            (hooks.moved)(old_start..old_start + len, start);
        }
    }

    /// The type that the segment is hinted at or bound to, where cells of it may have proxies.
    #[inline]
    fn proxied_type(self) -> Option<&'static ElementType> {
        self.header().type_word().0.filter(|element| may_have_proxies(element))
    }
}
