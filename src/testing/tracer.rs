//! A Rust type that knows its own life.

use super::tracer_type::Owned;
use crate::faults::type_code;
use std::{
    cell::Cell,
    cmp::Ordering,
    collections::HashMap,
    fmt,
    num::NonZeroU64,
    ops::{Add, Mul},
    str::FromStr,
    sync::{Mutex, MutexGuard, PoisonError},
    thread::{self, ThreadId},
};

/// A number that keeps a ledger of its objects: whatever ends one twice, uses one that has ended, or
/// overwrites its heap part panics with what happened.
///
/// It is an ordinary Rust type of 16 bytes that are never all zero. Register it with
/// [`denizen::element`](crate::client::element), or put it into a type of your own, to see what
/// becomes of the fields:
///
/// ```
/// use denizen::testing::Tracer;
///
/// #[derive(Clone, Default, Debug, PartialEq)]
/// struct Pair { name: String, tracer: Tracer }
///
/// let pair = Pair { name: "a".into(), tracer: Tracer::new(3) };
/// let copy = pair.clone();
/// assert_eq!(Tracer::counts().live, 2);
/// drop((pair, copy));
/// assert_eq!(Tracer::counts().live, 0);
/// ```
///
/// In the sequences of [`lifecheck!`](crate::lifecheck) its `Clone` and `Default` are where planned
/// panics come from, in the middle of what the type around it does.
///
/// [`TracerType`](super::TracerType) is the same idea one layer below: element types as a client in
/// any language could register them, in every way an object can sit in a cell, also such that no Rust
/// type can be (bound to their address, or live when all bytes are zero). Both keep the same heap
/// part.
#[repr(C)]
pub struct Tracer {
    id: NonZeroU64,
    owned: *mut Owned,
}

// SAFETY: the heap part belongs to the tracer alone; the ledger is behind a lock.
unsafe impl Send for Tracer {}
// SAFETY: `&Tracer` only reads.
unsafe impl Sync for Tracer {}

/// What a tracer does that can be made to panic.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// `default`.
    Default,
    /// `clone`.
    Clone,
    /// `+` and `*`.
    Arithmetic,
    /// `cmp`.
    Compare,
    /// `drop`, once the object has ended.
    Drop,
}

/// What the tracers that one thread made counted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TracerCounts {
    /// Objects that exist.
    pub live: i64,
    /// Objects built, copies included.
    pub built: u64,
    /// Objects that ended, on whatever thread.
    pub ended: u64,
}

/// Every tracer of the process.
#[derive(Default)]
struct TracerLedger {
    latest: u64,
    /// Who made the ones that exist.
    live: HashMap<u64, ThreadId>,
    counts: HashMap<ThreadId, TracerCounts>,
    /// Where tracers that stay at their place are.
    anchors: HashMap<u64, usize>,
}

static LEDGER: Mutex<Option<TracerLedger>> = Mutex::new(None);

thread_local! {
    /// Steps of one kind until the one that panics.
    static PLAN: Cell<Option<(Step, usize)>> = const { Cell::new(None) };
}

/// The guard is dropped before anything can panic.
fn with_ledger<R>(work: impl FnOnce(&mut TracerLedger) -> R) -> R {
    // The ledger outlives a sequence, and is no leak of one.
    super::heap::outside(|| {
        let mut ledger: MutexGuard<'_, Option<TracerLedger>> =
            LEDGER.lock().unwrap_or_else(PoisonError::into_inner);
        work(ledger.get_or_insert_default())
    })
}

impl Tracer {
    /// A tracer with a value.
    pub fn new(value: i64) -> Tracer {
        let id = with_ledger(|ledger| {
            ledger.latest += 1;
            let maker = thread::current().id();
            ledger.live.insert(ledger.latest, maker);
            let counts = ledger.counts.entry(maker).or_default();
            counts.built += 1;
            counts.live += 1;
            ledger.latest
        });
        Tracer { id: NonZeroU64::MIN.saturating_add(id - 1), owned: Owned::new(value) }
    }

    /// The value.
    ///
    /// # Panics
    /// The object has ended, its heap part is overwritten, or it was moved although it is
    /// [anchored](Self::anchor).
    pub fn value(&self) -> i64 {
        self.check();
        // SAFETY: the object is live, and so is its heap part.
        unsafe { Owned::check(self.owned) }
    }

    /// Gives it another value.
    ///
    /// # Panics
    /// As for [`Self::value`].
    pub fn set(&mut self, value: i64) {
        self.check();
        // SAFETY: the object is live, and its heap part belongs to it.
        unsafe { Owned::set(self.owned, value) };
    }

    /// A number of its own, which no other tracer of the process ever has.
    pub fn id(&self) -> u64 {
        self.id.get()
    }

    /// From now on it must stay where it is, as an object must in a cell of
    /// [`boxed`](crate::client::ElementBuilder::boxed) storage.
    pub fn anchor(&self) {
        let here = std::ptr::from_ref(self).addr();
        with_ledger(|ledger| ledger.anchors.insert(self.id(), here));
    }

    /// What the tracers counted that this thread made.
    pub fn counts() -> TracerCounts {
        with_ledger(|ledger| {
            ledger.counts.get(&thread::current().id()).copied().unwrap_or_default()
        })
    }

    /// Has a step of this kind on this thread panic, once, after so many others of the kind.
    pub fn plan_panic(step: Step, after: usize) {
        PLAN.set(Some((step, after)));
    }

    fn check(&self) {
        let id = self.id();
        let (live, anchor) =
            with_ledger(|ledger| (ledger.live.contains_key(&id), ledger.anchors.get(&id).copied()));
        assert!(live, "tracer {id} is used after it has ended");
        let here = std::ptr::from_ref(self).addr();
        assert!(anchor.is_none_or(|at| at == here), "tracer {id} was moved from its anchor");
    }

    fn step(step: Step) {
        if matches!(step, Step::Default | Step::Clone) {
            type_code::step();
        }
        let Some((planned, left)) = PLAN.get().filter(|(planned, _)| *planned == step) else {
            return;
        };
        PLAN.set(left.checked_sub(1).map(|left| (planned, left)));
        assert!(left > 0, "the planned panic of {planned:?}");
    }
}

impl Drop for Tracer {
    fn drop(&mut self) {
        let id = self.id();
        let was_live = with_ledger(|ledger| {
            let maker = ledger.live.remove(&id)?;
            ledger.anchors.remove(&id);
            let counts = ledger.counts.entry(maker).or_default();
            counts.ended += 1;
            counts.live -= 1;
            Some(())
        });
        assert!(was_live.is_some(), "tracer {id} ended twice");
        // SAFETY: it was live until now, and is found out if it ends again.
        unsafe { Owned::end(self.owned) };
        Self::step(Step::Drop);
    }
}

/// The default value is 7: it differs from all that memory of zeros could show.
impl Default for Tracer {
    fn default() -> Self {
        Self::step(Step::Default);
        Tracer::new(7)
    }
}

impl Clone for Tracer {
    fn clone(&self) -> Self {
        Self::step(Step::Clone);
        Tracer::new(self.value())
    }
}

impl Add for &Tracer {
    type Output = Tracer;

    fn add(self, other: &Tracer) -> Tracer {
        Tracer::step(Step::Arithmetic);
        Tracer::new(self.value().wrapping_add(other.value()))
    }
}

impl Mul for &Tracer {
    type Output = Tracer;

    fn mul(self, other: &Tracer) -> Tracer {
        Tracer::step(Step::Arithmetic);
        Tracer::new(self.value().wrapping_mul(other.value()))
    }
}

impl PartialEq for Tracer {
    fn eq(&self, other: &Self) -> bool {
        self.value() == other.value()
    }
}

impl Eq for Tracer {}

impl PartialOrd for Tracer {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Tracer {
    fn cmp(&self, other: &Self) -> Ordering {
        Tracer::step(Step::Compare);
        self.value().cmp(&other.value())
    }
}

impl fmt::Debug for Tracer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Tracer({})", self.value())
    }
}

impl fmt::Display for Tracer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.value())
    }
}

impl FromStr for Tracer {
    type Err = std::num::ParseIntError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        text.parse().map(Tracer::new)
    }
}

impl<'a> arbitrary::Arbitrary<'a> for Tracer {
    fn arbitrary(bytes: &mut arbitrary::Unstructured<'a>) -> arbitrary::Result<Self> {
        i64::arbitrary(bytes).map(Tracer::new)
    }
}
