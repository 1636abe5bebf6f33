//! What `Integer` can do, as a table: ufunc and function.

use super::dot::IntegerDot;
use super::{Integer, loops, order};
use crate::abi::{ErrorOut, OK, Status};
use crate::client::{Casting, ElementBuilder, Half, InlineDefault, LongDouble, element};
use crate::elements::NumberError;
use crate::elements::call::loop_fn;
use crate::elements::floats::FloatComparisons;
use crate::elements::products;
use crate::elements::raw_loops::{self, RawLoops};
use std::ffi::c_void;
use std::str::FromStr;

/// The description, without what needs Python.
pub fn describe() -> ElementBuilder<Integer, InlineDefault> {
    let plain = element::<Integer>("Integer");
    // SAFETY: a word of zeros is the value 0, which owns nothing.
    let cells = unsafe { plain.zero_is_default() };
    casts(operations(raw_operations(cells)))
}

type Builder = ElementBuilder<Integer, InlineDefault>;

/// Loops over words.
fn raw_operations(builder: Builder) -> Builder {
    // SAFETY: each loop is one for the operands of its method, treats zero words as the value 0
    // and drops what it overwrites; `loop_fn` stops panics.
    unsafe {
        builder
            .ordering()
            .raw_sort(sort, argsort)
            .raw_comparison("equal", loop_fn!(loops::compare::<loops::Equal>))
            .raw_comparison("not_equal", loop_fn!(loops::compare::<loops::NotEqual>))
            .raw_comparison("less", loop_fn!(loops::compare::<loops::Less>))
            .raw_comparison("less_equal", loop_fn!(loops::compare::<loops::LessEqual>))
            .raw_comparison("greater", loop_fn!(loops::compare::<loops::Greater>))
            .raw_comparison("greater_equal", loop_fn!(loops::compare::<loops::GreaterEqual>))
            .raw_binary("add", loop_fn!(loops::binary::<loops::Add>))
            .raw_binary("subtract", loop_fn!(loops::binary::<loops::Subtract>))
            .raw_binary("multiply", loop_fn!(loops::binary::<loops::Multiply>))
            .raw_binary("minimum", loop_fn!(loops::binary::<loops::Minimum>))
            .raw_binary("maximum", loop_fn!(loops::binary::<loops::Maximum>))
            .raw_binary("fmin", loop_fn!(loops::binary::<loops::Minimum>))
            .raw_binary("fmax", loop_fn!(loops::binary::<loops::Maximum>))
            .raw_binary("bitwise_and", loop_fn!(loops::binary::<loops::And>))
            .raw_binary("bitwise_or", loop_fn!(loops::binary::<loops::Or>))
            .raw_binary("bitwise_xor", loop_fn!(loops::binary::<loops::Xor>))
            .raw_unary("negative", loop_fn!(loops::unary::<loops::Negative>))
            .raw_unary("absolute", loop_fn!(loops::unary::<loops::Absolute>))
            .raw_binary("vecdot", loop_fn!(products::vecdot::<IntegerDot>))
            .raw_binary("matvec", loop_fn!(products::matvec::<IntegerDot>))
            .raw_binary("vecmat", loop_fn!(products::vecmat::<IntegerDot>))
            .raw_binary("matmul", loop_fn!(products::matmul::<IntegerDot>))
            .raw_ternary("numpy._core.umath:clip", loop_fn!(raw_loops::clip::<Integer>))
    }
}

/// Everything else, an element at a time.
fn operations(builder: Builder) -> Builder {
    let truth = |value: &Integer| !value.is_zero();
    let never = |_: &Integer| false;
    builder
        .clone()
        .default()
        .thread_safe()
        .text_with(Integer::from_str)
        .hash_with(Integer::python_hash)
        .nonzero(truth)
        .heap_bytes(Integer::heap_bytes)
        .codec(Integer::to_bytes, Integer::from_bytes)
        .documentation("An exact integer of any size, as an element of NumPy arrays.")
        // Arithmetic.
        .binary("floor_divide", Integer::floor_div)
        .binary("remainder", Integer::modulo)
        .binary("fmod", Integer::fmod)
        .binary_pair("divmod", Integer::div_mod)
        .binary("power", Integer::pow)
        .binary("gcd", Integer::gcd)
        .binary("lcm", Integer::lcm)
        .unary("square", Integer::square)
        .unary("sign", Integer::signum)
        // What changes nothing in an integer.
        .unary("positive", Integer::clone)
        .unary("conjugate", Integer::clone)
        .unary("floor", Integer::clone)
        .unary("ceil", Integer::clone)
        .unary("trunc", Integer::clone)
        .unary("rint", Integer::clone)
        // Bits.
        .unary("invert", Integer::bit_not)
        .binary("left_shift", Integer::shift_left)
        .binary("right_shift", Integer::shift_right)
        .unary("bitwise_count", |value| Integer::from(value.bit_count() as i64))
        // With floats, exact.
        .float_comparisons()
        // By NumPy, as floats.
        .float_functions()
        .unary_pair("modf", |value| (Integer::ZERO, value.clone()))
        // Truth and kinds.
        .comparison("logical_and", move |a, b| truth(a) && truth(b))
        .comparison("logical_or", move |a, b| truth(a) || truth(b))
        .comparison("logical_xor", move |a, b| truth(a) != truth(b))
        .predicate("logical_not", Integer::is_zero)
        .predicate("signbit", Integer::is_negative)
        .predicate("isnan", never)
        .predicate("isinf", never)
        .predicate("isfinite", |_| true)
        // Where reductions start.
        .default_is_zero()
        .one(|| Integer::ONE)
        .identity("bitwise_and", || Integer::from(-1))
        .identity("bitwise_or", || Integer::ZERO)
        .identity("bitwise_xor", || Integer::ZERO)
        .identity("gcd", || Integer::ZERO)
        .identity("lcm", || Integer::ONE)
}

/// From and to NumPy's numbers; the runtime makes the other widths from these.
fn casts(builder: Builder) -> Builder {
    builder
        .cast_from(Casting::Safe, |value: bool| Integer::from(i64::from(value)))
        .cast_from(Casting::Safe, |value: i64| Integer::from(value))
        .cast_from(Casting::Safe, |value: u64| Integer::from(value))
        .cast_from(Casting::Unsafe, |value: f64| Integer::try_from(value))
        .cast_from(Casting::Unsafe, |value: LongDouble| Integer::try_from(value))
        .cast_to::<bool, _>(Casting::Unsafe, |value| !value.is_zero())
        .cast_to::<i64, _>(Casting::SameKind, |value: &Integer| i64::try_from(value))
        .cast_to::<u64, _>(Casting::SameKind, |value: &Integer| u64::try_from(value))
        .cast_to::<Half, _>(Casting::SameKind, |value: &Integer| Half::try_from(value))
        .cast_to::<f32, _>(Casting::SameKind, |value: &Integer| f32::try_from(value))
        .cast_to::<f64, _>(Casting::SameKind, |value: &Integer| f64::try_from(value))
        .cast_to::<LongDouble, _>(Casting::SameKind, |value: &Integer| LongDouble::try_from(value))
}

/// Runs a sort; only a panic can fail it.
fn guarded(error_out: *mut ErrorOut, body: impl FnOnce()) -> Status {
    match std::panic::catch_unwind(std::panic::AssertUnwindSafe(body)) {
        Ok(()) => OK,
        Err(payload) => {
            let error = NumberError::from_panic(&*payload);
            // SAFETY: the callers' `ErrorOut`.
            unsafe { &mut *error_out }.fail(error.kind(), &error.to_string())
        }
    }
}

/// Sorts cells; see [`crate::abi::SortFn`].
///
/// # Safety
/// As said there.
unsafe extern "C" fn sort(
    _context: *mut c_void,
    cells: *mut u8,
    count: usize,
    error_out: *mut ErrorOut,
) -> Status {
    guarded(error_out, || {
        // SAFETY: `count` aligned cells, valid at any bytes that cells hold, ours meanwhile.
        order::sort(unsafe { std::slice::from_raw_parts_mut(cells.cast(), count) });
    })
}

/// Sorts indices; see [`crate::abi::ArgsortFn`].
///
/// # Safety
/// As said there.
unsafe extern "C" fn argsort(
    _context: *mut c_void,
    cells: *const u8,
    stride: isize,
    count: usize,
    indices: *mut isize,
    error_out: *mut ErrorOut,
) -> Status {
    guarded(error_out, || {
        // SAFETY: `count` aligned cells, valid at any bytes that cells hold, and as many
        // indices of them, ours meanwhile.
        unsafe {
            let indices = std::slice::from_raw_parts_mut(indices, count);
            let cell = |index: isize| &*cells.wrapping_offset(index * stride).cast::<Integer>();
            order::argsort(indices, cell);
        }
    })
}
