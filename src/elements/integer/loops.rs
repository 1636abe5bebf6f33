//! The raw loops, over words: blocks of small values without a branch an element, then element
//! by element, then big arithmetic.
//!
//! An output cell may hold a live big value, and may be an input cell. So a block is computed
//! into registers first and stored only where no input, no result and no old output is big.

use super::Integer;
use super::arithmetic::check_product;
use super::value::BIG_TAG;
use crate::elements::NumberError;
use crate::elements::call::Call;
use dashu_int::IBig;
use std::cmp::Ordering;

/// Bytes of a cell.
const CELL: isize = size_of::<Integer>() as isize;
/// Elements that are checked together.
const BLOCK: usize = 16;
const BLOCK_BYTES: usize = BLOCK * CELL as usize;

/// An operation on two integers as the loops need it.
pub trait WordOperation {
    /// The word of the result of two small words, and a word that is negative where it
    /// overflowed.
    fn words(left: i64, right: i64) -> (i64, i64);
    /// The result for values of any size.
    fn full(left: &Integer, right: &Integer) -> Result<Integer, NumberError>;
    /// `accumulator = accumulator op value`, reusing memory where that helps.
    #[inline]
    fn accumulate(accumulator: &mut Integer, value: &Integer) -> Result<(), NumberError> {
        *accumulator = Self::full(accumulator, value)?;
        Ok(())
    }
}

macro_rules! word_operations {
    ($(#[$doc:meta] $name:ident: |$left:ident, $right:ident| $words:expr, $full:expr $(,
        accumulate $accumulate:expr)?;)*) => {$(
        #[$doc]
        pub struct $name;
        impl WordOperation for $name {
            #[inline(always)]
            fn words($left: i64, $right: i64) -> (i64, i64) {
                $words
            }
            #[inline]
            fn full(left: &Integer, right: &Integer) -> Result<Integer, NumberError> {
                $full(left, right)
            }
            $(#[inline]
            fn accumulate(accumulator: &mut Integer, value: &Integer) -> Result<(), NumberError> {
                $accumulate(accumulator, value)
            })?
        }
    )*};
}

word_operations! {
    /// `a + b`.
    Add: |a, b| {
        let sum = a.wrapping_add(b);
        (sum, (a ^ sum) & (b ^ sum))
    }, |a: &Integer, b| Ok(a.add(b)), accumulate |a: &mut Integer, b| {
        a.add_assign(b);
        Ok(())
    };
    /// `a - b`.
    Subtract: |a, b| {
        let difference = a.wrapping_sub(b);
        (difference, (a ^ b) & (a ^ difference))
    }, |a: &Integer, b| Ok(a.sub(b));
    /// `a * b`.
    Multiply: |a, b| {
        let (product, overflow) = (a >> 1).overflowing_mul(b);
        (product, -i64::from(overflow))
    }, Integer::mul;
    /// The smaller one.
    Minimum: |a, b| (a.min(b), 0), |a: &Integer, b| Ok(Integer::clone(a.min(b)));
    /// The larger one.
    Maximum: |a, b| (a.max(b), 0), |a: &Integer, b| Ok(Integer::clone(a.max(b)));
    /// `a & b`.
    And: |a, b| (a & b, 0), |a: &Integer, b| Ok(a.bit_and(b));
    /// `a | b`.
    Or: |a, b| (a | b, 0), |a: &Integer, b| Ok(a.bit_or(b));
    /// `a ^ b`.
    Xor: |a, b| (a ^ b, 0), |a: &Integer, b| Ok(a.bit_xor(b));
}

/// An operation on one integer; see [`WordOperation`].
pub trait UnaryWordOperation {
    /// As [`WordOperation::words`].
    fn word(value: i64) -> (i64, i64);
    /// As [`WordOperation::full`].
    fn full(value: &Integer) -> Integer;
}

/// `-a`.
pub struct Negative;
impl UnaryWordOperation for Negative {
    #[inline(always)]
    fn word(value: i64) -> (i64, i64) {
        let negative = value.wrapping_neg();
        // Only the smallest word is its own negative.
        (negative, negative & value)
    }
    fn full(value: &Integer) -> Integer {
        value.neg()
    }
}

/// `|a|`.
pub struct Absolute;
impl UnaryWordOperation for Absolute {
    #[inline(always)]
    fn word(value: i64) -> (i64, i64) {
        let magnitude = value.wrapping_abs();
        (magnitude, magnitude)
    }
    fn full(value: &Integer) -> Integer {
        value.abs()
    }
}

/// A comparison.
pub trait Comparison {
    /// Of two small words.
    fn words(left: i64, right: i64) -> bool;
    /// From the order of the values.
    fn order(order: Ordering) -> bool;
}

macro_rules! comparisons {
    ($(#[$doc:meta] $name:ident $operator:tt $order:ident;)*) => {$(
        #[$doc]
        pub struct $name;
        impl Comparison for $name {
            #[inline(always)]
            fn words(left: i64, right: i64) -> bool {
                left $operator right
            }
            #[inline]
            fn order(order: Ordering) -> bool {
                order.$order()
            }
        }
    )*};
}

comparisons! {
    /// `a == b`.
    Equal == is_eq;
    /// `a != b`.
    NotEqual != is_ne;
    /// `a < b`.
    Less < is_lt;
    /// `a <= b`.
    LessEqual <= is_le;
    /// `a > b`.
    Greater > is_gt;
    /// `a >= b`.
    GreaterEqual >= is_ge;
}

/// Whether reading a whole block of `input` before writing a block of `output` reads the same as
/// element by element would.
#[inline]
fn block_order_is_free(input: *const u8, stride: isize, output: *mut u8, count: usize) -> bool {
    let ahead = output.addr().wrapping_sub(input.addr());
    if stride == 0 {
        // One cell for all elements: must not be an output.
        input.addr().wrapping_sub(output.addr()) >= count * CELL as usize
    } else {
        // Outputs at or behind the inputs, or a block ahead.
        ahead == 0 || ahead >= BLOCK_BYTES
    }
}

/// A binary loop.
///
/// # Safety
/// All three operands are Integer cells.
pub unsafe fn binary<O: WordOperation>(call: &Call) -> Result<(), NumberError> {
    let (left, right, output) = (call.pointer(0), call.pointer(1), call.pointer(2));
    let strides = (call.stride(0), call.stride(1), call.stride(2));
    let count = call.count();
    if strides.0 == 0 && strides.2 == 0 && left == output {
        // SAFETY: the operands are the caller's.
        return unsafe { reduce::<O>(call, output.cast(), right, strides.1, count) };
    }
    let blocks = strides.2 == CELL
        && block_order_is_free(left, strides.0, output, count)
        && block_order_is_free(right, strides.1, output, count);
    let shape = if blocks { (strides.0, strides.1) } else { (-1, -1) };
    // SAFETY: the operands are the caller's; the constants repeat their strides in cells.
    unsafe {
        match shape {
            (CELL, CELL) => blocks_of::<O, 1, 1>(call, left.cast(), right.cast(), output.cast()),
            (CELL, 0) => blocks_of::<O, 1, 0>(call, left.cast(), right.cast(), output.cast()),
            (0, CELL) => blocks_of::<O, 0, 1>(call, left.cast(), right.cast(), output.cast()),
            _ => elements::<O>(call, 0, count),
        }
    }
}

/// Blocks, each element by element where it holds anything big.
///
/// # Safety
/// As for [`binary`], with strides of `LEFT`, `RIGHT` and 1 cells, and an order that
/// [`block_order_is_free`] allows.
unsafe fn blocks_of<O: WordOperation, const LEFT: usize, const RIGHT: usize>(
    call: &Call,
    left: *const i64,
    right: *const i64,
    output: *mut i64,
) -> Result<(), NumberError> {
    let count = call.count();
    let mut start = 0;
    while start + BLOCK <= count {
        let mut results = [0; BLOCK];
        let (mut tags, mut overflow) = (0, 0);
        for (k, result) in results.iter_mut().enumerate() {
            let index = start + k;
            // SAFETY: `index` is below `count`; cells are readable as words.
            let (a, b, old) =
                unsafe { (*left.add(index * LEFT), *right.add(index * RIGHT), *output.add(index)) };
            let (word, flag) = O::words(a, b);
            *result = word;
            tags |= a | b | old;
            overflow |= flag;
        }
        if tags & BIG_TAG == 0 && overflow >= 0 {
            // SAFETY: in bounds; the old cells own nothing, and the words are small values.
            unsafe { output.add(start).copy_from_nonoverlapping(results.as_ptr(), BLOCK) };
        } else {
            // SAFETY: the caller's.
            unsafe { elements::<O>(call, start, start + BLOCK)? };
        }
        start += BLOCK;
    }
    // SAFETY: the caller's.
    unsafe { elements::<O>(call, start, count) }
}

/// Element by element, for any strides.
///
/// # Safety
/// As for [`binary`]; `end` is at most the count.
unsafe fn elements<O: WordOperation>(
    call: &Call,
    start: usize,
    end: usize,
) -> Result<(), NumberError> {
    let (left, right, output) = (call.pointer(0), call.pointer(1), call.pointer(2));
    for index in start..end {
        let at = |pointer: *mut u8, operand| {
            pointer.wrapping_offset(index as isize * call.stride(operand))
        };
        let (left, right, output) = (at(left, 0), at(right, 1), at(output, 2));
        // SAFETY: all three are aligned cells, live or zero (the value 0), readable as words.
        let (a, b, old) =
            unsafe { (*left.cast::<i64>(), *right.cast::<i64>(), *output.cast::<i64>()) };
        if (a | b | old) & BIG_TAG == 0 {
            let (word, flag) = O::words(a, b);
            if flag >= 0 {
                // SAFETY: the old cell owns nothing, the word is a small value.
                unsafe { *output.cast::<i64>() = word };
                continue;
            }
        }
        call.done(index);
        // SAFETY: as above.
        unsafe { element_big::<O>(left.cast(), right.cast(), output.cast())? };
    }
    Ok(())
}

/// One element, of any size.
///
/// # Safety
/// All three point to cells; the output may be an input.
#[cold]
#[inline(never)]
unsafe fn element_big<O: WordOperation>(
    left: *const Integer,
    right: *const Integer,
    output: *mut Integer,
) -> Result<(), NumberError> {
    if std::ptr::eq(left, output) && !std::ptr::eq(right, output) {
        // SAFETY: distinct aligned cells, valid at any bytes that cells hold.
        return unsafe { O::accumulate(&mut *output, &*right) };
    }
    // SAFETY: as above; the shared borrows end with the call.
    let result = unsafe { O::full(&*left, &*right)? };
    // SAFETY: as above; assignment drops the old value.
    unsafe { *output = result };
    Ok(())
}

/// A reduction: one accumulator cell.
///
/// # Safety
/// `accumulator` is a cell, `values` are `count` cells.
unsafe fn reduce<O: WordOperation>(
    call: &Call,
    accumulator: *mut Integer,
    values: *mut u8,
    stride: isize,
    count: usize,
) -> Result<(), NumberError> {
    let cell = |index: usize| values.wrapping_offset(index as isize * stride);
    let mut index = 0;
    while index < count {
        // SAFETY: the caller's cell, readable as a word.
        let mut word = unsafe { *accumulator.cast::<i64>() };
        if word & BIG_TAG == 0 {
            let start = index;
            while index < count {
                // SAFETY: one of the caller's cells, readable as a word.
                let value = unsafe { *cell(index).cast::<i64>() };
                let (result, overflow) = O::words(word, value);
                if value & BIG_TAG != 0 || overflow < 0 {
                    break;
                }
                word = result;
                index += 1;
            }
            if index > start {
                // SAFETY: the old value is small and owns nothing, the new one is small.
                unsafe { *accumulator.cast::<i64>() = word };
            }
            if index == count {
                break;
            }
        }
        call.done(index);
        // SAFETY: the caller's cells.
        unsafe { element_big::<O>(accumulator, cell(index).cast(), accumulator)? };
        index += 1;
    }
    Ok(())
}

/// A unary loop.
///
/// # Safety
/// Both operands are Integer cells.
pub unsafe fn unary<O: UnaryWordOperation>(call: &Call) -> Result<(), NumberError> {
    let (input, output) = (call.pointer(0), call.pointer(1));
    let count = call.count();
    let mut start = 0;
    if call.stride(0) == CELL
        && call.stride(1) == CELL
        && block_order_is_free(input, CELL, output, count)
    {
        let (input, output) = (input.cast::<i64>(), output.cast::<i64>());
        while start + BLOCK <= count {
            let mut results = [0; BLOCK];
            let (mut tags, mut overflow) = (0, 0);
            for (k, result) in results.iter_mut().enumerate() {
                // SAFETY: in bounds; cells are readable as words.
                let (value, old) = unsafe { (*input.add(start + k), *output.add(start + k)) };
                let (word, flag) = O::word(value);
                *result = word;
                tags |= value | old;
                overflow |= flag;
            }
            if tags & BIG_TAG == 0 && overflow >= 0 {
                // SAFETY: in bounds; the old cells own nothing, and the words are small values.
                unsafe { output.add(start).copy_from_nonoverlapping(results.as_ptr(), BLOCK) };
            } else {
                // SAFETY: the caller's.
                unsafe { unary_elements::<O>(call, start, start + BLOCK) };
            }
            start += BLOCK;
        }
    }
    // SAFETY: the caller's.
    unsafe { unary_elements::<O>(call, start, count) };
    Ok(())
}

/// # Safety
/// As for [`unary`]; `end` is at most the count.
unsafe fn unary_elements<O: UnaryWordOperation>(call: &Call, start: usize, end: usize) {
    for index in start..end {
        let input = call.pointer(0).wrapping_offset(index as isize * call.stride(0));
        let output = call.pointer(1).wrapping_offset(index as isize * call.stride(1));
        // SAFETY: aligned cells, readable as words.
        let (value, old) = unsafe { (*input.cast::<i64>(), *output.cast::<i64>()) };
        let (word, overflow) = O::word(value);
        if (value | old) & BIG_TAG == 0 && overflow >= 0 {
            // SAFETY: the old cell owns nothing, the word is a small value.
            unsafe { *output.cast::<i64>() = word };
        } else {
            call.done(index);
            // SAFETY: an aligned cell, valid at any bytes that cells hold; the borrow ends with
            // the call.
            let result = O::full(unsafe { &*input.cast() });
            // SAFETY: as above; assignment drops the old value.
            unsafe { *output.cast() = result };
        }
    }
}

/// A comparison loop; the results are NumPy's bool.
///
/// # Safety
/// Two operands are Integer cells, the third is bytes.
pub unsafe fn compare<C: Comparison>(call: &Call) -> Result<(), NumberError> {
    let (left, right, output) = (call.pointer(0), call.pointer(1), call.pointer(2));
    let shape = if call.stride(2) == 1 { (call.stride(0), call.stride(1)) } else { (-1, -1) };
    // SAFETY: the operands are the caller's; the constants repeat their strides in cells.
    unsafe {
        match shape {
            (CELL, CELL) => compare_blocks::<C, 1, 1>(call, left.cast(), right.cast(), output),
            (CELL, 0) => compare_blocks::<C, 1, 0>(call, left.cast(), right.cast(), output),
            (0, CELL) => compare_blocks::<C, 0, 1>(call, left.cast(), right.cast(), output),
            _ => compare_elements::<C>(call, 0, call.count()),
        }
    }
    Ok(())
}

/// # Safety
/// As for [`compare`], with strides of `LEFT` and `RIGHT` cells and 1 byte.
unsafe fn compare_blocks<C: Comparison, const LEFT: usize, const RIGHT: usize>(
    call: &Call,
    left: *const i64,
    right: *const i64,
    output: *mut u8,
) {
    let count = call.count();
    let mut start = 0;
    while start + BLOCK <= count {
        let mut results = [0u8; BLOCK];
        let mut tags = 0;
        for (k, result) in results.iter_mut().enumerate() {
            // SAFETY: in bounds; cells are readable as words.
            let (a, b) =
                unsafe { (*left.add((start + k) * LEFT), *right.add((start + k) * RIGHT)) };
            *result = C::words(a, b).into();
            tags |= a | b;
        }
        if tags & BIG_TAG == 0 {
            // SAFETY: in bounds.
            unsafe { output.add(start).copy_from_nonoverlapping(results.as_ptr(), BLOCK) };
        } else {
            // SAFETY: the caller's.
            unsafe { compare_elements::<C>(call, start, start + BLOCK) };
        }
        start += BLOCK;
    }
    // SAFETY: the caller's.
    unsafe { compare_elements::<C>(call, start, count) }
}

/// # Safety
/// As for [`compare`]; `end` is at most the count.
unsafe fn compare_elements<C: Comparison>(call: &Call, start: usize, end: usize) {
    for index in start..end {
        let at =
            |operand| call.pointer(operand).wrapping_offset(index as isize * call.stride(operand));
        // SAFETY: aligned cells, valid at any bytes that cells hold.
        let (left, right) = unsafe { (&*at(0).cast::<Integer>(), &*at(1).cast::<Integer>()) };
        let result = if (left.word() | right.word()) & BIG_TAG == 0 {
            C::words(left.word(), right.word())
        } else {
            C::order(left.cmp(right))
        };
        // SAFETY: one byte of the output.
        unsafe { *at(2) = result.into() };
    }
}

/// Refuses a product that would be too large; for accumulators outside the cells.
pub(crate) fn checked_big_product(left: &IBig, right: &IBig) -> Result<IBig, NumberError> {
    check_product(left, right)?;
    Ok(left * right)
}
