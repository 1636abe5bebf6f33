//! What a type can do, found out where the type is concrete.
//!
//! Each method has two traits: one for `Probe<T>` where T has the ability, one for `&Probe<T>`.
//! A call on `&Probe<T>` finds the first where it applies, else, one reference further, the second.
//! That is decided where the call stands, so it must stand in a macro, and T must be no parameter.

use crate::client::{Automatic, ElementBuilder, Undecided, element, element_under_gil};
use std::{
    fmt::Debug,
    marker::PhantomData,
    ops::{Add, Div, Mul, Neg, Rem, Sub},
};

/// Asks about T. See the module.
pub struct Probe<T>(PhantomData<fn() -> T>);

impl<T> Probe<T> {
    /// A question.
    pub const fn new() -> Self {
        Probe(PhantomData)
    }
}

impl<T> Default for Probe<T> {
    fn default() -> Self {
        Self::new()
    }
}

/// What `lifecheck!` compares two values with.
pub type Same<T> = fn(&T, &T) -> bool;
/// What `lifecheck!` shows a value with.
pub type Show<T> = fn(&T) -> String;

/// The builder that the detected abilities are told to.
type Builder<T> = ElementBuilder<T, Automatic>;

macro_rules! questions {
    ($($yes:ident, $no:ident: $method:ident ( $($argument:ident: $type:ty)? ) -> $result:ty,
        where [$($bound:tt)*] { $answer:expr } else { $other:expr })*) => { $(
        #[doc(hidden)]
        pub trait $yes<T: 'static> {
            /// The answer for types that can.
            fn $method(&self, $($argument: $type)?) -> $result;
        }
        impl<T: 'static> $yes<T> for Probe<T> where $($bound)* {
            fn $method(&self, $($argument: $type)?) -> $result { $answer }
        }
        #[doc(hidden)]
        pub trait $no<T: 'static> {
            /// The answer for all others.
            fn $method(&self, $($argument: $type)?) -> $result;
        }
        impl<T: 'static> $no<T> for &Probe<T> {
            fn $method(&self, $($argument: $type)?) -> $result { $other }
        }
    )* };
}

questions! {
    IsSend, MaySend: begin() -> ElementBuilder<T, Undecided>,
        where [T: Send] { element("Element") } else {
            // SAFETY: one thread makes, uses and ends all values of a sequence.
            unsafe { element_under_gil("Element") }
        }
    IsClone, MayClone: with_clone(builder: Builder<T>) -> Builder<T>,
        where [T: Clone] { builder.clone() } else { builder }
    IsDefault, MayDefault: with_default(builder: Builder<T>) -> Builder<T>,
        where [T: Default] { builder.default() } else { builder }
    IsPartialOrd, MayPartialOrd: with_partial_order(builder: Builder<T>) -> Builder<T>,
        where [T: PartialOrd] { builder.partial_ordering() } else { builder }
    IsOrd, MayOrd: with_order(builder: Builder<T>) -> Builder<T>,
        where [T: Ord] { builder.ordering() } else { builder }
    IsAdd, MayAdd: with_add(builder: Builder<T>) -> Builder<T>,
        where [for<'a> &'a T: Add<&'a T, Output = T>] { builder.add() } else { builder }
    IsSub, MaySub: with_sub(builder: Builder<T>) -> Builder<T>,
        where [for<'a> &'a T: Sub<&'a T, Output = T>] { builder.sub() } else { builder }
    IsMul, MayMul: with_mul(builder: Builder<T>) -> Builder<T>,
        where [for<'a> &'a T: Mul<&'a T, Output = T>] { builder.mul() } else { builder }
    IsDiv, MayDiv: with_div(builder: Builder<T>) -> Builder<T>,
        where [for<'a> &'a T: Div<&'a T, Output = T>] { builder.div() } else { builder }
    IsRem, MayRem: with_rem(builder: Builder<T>) -> Builder<T>,
        where [for<'a> &'a T: Rem<&'a T, Output = T>] { builder.rem() } else { builder }
    IsNeg, MayNeg: with_neg(builder: Builder<T>) -> Builder<T>,
        where [for<'a> &'a T: Neg<Output = T>] { builder.neg() } else { builder }
    IsPartialEq, MayPartialEq: same() -> Option<Same<T>>,
        where [T: PartialEq] { Some(|left, right| left == right) } else { None }
    IsDebug, MayDebug: show() -> Option<Show<T>>,
        where [T: Debug] { Some(|value| format!("{value:?}")) } else { None }
}

/// A storage is chosen: the next methods all give the same builder.
pub fn settled<T: 'static>(builder: ElementBuilder<T, Undecided>) -> Builder<T> {
    builder.decided()
}

/// What a closure of the user's makes of the first builder.
pub fn described<T: 'static, S>(
    builder: ElementBuilder<T, Undecided>,
    describe: impl FnOnce(ElementBuilder<T, Undecided>) -> ElementBuilder<T, S>,
) -> ElementBuilder<T, S> {
    describe(builder)
}
