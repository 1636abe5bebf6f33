//! What each ufunc should give, by the second implementation and by Python's definitions.

use super::cells::MOST_BITS;
use denizen::abi::{ERROR_OVERFLOW, ERROR_VALUE, ERROR_ZERO_DIVISION, ErrorKind};
use denizen::elements::MAX_BITS;
use num_bigint::BigInt;
use num_integer::Integer as _;
use num_rational::BigRational;
use num_traits::{One, Signed, ToPrimitive, Zero};
use std::cmp::Ordering;

/// A long double by its value.
#[derive(Clone, Debug)]
pub enum Long {
    NotANumber,
    Infinite { negative: bool },
    Finite(BigRational),
}

/// What an operand holds.
#[derive(Clone, Debug)]
pub enum Value {
    /// An element, or a number that is exact.
    Exact(BigRational),
    /// A truth value.
    Bool(bool),
    /// A float64.
    Double(f64),
    /// A long double.
    Long(Long),
}

/// Why there is no result.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Refused {
    /// An error of this kind.
    Error(ErrorKind),
    /// It would take too long; nobody asks.
    Skip,
}

type Results = Result<Vec<Value>, Refused>;

const ZERO_DIVISION: Refused = Refused::Error(ERROR_ZERO_DIVISION);
const VALUE: Refused = Refused::Error(ERROR_VALUE);

/// The order of an exact number and a float, `None` for NaN.
fn against_float(exact: &BigRational, float: &Value) -> Option<Ordering> {
    let by_sign = |negative| Some(if negative { Ordering::Greater } else { Ordering::Less });
    match float {
        Value::Double(float) if float.is_nan() => None,
        Value::Double(float) if float.is_infinite() => by_sign(*float < 0.0),
        Value::Double(float) => Some(exact.cmp(&BigRational::from_float(*float)?)),
        Value::Long(Long::NotANumber) => None,
        Value::Long(Long::Infinite { negative }) => by_sign(*negative),
        Value::Long(Long::Finite(float)) => Some(exact.cmp(float)),
        _ => panic!("{float:?} is no float"),
    }
}

/// The order of two operands.
fn order(left: &Value, right: &Value) -> Option<Ordering> {
    match (left, right) {
        (Value::Exact(left), Value::Exact(right)) => Some(left.cmp(right)),
        (Value::Exact(exact), float) => against_float(exact, float),
        (float, Value::Exact(exact)) => against_float(exact, float).map(Ordering::reverse),
        _ => panic!("{left:?} and {right:?}"),
    }
}

fn comparison(name: &str, left: &Value, right: &Value) -> Option<bool> {
    let order = order(left, right);
    Some(match name {
        "equal" => order == Some(Ordering::Equal),
        "not_equal" => order != Some(Ordering::Equal),
        "less" => order == Some(Ordering::Less),
        "less_equal" => matches!(order, Some(Ordering::Less | Ordering::Equal)),
        "greater" => order == Some(Ordering::Greater),
        "greater_equal" => matches!(order, Some(Ordering::Greater | Ordering::Equal)),
        _ => return None,
    })
}

/// Refuses a result of at least so many bits, or leaves it out.
fn room(bits: u128) -> Result<(), Refused> {
    match bits {
        // Where exactly the limit lies is not the point; it is never far.
        ..=16384 => Ok(()),
        _ if bits > MAX_BITS as u128 + 256 => Err(Refused::Error(ERROR_OVERFLOW)),
        _ => Err(Refused::Skip),
    }
}

const _: () = assert!(MOST_BITS == 16384);

fn integer_power(base: &BigInt, exponent: &BigInt) -> Result<BigInt, Refused> {
    if exponent.is_negative() {
        return Err(VALUE);
    }
    if base.magnitude().is_one() || base.is_zero() {
        return Ok(match (base.is_zero(), base.is_negative()) {
            (true, _) => BigInt::from(i32::from(exponent.is_zero())),
            (_, true) if exponent.is_odd() => BigInt::from(-1),
            _ => BigInt::one(),
        });
    }
    let exponent = exponent.to_u128().filter(|exponent| *exponent < 1 << 64);
    let exponent = exponent.ok_or(Refused::Error(ERROR_OVERFLOW))?;
    room((u128::from(base.bits()) - 1).max(1) * exponent)?;
    Ok(base.pow(exponent as u32))
}

fn rational_power(base: &BigRational, exponent: &BigRational) -> Result<BigRational, Refused> {
    if !exponent.is_integer() {
        return Err(VALUE);
    }
    let exponent = exponent.numer();
    if exponent.is_negative() && base.is_zero() {
        return Err(ZERO_DIVISION);
    }
    let magnitude = exponent.abs();
    let numerator = integer_power(base.numer(), &magnitude);
    // The first of the two that is refused is; which is left out decides nothing.
    let denominator = integer_power(base.denom(), &magnitude);
    let (numerator, denominator) = match (numerator, denominator) {
        (Err(Refused::Skip), _) | (_, Err(Refused::Skip)) => return Err(Refused::Skip),
        (numerator, denominator) => (numerator?, denominator?),
    };
    Ok(if exponent.is_negative() {
        BigRational::new(denominator, numerator)
    } else {
        BigRational::new(numerator, denominator)
    })
}

fn shift_left(value: &BigInt, count: &BigInt) -> Result<BigInt, Refused> {
    if count.is_negative() {
        return Err(VALUE);
    }
    if value.is_zero() {
        return Ok(BigInt::zero());
    }
    let count = count.to_u64().ok_or(Refused::Error(ERROR_OVERFLOW))?;
    room(u128::from(count) + u128::from(value.bits()))?;
    Ok(value << count)
}

fn shift_right(value: &BigInt, count: &BigInt) -> Result<BigInt, Refused> {
    if count.is_negative() {
        return Err(VALUE);
    }
    match count.to_u64() {
        // Two's complement: rounds down.
        Some(count) if count < 1 << 20 => Ok(value >> count),
        _ => Ok(BigInt::from(if value.is_negative() { -1 } else { 0 })),
    }
}

/// Ties to even.
pub fn rounded(value: &BigRational) -> BigRational {
    let (floor, half) = (value.floor(), BigRational::new(1.into(), 2.into()));
    let up = match (value - &floor).cmp(&half) {
        Ordering::Less => false,
        Ordering::Equal => floor.numer().is_odd(),
        Ordering::Greater => true,
    };
    if up { floor + BigInt::one() } else { floor }
}

fn div_mod(left: &BigRational, right: &BigRational) -> Result<(BigRational, BigRational), Refused> {
    if right.is_zero() {
        return Err(ZERO_DIVISION);
    }
    let quotient = (left / right).floor();
    let rest = left - &quotient * right;
    Ok((quotient, rest))
}

/// The results of one ufunc for one element.
pub fn apply(fractions: bool, name: &str, inputs: &[Value]) -> Results {
    if let [left, right] = inputs
        && let Some(answer) = comparison(name, left, right)
    {
        return Ok(vec![Value::Bool(answer)]);
    }
    let exact: Vec<&BigRational> = inputs
        .iter()
        .map(|value| match value {
            Value::Exact(exact) => exact,
            other => panic!("{name} of {other:?}"),
        })
        .collect();
    let truth = |value: &BigRational| !value.is_zero();
    let one = |value: BigRational| Ok(vec![Value::Exact(value)]);
    let whole = |value: Result<BigInt, Refused>| one(value?.into());
    let answer = |value: bool| Ok(vec![Value::Bool(value)]);
    let pair = |(left, right)| Ok(vec![Value::Exact(left), Value::Exact(right)]);
    match (name, &exact[..]) {
        ("add", [a, b]) => one(*a + *b),
        ("subtract", [a, b]) => one(*a - *b),
        ("multiply", [a, b]) => one(*a * *b),
        ("divide", [_, b]) if b.is_zero() => Err(ZERO_DIVISION),
        ("divide", [a, b]) => one(*a / *b),
        ("minimum" | "fmin", [a, b]) => one((*a).min(b).clone()),
        ("maximum" | "fmax", [a, b]) => one((*a).max(b).clone()),
        ("floor_divide", [a, b]) => one(div_mod(a, b)?.0),
        ("remainder", [a, b]) => one(div_mod(a, b)?.1),
        ("divmod", [a, b]) => pair(div_mod(a, b)?),
        ("fmod", [_, b]) if b.is_zero() => Err(ZERO_DIVISION),
        ("fmod", [a, b]) => one(*a - (*a / *b).trunc() * *b),
        ("power", [a, b]) if fractions => one(rational_power(a, b)?),
        ("power", [a, b]) => whole(integer_power(a.numer(), b.numer())),
        ("gcd", [a, b]) => whole(Ok(a.numer().gcd(b.numer()))),
        ("lcm", [a, b]) => whole(Ok(a.numer().lcm(b.numer()).abs())),
        ("left_shift", [a, b]) => whole(shift_left(a.numer(), b.numer())),
        ("right_shift", [a, b]) => whole(shift_right(a.numer(), b.numer())),
        ("bitwise_and", [a, b]) => whole(Ok(a.numer() & b.numer())),
        ("bitwise_or", [a, b]) => whole(Ok(a.numer() | b.numer())),
        ("bitwise_xor", [a, b]) => whole(Ok(a.numer() ^ b.numer())),
        ("invert", [a]) => whole(Ok(-a.numer() - 1)),
        ("bitwise_count", [a]) => whole(Ok(a.numer().magnitude().count_ones().into())),
        ("square", [a]) => one(*a * *a),
        ("reciprocal", [a]) if a.is_zero() => Err(ZERO_DIVISION),
        ("reciprocal", [a]) => one(a.recip()),
        ("negative", [a]) => one(-*a),
        ("absolute", [a]) => one(a.abs()),
        ("sign", [a]) => one(a.signum()),
        ("positive" | "conjugate", [a]) => one((*a).clone()),
        ("floor", [a]) => one(a.floor()),
        ("ceil", [a]) => one(a.ceil()),
        ("trunc", [a]) => one(a.trunc()),
        ("rint", [a]) => one(rounded(a)),
        ("modf", [a]) => pair((*a - a.trunc(), a.trunc())),
        ("logical_and", [a, b]) => answer(truth(a) && truth(b)),
        ("logical_or", [a, b]) => answer(truth(a) || truth(b)),
        ("logical_xor", [a, b]) => answer(truth(a) != truth(b)),
        ("logical_not", [a]) => answer(!truth(a)),
        ("signbit", [a]) => answer(a.is_negative()),
        ("isnan" | "isinf", [_]) => answer(false),
        ("isfinite", [_]) => answer(true),
        ("numpy._core.umath:clip", [a, low, high]) => one((*a).max(low).min(high).clone()),
        _ => panic!("the second implementation does not know {name} of {}", exact.len()),
    }
}
