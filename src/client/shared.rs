//! What all functions of one element type share: its name, its default and the author's hooks.

use super::error::Failure;
use super::storage::Storage;
use crate::abi::PyObject;
use std::cell::OnceCell;
use std::marker::PhantomData;
use std::sync::OnceLock;

/// A hook of the author, callable from any thread.
pub(super) type Hook<A, R> = Box<dyn Fn(A) -> R + Send + Sync>;

/// A hook that reads an object.
pub(super) type ReadHook<T, R> = Box<dyn Fn(&T) -> R + Send + Sync>;

/// A hook that makes an object from bytes.
pub(super) type LoadHook<T> = Box<dyn Fn(&[u8]) -> Result<T, Failure> + Send + Sync>;

/// A value of a text, for the type of the second name.
pub(super) type ParseHook<T> = Box<dyn Fn(&str, &str) -> Result<T, Failure> + Send + Sync>;

/// The context of an element type's vtable. Every field is set by the builder at most once,
/// before the type is registered.
pub(super) struct Shared<T> {
    /// Full name, `module.Name`.
    pub(super) name: OnceLock<String>,
    /// The type's operations hold the GIL.
    #[cfg(feature = "pyo3")]
    pub(super) holds_gil: OnceLock<bool>,
    /// Makes the default value.
    pub(super) default: OnceLock<fn() -> T>,
    /// Copies a value.
    pub(super) clone: OnceLock<fn(&T) -> T>,
    /// Makes the neutral element of addition.
    pub(super) zero: OnceLock<Box<dyn Fn() -> T + Send + Sync>>,
    /// Truth.
    pub(super) nonzero: OnceLock<ReadHook<T, Result<bool, Failure>>>,
    /// Owned heap bytes.
    pub(super) heap_bytes: OnceLock<ReadHook<T, usize>>,
    /// Value of a text.
    pub(super) parse: OnceLock<ParseHook<T>>,
    /// Hash.
    pub(super) hash: OnceLock<ReadHook<T, i64>>,
    /// Codec.
    pub(super) save: OnceLock<ReadHook<T, Result<Vec<u8>, Failure>>>,
    /// Codec.
    pub(super) load: OnceLock<LoadHook<T>>,
    /// Python scalar, a new reference.
    pub(super) to_python: OnceLock<ReadHook<T, Result<*mut PyObject, Failure>>>,
    /// Value of a Python object.
    pub(super) from_python: OnceLock<Hook<*mut PyObject, Result<T, Failure>>>,
}

impl<T> Shared<T> {
    pub(super) fn new() -> Self {
        Shared {
            name: OnceLock::new(),
            #[cfg(feature = "pyo3")]
            holds_gil: OnceLock::new(),
            default: OnceLock::new(),
            clone: OnceLock::new(),
            zero: OnceLock::new(),
            nonzero: OnceLock::new(),
            heap_bytes: OnceLock::new(),
            parse: OnceLock::new(),
            hash: OnceLock::new(),
            save: OnceLock::new(),
            load: OnceLock::new(),
            to_python: OnceLock::new(),
            from_python: OnceLock::new(),
        }
    }

    /// Whether batches run as pyo3 sees a thread that holds the GIL; see [`super::attachment`].
    #[inline(always)]
    pub(super) fn is_attached(&self) -> bool {
        #[cfg(feature = "pyo3")]
        return self.holds_gil.get().is_some_and(|holds| *holds);
        #[cfg(not(feature = "pyo3"))]
        false
    }

    pub(super) fn name(&self) -> &str {
        self.name.get().map_or("the element type", String::as_str)
    }
}

/// Reads cells that may be vacant. One lives as long as one call of a loop: the default value
/// that vacant cells read as is made when the first is met, and dropped with the reader.
pub(super) struct Reader<'a, T, S> {
    pub(super) shared: &'a Shared<T>,
    default: OnceCell<T>,
    storage: PhantomData<S>,
}

impl<'a, T: 'static, S: Storage<T>> Reader<'a, T, S> {
    #[inline(always)]
    pub(super) fn new(shared: &'a Shared<T>) -> Self {
        Reader { shared, default: OnceCell::new(), storage: PhantomData }
    }

    /// The value of a cell: its object, or the default where it is vacant.
    ///
    /// # Safety
    /// `cell` is readable, aligned, and zeroed or live; a live object stays unchanged while the
    /// reference is used.
    #[inline(always)]
    pub(super) unsafe fn value(&self, cell: *const u8) -> Result<&T, Failure> {
        // SAFETY: the caller's promise.
        unsafe {
            if S::is_vacant(cell) { self.default_value() } else { Ok(&*S::object(cell.cast_mut())) }
        }
    }

    /// The default value.
    #[cold]
    pub(super) fn default_value(&self) -> Result<&T, Failure> {
        if self.default.get().is_none() {
            let make = self.shared.default.get().ok_or(Failure::Vacant)?;
            // A fresh cell: no other code sets it, the reader is not shared.
            return Ok(self.default.get_or_init(make));
        }
        self.default.get().ok_or(Failure::Vacant)
    }
}
