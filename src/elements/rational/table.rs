//! What `Rational` can do, as a table: ufunc and function.

use super::Rational;
use super::dot::RationalDot;
use crate::client::{Casting, ElementBuilder, Half, InlineDefault, LongDouble, element};
use crate::elements::Integer;
use crate::elements::call::loop_fn;
use crate::elements::floats::FloatComparisons;
use crate::elements::products;
use crate::elements::raw_loops::{self, RawLoops};
use std::str::FromStr;

type Builder = ElementBuilder<Rational, InlineDefault>;

/// The description, without what needs Python or `Integer`.
pub fn describe() -> Builder {
    let plain = element::<Rational>("Rational");
    // SAFETY: words of zeros are the value 0/1, which owns nothing.
    let cells = unsafe { plain.zero_is_default() };
    casts(operations(raw_operations(cells)))
}

/// Loops over cells.
fn raw_operations(builder: Builder) -> Builder {
    // SAFETY: each loop is one for the operands of its method, treats zero words as the value 0
    // and drops what it overwrites; `loop_fn` stops panics.
    unsafe {
        builder
            .raw_binary("vecdot", loop_fn!(products::vecdot::<RationalDot>))
            .raw_binary("matvec", loop_fn!(products::matvec::<RationalDot>))
            .raw_binary("vecmat", loop_fn!(products::vecmat::<RationalDot>))
            .raw_binary("matmul", loop_fn!(products::matmul::<RationalDot>))
            .raw_ternary("numpy._core.umath:clip", loop_fn!(raw_loops::clip::<Rational>))
    }
}

/// Everything else, an element at a time.
fn operations(builder: Builder) -> Builder {
    let truth = |value: &Rational| !value.is_zero();
    let never = |_: &Rational| false;
    let whole = |value: Integer| Rational::from(&value);
    builder
        .clone()
        .default()
        .thread_safe()
        .text_with(Rational::from_str)
        .ordering()
        .hash_with(Rational::python_hash)
        .nonzero(truth)
        .heap_bytes(Rational::heap_bytes)
        .codec(Rational::to_bytes, Rational::from_bytes)
        .documentation("An exact fraction of any size, as an element of NumPy arrays.")
        // Arithmetic.
        .binary("add", Rational::add)
        .binary("subtract", Rational::sub)
        .binary("multiply", Rational::mul)
        .binary("divide", Rational::div)
        .binary("floor_divide", Rational::floor_div)
        .binary("remainder", Rational::modulo)
        .binary("fmod", Rational::fmod)
        .binary_pair("divmod", Rational::div_mod)
        .binary("power", Rational::pow)
        .unary("square", Rational::square)
        .unary("reciprocal", Rational::reciprocal)
        .unary("negative", Rational::neg)
        .unary("absolute", Rational::abs)
        .unary("sign", Rational::signum)
        .unary("positive", Rational::clone)
        .unary("conjugate", Rational::clone)
        // Rounding.
        .unary("floor", move |value| whole(value.floor()))
        .unary("ceil", move |value| whole(value.ceil()))
        .unary("trunc", move |value| whole(value.trunc()))
        .unary("rint", move |value| whole(value.round()))
        .unary_pair("modf", |value: &Rational| {
            let part = Rational::from(&value.trunc());
            value.sub(&part).map(|fraction| (fraction, part))
        })
        // By NumPy, as floats.
        .float_functions()
        // With floats, exact.
        .float_comparisons()
        // Truth and kinds.
        .comparison("logical_and", move |a, b| truth(a) && truth(b))
        .comparison("logical_or", move |a, b| truth(a) || truth(b))
        .comparison("logical_xor", move |a, b| truth(a) != truth(b))
        .predicate("logical_not", Rational::is_zero)
        .predicate("signbit", Rational::is_negative)
        .predicate("isnan", never)
        .predicate("isinf", never)
        .predicate("isfinite", |_| true)
        // Where reductions start.
        .default_is_zero()
        .one(|| Rational::ONE)
}

/// From and to NumPy's numbers; the runtime makes the other widths from these.
fn casts(builder: Builder) -> Builder {
    let integer = |value: &Rational| Integer::try_from(value);
    builder
        .cast_from(Casting::Safe, |value: bool| Rational::from(i64::from(value)))
        .cast_from(Casting::Safe, |value: i64| Rational::from(value))
        .cast_from(Casting::Safe, |value: u64| Rational::from(value))
        .cast_from(Casting::Unsafe, |value: f64| Rational::try_from(value))
        .cast_from(Casting::Unsafe, |value: LongDouble| Rational::try_from(value))
        .cast_to::<bool, _>(Casting::Unsafe, |value| !value.is_zero())
        .cast_to::<i64, _>(Casting::Unsafe, move |value: &Rational| i64::try_from(&integer(value)?))
        .cast_to::<u64, _>(Casting::Unsafe, move |value: &Rational| u64::try_from(&integer(value)?))
        .cast_to::<Half, _>(Casting::SameKind, |value: &Rational| Half::try_from(value))
        .cast_to::<f32, _>(Casting::SameKind, |value: &Rational| f32::try_from(value))
        .cast_to::<f64, _>(Casting::SameKind, |value: &Rational| f64::try_from(value))
        .cast_to::<LongDouble, _>(Casting::SameKind, |value: &Rational| LongDouble::try_from(value))
}
