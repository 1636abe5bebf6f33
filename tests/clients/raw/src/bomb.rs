//! A type that counts its objects, checks itself at every use, and panics on request.

use std::cmp::Ordering;
use std::fmt;
use std::ops::Add;
use std::panic::resume_unwind;
use std::str::FromStr;
use std::sync::atomic::{AtomicI64, AtomicU64, Ordering::Relaxed, Ordering::SeqCst};

static CONSTRUCTED: AtomicU64 = AtomicU64::new(0);
static DESTROYED: AtomicU64 = AtomicU64::new(0);
/// Uses of what is no object: destroyed before, or changed by somebody who had no right to.
static MISUSED: AtomicU64 = AtomicU64::new(0);

const DEFAULT: usize = 0;
const CLONE: usize = 1;
const ASSIGN: usize = 2;
const ADD: usize = 3;
const COMPARE: usize = 4;
const EQUAL: usize = 5;
const DROP: usize = 6;
const PARSE: usize = 7;
const DISPLAY: usize = 8;
const CAST: usize = 9;

/// Operations that can panic, and how many go well before.
static FUSES: [(&str, AtomicI64); 10] = [
    ("default", AtomicI64::new(UNARMED)),
    ("clone", AtomicI64::new(UNARMED)),
    ("assign", AtomicI64::new(UNARMED)),
    ("add", AtomicI64::new(UNARMED)),
    ("compare", AtomicI64::new(UNARMED)),
    ("equal", AtomicI64::new(UNARMED)),
    ("drop", AtomicI64::new(UNARMED)),
    ("parse", AtomicI64::new(UNARMED)),
    ("display", AtomicI64::new(UNARMED)),
    ("cast", AtomicI64::new(UNARMED)),
];
const UNARMED: i64 = -1;

/// Constructed, destroyed, live.
pub fn counters() -> (u64, u64, i64) {
    let (constructed, destroyed) = (CONSTRUCTED.load(SeqCst), DESTROYED.load(SeqCst));
    (constructed, destroyed, constructed as i64 - destroyed as i64)
}

/// How often something was used that is no object.
pub fn misused() -> u64 {
    MISUSED.load(SeqCst)
}

/// Sets the fuse of an operation. Returns what was left of the last one: negative if it blew or
/// was not set.
pub fn set_fuse(operation: &str, after: i64) -> Result<i64, String> {
    let (_, fuse) = FUSES
        .iter()
        .find(|(name, _)| *name == operation)
        .ok_or_else(|| format!("no operation {operation:?}"))?;
    Ok(fuse.swap(after, SeqCst))
}

fn burn(operation: usize) {
    let (name, fuse) = &FUSES[operation];
    if fuse.load(Relaxed) >= 0 && fuse.fetch_sub(1, SeqCst) == 0 {
        // A panic without the panic hook: thousands of them print nothing.
        resume_unwind(Box::new(format!("the fuse of {name} blew")));
    }
}

/// What a bomb owns: the value in two forms, one of which a torn or overwritten body does not have.
struct Body {
    value: i64,
    check: u64,
}

/// Mixed with the value. A body that is gone has a check that no value has.
const ALIVE: u64 = 0x5EED_F00D_5EED_F00D;

impl Body {
    fn new(value: i64) -> Self {
        Body { value, check: value as u64 ^ ALIVE }
    }
}

/// Owns heap memory, so that a value destroyed twice or never is seen by tools as well. Each
/// `CASE` is an element type of its own, with a storage of its own.
pub struct Bomb<const CASE: u8>(Box<Body>);

impl<const CASE: u8> Bomb<CASE> {
    fn new(value: i64) -> Self {
        CONSTRUCTED.fetch_add(1, SeqCst);
        Bomb(Box::new(Body::new(value)))
    }

    /// The value, after a look at whether there is an object.
    fn value(&self) -> i64 {
        let body: *const Body = &*self.0;
        // SAFETY: a reference was made into a pointer. Volatile: what somebody else does to the
        // memory, against all rules, is to be seen.
        let Body { value, check } = unsafe { body.read_volatile() };
        if value as u64 ^ ALIVE != check {
            MISUSED.fetch_add(1, SeqCst);
            // Where nobody asks any more, at the end of a process, this is seen.
            eprintln!("a bomb was used that is none");
        }
        value
    }

    /// From a number.
    pub fn from_number(value: i64) -> Self {
        burn(CAST);
        Bomb::new(value)
    }

    /// The number.
    pub fn number(&self) -> i64 {
        burn(CAST);
        self.value()
    }
}

impl<const CASE: u8> Default for Bomb<CASE> {
    fn default() -> Self {
        burn(DEFAULT);
        Bomb::new(0)
    }
}

impl<const CASE: u8> Clone for Bomb<CASE> {
    fn clone(&self) -> Self {
        burn(CLONE);
        Bomb::new(self.value())
    }

    fn clone_from(&mut self, source: &Self) {
        burn(ASSIGN);
        self.value();
        *self.0 = Body::new(source.value());
    }
}

impl<const CASE: u8> Drop for Bomb<CASE> {
    fn drop(&mut self) {
        DESTROYED.fetch_add(1, SeqCst);
        let gone = !self.value() as u64 ^ ALIVE;
        // SAFETY: a valid place of the type. Volatile: written though it is about to be freed.
        unsafe { (&raw mut self.0.check).write_volatile(gone) };
        // A panic that meets another one would end the process.
        if !std::thread::panicking() {
            burn(DROP);
        }
    }
}

impl<const CASE: u8> Add for &Bomb<CASE> {
    type Output = Bomb<CASE>;
    fn add(self, other: Self) -> Bomb<CASE> {
        burn(ADD);
        Bomb::new(self.value().wrapping_add(other.value()))
    }
}

impl<const CASE: u8> PartialEq for Bomb<CASE> {
    fn eq(&self, other: &Self) -> bool {
        burn(EQUAL);
        self.value() == other.value()
    }
}
impl<const CASE: u8> Eq for Bomb<CASE> {}
impl<const CASE: u8> PartialOrd for Bomb<CASE> {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}
impl<const CASE: u8> Ord for Bomb<CASE> {
    fn cmp(&self, other: &Self) -> Ordering {
        burn(COMPARE);
        self.value().cmp(&other.value())
    }
}

impl<const CASE: u8> fmt::Display for Bomb<CASE> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        burn(DISPLAY);
        write!(f, "{}", self.value())
    }
}

impl<const CASE: u8> FromStr for Bomb<CASE> {
    type Err = std::num::ParseIntError;
    fn from_str(text: &str) -> Result<Self, Self::Err> {
        burn(PARSE);
        text.parse().map(Bomb::new)
    }
}
