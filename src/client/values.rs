//! The builder's methods for single values: text, hash, truth, bytes, Python objects.

use super::builder::ElementBuilder;
use super::convert;
use super::error::{Failure, Outcome};
use super::storage::StorageChoice;
use crate::abi::PyObject;
use std::fmt;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::str::FromStr;

impl<T: 'static, S: StorageChoice<T>> ElementBuilder<T, S> {
    /// Text both ways: `str`, printing, reading strings, and pickle where there is no codec.
    pub fn text(self) -> ElementBuilder<T, S::Decided>
    where
        T: fmt::Display + FromStr<Err: fmt::Display>,
    {
        self.parsed_by(convert::parse)
    }

    /// Text both ways: [`fmt::Display`], and what `parse` makes of a text, whose errors are raised
    /// as they are.
    pub fn text_with<R: Outcome<T>>(
        self,
        parse: impl Fn(&str) -> R + Send + Sync + 'static,
    ) -> ElementBuilder<T, S::Decided>
    where
        T: fmt::Display,
    {
        self.parsed_by(move |text, _| parse(text).outcome())
    }

    fn parsed_by(
        self,
        parse: impl Fn(&str, &str) -> Result<T, Failure> + Send + Sync + 'static,
    ) -> ElementBuilder<T, S::Decided>
    where
        T: fmt::Display,
    {
        let mut this = self.display();
        this.parts.vtable.from_text = Some(convert::from_text::<T, S::Decided>);
        let _ = this.parts.shared.parse.set(Box::new(parse));
        this
    }

    /// Text of a value: `str` and printing.
    pub fn display(self) -> ElementBuilder<T, S::Decided>
    where
        T: fmt::Display,
    {
        let mut this = self.decided();
        this.parts.vtable.to_text = Some(convert::to_text::<T, S::Decided>);
        this
    }

    /// Hash of a value, from [`Hash`].
    pub fn hash(self) -> ElementBuilder<T, S::Decided>
    where
        T: Hash,
    {
        self.hash_with(|value| {
            let mut hasher = DefaultHasher::new();
            value.hash(&mut hasher);
            hasher.finish() as i64
        })
    }

    /// Hash of a value. It must agree with the hash of the Python scalar where there is a class
    /// of the author's own.
    pub fn hash_with(
        self,
        hash: impl Fn(&T) -> i64 + Send + Sync + 'static,
    ) -> ElementBuilder<T, S::Decided> {
        let mut this = self.decided();
        this.parts.vtable.hash = Some(convert::hash::<T, S::Decided>);
        let _ = this.parts.shared.hash.set(Box::new(hash));
        this
    }

    /// Whether a value is true in the sense of Python's `bool`.
    pub fn nonzero<R: Outcome<bool>>(
        self,
        truth: impl Fn(&T) -> R + Send + Sync + 'static,
    ) -> ElementBuilder<T, S::Decided> {
        let mut this = self.decided();
        this.parts.vtable.nonzero = Some(convert::nonzero::<T, S::Decided>);
        let _ = this.parts.shared.nonzero.set(Box::new(move |value| truth(value).outcome()));
        this
    }

    /// How many heap bytes a value owns beside itself.
    pub fn heap_bytes(
        self,
        bytes: impl Fn(&T) -> usize + Send + Sync + 'static,
    ) -> ElementBuilder<T, S::Decided> {
        let mut this = self.decided();
        this.parts.vtable.heap_bytes = Some(convert::heap_bytes::<T, S::Decided>);
        let _ = this.parts.shared.heap_bytes.set(Box::new(bytes));
        this
    }

    /// Bytes for pickle: `save` writes a value, `load` reads one.
    ///
    /// `load` is given *any* bytes. They come out of a file that may have been changed, and
    /// nothing checks them before: it answers for every invariant of `T`, and fails where they are no
    /// value that `save` would have written. (As a safe function it can do no worse than that; one
    /// that calls `unsafe` code, such as `from_utf8_unchecked`, has to prove what that asks.)
    pub fn codec<B, R>(
        self,
        save: impl Fn(&T) -> B + Send + Sync + 'static,
        load: impl Fn(&[u8]) -> R + Send + Sync + 'static,
    ) -> ElementBuilder<T, S::Decided>
    where
        B: Outcome<Vec<u8>>,
        R: Outcome<T>,
    {
        let mut this = self.decided();
        this.parts.vtable.save = Some(convert::save::<T, S::Decided>);
        this.parts.vtable.load = Some(convert::load::<T, S::Decided>);
        let _ = this.parts.shared.save.set(Box::new(move |value| save(value).outcome()));
        let _ = this.parts.shared.load.set(Box::new(move |bytes| load(bytes).outcome()));
        this
    }

    /// Python objects both ways, at pointer level. `from_python` gets a borrowed object; both run
    /// with the GIL held.
    ///
    /// # Safety
    /// `to_python` returns new references, and says [`Failure::Raised`] only when an exception is
    /// set.
    pub unsafe fn python(
        self,
        to_python: impl Fn(&T) -> Result<*mut PyObject, Failure> + Send + Sync + 'static,
        from_python: impl Fn(*mut PyObject) -> Result<T, Failure> + Send + Sync + 'static,
    ) -> ElementBuilder<T, S::Decided> {
        let mut this = self.decided();
        this.parts.vtable.to_python = Some(convert::to_python::<T, S::Decided>);
        this.parts.vtable.from_python = Some(convert::from_python::<T, S::Decided>);
        let _ = this.parts.shared.to_python.set(Box::new(to_python));
        let _ = this.parts.shared.from_python.set(Box::new(from_python));
        this
    }

    /// Values of Python objects, beside the type's own scalars; at pointer level, with the GIL held
    /// and a borrowed object. It says [`Failure::Raised`] only when an exception is set.
    pub fn from_python(
        self,
        from_python: impl Fn(*mut PyObject) -> Result<T, Failure> + Send + Sync + 'static,
    ) -> ElementBuilder<T, S::Decided> {
        let mut this = self.decided();
        this.parts.vtable.from_python = Some(convert::from_python::<T, S::Decided>);
        let _ = this.parts.shared.from_python.set(Box::new(from_python));
        this
    }
}
