//! An element type that keeps a ledger of its objects, and blows a fuse on request.

use std::cell::RefCell;
use std::collections::HashSet;
use std::fmt;
use std::num::NonZeroU64;
use std::ops::{Add, Mul};
use std::str::FromStr;

/// What happened to the tracers of one thread (a test has its own).
#[derive(Default)]
struct Ledger {
    next: u64,
    live: HashSet<u64>,
    constructed: usize,
    destroyed: usize,
    /// Operations until one of the named kind panics.
    fuse: Option<(Operation, usize)>,
}

#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) enum Operation {
    Default,
    Clone,
    Add,
    Compare,
    Drop,
}

thread_local! {
    static LEDGER: RefCell<Ledger> = RefCell::default();
}

/// Makes the operation of this kind panic after `after` others.
pub(super) fn set_fuse(operation: Operation, after: usize) {
    LEDGER.with_borrow_mut(|ledger| ledger.fuse = Some((operation, after)));
}

fn burn(operation: Operation) {
    let blown = LEDGER.with_borrow_mut(|ledger| match &mut ledger.fuse {
        Some((which, left)) if *which == operation => {
            if *left == 0 {
                ledger.fuse = None;
                true
            } else {
                *left -= 1;
                false
            }
        }
        _ => false,
    });
    if blown {
        panic!("the fuse of {operation:?} blew");
    }
}

pub(super) fn live() -> usize {
    LEDGER.with_borrow(|ledger| ledger.live.len())
}

/// All objects made so far are gone, each once.
#[track_caller]
pub(super) fn assert_balanced() {
    LEDGER.with_borrow(|ledger| {
        assert_eq!(ledger.constructed, ledger.destroyed, "constructed and destroyed");
        assert!(ledger.live.is_empty(), "still live: {:?}", ledger.live);
        assert!(ledger.constructed > 0, "the test made no object");
    });
}

/// 16 bytes without padding, never all zero.
#[derive(Debug)]
#[repr(C)]
pub(super) struct Tracer {
    id: NonZeroU64,
    value: Box<i64>,
}

impl Tracer {
    pub(super) fn new(value: i64) -> Self {
        let id = LEDGER.with_borrow_mut(|ledger| {
            ledger.next += 1;
            ledger.constructed += 1;
            ledger.live.insert(ledger.next);
            ledger.next
        });
        Tracer { id: NonZeroU64::new(id).expect("ids start at 1"), value: Box::new(value) }
    }

    pub(super) fn value(&self) -> i64 {
        let known = LEDGER.with_borrow(|ledger| ledger.live.contains(&self.id.get()));
        assert!(known, "object {} is not live", self.id);
        *self.value
    }

    pub(super) fn set(&mut self, value: i64) {
        *self.value = value;
    }
}

impl Drop for Tracer {
    fn drop(&mut self) {
        LEDGER.with_borrow_mut(|ledger| {
            assert!(ledger.live.remove(&self.id.get()), "object {} destroyed twice", self.id);
            ledger.destroyed += 1;
        });
        burn(Operation::Drop);
    }
}

/// The default value is 7, so that it differs from anything zeroed memory could show.
impl Default for Tracer {
    fn default() -> Self {
        burn(Operation::Default);
        Tracer::new(7)
    }
}

impl Clone for Tracer {
    fn clone(&self) -> Self {
        burn(Operation::Clone);
        Tracer::new(self.value())
    }
}

impl Add for &Tracer {
    type Output = Tracer;
    fn add(self, other: &Tracer) -> Tracer {
        burn(Operation::Add);
        Tracer::new(self.value() + other.value())
    }
}

impl Mul for &Tracer {
    type Output = Tracer;
    fn mul(self, other: &Tracer) -> Tracer {
        Tracer::new(self.value() * other.value())
    }
}

impl PartialEq for Tracer {
    fn eq(&self, other: &Self) -> bool {
        self.value() == other.value()
    }
}
impl Eq for Tracer {}
impl PartialOrd for Tracer {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}
/// By tens only, so that stability can be seen.
impl Ord for Tracer {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        burn(Operation::Compare);
        (self.value() / 10).cmp(&(other.value() / 10))
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
