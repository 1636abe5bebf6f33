//! Types without a default, with a fixed address, and not `Send`.

use std::cell::Cell;
use std::cmp::Ordering;
use std::fmt;
use std::rc::Rc;
use std::str::FromStr;

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
    home: Cell<usize>,
}

impl Pinned {
    /// Whether it is where it was.
    pub fn is_at_home(&self) -> bool {
        let here = std::ptr::from_ref(self).addr();
        if self.home.get() == 0 {
            self.home.set(here);
        }
        self.home.get() == here
    }
}

impl Clone for Pinned {
    /// A copy has a home of its own.
    fn clone(&self) -> Self {
        Pinned::default()
    }
}

impl PartialEq for Pinned {
    fn eq(&self, other: &Self) -> bool {
        self.home == other.home
    }
}

/// By address, the other way round, so that sorting has something to move.
impl PartialOrd for Pinned {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        other.home.get().partial_cmp(&self.home.get())
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
