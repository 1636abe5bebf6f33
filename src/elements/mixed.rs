//! Loops and casts between `Integer` and `Rational`.

use super::call::Call;
use super::{Integer, NumberError, Rational};

/// Applies `f` to each element.
///
/// # Safety
/// The operands are aligned cells of A and T, valid at any bytes that cells hold.
unsafe fn unary<A, T>(
    call: &Call,
    f: impl Fn(&A) -> Result<T, NumberError>,
) -> Result<(), NumberError> {
    for index in 0..call.count() {
        call.done(index);
        let at =
            |operand| call.pointer(operand).wrapping_offset(index as isize * call.stride(operand));
        // SAFETY: the caller's cells; the borrow ends before the store, which drops the old
        // value.
        unsafe {
            let value = f(&*at(0).cast::<A>())?;
            *at(1).cast::<T>() = value;
        }
    }
    Ok(())
}

/// Applies `f` to each pair of elements.
///
/// # Safety
/// The operands are aligned cells of A, B and T, valid at any bytes that cells hold.
unsafe fn binary<A, B, T>(
    call: &Call,
    f: impl Fn(&A, &B) -> Result<T, NumberError>,
) -> Result<(), NumberError> {
    for index in 0..call.count() {
        call.done(index);
        let at =
            |operand| call.pointer(operand).wrapping_offset(index as isize * call.stride(operand));
        // SAFETY: the caller's cells; the borrows end before the store, which drops the old
        // value.
        unsafe {
            let value = f(&*at(0).cast::<A>(), &*at(1).cast::<B>())?;
            *at(2).cast::<T>() = value;
        }
    }
    Ok(())
}

/// The cast from Integer to Rational.
///
/// # Safety
/// The operands are cells of Integer and Rational.
pub unsafe fn to_rational(call: &Call) -> Result<(), NumberError> {
    // SAFETY: the caller's promise.
    unsafe { unary(call, |value: &Integer| Ok(Rational::from(value))) }
}

/// The cast from Rational to Integer, for integral values.
///
/// # Safety
/// The operands are cells of Rational and Integer.
pub unsafe fn to_integer(call: &Call) -> Result<(), NumberError> {
    // SAFETY: the caller's promise.
    unsafe { unary(call, |value: &Rational| Integer::try_from(value)) }
}

/// `Integer / Integer`, exact.
///
/// # Safety
/// The operands are cells of Integer, Integer and Rational.
pub unsafe fn divide(call: &Call) -> Result<(), NumberError> {
    // SAFETY: the caller's promise.
    unsafe { binary(call, Rational::from_integers) }
}

/// `1 / Integer`, exact.
///
/// # Safety
/// The operands are cells of Integer and Rational.
pub unsafe fn reciprocal(call: &Call) -> Result<(), NumberError> {
    // SAFETY: the caller's promise.
    unsafe { unary(call, |value: &Integer| Rational::from_integers(&Integer::ONE, value)) }
}

/// `Rational ** Integer`.
///
/// # Safety
/// The operands are cells of Rational, Integer and Rational.
pub unsafe fn power(call: &Call) -> Result<(), NumberError> {
    // SAFETY: the caller's promise.
    unsafe { binary(call, Rational::pow_integer) }
}
