//! Several operands at once: merged by segment, taken in address order.

use super::{
    error::LockError,
    fork,
    held::{Held, HeldHere},
    segment_lock::{AloneCheck, Hold, Patience, SegmentLock},
    span::Span,
};
use std::{mem::MaybeUninit, ops::Range};

/// Cells of one segment that an operation reads or writes.
pub struct Request<'a> {
    lock: &'a SegmentLock,
    /// Empty where nothing is asked for.
    span: Span,
    /// Where the lock was taken, or [`Hold::NOWHERE`].
    hold: Hold,
}

impl<'a> Request<'a> {
    /// Asks for `range` of the segment of `lock`, in cells or bytes, as all users of one segment
    /// count. An empty range asks for nothing.
    #[inline]
    pub fn new(lock: &'a SegmentLock, range: Range<usize>, write: bool) -> Request<'a> {
        Request {
            lock,
            span: Span { start: range.start, end: range.end, write },
            hold: Hold::NOWHERE,
        }
    }

    #[inline]
    fn is_empty(&self) -> bool {
        self.span.start >= self.span.end
    }

    /// Adds what `other` asks for, and leaves that one empty. Neither is empty before.
    #[inline]
    fn absorb(&mut self, other: &mut Request<'a>) {
        self.span = self.span.union(&other.span);
        other.span.end = other.span.start;
    }

    #[inline(always)]
    fn take(&mut self, held: &Held, way: Way) -> Result<(), LockError> {
        if self.is_empty() {
            return Ok(());
        }
        self.lock.acquire(&self.span, &mut self.hold, way.generation, way.patience, way.alone)?;
        held.push(self.lock.address());
        Ok(())
    }
}

/// How requests are taken.
#[derive(Clone, Copy)]
struct Way {
    /// Of the process.
    generation: u32,
    patience: Patience,
    /// Whether this thread is alone.
    alone: bool,
}

/// The check of those who never know that they are alone.
fn never() -> bool {
    false
}

/// Room for `N` requests: a loop collects those of its operands here, without writing more than
/// it asks for.
pub struct Requests<'a, const N: usize> {
    /// The first `count` are initialised.
    requests: [MaybeUninit<Request<'a>>; N],
    count: usize,
}

impl<'a, const N: usize> Requests<'a, N> {
    /// None yet.
    #[inline]
    pub const fn new() -> Self {
        Requests { requests: [const { MaybeUninit::uninit() }; N], count: 0 }
    }

    /// Adds a request.
    ///
    /// # Panics
    /// There are `N` already.
    #[inline]
    pub fn push(&mut self, request: Request<'a>) {
        self.requests[self.count].write(request);
        self.count += 1;
    }

    /// Takes all locks as [`acquire_all`] does, by plain loads and stores where this thread is
    /// alone.
    ///
    /// # Errors
    /// As for [`acquire_all`].
    ///
    /// # Safety
    /// The check keeps what [`AloneCheck`] says.
    #[inline(always)]
    pub unsafe fn acquire(&mut self, is_alone: AloneCheck) -> Result<Guard<'_, 'a>, LockError> {
        // SAFETY: the first `count` requests, at most `N`, are initialised, and lent with `self`.
        let requests = unsafe {
            std::slice::from_raw_parts_mut(self.requests.as_mut_ptr().cast(), self.count)
        };
        take_all(requests, Patience::Wait, is_alone)
    }
}

impl<const N: usize> Default for Requests<'_, N> {
    fn default() -> Self {
        Self::new()
    }
}

/// Locks that are held together, released on drop.
///
/// It stays in the thread that took it.
#[must_use = "a guard that is dropped releases its locks at once"]
pub struct Guard<'r, 'a> {
    requests: &'r mut [Request<'a>],
    held: HeldHere,
    /// Asked again when the locks are released: client code may have started a thread.
    is_alone: AloneCheck,
}

/// Memory that stays where it is, whatever thread works on it: what was locked and is not any
/// more, while the caller still has addresses in it. Nothing is excluded but that the memory goes or
/// moves.
#[must_use = "pins that are dropped hold nothing"]
pub struct Pins<'r, 'a> {
    guard: Guard<'r, 'a>,
    /// Whether the locks were released. Else there were too many pins of one of them: the locks are
    /// held, which keeps the memory as well.
    released: bool,
}

impl<'r, 'a> Guard<'r, 'a> {
    /// Releases the locks, but keeps their memory in its place.
    pub fn into_pins(self) -> Pins<'r, 'a> {
        let generation = fork::generation();
        let taken = || self.requests.iter().filter(|one| one.hold.generation == generation);
        let pins = HeldHere::pins();
        let pinned = taken().take_while(|request| request.lock.pin_held()).count();
        if pinned < taken().count() || pins.reserve(pinned, generation).is_err() {
            taken().take(pinned).for_each(|request| request.lock.unpin(false));
            return Pins { guard: self, released: false };
        }
        taken().for_each(|request| pins.push(request.lock.address()));
        self.release();
        // Each request has its generation still, by which pins are known.
        Pins { guard: self, released: true }
    }

    #[inline(always)]
    fn release(&self) {
        if self.requests.is_empty() {
            return;
        }
        let generation = fork::generation();
        let alone = (self.is_alone)();
        // The last one taken first, which is where the list of held locks is searched from.
        for request in self.requests.iter().rev() {
            // Those of another generation were taken by the parent process, or not at all.
            if request.hold.generation == generation {
                self.held.remove(request.lock.address());
                request.lock.release(request.span.write, &request.hold, alone);
            } else if request.hold.generation != 0 {
                self.held.disinherit(request.lock.address());
            }
        }
    }
}

impl Drop for Pins<'_, '_> {
    fn drop(&mut self) {
        if !self.released {
            return;
        }
        let generation = fork::generation();
        let requests = std::mem::take(&mut self.guard.requests);
        for request in requests.iter().filter(|taken| taken.hold.generation != 0) {
            unpin(request.lock, request.hold.generation, generation, false);
        }
    }
}

/// Takes back a pin that was made in generation `made`.
#[inline]
fn unpin(lock: &SegmentLock, made: u32, generation: u32, alone: bool) {
    let pins = HeldHere::pins();
    if made == generation {
        pins.remove(lock.address());
        lock.unpin(alone);
    } else {
        pins.disinherit(lock.address());
    }
}

/// As [`Pins`], of one segment whose lock need not have been held.
#[must_use = "a pin that is dropped holds nothing"]
pub struct Pin<'a> {
    lock: &'a SegmentLock,
    generation: u32,
    is_alone: AloneCheck,
}

impl<'a> Pin<'a> {
    /// Keeps the memory of `lock` in its place.
    ///
    /// # Errors
    /// [`LockError::TooMany`]: there are more pins than can be counted.
    ///
    /// # Safety
    /// The check keeps what [`AloneCheck`] says.
    #[inline]
    pub unsafe fn new(lock: &'a SegmentLock, is_alone: AloneCheck) -> Result<Pin<'a>, LockError> {
        let generation = fork::generation();
        let pins = HeldHere::pins();
        pins.reserve(1, generation)?;
        lock.pin(generation, is_alone())?;
        pins.push(lock.address());
        Ok(Pin { lock, generation, is_alone })
    }
}

impl Drop for Pin<'_> {
    #[inline]
    fn drop(&mut self) {
        unpin(self.lock, self.generation, fork::generation(), (self.is_alone)());
    }
}

/// Takes all locks, waiting for those that others hold. The requests are merged and reordered in
/// place: two for one segment become one for the hull of their ranges, a write if either writes.
///
/// # Errors
/// * [`LockError::Borrowed`]: cells are lent to client code;
/// * [`LockError::Reentrant`]: this thread is in the middle of an operation on the cells;
/// * [`LockError::Busy`]: another thread is at work on them, and this thread is in the middle of
///   another operation, where it never waits;
/// * [`LockError::TooMany`]: this thread would hold more than 128 locks.
///
/// Nothing is held after an error.
#[inline]
pub fn acquire_all<'r, 'a>(requests: &'r mut [Request<'a>]) -> Result<Guard<'r, 'a>, LockError> {
    take_all(requests, Patience::Wait, never)
}

/// As [`acquire_all`], but never waits for a holder: [`LockError::Busy`] instead.
#[inline]
pub fn try_acquire_all<'r, 'a>(
    requests: &'r mut [Request<'a>],
) -> Result<Guard<'r, 'a>, LockError> {
    take_all(requests, Patience::Refuse, never)
}

// Inlined, so that the guard is made where it stays.
#[inline(always)]
fn take_all<'r, 'a>(
    requests: &'r mut [Request<'a>],
    patience: Patience,
    is_alone: AloneCheck,
) -> Result<Guard<'r, 'a>, LockError> {
    let generation = fork::generation();
    let held = HeldHere::new();
    held.reserve(requests.len(), generation)?;
    let patience = if held.count() > 0 { Patience::Nested } else { patience };
    if patience == Patience::Nested
        && requests.iter().any(|one| !one.is_empty() && held.inherits(one.lock.address()))
    {
        return Err(LockError::Reentrant);
    }
    let alone = !requests.is_empty() && is_alone();
    // From here on the guard releases what was taken, should the rest fail.
    let guard = Guard { requests, held, is_alone };
    take_in_order(guard.requests, &held, Way { generation, patience, alone })?;
    Ok(guard)
}

fn take_in_order(requests: &mut [Request<'_>], held: &Held, way: Way) -> Result<(), LockError> {
    match requests {
        [only] => {
            only.hold = Hold::NOWHERE;
            only.take(held, way)?;
        }
        [one, other] => {
            one.hold = Hold::NOWHERE;
            other.hold = Hold::NOWHERE;
            if one.lock.address() == other.lock.address() && !one.is_empty() && !other.is_empty() {
                other.absorb(one);
            }
            // Taken in order, without moving them.
            let (first, second) =
                if one.lock.address() < other.lock.address() { (one, other) } else { (other, one) };
            first.take(held, way)?;
            second.take(held, way)?;
        }
        many => {
            merge(many);
            for request in many {
                request.take(held, way)?;
            }
        }
    }
    Ok(())
}

impl Drop for Guard<'_, '_> {
    #[inline]
    fn drop(&mut self) {
        self.release();
    }
}

/// Orders the requests by address, and leaves at most one for each segment that is not empty.
fn merge(requests: &mut [Request<'_>]) {
    // Insertion sort: there are few, mostly in one order already, and it allocates nothing.
    for index in 0..requests.len() {
        requests[index].hold = Hold::NOWHERE;
        let mut place = index;
        while place > 0 && requests[place - 1].lock.address() > requests[place].lock.address() {
            requests.swap(place - 1, place);
            place -= 1;
        }
    }
    let mut rest = requests;
    while let Some((first, others)) = rest.split_first_mut() {
        if let Some(next) = others.first_mut()
            && first.lock.address() == next.lock.address()
            && !first.is_empty()
        {
            if next.is_empty() {
                std::mem::swap(first, next);
            } else {
                next.absorb(first);
            }
        }
        rest = others;
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeMap;

    proptest! {
        #[test]
        fn merging_leaves_one_request_a_segment_in_address_order(
            asked in prop::collection::vec((0..5_usize, 0..20_usize, 0..6_usize, any::<bool>()), 0..35)
        ) {
            let locks: [SegmentLock; 5] = std::array::from_fn(|_| SegmentLock::new());
            let mut requests: Vec<_> = asked
                .iter()
                .map(|&(lock, start, length, write)| {
                    Request::new(&locks[lock], start..start + length, write)
                })
                .collect();
            merge(&mut requests);

            let mut expected: BTreeMap<usize, Span> = BTreeMap::new();
            for &(lock, start, length, write) in asked.iter().filter(|asked| asked.2 > 0) {
                let span = Span { start, end: start + length, write };
                expected
                    .entry(locks[lock].address())
                    .and_modify(|merged| *merged = merged.union(&span))
                    .or_insert(span);
            }
            let merged: Vec<_> = requests
                .iter()
                .filter(|request| !request.is_empty())
                .map(|request| (request.lock.address(), request.span))
                .collect();
            prop_assert_eq!(merged, expected.into_iter().collect::<Vec<_>>());
        }
    }

    #[test]
    fn a_read_and_a_write_of_one_segment_are_a_write_of_both_ranges() {
        let lock = SegmentLock::new();
        let mut requests = [Request::new(&lock, 0..4, false), Request::new(&lock, 8..9, true)];
        merge(&mut requests);
        assert!(requests[0].is_empty());
        assert_eq!(requests[1].span, Span { start: 0, end: 9, write: true });
    }
}
