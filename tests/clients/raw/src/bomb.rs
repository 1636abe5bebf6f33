//! A type that counts its objects and panics on request.

use std::cmp::Ordering;
use std::fmt;
use std::ops::Add;
use std::str::FromStr;
use std::sync::atomic::{AtomicI64, AtomicU64, Ordering::Relaxed, Ordering::SeqCst};

static CONSTRUCTED: AtomicU64 = AtomicU64::new(0);
static DESTROYED: AtomicU64 = AtomicU64::new(0);

/// Operations that can panic, and how many go well before.
static FUSES: [(&str, AtomicI64); 5] = [
    ("default", AtomicI64::new(-1)),
    ("clone", AtomicI64::new(-1)),
    ("add", AtomicI64::new(-1)),
    ("compare", AtomicI64::new(-1)),
    ("drop", AtomicI64::new(-1)),
];

/// Constructed, destroyed, live.
pub fn counters() -> (u64, u64, i64) {
    let (constructed, destroyed) = (CONSTRUCTED.load(SeqCst), DESTROYED.load(SeqCst));
    (constructed, destroyed, constructed as i64 - destroyed as i64)
}

/// Sets the fuse of an operation.
pub fn set_fuse(operation: &str, after: i64) -> Result<(), String> {
    let (_, fuse) = FUSES
        .iter()
        .find(|(name, _)| *name == operation)
        .ok_or_else(|| format!("no operation {operation:?}"))?;
    fuse.store(after, SeqCst);
    Ok(())
}

fn burn(operation: usize) {
    let (name, fuse) = &FUSES[operation];
    if fuse.load(Relaxed) >= 0 && fuse.fetch_sub(1, SeqCst) == 0 {
        panic!("the fuse of {name} blew");
    }
}

/// Owns heap memory, so that a value destroyed twice or never is seen by tools as well.
pub struct Bomb(Box<i64>);

impl Bomb {
    fn new(value: i64) -> Self {
        CONSTRUCTED.fetch_add(1, SeqCst);
        Bomb(Box::new(value))
    }
}

impl Default for Bomb {
    fn default() -> Self {
        burn(0);
        Bomb::new(0)
    }
}

impl Clone for Bomb {
    fn clone(&self) -> Self {
        burn(1);
        Bomb::new(*self.0)
    }
}

impl Drop for Bomb {
    fn drop(&mut self) {
        DESTROYED.fetch_add(1, SeqCst);
        burn(4);
    }
}

impl Add for &Bomb {
    type Output = Bomb;
    fn add(self, other: &Bomb) -> Bomb {
        burn(2);
        Bomb::new(*self.0 + *other.0)
    }
}

impl PartialEq for Bomb {
    fn eq(&self, other: &Self) -> bool {
        self.0 == other.0
    }
}
impl Eq for Bomb {}
impl PartialOrd for Bomb {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}
impl Ord for Bomb {
    fn cmp(&self, other: &Self) -> Ordering {
        burn(3);
        self.0.cmp(&other.0)
    }
}

impl fmt::Display for Bomb {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.0)
    }
}

impl FromStr for Bomb {
    type Err = std::num::ParseIntError;
    fn from_str(text: &str) -> Result<Self, Self::Err> {
        text.parse().map(Bomb::new)
    }
}
