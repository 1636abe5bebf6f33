//! What is no loop: comparison, sorting, truth, hash, and where reductions start.

use super::cells::{Number, balanced, check_element, failure, seed_value};
use super::seeds::Seed;
use denizen::abi::ErrorOut;
use num_bigint::BigInt;
use num_rational::BigRational;
use num_traits::{One, Signed, ToPrimitive, Zero};
use std::ffi::CStr;

const MOST: usize = 40;

/// Python's hash of a fraction, by the definition of numeric hashes in its library reference.
fn python_hash(value: &BigRational) -> i64 {
    let prime = (BigInt::one() << 61u32) - 1;
    let rest: BigInt = value.denom() % &prime;
    let magnitude = if rest.is_zero() {
        BigInt::from(314_159)
    } else {
        let inverse = value.denom().modpow(&(&prime - 2), &prime);
        let product: BigInt = value.numer().abs() * inverse;
        product % &prime
    };
    let hash = magnitude.to_i64().expect("below the prime");
    match if value.is_negative() { -hash } else { hash } {
        -1 => -2,
        hash => hash,
    }
}

/// Comparison of the first two, sorting of all, truth and hash of the first.
pub fn check_order<T: Number>(seeds: &[Seed], backwards: bool) {
    let definition = T::definition();
    let vtable = definition.vtable();
    let values: Vec<_> =
        (0..seeds.len().clamp(2, MOST)).map(|index| seed_value::<T>(seeds, index)).collect();
    let mut cells: Vec<T> = values.iter().map(T::make).collect();
    let mut error_out = ErrorOut::new();
    let context = vtable.context;
    let size = size_of::<T>() as isize;
    let first: *mut u8 = cells.as_mut_ptr().cast();

    // SAFETY: live cells of the type, and room for each result.
    unsafe {
        let compare = vtable.compare.expect("both types are ordered");
        for (left, right) in [(0, 1), (1, 0), (0, 0)] {
            let mut order = 7;
            let at = |index: isize| first.offset(size * index).cast_const();
            let status = compare(context, at(left), at(right), &raw mut order, &raw mut error_out);
            assert_eq!(failure(status, &error_out), None);
            let expected = values[left as usize].cmp(&values[right as usize]) as i32;
            assert_eq!(order, expected, "{} and {}", values[0], values[1]);
        }

        let nonzero = vtable.nonzero.expect("both types have truth");
        let mut truths = vec![7u8; values.len()];
        let status =
            nonzero(context, first, size, values.len(), truths.as_mut_ptr(), 1, &raw mut error_out);
        assert_eq!(failure(status, &error_out), None);
        for (truth, value) in truths.iter().zip(&values) {
            assert_eq!(*truth, u8::from(!value.is_zero()), "truth of {value}");
        }

        let hash = vtable.hash.expect("both types have a hash");
        let mut found = 7;
        assert_eq!(
            failure(hash(context, first, &raw mut found, &raw mut error_out), &error_out),
            None
        );
        assert_eq!(found, python_hash(&values[0]), "hash of {}", values[0]);

        if let Some(heap_bytes) = vtable.heap_bytes {
            let mut bytes = 0;
            heap_bytes(context, first, size, values.len(), &raw mut bytes);
            assert_eq!(bytes, cells.iter().map(T::heap).sum::<usize>());
        }

        // Stable, and backwards along a negative stride.
        if let Some(argsort) = vtable.argsort {
            let count = values.len();
            let mut indices: Vec<isize> = (0..count as isize).collect();
            let (start, stride) = if backwards {
                (first.offset(size * (count as isize - 1)), -size)
            } else {
                (first, size)
            };
            let indices_pointer = indices.as_mut_ptr();
            let status =
                argsort(context, start, stride, count, indices_pointer, &raw mut error_out);
            assert_eq!(failure(status, &error_out), None);
            let at = |index: isize| {
                let index = index as usize;
                &values[if backwards { count - 1 - index } else { index }]
            };
            let mut expected: Vec<isize> = (0..count as isize).collect();
            expected.sort_by(|left, right| at(*left).cmp(at(*right)));
            assert_eq!(indices, expected, "argsort of {values:?}");
        }
        if let Some(sort) = vtable.sort {
            let status = sort(context, first, values.len(), &raw mut error_out);
            assert_eq!(failure(status, &error_out), None);
            let mut sorted = values.clone();
            sorted.sort();
            for (cell, expected) in cells.iter().zip(&sorted) {
                check_element(cell, expected, "sort");
            }
        }
    }
}

/// The identities, by their names.
pub fn check_identities<T: Number>() {
    balanced(|| {
        let definition = T::definition();
        for identity in definition.identities() {
            // SAFETY: the definition is alive.
            let name = unsafe { CStr::from_ptr(identity.ufunc) }.to_str().expect("in ASCII");
            let expected = match name {
                "add" | "bitwise_or" | "bitwise_xor" | "gcd" | "logical_or" | "logical_xor" => 0,
                "multiply" | "lcm" | "logical_and" => 1,
                "bitwise_and" => -1,
                _ => panic!("the second implementation does not know where {name} starts"),
            };
            // SAFETY: zero bytes are the value 0, vacant for this purpose.
            let mut cell: T = unsafe { std::mem::zeroed() };
            let mut error_out = ErrorOut::new();
            // SAFETY: one vacant cell.
            let status = unsafe {
                (identity.construct)(
                    identity.context,
                    (&raw mut cell).cast(),
                    0,
                    1,
                    &raw mut error_out,
                )
            };
            assert_eq!(failure(status, &error_out), None, "{name}");
            check_element(&cell, &BigInt::from(expected).into(), name);
        }
    });
}
