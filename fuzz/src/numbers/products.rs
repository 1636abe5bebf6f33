//! Products of vectors and matrices.

use super::cells::{Number, check_element, failure, seed_value};
use super::seeds::Seed;
use denizen::abi::ErrorOut;
use num_rational::BigRational;
use num_traits::Zero;
use std::ffi::CStr;

/// Core dimensions of the operands by number, in order of first appearance.
type Signature = [&'static [usize]; 3];

/// The signature of a product by its name.
pub fn signature(name: &str) -> Option<Signature> {
    Some(match name {
        "vecdot" => [&[0], &[0], &[]],
        "matvec" => [&[0, 1], &[1], &[0]],
        "vecmat" => [&[0], &[0, 1], &[1]],
        "matmul" => [&[0, 1], &[1, 2], &[0, 2]],
        _ => return None,
    })
}

/// One product of up to two stacks, whose second operand lies with its core dimensions reversed.
pub fn check_product<T: Number>(which: u8, sizes: [u8; 4], live: bool, seeds: &[Seed]) {
    let definition = T::definition();
    // SAFETY: the definition is alive.
    let name = |ufunc| unsafe { CStr::from_ptr(ufunc) }.to_str().expect("a name in ASCII");
    let products: Vec<_> = definition
        .loops()
        .iter()
        .filter_map(|entry| signature(name(entry.ufunc)).map(|signature| (entry, signature)))
        .collect();
    let (entry, signature) = products[usize::from(which) % products.len()];
    let outer = usize::from(sizes[3]) % 3;
    let size = |dimension: usize| usize::from(sizes[dimension]) % 4;
    let volume = |operand: usize| signature[operand].iter().map(|d| size(*d)).product::<usize>();

    let mut model: Vec<Vec<BigRational>> = (0..3)
        .map(|operand| {
            let value = |index| match (operand, live) {
                (2, false) => BigRational::zero(),
                _ => seed_value::<T>(seeds, operand * 11 + index),
            };
            (0..outer * volume(operand)).map(value).collect()
        })
        .collect();
    let mut cells: Vec<Vec<T>> =
        model.iter().map(|values| values.iter().map(T::make).collect()).collect();

    // Strides in cells: row by row, but column by column in the second operand.
    let mut core = Vec::new();
    for (operand, dimensions) in signature.iter().enumerate() {
        let mut strides = vec![1; dimensions.len()];
        let order: Vec<usize> = if operand == 1 {
            (0..dimensions.len()).collect()
        } else {
            (0..dimensions.len()).rev().collect()
        };
        let mut step = 1;
        for index in order {
            strides[index] = step;
            step *= size(dimensions[index]).max(1);
        }
        core.push(strides);
    }
    let at = |operand: usize, stack: usize, index: &[usize; 3]| {
        let inside: usize =
            signature[operand].iter().zip(&core[operand]).map(|(d, step)| index[*d] * step).sum();
        stack * volume(operand) + inside
    };
    let used = signature.iter().flat_map(|s| s.iter()).max().map_or(0, |last| last + 1);
    let extent = |dimension: usize| if dimension < used { size(dimension) } else { 1 };
    let mut sums = vec![BigRational::zero(); outer * volume(2)];
    for stack in 0..outer {
        for i in 0..extent(0) {
            for j in 0..extent(1) {
                for k in 0..extent(2) {
                    let index = [i, j, k];
                    let product = &model[0][at(0, stack, &index)] * &model[1][at(1, stack, &index)];
                    sums[at(2, stack, &index)] += product;
                }
            }
        }
    }
    model[2] = sums;

    let mut dimensions = vec![outer as isize];
    dimensions.extend((0..used).map(|dimension| size(dimension) as isize));
    let cell = size_of::<T>() as isize;
    let mut strides: Vec<isize> = (0..3).map(|operand| volume(operand) as isize * cell).collect();
    strides.extend(core.iter().flatten().map(|step| *step as isize * cell));
    let pointers: Vec<*mut u8> = cells.iter_mut().map(|cells| cells.as_mut_ptr().cast()).collect();
    let mut error_out = ErrorOut::new();
    let Some(function) = entry.function else { return };
    // SAFETY: cells of the type, with dimensions and strides of the product's signature.
    let status = unsafe {
        function(
            entry.context,
            pointers.as_ptr(),
            dimensions.as_ptr(),
            strides.as_ptr(),
            &raw mut error_out,
        )
    };
    let name = name(entry.ufunc);
    assert_eq!(failure(status, &error_out), None, "{name}: {}", error_out.text());
    for (cells, model) in cells.iter().zip(&model) {
        for (cell, expected) in cells.iter().zip(model) {
            check_element(cell, expected, name);
        }
    }
}
