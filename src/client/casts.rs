//! The builder's methods that add casts.

use super::builder::ElementBuilder;
use super::error::{Error, Failure, Outcome};
use super::loops::{LoopContext, Owner, RawLoop, elementwise};
use super::parts::CastEntry;
use super::scalar::{NumpyScalar, OperandType};
use super::shared::Reader;
use super::storage::{Storage, StorageChoice};
use crate::abi;
use std::ffi::c_void;
use std::fmt;
use std::sync::Arc;

/// How well a cast keeps values: NumPy's casting levels.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Casting {
    /// Every value survives.
    Safe,
    /// Within a kind.
    SameKind,
    /// Only on request (`astype`).
    Unsafe,
}

impl Casting {
    const fn level(self) -> abi::CastLevel {
        match self {
            Casting::Safe => abi::CAST_SAFE,
            Casting::SameKind => abi::CAST_SAME_KIND,
            Casting::Unsafe => abi::CAST_UNSAFE,
        }
    }
}

impl<T: 'static, S: StorageChoice<T>> ElementBuilder<T, S> {
    /// Casts both ways, where the standard conversions exist. From U it is a safe cast if it
    /// cannot fail, else one within a kind; to U it is unsafe.
    pub fn cast<U>(self) -> ElementBuilder<T, S::Decided>
    where
        U: NumpyScalar + for<'a> TryFrom<&'a T, Error: fmt::Display>,
        T: TryFrom<U, Error: fmt::Display + 'static>,
    {
        let infallible = std::any::TypeId::of::<<T as TryFrom<U>>::Error>()
            == std::any::TypeId::of::<std::convert::Infallible>();
        let level = if infallible { Casting::Safe } else { Casting::SameKind };
        self.cast_from(level, |value: U| {
            T::try_from(value).map_err(|error| Error::value(error.to_string()))
        })
        .cast_to::<U, _>(Casting::Unsafe, |value: &T| {
            U::try_from(value).map_err(|error| Error::value(error.to_string()))
        })
    }

    /// A cast from a NumPy type.
    pub fn cast_from<U: NumpyScalar, R: Outcome<T>>(
        self,
        level: Casting,
        convert: impl Fn(U) -> R + Send + Sync + 'static,
    ) -> ElementBuilder<T, S::Decided> {
        let mut this = self.decided();
        this.push_cast(OperandType::numpy::<U>(), OperandType::OWN, level, move |_, [from, to]| {
            // SAFETY: the cast's operands are a U and a cell of ours.
            unsafe { S::Decided::store(to, convert(U::load(from)).outcome()?) };
            Ok(())
        });
        this
    }

    /// A cast to a NumPy type.
    pub fn cast_to<U: NumpyScalar, R: Outcome<U>>(
        self,
        level: Casting,
        convert: impl Fn(&T) -> R + Send + Sync + 'static,
    ) -> ElementBuilder<T, S::Decided> {
        let mut this = self.decided();
        this.push_cast(
            OperandType::OWN,
            OperandType::numpy::<U>(),
            level,
            move |reader, [from, to]| {
                // SAFETY: the cast's operands are a cell of ours and a U.
                unsafe { convert(reader.value(from)?).outcome()?.store(to) };
                Ok(())
            },
        );
        this
    }

    /// A cast of the author's own over whole strided batches, for another element type on one
    /// side ([`OperandType::element`]), or for speed.
    ///
    /// # Safety
    /// `function` does what [`crate::abi::LoopFn`] asks for, for operands of these types; see
    /// [`raw_loop`](Self::raw_loop). One of the two is [`OperandType::OWN`].
    pub unsafe fn raw_cast(
        self,
        from: OperandType,
        to: OperandType,
        level: Casting,
        function: RawLoop,
        context: *mut c_void,
    ) -> ElementBuilder<T, S::Decided> {
        let mut this = self.decided();
        this.parts.casts.push(CastEntry { from, to, level: level.level(), function, context });
        this
    }

    fn push_cast<F>(&mut self, from: OperandType, to: OperandType, level: Casting, step: F)
    where
        F: Fn(&Reader<'_, T, S::Decided>, [*mut u8; 2]) -> Result<(), Failure>
            + Send
            + Sync
            + 'static,
    {
        let owner = Owner::new(LoopContext { shared: Arc::clone(&self.parts.shared), step });
        self.parts.casts.push(CastEntry {
            from,
            to,
            level: level.level(),
            function: elementwise::<T, S::Decided, F, 2>,
            context: owner.context(),
        });
        self.parts.owners.push(owner);
    }
}
