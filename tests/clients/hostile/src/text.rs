//! The element: a number written out on the heap, which knows whether it is still what it was.

use crate::hooks::{self, Hook, come_by, violation};
use denizen::{Error, ErrorKind};
use std::{
    cmp::Ordering,
    fmt,
    hash::{Hash, Hasher},
    hint::black_box,
    ops::{Add, Mul, Neg, Sub},
    panic::panic_any,
    str::FromStr,
    sync::atomic::{AtomicI64, AtomicU64, Ordering::Relaxed},
    thread,
};

/// What `Text::state` holds while the object lives, while it ends, and afterwards.
const ALIVE: u64 = 0x6c69_7665_6c69_7665;
const ENDING: u64 = 0x656e_6469_656e_6469;
const GONE: u64 = 0x676f_6e65_676f_6e65;

/// As many types are registered.
pub const CASES: usize = 7;

static SERIAL: AtomicU64 = AtomicU64::new(1);
static CONSTRUCTED: [AtomicI64; CASES] = [const { AtomicI64::new(0) }; CASES];
static DESTROYED: [AtomicI64; CASES] = [const { AtomicI64::new(0) }; CASES];

/// How many objects of a type are alive.
pub fn live(case: usize) -> i64 {
    CONSTRUCTED[case].load(Relaxed) - DESTROYED[case].load(Relaxed)
}

/// A number, and its text of a length that all have: what is freed is soon another one's.
pub struct Text<const K: usize> {
    state: AtomicU64,
    serial: u64,
    value: i64,
    text: String,
}

/// What an object was at one time.
struct Copy {
    serial: u64,
    value: i64,
    text: String,
    place: usize,
}

fn written(value: i64, serial: u64) -> String {
    format!("{value:+025} of {serial:025}")
}

impl<const K: usize> Text<K> {
    /// A new object.
    pub fn of(value: i64) -> Self {
        CONSTRUCTED[K].fetch_add(1, Relaxed);
        let serial = SERIAL.fetch_add(1, Relaxed);
        Text { state: AtomicU64::new(ALIVE), serial, value, text: written(value, serial) }
    }

    pub fn value(&self) -> i64 {
        self.value
    }

    /// What is wrong with the object, as far as it can tell.
    fn fault(&self) -> Option<String> {
        match self.state.load(Relaxed) {
            ALIVE => (self.text != written(self.value, self.serial))
                .then(|| format!("torn: {} of {} is {}", self.value, self.serial, self.text)),
            ENDING => Some("half gone: its destructor is running".to_owned()),
            GONE => Some("gone: it was destroyed before".to_owned()),
            other => Some(format!("no object: its state is {other:#x}")),
        }
    }

    /// Notes where the object is none.
    pub fn check(&self, hook: Hook) {
        if let Some(fault) = self.fault() {
            violation(format!("{} was given an object that is {fault}", hooks::name(hook)));
        }
    }

    fn copy(&self) -> Copy {
        Copy {
            serial: self.serial,
            value: self.value,
            text: self.text.clone(),
            place: self.text.as_ptr().addr(),
        }
    }

    /// Notes where the object is not what it was.
    fn compare(&self, before: &Copy, hook: Hook) {
        let name = hooks::name(hook);
        if let Some(fault) = self.fault() {
            violation(format!("under {name} its operand became {fault}"));
        } else if (self.serial, self.value) != (before.serial, before.value)
            || self.text != before.text
            || self.text.as_ptr().addr() != before.place
        {
            violation(format!(
                "under {name} its operand changed from {} to {}",
                before.text, self.text
            ));
        }
    }

    /// Assigns a value, keeping the object.
    pub fn set(&mut self, value: i64) {
        self.value = value;
        self.text = written(value, self.serial);
    }

    /// A hook with operands: they are live, and stay what they are.
    pub fn hook(hook: Hook, operands: &[&Self]) -> Result<(), Error> {
        operands.iter().for_each(|operand| operand.check(hook));
        let before: Vec<Copy> = operands.iter().map(|operand| operand.copy()).collect();
        let result = come_by(hook);
        operands.iter().zip(&before).for_each(|(operand, copy)| operand.compare(copy, hook));
        result.map_err(Error::value)
    }

    /// A hook that can fail by panic only.
    fn hook_or_panic(hook: Hook, operands: &[&Self]) {
        if let Err(error) = Self::hook(hook, operands) {
            panic_any(error);
        }
    }

    pub fn from_number(hook: Hook, value: i64) -> Result<Self, Error> {
        Self::hook(hook, &[])?;
        Ok(Self::of(value))
    }

    pub fn to_number(&self, hook: Hook) -> Result<i64, Error> {
        Self::hook(hook, &[self])?;
        Ok(self.value)
    }

    /// `self` becomes `value`, while Python is called.
    pub fn become_in_place(
        &mut self,
        hook: Hook,
        value: i64,
        operands: &[&Self],
    ) -> Result<(), Error> {
        self.check(hook);
        let own = self.copy();
        let result = Self::hook(hook, operands);
        self.compare(&own, hook);
        result?;
        self.set(value);
        Ok(())
    }

    /// Text that is read, which stays what it is.
    fn parse(text: &str) -> Result<Self, Error> {
        let before = text.to_owned();
        let result = come_by(Hook::Parse);
        if text != before {
            violation(format!("under parse its text changed from {before:?} to {text:?}"));
        }
        result?;
        before
            .trim()
            .parse()
            .map(Self::of)
            .map_err(|_| Error::value(format!("not a number: {before:?}")))
    }

    /// Bytes of a pickle.
    pub fn save(&self) -> Result<Vec<u8>, Error> {
        Self::hook(Hook::Save, &[self])?;
        Ok(self.value.to_le_bytes().to_vec())
    }

    /// From the bytes of a pickle, which stay what they are.
    pub fn load(bytes: &[u8]) -> Result<Self, Error> {
        let before = bytes.to_vec();
        let result = come_by(Hook::Load);
        if bytes != before {
            violation(format!("under load its bytes changed from {before:?} to {bytes:?}"));
        }
        result?;
        let bytes = before.as_slice().try_into().map_err(|_| "eight bytes are a number")?;
        Ok(Self::of(i64::from_le_bytes(bytes)))
    }

    /// Whether it is not 0.
    pub fn truth(&self) -> Result<bool, Error> {
        Self::hook(Hook::Nonzero, &[self])?;
        Ok(self.value != 0)
    }

    /// Bytes on the heap.
    pub fn heap_bytes(&self) -> usize {
        Self::hook_or_panic(Hook::HeapBytes, &[self]);
        self.text.capacity()
    }
}

impl<const K: usize> Clone for Text<K> {
    fn clone(&self) -> Self {
        Self::hook_or_panic(Hook::Clone, &[self]);
        Self::of(self.value)
    }
}

impl<const K: usize> Default for Text<K> {
    fn default() -> Self {
        Self::hook_or_panic(Hook::Default, &[]);
        Self::of(0)
    }
}

impl<const K: usize> Drop for Text<K> {
    fn drop(&mut self) {
        if let Some(fault) = self.fault() {
            violation(format!("drop was given an object that is {fault}"));
            return;
        }
        let before = self.copy();
        self.state.store(ENDING, Relaxed);
        let result = come_by(Hook::Drop);
        if self.state.load(Relaxed) != ENDING
            || (self.serial, self.value) != (before.serial, before.value)
            || self.text != before.text
        {
            violation(format!("under drop its operand {} changed", before.text));
        }
        DESTROYED[K].fetch_add(1, Relaxed);
        self.state.store(GONE, Relaxed);
        black_box(&*self);
        // A destructor has only this to tell of a failure, and two at a time end the process.
        if let Err(message) = result
            && !thread::panicking()
        {
            panic_any(Error::value(message));
        }
    }
}

impl<const K: usize> PartialEq for Text<K> {
    fn eq(&self, other: &Self) -> bool {
        Self::hook_or_panic(Hook::Equal, &[self, other]);
        self.value == other.value
    }
}

impl<const K: usize> Eq for Text<K> {}

impl<const K: usize> PartialOrd for Text<K> {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl<const K: usize> Ord for Text<K> {
    fn cmp(&self, other: &Self) -> Ordering {
        Self::hook_or_panic(Hook::Compare, &[self, other]);
        self.value.cmp(&other.value)
    }
}

impl<const K: usize> Hash for Text<K> {
    fn hash<H: Hasher>(&self, hasher: &mut H) {
        Self::hook_or_panic(Hook::Hash, &[self]);
        self.value.hash(hasher);
    }
}

impl<const K: usize> fmt::Display for Text<K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        Self::hook_or_panic(Hook::Display, &[self]);
        write!(f, "{}", self.value)
    }
}

impl<const K: usize> FromStr for Text<K> {
    type Err = Error;
    fn from_str(text: &str) -> Result<Self, Error> {
        Self::parse(text)
    }
}

macro_rules! operator {
    ($($trait:ident $method:ident $hook:ident $wrapping:ident,)*) => { $(
        impl<const K: usize> $trait for &Text<K> {
            type Output = Text<K>;
            fn $method(self, other: Self) -> Text<K> {
                Text::hook_or_panic(Hook::$hook, &[self, other]);
                Text::of(self.value.$wrapping(other.value))
            }
        }
    )* };
}

operator! {
    Add add Add wrapping_add,
    Sub sub Subtract wrapping_sub,
    Mul mul Multiply wrapping_mul,
}

impl<const K: usize> Neg for &Text<K> {
    type Output = Text<K>;
    fn neg(self) -> Text<K> {
        Text::hook_or_panic(Hook::Negative, &[self]);
        Text::of(self.value.wrapping_neg())
    }
}

/// A number without a fraction.
///
/// # Errors
/// NaN, infinities, and what does not fit.
pub fn whole(value: f64) -> Result<i64, Error> {
    if value.is_finite() && value.abs() < 9e18 {
        Ok(value as i64)
    } else {
        Err(Error::new(ErrorKind::Overflow, format!("{value} is no whole number")))
    }
}
