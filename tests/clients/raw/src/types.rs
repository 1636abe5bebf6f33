//! Types without a default, with a fixed address, not `Send`, without a size, and aligned to more
//! than NumPy's buffers are.

use std::cell::Cell;
use std::cmp::Ordering;
use std::fmt;
use std::rc::Rc;
use std::str::FromStr;
use std::sync::atomic::{AtomicI64, Ordering::SeqCst};

/// A number that somebody drew: there is no default ticket.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Ticket {
    number: u64,
    holder: String,
}

impl Ticket {
    /// A ticket.
    pub fn new(number: u64) -> Self {
        Ticket { number, holder: format!("holder of {number}") }
    }
}

impl fmt::Display for Ticket {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.number)
    }
}

impl FromStr for Ticket {
    type Err = std::num::ParseIntError;
    fn from_str(text: &str) -> Result<Self, Self::Err> {
        text.parse().map(Ticket::new)
    }
}

/// Remembers the address at which it was first looked at. It may not move after that.
#[derive(Default)]
pub struct Pinned {
    address: Cell<usize>,
}

impl Pinned {
    /// Whether it is where it was.
    pub fn is_where_it_was_made(&self) -> bool {
        let here = std::ptr::from_ref(self).addr();
        if self.address.get() == 0 {
            self.address.set(here);
        }
        self.address.get() == here
    }
}

impl Clone for Pinned {
    /// A copy has an address of its own.
    fn clone(&self) -> Self {
        Pinned::default()
    }
}

impl PartialEq for Pinned {
    fn eq(&self, other: &Self) -> bool {
        self.address == other.address
    }
}

/// By address, the other way round, so that sorting has something to move.
impl PartialOrd for Pinned {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        other.address.get().partial_cmp(&self.address.get())
    }
}

impl fmt::Display for Pinned {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "pinned")
    }
}

/// A string that elements share: not `Send`.
#[derive(Clone, Default, PartialEq)]
pub struct Shared(Rc<str>);

impl Shared {
    /// A string.
    pub fn new(text: &str) -> Self {
        Shared(text.into())
    }

    /// Both strings, and how many values share the first.
    pub fn joined(&self, other: &Self) -> Self {
        Shared::new(&format!("{}{}", self.0, other.0))
    }
}

impl fmt::Display for Shared {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl FromStr for Shared {
    type Err = std::convert::Infallible;
    fn from_str(text: &str) -> Result<Self, Self::Err> {
        Ok(Shared::new(text))
    }
}

static UNITS: AtomicI64 = AtomicI64::new(0);
static ASTRAY: AtomicI64 = AtomicI64::new(0);

/// Objects of size 0 that are alive.
pub fn units() -> i64 {
    UNITS.load(SeqCst)
}

/// How often an over-aligned object was found at an address that does not suit it.
pub fn astray() -> i64 {
    ASTRAY.load(SeqCst)
}

/// Has no bytes at all, but a destructor.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
pub struct Unit(());

impl Default for Unit {
    fn default() -> Self {
        UNITS.fetch_add(1, SeqCst);
        Unit(())
    }
}

impl Clone for Unit {
    fn clone(&self) -> Self {
        Unit::default()
    }
}

impl Drop for Unit {
    fn drop(&mut self) {
        UNITS.fetch_sub(1, SeqCst);
    }
}

impl fmt::Display for Unit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("unit")
    }
}

impl FromStr for Unit {
    type Err = &'static str;
    fn from_str(text: &str) -> Result<Self, Self::Err> {
        if text == "unit" { Ok(Unit::default()) } else { Err("only \"unit\" is one") }
    }
}

/// Aligned to a cache line; every operation looks at its own address.
#[derive(Default, PartialOrd)]
#[repr(C, align(64))]
pub struct Aligned(i64);

impl Aligned {
    /// The number, after a look at the address.
    pub fn number(&self) -> i64 {
        if !std::ptr::from_ref(self).addr().is_multiple_of(64) {
            ASTRAY.fetch_add(1, SeqCst);
        }
        self.0
    }

    /// From a number.
    pub fn new(value: i64) -> Self {
        Aligned(value)
    }
}

impl Clone for Aligned {
    fn clone(&self) -> Self {
        Aligned(self.number())
    }
}

impl PartialEq for Aligned {
    fn eq(&self, other: &Self) -> bool {
        self.number() == other.number()
    }
}

impl Drop for Aligned {
    fn drop(&mut self) {
        self.number();
    }
}

impl fmt::Display for Aligned {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.number())
    }
}

impl FromStr for Aligned {
    type Err = std::num::ParseIntError;
    fn from_str(text: &str) -> Result<Self, Self::Err> {
        text.parse().map(Aligned)
    }
}
