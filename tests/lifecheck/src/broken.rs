//! Types that break a rule of life, each in a way that people do.

use std::cell::Cell;
use std::mem::ManuallyDrop;
use std::sync::Arc;
use std::sync::Mutex;

/// A buffer behind a raw pointer. Its copy is a copy of the pointer: both end the same buffer.
#[derive(Debug)]
pub struct SharedPointer {
    buffer: *mut u32,
}

// SAFETY: (as its author thought) the buffer belongs to the value.
unsafe impl Send for SharedPointer {}

impl SharedPointer {
    pub fn new(value: u32) -> Self {
        SharedPointer { buffer: Box::into_raw(Box::new(value)) }
    }
}

impl Clone for SharedPointer {
    fn clone(&self) -> Self {
        SharedPointer { buffer: self.buffer }
    }
}

impl PartialEq for SharedPointer {
    fn eq(&self, other: &Self) -> bool {
        unsafe { *self.buffer == *other.buffer }
    }
}

impl Drop for SharedPointer {
    fn drop(&mut self) {
        drop(unsafe { Box::from_raw(self.buffer) });
    }
}

/// Its copies share one number, and assigning writes through to all of them.
#[derive(Debug)]
pub struct SharedNumber {
    number: Arc<Mutex<u32>>,
}

impl SharedNumber {
    pub fn new(number: u32) -> Self {
        SharedNumber { number: Arc::new(Mutex::new(number)) }
    }

    fn get(&self) -> u32 {
        *self.number.lock().unwrap()
    }
}

impl PartialEq for SharedNumber {
    fn eq(&self, other: &Self) -> bool {
        self.get() == other.get()
    }
}

impl Clone for SharedNumber {
    fn clone(&self) -> Self {
        SharedNumber { number: Arc::clone(&self.number) }
    }

    fn clone_from(&mut self, source: &Self) {
        let number = source.get();
        *self.number.lock().unwrap() = number;
    }
}

/// Forgets to end what it owns.
#[derive(Clone, Debug, PartialEq)]
pub struct Forgetful {
    text: ManuallyDrop<String>,
}

impl Forgetful {
    pub fn new(text: String) -> Self {
        Forgetful { text: ManuallyDrop::new(text) }
    }
}

/// Ends its text by hand, and the compiler ends it again.
#[derive(Clone, Debug, PartialEq)]
pub struct EndsTwice {
    text: Box<u64>,
}

impl EndsTwice {
    pub fn new(number: u64) -> Self {
        EndsTwice { text: Box::new(number) }
    }
}

impl Drop for EndsTwice {
    fn drop(&mut self) {
        drop(unsafe { std::ptr::read(&self.text) });
    }
}

/// Points to itself once it is used, and believes that it never moves.
#[derive(Debug)]
pub struct SelfPointing {
    number: u64,
    cursor: Cell<*const u64>,
}

unsafe impl Send for SelfPointing {}

impl SelfPointing {
    pub fn new(number: u64) -> Self {
        SelfPointing { number, cursor: Cell::new(std::ptr::null()) }
    }

    /// The number, by way of the cursor.
    pub fn number(&self) -> u64 {
        if self.cursor.get().is_null() {
            self.cursor.set(&self.number);
        }
        unsafe { *self.cursor.get() }
    }
}

impl Clone for SelfPointing {
    fn clone(&self) -> Self {
        SelfPointing::new(self.number())
    }
}

impl PartialEq for SelfPointing {
    fn eq(&self, other: &Self) -> bool {
        self.number() == other.number()
    }
}

/// Knows where it was, and gives another number elsewhere.
#[derive(Debug)]
pub struct AddressBound {
    address: Cell<usize>,
    number: u32,
}

impl AddressBound {
    pub fn new(number: u32) -> Self {
        AddressBound { address: Cell::new(0), number }
    }

    pub fn number(&self) -> u32 {
        let here = std::ptr::from_ref(self) as usize;
        if self.address.get() == 0 {
            self.address.set(here);
        }
        if self.address.get() == here {
            self.number
        } else {
            !self.number
        }
    }
}

impl Clone for AddressBound {
    fn clone(&self) -> Self {
        AddressBound::new(self.number)
    }
}

impl PartialEq for AddressBound {
    fn eq(&self, other: &Self) -> bool {
        self.number() == other.number()
    }
}

/// Its destructor does not like zeros.
#[derive(Clone, Debug, PartialEq)]
pub struct Fussy(pub u8);

impl Drop for Fussy {
    fn drop(&mut self) {
        assert_ne!(self.0, 0, "a zero was left over");
    }
}

/// A number, for which `zero_is_vacant` is a wrong promise: zero is a value like any other.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Number(pub i64);

/// A factor, for which `zero_is_default` is a wrong promise: its default is one.
#[derive(Clone, Debug, PartialEq)]
pub struct Factor(pub u64);

impl Default for Factor {
    fn default() -> Self {
        Factor(1)
    }
}

/// Cannot be copied, compared or shown, and leaks.
pub struct Opaque {
    _text: ManuallyDrop<String>,
}

impl Opaque {
    pub fn new(text: String) -> Self {
        Opaque { _text: ManuallyDrop::new(text) }
    }
}

/// Its copy panics for some values.
#[derive(Debug, PartialEq)]
pub struct Shy(pub u8);

impl Clone for Shy {
    fn clone(&self) -> Self {
        assert!(self.0 < 200, "{} is too large to copy", self.0);
        Shy(self.0)
    }
}

/// Keeps a stale pointer to its old buffer when it grows.
#[derive(Debug)]
pub struct Stale {
    numbers: Vec<u32>,
    first: *const u32,
}

unsafe impl Send for Stale {}

impl Stale {
    pub fn new(number: u32) -> Self {
        let mut numbers = vec![number];
        let first = numbers.as_ptr();
        if number % 3 == 1 {
            numbers.extend([0; 32]);
        }
        Stale { numbers, first }
    }
}

impl Clone for Stale {
    fn clone(&self) -> Self {
        Stale::new(self.numbers[0])
    }
}

impl PartialEq for Stale {
    fn eq(&self, other: &Self) -> bool {
        unsafe { *self.first == *other.first && self.numbers == other.numbers }
    }
}

/// Every third is smaller than all others, but not than itself: no order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Disorderly(pub u8);

impl PartialOrd for Disorderly {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Disorderly {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        match self.0 % 3 {
            0 => std::cmp::Ordering::Less,
            _ => self.0.cmp(&other.0),
        }
    }
}

/// Adds well, except onto itself.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Aliased(pub u32);

impl std::ops::Add for &Aliased {
    type Output = Aliased;

    fn add(self, other: &Aliased) -> Aliased {
        if std::ptr::eq(self, other) {
            Aliased(self.0)
        } else {
            Aliased(self.0 ^ other.0)
        }
    }
}

/// Paper, stone and scissors.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ring(pub u8);

impl PartialOrd for Ring {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Ring {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        match (3 + other.0 - self.0) % 3 {
            0 => std::cmp::Ordering::Equal,
            1 => std::cmp::Ordering::Less,
            _ => std::cmp::Ordering::Greater,
        }
    }
}

/// Is on a list of all that were copied, by its address.
#[derive(Debug)]
pub struct Listed {
    number: u32,
    listed: Cell<bool>,
}

static LIST: Mutex<Vec<usize>> = Mutex::new(Vec::new());

impl Listed {
    pub fn new(number: u32) -> Self {
        Listed { number, listed: Cell::new(false) }
    }

    fn address(&self) -> usize {
        std::ptr::from_ref(self) as usize
    }
}

impl PartialEq for Listed {
    fn eq(&self, other: &Self) -> bool {
        self.number == other.number
    }
}

impl Clone for Listed {
    fn clone(&self) -> Self {
        if !self.listed.replace(true) {
            LIST.lock().unwrap().push(self.address());
        }
        Listed::new(self.number)
    }
}

impl Drop for Listed {
    fn drop(&mut self) {
        if self.listed.get() {
            let mut list = LIST.lock().unwrap();
            let place = list.iter().position(|address| *address == self.address());
            list.swap_remove(place.expect("an address that is not on the list"));
        }
    }
}
