//! Sums of products of small values in 128 bits, of others in big arithmetic.

use super::Integer;
use super::loops::checked_big_product;
use super::value::BIG_TAG;
use crate::elements::NumberError;
use crate::elements::products::{Cells, Dot};
use dashu_int::IBig;

/// Integer's sums of products.
pub struct IntegerDot;

impl Dot for IntegerDot {
    type Element = Integer;

    #[inline]
    unsafe fn dot(left: Cells, right: Cells, count: usize) -> Result<Integer, NumberError> {
        // SAFETY: the caller's.
        unsafe { dot(left, right, count) }
    }

    unsafe fn gather(cells: Cells, count: usize, buffer: &mut Vec<i64>) -> Option<Cells> {
        buffer.clear();
        buffer.try_reserve_exact(count).ok()?;
        // SAFETY: aligned cells, readable as words.
        buffer.extend((0..count).map(|index| unsafe { *cells.at(index).cast::<i64>() }));
        // Copied words must not be taken for owners of heap cells.
        let all_small = buffer.iter().fold(0, |tags, word| tags | word) & BIG_TAG == 0;
        all_small.then_some(Cells {
            start: buffer.as_ptr().cast(),
            stride: size_of::<Integer>() as isize,
        })
    }
}

/// The sum of `count` products.
///
/// # Safety
/// Both lines are `count` Integer cells.
unsafe fn dot(left: Cells, right: Cells, count: usize) -> Result<Integer, NumberError> {
    let mut sum = 0i128;
    for index in 0..count {
        // SAFETY: aligned cells, readable as words.
        let (a, b) = unsafe { (*left.at(index).cast::<i64>(), *right.at(index).cast::<i64>()) };
        // Two words of 63 bits: the product is exact, four times too large.
        let next = if (a | b) & BIG_TAG == 0 {
            sum.checked_add(i128::from(a >> 1) * i128::from(b >> 1))
        } else {
            None
        };
        match next {
            Some(next) => sum = next,
            // SAFETY: the caller's, the rest of it.
            None => unsafe {
                return dot_big(sum, left.from(index), right.from(index), count - index);
            },
        }
    }
    Ok(Integer::from(sum))
}

/// As [`dot`], from a first sum, for values of any size.
///
/// # Safety
/// As for [`dot`].
#[cold]
unsafe fn dot_big(
    sum: i128,
    left: Cells,
    right: Cells,
    count: usize,
) -> Result<Integer, NumberError> {
    let mut sum = IBig::from(sum);
    for index in 0..count {
        // SAFETY: aligned cells, valid at any bytes that cells hold.
        let (a, b) =
            unsafe { (&*left.at(index).cast::<Integer>(), &*right.at(index).cast::<Integer>()) };
        match (a.as_small(), b.as_small()) {
            (Some(a), Some(b)) => sum += i128::from(a) * i128::from(b),
            _ => sum += checked_big_product(&a.wide(), &b.wide())?,
        }
    }
    Ok(Integer::from(sum))
}
